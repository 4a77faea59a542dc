#include "sw/mlx/port/port.h"

#include "abi/prm/access_register.h"
#include "abi/prm/vport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sw::mlx {

using namespace abi::prm;

namespace {

constexpr std::uint32_t port_number = 1;
// RoCEv2 around a payload: IPv6 40, UDP 8, BTH 12, the largest extended headers 28, ICRC 4; as the stock driver
// reserves them.
constexpr std::uint32_t roce_overhead = 40 + 8 + 12 + 28 + 4;

template <class Context> Mac mac_from(Context address) {
    return mac_of(std::uint64_t{address.template get<"mac_addr_47_32">()} << 32 |
                  address.template get<"mac_addr_31_0">());
}

bool is_ipv4(const Gid& gid) {
    const auto mapped = gid_of_ipv4(0);
    return std::equal(gid.begin(), gid.begin() + 12, mapped.begin());
}

/// The largest path MTU of at most `bytes` payload.
Mtu mtu_within(std::uint32_t bytes) {
    auto best = Mtu::bytes_256;
    for (const auto mtu : {Mtu::bytes_512, Mtu::bytes_1024, Mtu::bytes_2048, Mtu::bytes_4096})
        if (bytes_of(mtu) <= bytes)
            best = mtu;
    return best;
}

Result<std::uint32_t> query_operational_mtu(CommandChannel& commands) {
    Input<AccessRegIn> in(Opcode::access_reg, static_cast<std::uint16_t>(RegisterAction::read), PmtuReg::size);
    in.view().set<"register_id">(static_cast<std::uint32_t>(RegisterId::pmtu));
    abi::View<PmtuReg>(in.tail()).set<"local_port">(port_number);
    const auto out = run<AccessRegOut>(commands, in, PmtuReg::size);
    if (!out)
        return std::unexpected(out.error());
    return abi::ConstView<PmtuReg>(out->tail()).get<"oper_mtu">();
}

Result<void> query_ethernet(CommandChannel& commands, PortAttributes& port) {
    const auto context =
        run<QueryNicVportContextOut>(commands, Input<QueryNicVportContextIn>(Opcode::query_nic_vport_context));
    if (!context)
        return std::unexpected(context.error());
    const auto vport = context->view().sub<"nic_vport_context">();
    port.node_guid = vport.get<"node_guid">();
    port.mac = mac_from(vport.sub<"permanent_address">());
    const auto state = run<QueryVportStateOut>(commands, Input<QueryVportStateIn>(Opcode::query_vport_state));
    if (!state)
        return std::unexpected(state.error());
    port.is_up = state->get<"state">() == 1;
    return {};
}

Result<void> query_infiniband(CommandChannel& commands, PortAttributes& port) {
    const auto context =
        run<QueryHcaVportContextOut>(commands, Input<QueryHcaVportContextIn>(Opcode::query_hca_vport_context));
    if (!context)
        return std::unexpected(context.error());
    const auto vport = context->view().sub<"hca_vport_context">();
    port.node_guid = vport.get<"node_guid">();
    port.is_up = vport.get<"vport_state">() == PortState::active;
    port.lid = static_cast<std::uint16_t>(vport.get<"lid">());
    const auto gid =
        run<QueryHcaVportGidOut>(commands, Input<QueryHcaVportGidIn>(Opcode::query_hca_vport_gid), port.gid.size());
    if (!gid)
        return std::unexpected(gid.error());
    std::ranges::copy(gid->tail(), port.gid.begin());
    return {};
}

Result<void> write_roce_address(Device& device, std::uint16_t index, const RoceAddress* address) {
    const auto size = device.capabilities().roce.view().get<"roce_address_table_size">();
    if (index >= size)
        return failure(EINVAL, fmt::format("set RoCE address {}: the device has {}", index, size));
    Input<SetRoceAddressIn> in(Opcode::set_roce_address);
    in.view().set<"roce_address_index">(index).set<"vhca_port_num">(0);
    if (address) { // an entry of zeros is none
        std::uint64_t mac = 0;
        for (const auto byte : address->mac)
            mac = mac << 8 | std::to_integer<std::uint64_t>(byte);
        in.view()
            .sub<"roce_address">()
            .set<"source_l3_address">(address->gid)
            .set<"vlan_valid">(address->vlan.has_value())
            .set<"vlan_id">(address->vlan.value_or(0))
            .set<"source_mac_47_32">(static_cast<std::uint32_t>(mac >> 32))
            .set<"source_mac_31_0">(static_cast<std::uint32_t>(mac))
            .set<"roce_l3_type">(is_ipv4(address->gid) ? roce_l3_ipv4 : roce_l3_ipv6)
            .set<"roce_version">(address->version);
    }
    if (const auto out = run<SetRoceAddressOut>(device.commands(), in); !out)
        return std::unexpected(out.error());
    return {};
}

} // namespace

Result<PortAttributes> query_port(Device& device) {
    auto& commands = device.commands();
    PortAttributes port;
    port.is_ethernet = device.capabilities().is_ethernet();
    if (auto done = port.is_ethernet ? query_ethernet(commands, port) : query_infiniband(commands, port); !done)
        return std::unexpected(done.error());
    const auto mtu = query_operational_mtu(commands);
    if (!mtu)
        return std::unexpected(mtu.error());
    port.active_mtu = mtu_within(port.is_ethernet ? *mtu - std::min(*mtu, roce_overhead) : *mtu);
    return port;
}

Result<void> set_roce_address(Device& device, std::uint16_t index, const RoceAddress& address) {
    return write_roce_address(device, index, &address);
}

Result<void> clear_roce_address(Device& device, std::uint16_t index) {
    return write_roce_address(device, index, nullptr);
}

Result<RoceAddress> query_roce_address(Device& device, std::uint16_t index) {
    Input<QueryRoceAddressIn> in(Opcode::query_roce_address);
    in.view().set<"roce_address_index">(index);
    const auto out = run<QueryRoceAddressOut>(device.commands(), in);
    if (!out)
        return std::unexpected(out.error());
    const auto entry = out->view().sub<"roce_address">();
    RoceAddress address;
    address.gid = entry.get<"source_l3_address">();
    address.mac = mac_of(std::uint64_t{entry.get<"source_mac_47_32">()} << 32 | entry.get<"source_mac_31_0">());
    if (entry.get<"vlan_valid">())
        address.vlan = static_cast<std::uint16_t>(entry.get<"vlan_id">());
    address.version = static_cast<std::uint8_t>(entry.get<"roce_version">());
    return address;
}

Result<void> enable_roce(CommandChannel& commands, bool on) {
    Input<ModifyNicVportContextIn> in(Opcode::modify_nic_vport_context);
    in.view().sub<"field_select">().set<"roce_en">(1);
    in.view().sub<"nic_vport_context">().set<"roce_en">(on);
    if (const auto out = run<ModifyNicVportContextOut>(commands, in); !out)
        return std::unexpected(out.error());
    return {};
}

} // namespace sw::mlx
