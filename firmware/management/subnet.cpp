// IBA 14.2.5: the attributes of an HCA port. Get answers from the port's state, Set takes over what a subnet manager
// decides.
#include "abi/prm/adapter.h"
#include "firmware/management/agent.h"
#include "model/management/attributes.h"

#include <algorithm>
#include <array>

namespace firmware::management {

using namespace abi::wire;
namespace prm = abi::prm;
using Data = model::management::AttributeData;

namespace {
constexpr std::size_t guids_per_block = 8, pkeys_per_block = 32;

struct Call {
    State& state;
    std::uint32_t modifier;
    model::port::Time at;
};

MadStatus get_node_info(const Call& call, Data out) {
    const auto& config = call.state.config();
    abi::View<NodeInfo>(out.first<NodeInfo::size>())
        .set<"base_version">(mad_base_version)
        .set<"class_version">(1)
        .set<"node_type">(channel_adapter_node)
        .set<"num_ports">(1)
        .set<"sys_guid">(config.node_guid)
        .set<"node_guid">(config.node_guid)
        .set<"port_guid">(config.node_guid)
        .set<"partition_cap">(static_cast<std::uint16_t>(Pkeys::count))
        .set<"device_id">(config.device_id)
        .set<"local_port_num">(1)
        .set<"vendor_id">(abi::prm::ieee_vendor);
    return MadStatus::ok;
}

MadStatus get_node_description(const Call& call, Data out) {
    std::ranges::copy(call.state.port.node_description, out.begin());
    return MadStatus::ok;
}

MadStatus get_guid_info(const Call& call, Data out) {
    if (call.modifier != 0)
        return MadStatus::bad_value;
    for (std::size_t i = 0; i < guids_per_block; ++i)
        std::ranges::copy(std::span(call.state.hca.identity().gids[i].gid).last<8>(),
                          out.begin() + static_cast<std::ptrdiff_t>(8 * i));
    return MadStatus::ok;
}

MadStatus get_pkeys(const Call& call, Data out) {
    const auto first = (call.modifier & 0xffff) * pkeys_per_block;
    if (first >= Pkeys::count)
        return MadStatus::bad_value;
    const auto& pkeys = call.state.hca.identity().pkeys;
    for (std::size_t i = 0; i < pkeys_per_block; ++i)
        abi::store<std::uint16_t, std::endian::big>(out.data() + 2 * i,
                                                    first + i < pkeys.size() ? pkeys[first + i] : std::uint16_t{0});
    return MadStatus::ok;
}

MadStatus set_pkeys(const Call& call, Data in) {
    const auto first = (call.modifier & 0xffff) * pkeys_per_block;
    if (first >= Pkeys::count)
        return MadStatus::bad_value;
    auto& pkeys = call.state.hca.identity().pkeys;
    pkeys.resize(std::max(pkeys.size(), first + pkeys_per_block));
    for (std::size_t i = 0; i < pkeys_per_block; ++i)
        pkeys[first + i] = abi::load<std::uint16_t, std::endian::big>(in.data() + 2 * i);
    call.state.tell(prm::PortChange::pkey, call.at);
    return MadStatus::ok;
}

using model::management::counted;

MadStatus get_port_info(const Call& call, Data out) {
    if (model::management::port_of(call.modifier) > 1)
        return MadStatus::bad_value;
    const auto& port = call.state.port.infiniband;
    const abi::View<PortInfo> info(out.first<PortInfo::size>());
    model::management::describe(port.managed, call.state.config().port_rate_gbps, info,
                                abi::View<PortInfoExtended>(out));
    info.set<"cap_mask">(call.state.capability_mask())
        .set<"local_port_num">(1)
        .set<"guid_cap">(static_cast<std::uint8_t>(guids_per_block));
    const auto now = call.state.violations();
    const auto& forgiven = call.state.forgiven;
    info.set<"mkey_violations">(counted(now.m_key, forgiven.m_key))
        .set<"pkey_violations">(counted(now.p_key, forgiven.p_key))
        .set<"qkey_violations">(counted(now.q_key, forgiven.q_key));
    return MadStatus::ok;
}

MadStatus set_port_info(const Call& call, Data in) {
    if (model::management::port_of(call.modifier) > 1)
        return MadStatus::bad_value;
    const abi::ConstView<PortInfo> wanted(in.first<PortInfo::size>());
    auto& p = call.state.port.infiniband.managed;
    const auto before = p;
    if (const auto status = model::management::take_over(p, wanted, true); status != MadStatus::ok)
        return status;
    call.state.adopt_port(); // LID and GID 0 of the wire
    // A counter that a manager sets to 0 starts again. opensm writes back what it has read; other values change
    // nothing.
    const auto now = call.state.violations();
    auto& forgiven = call.state.forgiven;
    if (wanted.get<"mkey_violations">() == 0)
        forgiven.m_key = now.m_key;
    if (wanted.get<"pkey_violations">() == 0)
        forgiven.p_key = now.p_key;
    if (wanted.get<"qkey_violations">() == 0)
        forgiven.q_key = now.q_key;
    if (p.lid != before.lid || p.lmc != before.lmc)
        call.state.tell(prm::PortChange::lid, call.at);
    if (p.gid_prefix != before.gid_prefix)
        call.state.tell(prm::PortChange::guid, call.at);
    if (p.state == prm::PortState::active && p.state != before.state)
        call.state.tell(prm::PortChange::active, call.at);
    if (wanted.get<"client_reregister">())
        call.state.tell(prm::PortChange::client_rereg, call.at);
    return MadStatus::ok;
}

MadStatus get_nothing(const Call&, Data) { return MadStatus::ok; }
MadStatus set_nothing(const Call&, Data) { return MadStatus::ok; } // the model has one lane

struct Attribute {
    SmAttribute id;
    MadStatus (*get)(const Call&, Data);
    MadStatus (*set)(const Call&, Data);
};
constexpr std::array attributes{
    Attribute{SmAttribute::node_description, get_node_description, nullptr},
    Attribute{SmAttribute::node_info, get_node_info, nullptr},
    Attribute{SmAttribute::guid_info, get_guid_info, nullptr},
    Attribute{SmAttribute::port_info, get_port_info, set_port_info},
    Attribute{SmAttribute::pkey_table, get_pkeys, set_pkeys},
    Attribute{SmAttribute::sl_to_vl, get_nothing, set_nothing}, // every service level goes by VL 0
    Attribute{SmAttribute::vl_arbitration, get_nothing, set_nothing},
    Attribute{SmAttribute::extended_port_info, get_nothing, set_nothing}, // no speeds of the vendor's own
};
} // namespace

MadStatus subnet(State& state, Answer mad, model::port::Time at) {
    const abi::ConstView<MadHeader> header(mad.first<MadHeader::size>());
    const Call call{state, header.get<"attr_mod">(), at};
    return model::management::carry_out(attributes, header, mad.subspan<Smp::field<"data">::offset, 64>(),
                                        [&call](auto action, Data data) { return action(call, data); });
}

} // namespace firmware::management
