// PRM "HCA vport context" (InfiniBand port) and "NIC vport context" (Ethernet port): what the port is, and the little
// of it that the driver may change. There is one vport, the function's own.
#include "firmware/handlers/handlers.h"
#include "model/management/link_rate.h"

#include <algorithm>

namespace firmware::handlers {

namespace {
constexpr std::uint32_t all_entries = 0xffff; ///< gid_index, pkey_index: the whole table
constexpr std::size_t gid_count = 8;          ///< what gid_table_size advertises: code 0
constexpr std::size_t pkey_count = Pkeys::count;

template <class V> bool is_own(V in) {
    return !in.template get<"other_vport">() && in.template get<"vport_number">() == 0;
}
template <class V> bool is_own_port(V in) { return is_own(in) && in.template get<"port_num">() <= 1; }
} // namespace

Reply query_hca_vport_context(State& state, const Call&, In<prm::QueryHcaVportContextIn> in,
                              Out<prm::QueryHcaVportContextOut> out) {
    if (!is_own_port(in))
        return refuse("query_hca_vport_context.vport");
    const auto guid = state.config().node_guid;
    const auto& port = state.port.infiniband.managed;
    out.sub<"hca_vport_context">()
        .set<"port_physical_state">(model::management::physical_state(port))
        .set<"has_smi">(1)
        .set<"port_state">(port.state)
        .set<"vport_state">(port.state)
        .set<"system_image_guid">(guid)
        .set<"port_guid">(guid)
        .set<"node_guid">(guid)
        .set<"cap_mask1">(state.capability_mask())
        .set<"cap_mask2">(model::management::port_speed(state.config().port_rate_gbps).capabilities2)
        .set<"cap_mask1_field_select">(InfinibandPort::changeable_capabilities)
        .set<"lid">(port.lid)
        .set<"lmc">(port.lmc)
        .set<"init_type_reply">(port.init_type)
        .set<"subnet_timeout">(port.subnet_timeout)
        .set<"sm_lid">(port.sm_lid)
        .set<"sm_sl">(port.sm_sl);
    return accepted;
}

Reply modify_hca_vport_context(State& state, const Call&, In<prm::ModifyHcaVportContextIn> in,
                               Out<prm::ModifyHcaVportContextOut>) {
    if (!is_own_port(in))
        return refuse("modify_hca_vport_context.vport");
    const auto wanted = in.sub<"hca_vport_context">();
    if (wanted.get<"field_select">() != 0)
        return refuse("modify_hca_vport_context.field");
    const auto fields = wanted.get<"cap_mask1_field_select">();
    if (fields & ~InfinibandPort::changeable_capabilities)
        return refuse("modify_hca_vport_context.capability");
    auto& mask = state.port.infiniband.capability_mask;
    mask = (mask & ~fields) | (wanted.get<"cap_mask1">() & fields);
    return accepted;
}

Reply query_hca_vport_gid(State& state, const Call& call, In<prm::QueryHcaVportGidIn> in,
                          Out<prm::QueryHcaVportGidOut> out) {
    if (!is_own_port(in))
        return refuse("query_hca_vport_gid.vport");
    const auto index = in.get<"gid_index">();
    if (index != all_entries && index >= gid_count)
        return refuse("query_hca_vport_gid.index");
    const auto first = index == all_entries ? 0 : index;
    const auto count = index == all_entries ? gid_count : 1;
    constexpr auto size = sizeof(model::port::Gid);
    if (call.out_tail.size() < count * size)
        return refuse("query_hca_vport_gid.no_room");
    for (std::size_t i = 0; i < count; ++i)
        std::ranges::copy(state.hca.identity().gids[first + i].gid,
                          call.out_tail.begin() + static_cast<std::ptrdiff_t>(i * size));
    out.set<"gids_num">(static_cast<std::uint32_t>(count));
    return accepted;
}

Reply query_hca_vport_pkey(State& state, const Call& call, In<prm::QueryHcaVportPkeyIn> in,
                           Out<prm::QueryHcaVportPkeyOut>) {
    if (!is_own_port(in))
        return refuse("query_hca_vport_pkey.vport");
    const auto index = in.get<"pkey_index">();
    if (index != all_entries && index >= pkey_count)
        return refuse("query_hca_vport_pkey.index");
    const auto first = index == all_entries ? 0 : index;
    const auto count = index == all_entries ? pkey_count : 1;
    if (call.out_tail.size() < count * 4)
        return refuse("query_hca_vport_pkey.no_room");
    const auto& pkeys = state.hca.identity().pkeys;
    for (std::size_t i = 0; i < count && first + i < pkeys.size(); ++i)
        abi::store<std::uint32_t, std::endian::big>(call.out_tail.data() + 4 * i, pkeys[first + i]);
    return accepted;
}

Reply query_nic_vport_context(State& state, const Call&, In<prm::QueryNicVportContextIn> in,
                              Out<prm::QueryNicVportContextOut> out) {
    if (!is_own(in))
        return refuse("query_nic_vport_context.vport");
    const auto guid = state.config().node_guid;
    const auto& mac = state.hca.identity().mac;
    const auto context = out.sub<"nic_vport_context">();
    context.set<"roce_en">(state.port.roce_enabled)
        .set<"mtu">(state.port.mtu)
        .set<"system_image_guid">(guid)
        .set<"port_guid">(guid)
        .set<"node_guid">(guid);
    context.sub<"permanent_address">()
        .set<"mac_addr_47_32">(abi::load<std::uint16_t, std::endian::big>(mac.data()))
        .set<"mac_addr_31_0">(abi::load<std::uint32_t, std::endian::big>(mac.data() + 2));
    return accepted;
}

Reply modify_nic_vport_context(State& state, const Call&, In<prm::ModifyNicVportContextIn> in,
                               Out<prm::ModifyNicVportContextOut>) {
    if (!is_own(in))
        return refuse("modify_nic_vport_context.vport");
    const auto select = in.sub<"field_select">();
    // Receive filters, events and affiliation belong to Ethernet offloads, which are not advertised.
    if (select.get<"affiliation">() || select.get<"disable_uc_local_lb">() || select.get<"disable_mc_local_lb">() ||
        select.get<"node_guid">() || select.get<"port_guid">() || select.get<"min_inline">() ||
        select.get<"change_event">() || select.get<"promisc">() || select.get<"addresses_list">())
        return refuse("modify_nic_vport_context.field");
    const auto context = in.sub<"nic_vport_context">();
    if (select.get<"mtu">())
        state.port.mtu = static_cast<std::uint16_t>(context.get<"mtu">());
    if (select.get<"roce_en">())
        state.port.roce_enabled = context.get<"roce_en">() != 0;
    if (select.get<"permanent_address">()) {
        const auto address = context.sub<"permanent_address">();
        auto& mac = state.hca.identity().mac;
        abi::store<std::uint16_t, std::endian::big>(mac.data(),
                                                    static_cast<std::uint16_t>(address.get<"mac_addr_47_32">()));
        abi::store<std::uint32_t, std::endian::big>(mac.data() + 2, address.get<"mac_addr_31_0">());
    }
    return accepted;
}

Reply query_vport_state(State& state, const Call& call, In<prm::QueryVportStateIn> in,
                        Out<prm::QueryVportStateOut> out) {
    if (call.op_mod != 0 || !is_own(in))
        return refuse("query_vport_state.vport");
    const auto& port = state.port.infiniband.managed;
    out.set<"admin_state">(!port.link.is_disabled).set<"state">(port.link.is_up);
    return accepted;
}

} // namespace firmware::handlers
