#include "testbench/harness/provocation.h"

#include <array>

namespace harness {

namespace {
using prm::Opcode;
using Bench = CommandBench;

template <class In> std::string_view refused(Bench& bench, const Input<In>& in, std::size_t out_length = 16) {
    return bench.run<prm::CommandOut>(in, out_length).refusal();
}
void infiniband(model::hca::HcaConfig& config) { config.is_ethernet = false; }

/// SET_ROCE_ADDRESS of ::ffff:10.0.0.1 with one field of the entry changed.
template <abi::Name F> std::string_view address_with(Bench& bench, std::uint32_t value) {
    Input<prm::SetRoceAddressIn> in(Opcode::set_roce_address);
    std::array<std::byte, 16> gid{};
    gid[10] = gid[11] = std::byte{0xff};
    gid[12] = std::byte{10};
    gid[15] = std::byte{1};
    const auto entry = in.view().sub<"roce_address">();
    entry.set<"source_l3_address">(gid).set<"roce_version">(2u);
    entry.template set<F>(value);
    return refused(bench, in);
}

const std::array ports{
    Provocation{"query_hca_vport_context.vport",
                [](Bench& b) {
                    return refused(
                        b, Input<prm::QueryHcaVportContextIn>(Opcode::query_hca_vport_context).set<"port_num">(2u),
                        0x210);
                },
                Start::initialized, infiniband},
    Provocation{"query_hca_vport_gid.vport",
                [](Bench& b) {
                    return refused(
                        b, Input<prm::QueryHcaVportGidIn>(Opcode::query_hca_vport_gid).set<"other_vport">(1u), 32);
                },
                Start::initialized, infiniband},
    Provocation{"query_hca_vport_gid.index",
                [](Bench& b) {
                    return refused(b, Input<prm::QueryHcaVportGidIn>(Opcode::query_hca_vport_gid).set<"gid_index">(8u),
                                   32);
                },
                Start::initialized, infiniband},
    Provocation{"query_hca_vport_gid.no_room",
                [](Bench& b) {
                    return refused(
                        b, Input<prm::QueryHcaVportGidIn>(Opcode::query_hca_vport_gid).set<"gid_index">(0xffffu), 32);
                },
                Start::initialized, infiniband},
    Provocation{"query_hca_vport_pkey.vport",
                [](Bench& b) {
                    return refused(
                        b, Input<prm::QueryHcaVportPkeyIn>(Opcode::query_hca_vport_pkey).set<"vport_number">(1u), 20);
                },
                Start::initialized, infiniband},
    Provocation{"query_hca_vport_pkey.index",
                [](Bench& b) {
                    return refused(
                        b, Input<prm::QueryHcaVportPkeyIn>(Opcode::query_hca_vport_pkey).set<"pkey_index">(128u), 20);
                },
                Start::initialized, infiniband},
    Provocation{"query_hca_vport_pkey.no_room",
                [](Bench& b) { return refused(b, Input<prm::QueryHcaVportPkeyIn>(Opcode::query_hca_vport_pkey), 19); },
                Start::initialized, infiniband},
    Provocation{"mad_ifc.port",
                [](Bench& b) { return refused(b, Input<prm::MadIfcIn>(Opcode::mad_ifc).set<"port">(2u), 0x110); },
                Start::initialized, infiniband},
    Provocation{"mad_ifc.m_key",
                [](Bench& b) {
                    // Set(PortInfo) gives the port a key; a Get without it follows.
                    auto set = Bench::mad_input(abi::wire::MadMethod::set, abi::wire::SmAttribute::port_info);
                    abi::View<abi::wire::PortInfo>(std::span(set.bytes).subspan(0x10 + 0x40, abi::wire::PortInfo::size)).set<"mkey">(0x1234u);
                    b.run<prm::MadIfcOut>(set);
                    return refused(b, Bench::mad_input(abi::wire::MadMethod::get, abi::wire::SmAttribute::node_info), 0x110);
                },
                Start::initialized, infiniband},
    Provocation{"query_nic_vport_context.vport",
                [](Bench& b) {
                    return refused(
                        b, Input<prm::QueryNicVportContextIn>(Opcode::query_nic_vport_context).set<"other_vport">(1u),
                        0x110);
                }},
    Provocation{"modify_nic_vport_context.vport",
                [](Bench& b) {
                    return refused(
                        b,
                        Input<prm::ModifyNicVportContextIn>(Opcode::modify_nic_vport_context).set<"vport_number">(1u));
                }},
    Provocation{"modify_nic_vport_context.field",
                [](Bench& b) {
                    Input<prm::ModifyNicVportContextIn> in(Opcode::modify_nic_vport_context);
                    in.view().sub<"field_select">().set<"promisc">(1);
                    return refused(b, in);
                }},
    Provocation{"query_vport_state.vport",
                [](Bench& b) { return refused(b, Input<prm::QueryVportStateIn>(Opcode::query_vport_state, 1)); }},
    Provocation{"set_roce_address.index",
                [](Bench& b) {
                    return refused(
                        b, Input<prm::SetRoceAddressIn>(Opcode::set_roce_address).set<"roce_address_index">(128u));
                }},
    Provocation{"set_roce_address.port",
                [](Bench& b) {
                    return refused(b, Input<prm::SetRoceAddressIn>(Opcode::set_roce_address).set<"vhca_port_num">(2u));
                }},
    Provocation{"set_roce_address.version", [](Bench& b) { return address_with<"roce_version">(b, 0); }},
    Provocation{"set_roce_address.vlan", [](Bench& b) { return address_with<"vlan_valid">(b, 1); }},
    Provocation{"set_roce_address.l3_type", [](Bench& b) { return address_with<"roce_l3_type">(b, 2); }},
    Provocation{"set_roce_address.not_ipv4",
                [](Bench& b) {
                    Input<prm::SetRoceAddressIn> in(Opcode::set_roce_address);
                    std::array<std::byte, 16> gid{};
                    gid[0] = std::byte{0xfe};
                    in.view().sub<"roce_address">().set<"source_l3_address">(gid).set<"roce_version">(2u);
                    return refused(b, in);
                }},
    Provocation{"query_roce_address.index",
                [](Bench& b) {
                    return refused(
                        b, Input<prm::QueryRoceAddressIn>(Opcode::query_roce_address).set<"roce_address_index">(200u),
                        0x30);
                }},
};
} // namespace

std::span<const Provocation> port_mistakes() { return ports; }

} // namespace harness
