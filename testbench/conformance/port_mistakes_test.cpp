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

std::string_view vport_with(Bench& b, std::uint32_t field_select, std::uint32_t capabilities, std::uint32_t port = 0) {
    Input<prm::ModifyHcaVportContextIn> in(Opcode::modify_hca_vport_context);
    in.set<"port_num">(port);
    in.view().sub<"hca_vport_context">().set<"field_select">(field_select).set<"cap_mask1_field_select">(capabilities);
    return refused(b, in);
}

/// A queue pair of this type, asked to join a multicast group.
std::string_view attach(Bench& b, prm::QpType type, unsigned members = 1) {
    const auto o = b.make_objects();
    std::string_view answer;
    for (unsigned i = 0; i < members; ++i) {
        auto in = Bench::qp_input(o.pd, o.uar, o.cqn);
        in.view().sub<"qpc">().set<"st">(type);
        const auto qpn = b.run<prm::CreateQpOut>(in).get<"qpn">();
        answer = refused(b, Input<prm::AttachToMcgIn>(Opcode::attach_to_mcg).set<"qpn">(qpn));
    }
    return answer;
}
/// One queue pair in so many groups.
std::string_view attach_to(Bench& b, unsigned groups) {
    const auto o = b.make_objects();
    auto create = Bench::qp_input(o.pd, o.uar, o.cqn);
    create.view().sub<"qpc">().set<"st">(prm::QpType::ud);
    const auto qpn = b.run<prm::CreateQpOut>(create).get<"qpn">();
    std::string_view answer;
    for (unsigned i = 0; i < groups; ++i) {
        std::array<std::byte, 16> gid{std::byte{0xff}};
        gid[14] = static_cast<std::byte>(i >> 8);
        gid[15] = static_cast<std::byte>(i);
        answer = refused(b, Input<prm::AttachToMcgIn>(Opcode::attach_to_mcg).set<"qpn">(qpn).set<"multicast_gid">(gid));
    }
    return answer;
}

const std::array ports{
    Provocation{"attach_to_mcg.unknown",
                [](Bench& b) { return refused(b, Input<prm::AttachToMcgIn>(Opcode::attach_to_mcg).set<"qpn">(5u)); }},
    Provocation{"attach_to_mcg.service", [](Bench& b) { return attach(b, prm::QpType::rc); }},
    Provocation{"attach_to_mcg.groups", [](Bench& b) { return attach_to(b, 1025); }},
    Provocation{"attach_to_mcg.members", [](Bench& b) { return attach(b, prm::QpType::ud, 249); }},
    Provocation{"attach_to_mcg.group", [](Bench& b) { return attach(b, prm::QpType::ud); }, Start::initialized,
                infiniband},
    Provocation{
        "detach_from_mcg.unknown",
        [](Bench& b) { return refused(b, Input<prm::DetachFromMcgIn>(Opcode::detach_from_mcg).set<"qpn">(5u)); }},
    Provocation{"detach_from_mcg.no_member",
                [](Bench& b) {
                    const auto qpn = b.make_qp(b.make_objects());
                    return refused(b, Input<prm::DetachFromMcgIn>(Opcode::detach_from_mcg).set<"qpn">(qpn));
                }},
    Provocation{"modify_hca_vport_context.vport", [](Bench& b) { return vport_with(b, 0, 0, 2); }, Start::initialized,
                infiniband},
    Provocation{"modify_hca_vport_context.field", [](Bench& b) { return vport_with(b, 1, 0); }, Start::initialized,
                infiniband},
    Provocation{"modify_hca_vport_context.capability", [](Bench& b) { return vport_with(b, 0, 4); }, Start::initialized,
                infiniband},
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
                    // Set(PortInfo) gives the port a key; protects it from being read; a Get without it follows.
                    auto set = Bench::mad_input(abi::wire::MadMethod::set, abi::wire::SmAttribute::port_info);
                    abi::View<abi::wire::PortInfo>(std::span(set.bytes).subspan(0x10 + 0x40, abi::wire::PortInfo::size))
                        .set<"mkey">(0x1234u)
                        .set<"mkey_protect">(2u);
                    b.run<prm::MadIfcOut>(set);
                    return refused(b, Bench::mad_input(abi::wire::MadMethod::get, abi::wire::SmAttribute::node_info),
                                   0x110);
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
    Provocation{"query_vport_counter.vport",
                [](Bench& b) {
                    return refused(b,
                                   Input<prm::QueryVportCounterIn>(Opcode::query_vport_counter).set<"vport_number">(1u),
                                   prm::QueryVportCounterOut::size);
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
