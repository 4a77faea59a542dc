// PRM "Ports and registers": ACCESS_REG and the registers behind it, one row each.
#include "firmware/handlers/handlers.h"
#include "firmware/handlers/port_counters.h"
#include "model/management/link_rate.h"

#include <algorithm>
#include <array>

namespace firmware::handlers {

namespace {
using prm::RegisterId;
using Bytes = std::span<const std::byte>;
using Space = std::span<std::byte>;

/// Ethernet: the bytes of a jumbo frame.
constexpr std::uint32_t infiniband_mtu = 4096, ethernet_max_mtu = 9978, ethernet_default_mtu = 1522;
constexpr std::uint32_t one_vl = 1; ///< VL 0
constexpr std::uint32_t up = 1, down = 2;

std::uint32_t admin_mtu(const State& state) {
    if (!state.config().is_ethernet)
        return infiniband_mtu;
    return state.port.admin_mtu != 0 ? state.port.admin_mtu : ethernet_default_mtu;
}

/// The registers of a port begin with the same dword, which has the port's number; there is one port.
Reply check_port(Bytes in) {
    return abi::ConstView<prm::PvlcReg>(in).get<"local_port">() == 1 ? accepted : refuse("access_reg.port");
}

Reply read_ptys(State& state, Bytes in, Space out) {
    if (auto refused = check_port(in))
        return refused;
    const abi::View<prm::PtysReg> reg(out);
    reg.set<"local_port">(1)
        .set<"proto_mask">(abi::ConstView<prm::PtysReg>(in).get<"proto_mask">())
        .set<"connector_type">(prm::connector_copper);
    const auto gbps = state.config().port_rate_gbps;
    if (!state.config().is_ethernet) {
        const auto& rate = model::management::infiniband_rate(gbps);
        const auto width = static_cast<std::uint32_t>(rate.has_four_lanes ? prm::Lanes::four : prm::Lanes::one);
        const auto speed = static_cast<std::uint32_t>(rate.speed);
        reg.set<"ib_link_width_capability">(width)
            .set<"ib_proto_capability">(speed)
            .set<"ib_link_width_admin">(width)
            .set<"ib_proto_admin">(speed)
            .set<"ib_link_width_oper">(width)
            .set<"ib_proto_oper">(speed);
        return accepted;
    }
    const auto& rate = model::management::ethernet_rate(gbps);
    if (rate.is_extended)
        reg.set<"ext_eth_proto_capability">(rate.protocol)
            .set<"ext_eth_proto_admin">(rate.protocol)
            .set<"ext_eth_proto_oper">(rate.protocol);
    else
        reg.set<"eth_proto_capability">(rate.protocol)
            .set<"eth_proto_admin">(rate.protocol)
            .set<"eth_proto_oper">(rate.protocol);
    return accepted;
}

Reply read_pmtu(State& state, Bytes in, Space out) {
    if (auto refused = check_port(in))
        return refused;
    abi::View<prm::PmtuReg>(out)
        .set<"local_port">(1)
        .set<"max_mtu">(state.config().is_ethernet ? ethernet_max_mtu : infiniband_mtu)
        .set<"admin_mtu">(admin_mtu(state))
        .set<"oper_mtu">(admin_mtu(state));
    return accepted;
}

Reply write_pmtu(State& state, Bytes in, Space) {
    if (auto refused = check_port(in))
        return refused;
    const auto wanted = abi::ConstView<prm::PmtuReg>(in).get<"admin_mtu">();
    if (!state.config().is_ethernet || wanted == 0 || wanted > ethernet_max_mtu)
        return refuse("access_reg.mtu");
    state.port.admin_mtu = static_cast<std::uint16_t>(wanted);
    return accepted;
}

Reply read_pvlc(State& state, Bytes in, Space out) {
    if (state.config().is_ethernet)
        return refuse("access_reg.not_infiniband");
    if (auto refused = check_port(in))
        return refused;
    abi::View<prm::PvlcReg>(out)
        .set<"local_port">(1)
        .set<"vl_hw_cap">(one_vl)
        .set<"vl_admin">(one_vl)
        .set<"vl_operational">(one_vl);
    return accepted;
}

Reply read_paos(State& state, Bytes in, Space out) {
    if (auto refused = check_port(in))
        return refused;
    abi::View<prm::PaosReg>(out)
        .set<"local_port">(1)
        .set<"admin_status">(state.port.infiniband.managed.link.is_disabled ? down : up)
        .set<"oper_status">(state.port.infiniband.managed.link.is_up ? up : down);
    return accepted;
}

Reply write_paos(State& state, Bytes in, Space) {
    if (auto refused = check_port(in))
        return refused;
    const auto wanted = abi::ConstView<prm::PaosReg>(in).get<"admin_status">();
    if (wanted != up && wanted != down)
        return refuse("access_reg.admin_status");
    state.port.infiniband.managed.link.is_disabled = wanted == down;
    return accepted;
}

Reply read_ppcnt(State& state, Bytes in, Space out) {
    if (auto refused = check_port(in))
        return refused;
    return read_port_counters(state, in, out);
}

Reply read_node_description(State& state, Bytes, Space out) {
    std::ranges::copy(state.port.node_description, out.begin());
    return accepted;
}

Reply write_node_description(State& state, Bytes in, Space) {
    std::ranges::copy(in.first(prm::node_description_bytes), state.port.node_description.begin());
    return accepted;
}

Reply write_host_endianness(State&, Bytes in, Space) {
    return abi::ConstView<prm::RegisterHostEndianness>(in).get<"he">() == 0 ? accepted
                                                                            : refuse("access_reg.endianness");
}

struct Register {
    RegisterId id;
    std::size_t bytes;
    Reply (*read)(State&, Bytes in, Space out);
    Reply (*write)(State&, Bytes in, Space out);
};
constexpr std::array registers{
    Register{RegisterId::pmtu, prm::PmtuReg::size, read_pmtu, write_pmtu},
    Register{RegisterId::ptys, prm::PtysReg::size, read_ptys, nullptr},
    Register{RegisterId::paos, prm::PaosReg::size, read_paos, write_paos},
    Register{RegisterId::ppcnt, prm::PpcntReg::size, read_ppcnt, nullptr},
    Register{RegisterId::pvlc, prm::PvlcReg::size, read_pvlc, nullptr},
    Register{RegisterId::node_desc, prm::node_description_bytes, read_node_description, write_node_description},
    Register{RegisterId::host_endianness, prm::RegisterHostEndianness::size, nullptr, write_host_endianness},
};
static_assert(std::ranges::is_sorted(registers, {}, &Register::id));
} // namespace

Reply access_register(State& state, const Call& call, In<prm::AccessRegIn> in, Out<prm::AccessRegOut>) {
    const auto id = static_cast<RegisterId>(in.get<"register_id">());
    const auto row = std::ranges::lower_bound(registers, id, {}, &Register::id);
    if (row == registers.end() || row->id != id)
        return refuse("access_reg.unknown");
    if (call.op_mod > 1)
        return refuse("access_reg.op_mod");
    const auto action =
        static_cast<prm::RegisterAction>(call.op_mod) == prm::RegisterAction::read ? row->read : row->write;
    if (action == nullptr)
        return refuse("access_reg.direction");
    if (call.tail.size() < row->bytes)
        return refuse("access_reg.input_short");
    if (call.out_tail.size() < row->bytes)
        return refuse("access_reg.output_short");
    auto reply = action(state, call.tail, call.out_tail);
    state.apply_link_change(call.at); // PAOS
    return reply;
}

} // namespace firmware::handlers
