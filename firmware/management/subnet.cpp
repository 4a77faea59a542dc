// IBA 14.2.5: the attributes of an HCA port. Get answers from the port's state, Set takes over what a subnet manager decides.
#include "firmware/management/agent.h"

#include <algorithm>
#include <array>

namespace firmware::management {

using namespace abi::wire;
namespace prm = abi::prm;
using Data = std::span<std::byte, 64>;
using Asked = std::span<const std::byte, 64>;

namespace {
constexpr std::uint32_t width_4x = 2;                 // LinkWidth codes are bits
constexpr std::uint32_t speed_2_5_to_10 = 7;          // SDR, DDR, QDR
constexpr std::uint32_t speed_qdr = 4; // the extended speeds of IBA 1.3 are not told
constexpr std::uint32_t mtu_4096 = 5, vls_0_to_7 = 4, keep = 0;
constexpr std::size_t guids_per_block = 8, pkeys_per_block = 32;
constexpr std::uint32_t mellanox = 0x0002c9;
constexpr std::uint8_t channel_adapter = 1;

void tell(State& state, prm::PortChange change, model::port::Time at) {
    state.hca.event_queues().broadcast(prm::EventType::port_change, static_cast<std::uint8_t>(change), 1, at,
                                       [](abi::View<prm::Eqe> eqe) { prm::event_data<prm::PortChangeEventData>(eqe).set<"port_num">(1); });
}

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
        .set<"node_type">(channel_adapter)
        .set<"num_ports">(1)
        .set<"sys_guid">(config.node_guid)
        .set<"node_guid">(config.node_guid)
        .set<"port_guid">(config.node_guid)
        .set<"partition_cap">(static_cast<std::uint16_t>(Pkeys::count))
        .set<"device_id">(config.device_id)
        .set<"local_port_num">(1)
        .set<"vendor_id">(mellanox);
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
        std::ranges::copy(std::span(call.state.hca.identity().gids[i].gid).last<8>(), out.begin() + static_cast<std::ptrdiff_t>(8 * i));
    return MadStatus::ok;
}

MadStatus get_pkeys(const Call& call, Data out) {
    const auto first = (call.modifier & 0xffff) * pkeys_per_block;
    if (first >= Pkeys::count)
        return MadStatus::bad_value;
    const auto& pkeys = call.state.hca.identity().pkeys;
    for (std::size_t i = 0; i < pkeys_per_block; ++i)
        abi::store<std::uint16_t, std::endian::big>(out.data() + 2 * i, first + i < pkeys.size() ? pkeys[first + i] : std::uint16_t{0});
    return MadStatus::ok;
}

MadStatus set_pkeys(const Call& call, Asked in) {
    const auto first = (call.modifier & 0xffff) * pkeys_per_block;
    if (first >= Pkeys::count)
        return MadStatus::bad_value;
    auto& pkeys = call.state.hca.identity().pkeys;
    pkeys.resize(std::max(pkeys.size(), first + pkeys_per_block));
    for (std::size_t i = 0; i < pkeys_per_block; ++i)
        pkeys[first + i] = abi::load<std::uint16_t, std::endian::big>(in.data() + 2 * i);
    tell(call.state, prm::PortChange::pkey, call.at);
    return MadStatus::ok;
}

MadStatus get_port_info(const Call& call, Data out) {
    if (call.modifier > 1)
        return MadStatus::bad_value;
    const auto& p = call.state.port.infiniband;
    abi::View<PortInfo>(out.first<PortInfo::size>())
        .set<"mkey">(p.m_key)
        .set<"gid_prefix">(p.gid_prefix)
        .set<"lid">(p.lid)
        .set<"sm_lid">(p.sm_lid)
        .set<"cap_mask">(p.capability_mask)
        .set<"mkey_lease_period">(p.m_key_lease)
        .set<"local_port_num">(1)
        .set<"link_width_enabled">(width_4x)
        .set<"link_width_supported">(width_4x)
        .set<"link_width_active">(width_4x)
        .set<"link_speed_supported">(speed_2_5_to_10)
        .set<"port_state">(static_cast<std::uint32_t>(p.state))
        .set<"physical_state">(static_cast<std::uint32_t>(prm::PortPhysicalState::link_up))
        .set<"mkey_protect">(p.m_key_protect)
        .set<"lmc">(p.lmc)
        .set<"link_speed_active">(speed_qdr)
        .set<"link_speed_enabled">(speed_2_5_to_10)
        .set<"neighbor_mtu">(p.neighbor_mtu)
        .set<"master_sm_sl">(p.sm_sl)
        .set<"vl_cap">(vls_0_to_7)
        .set<"init_type_reply">(p.init_type_reply)
        .set<"mtu_cap">(mtu_4096)
        .set<"operational_vls">(p.operational_vls)
        .set<"guid_cap">(static_cast<std::uint8_t>(guids_per_block))
        .set<"subnet_timeout">(p.subnet_timeout);
    return MadStatus::ok;
}

/// Down, initialize, armed, active: one step up at a time, as the subnet manager says (IBA 14.2.5.6, table "PortState").
bool may_become(prm::PortState from, std::uint32_t to) {
    return to == keep || to == static_cast<std::uint32_t>(prm::PortState::down) || to == static_cast<std::uint32_t>(from) ||
           to == static_cast<std::uint32_t>(from) + 1;
}

MadStatus set_port_info(const Call& call, Asked in) {
    if (call.modifier > 1)
        return MadStatus::bad_value;
    const abi::ConstView<PortInfo> wanted(in.first<PortInfo::size>());
    auto& p = call.state.port.infiniband;
    const auto to = wanted.get<"port_state">();
    const auto mtu = wanted.get<"neighbor_mtu">();
    if (to > static_cast<std::uint32_t>(prm::PortState::active) || !may_become(p.state, to) || mtu > mtu_4096)
        return MadStatus::bad_value;
    const bool has_new_lid = wanted.get<"lid">() != p.lid || wanted.get<"lmc">() != p.lmc;
    const bool has_new_prefix = wanted.get<"gid_prefix">() != p.gid_prefix;
    p.m_key = wanted.get<"mkey">();
    p.m_key_protect = static_cast<std::uint8_t>(wanted.get<"mkey_protect">());
    p.m_key_lease = wanted.get<"mkey_lease_period">();
    p.gid_prefix = wanted.get<"gid_prefix">();
    p.lid = wanted.get<"lid">();
    p.lmc = static_cast<std::uint8_t>(wanted.get<"lmc">());
    p.sm_lid = wanted.get<"sm_lid">();
    p.sm_sl = static_cast<std::uint8_t>(wanted.get<"master_sm_sl">());
    p.subnet_timeout = static_cast<std::uint8_t>(wanted.get<"subnet_timeout">());
    p.init_type_reply = static_cast<std::uint8_t>(wanted.get<"init_type">());
    if (mtu != keep)
        p.neighbor_mtu = static_cast<std::uint8_t>(mtu);
    if (wanted.get<"operational_vls">() != keep)
        p.operational_vls = static_cast<std::uint8_t>(wanted.get<"operational_vls">());
    call.state.adopt_port(); // LID and GID 0 of the wire
    if (has_new_lid)
        tell(call.state, prm::PortChange::lid, call.at);
    if (has_new_prefix)
        tell(call.state, prm::PortChange::guid, call.at);
    if (to != keep && to != static_cast<std::uint32_t>(p.state)) {
        const bool is_down = to == static_cast<std::uint32_t>(prm::PortState::down);
        // A port whose link is up initializes again at once.
        p.state = is_down ? prm::PortState::init : static_cast<prm::PortState>(to);
        if (is_down)
            tell(call.state, prm::PortChange::down, call.at);
        if (p.state == prm::PortState::init)
            tell(call.state, prm::PortChange::initialized, call.at);
        if (p.state == prm::PortState::active)
            tell(call.state, prm::PortChange::active, call.at);
    }
    if (wanted.get<"client_reregister">())
        tell(call.state, prm::PortChange::client_rereg, call.at);
    return MadStatus::ok;
}

MadStatus get_sl_to_vl(const Call&, Data out) {
    for (std::size_t i = 0; i < 8; ++i) // 16 service levels, two a byte; lane = level modulo 8
        out[i] = static_cast<std::byte>(((2 * i) & 7) << 4 | ((2 * i + 1) & 7));
    return MadStatus::ok;
}

MadStatus get_nothing(const Call&, Data) { return MadStatus::ok; }
MadStatus set_nothing(const Call&, Asked) { return MadStatus::ok; } // the model has one lane

struct Attribute {
    SmAttribute id;
    MadStatus (*get)(const Call&, Data);
    MadStatus (*set)(const Call&, Asked);
};
constexpr std::array attributes{
    Attribute{SmAttribute::node_description, get_node_description, nullptr},
    Attribute{SmAttribute::node_info, get_node_info, nullptr},
    Attribute{SmAttribute::guid_info, get_guid_info, nullptr},
    Attribute{SmAttribute::port_info, get_port_info, set_port_info},
    Attribute{SmAttribute::pkey_table, get_pkeys, set_pkeys},
    Attribute{SmAttribute::sl_to_vl, get_sl_to_vl, set_nothing},
    Attribute{SmAttribute::vl_arbitration, get_nothing, set_nothing},
    Attribute{SmAttribute::extended_port_info, get_nothing, set_nothing}, // no speeds of the vendor's own
};
} // namespace

MadStatus subnet(State& state, Mad request, Answer answer, model::port::Time at) {
    const abi::ConstView<MadHeader> header(request.first<MadHeader::size>());
    const auto row = std::ranges::find(attributes, static_cast<SmAttribute>(header.get<"attr_id">()), &Attribute::id);
    if (row == attributes.end())
        return MadStatus::bad_attribute;
    const auto method = static_cast<MadMethod>(header.get<"method">());
    const Call call{state, header.get<"attr_mod">(), at};
    if (method == MadMethod::set) {
        if (row->set == nullptr)
            return MadStatus::bad_attribute;
        if (const auto status = row->set(call, request.subspan<0x40, 64>()); status != MadStatus::ok)
            return status;
    } else if (method != MadMethod::get) {
        return MadStatus::bad_method;
    }
    const auto data = answer.subspan<0x40, 64>();
    std::ranges::fill(data, std::byte{});
    return row->get(call, data);
}

} // namespace firmware::management
