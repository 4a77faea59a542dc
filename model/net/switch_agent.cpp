#include "model/net/switch_agent.h"

#include "abi/layout.h"
#include "abi/wire/infiniband.h"
#include "model/management/attributes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace model::net {

using namespace abi::wire;
using abi::prm::PortState;

namespace {
constexpr std::uint16_t unicast_lids = 0xbfff, multicast_lids = 1024; ///< entries of the tables
constexpr std::size_t lids_per_block = 64, groups_per_block = 32, ports_per_position = 16;
constexpr std::string_view description = "hcasim switch";
} // namespace

struct SwitchAgent::Call {
    std::uint32_t modifier;
    unsigned ingress;
};

struct SwitchAgent::Attribute {
    using Action = MadStatus (SwitchAgent::*)(const Call&, Data);
    SmAttribute id;
    Action get, set; ///< set: nullptr where it is read only
};

SwitchAgent::SwitchAgent(const SwitchAgentConfig& config)
    : config_(config), ports_(config.ports + 1), lifetimes_(config.ports + 1, config.lifetime),
      linear_(unicast_lids + 1, no_port), multicast_(multicast_lids) {
    ports_[0].state = PortState::active; // a base port 0 has no link (IBA 18.2.5)
}

void SwitchAgent::link_changed(unsigned number, bool is_up) {
    auto& port = ports_[number];
    const auto trained = config_.is_managed ? PortState::init : PortState::active;
    port.link.is_up = is_up;
    port.state = is_up ? trained : PortState::down;
    has_port_change_ = true;
}

std::uint64_t SwitchAgent::group(std::uint16_t to) const {
    const auto index = static_cast<std::size_t>(to - first_multicast_lid);
    return index < multicast_.size() ? multicast_[index] : 0;
}

void SwitchAgent::flood_groups(std::uint64_t ports) { std::ranges::fill(multicast_, ports); }

std::span<const SwitchAgent::Attribute> SwitchAgent::attributes() {
    using S = SwitchAgent;
    static constexpr std::array table{
        Attribute{SmAttribute::node_description, &S::get_node_description, nullptr},
        Attribute{SmAttribute::node_info, &S::get_node_info, nullptr},
        Attribute{SmAttribute::switch_info, &S::get_switch_info, &S::set_switch_info},
        Attribute{SmAttribute::guid_info, &S::get_guid_info, nullptr},
        Attribute{SmAttribute::port_info, &S::get_port_info, &S::set_port_info},
        Attribute{SmAttribute::pkey_table, &S::get_pkeys, &S::set_pkeys},
        Attribute{SmAttribute::sl_to_vl, &S::get_nothing, &S::keep_nothing},
        Attribute{SmAttribute::vl_arbitration, &S::get_nothing, &S::keep_nothing},
        Attribute{SmAttribute::linear_forwarding, &S::get_linear, &S::set_linear},
        Attribute{SmAttribute::multicast_forwarding, &S::get_multicast, &S::set_multicast},
    };
    return table;
}

bool SwitchAgent::process(std::span<std::byte, mad_bytes> mad, unsigned ingress, port::Time at) {
    const abi::View<MadHeader> header(mad.first<MadHeader::size>());
    const auto method = static_cast<MadMethod>(header.get<"method">());
    if (method != MadMethod::get && method != MadMethod::set)
        return false;
    const abi::View<Smp> smp(mad);
    const auto shown = smp.get<"mkey">();
    if (!management::admits(ports_[0], method, shown, at))
        return false;
    const Call call{header.get<"attr_mod">(), ingress};
    const auto status =
        management::carry_out(attributes(), header, mad.subspan<Smp::field<"data">::offset, 64>(),
                              [&](Attribute::Action action, Data data) { return (this->*action)(call, data); });
    if (header.get<"attr_id">() == static_cast<std::uint16_t>(SmAttribute::port_info) &&
        management::conceals_key(ports_[0], shown))
        abi::View<PortInfo>(mad.subspan<Smp::field<"data">::offset, PortInfo::size>()).set<"mkey">(0);
    header.set<"method">(static_cast<std::uint8_t>(MadMethod::get) | mad_response)
        .set<"status">(static_cast<std::uint16_t>(status));
    return true;
}

MadStatus SwitchAgent::get_node_description(const Call&, Data data) {
    std::ranges::transform(description, data.begin(), [](char c) { return static_cast<std::byte>(c); });
    return MadStatus::ok;
}

MadStatus SwitchAgent::get_node_info(const Call& call, Data data) {
    abi::View<NodeInfo>(data.first<NodeInfo::size>())
        .set<"base_version">(mad_base_version)
        .set<"class_version">(1)
        .set<"node_type">(switch_node)
        .set<"num_ports">(static_cast<std::uint8_t>(port_count()))
        .set<"sys_guid">(config_.guid)
        .set<"node_guid">(config_.guid)
        .set<"port_guid">(config_.guid)
        .set<"partition_cap">(static_cast<std::uint16_t>(groups_per_block))
        .set<"local_port_num">(static_cast<std::uint8_t>(call.ingress));
    return MadStatus::ok;
}

MadStatus SwitchAgent::get_switch_info(const Call&, Data data) {
    abi::View<SwitchInfo>(data.first<SwitchInfo::size>())
        .set<"linear_fdb_cap">(unicast_lids)
        .set<"multicast_fdb_cap">(multicast_lids)
        .set<"linear_fdb_top">(linear_top_)
        .set<"life_time">(life_time_)
        .set<"port_state_change">(has_port_change_)
        .set<"partition_enforcement_cap">(std::uint16_t{0});
    return MadStatus::ok;
}

MadStatus SwitchAgent::set_switch_info(const Call&, Data data) {
    const abi::ConstView<SwitchInfo> wanted(data.first<SwitchInfo::size>());
    if (wanted.get<"linear_fdb_top">() > unicast_lids)
        return MadStatus::bad_value;
    linear_top_ = wanted.get<"linear_fdb_top">();
    life_time_ = static_cast<std::uint8_t>(wanted.get<"life_time">());
    if (wanted.get<"port_state_change">())
        has_port_change_ = false; // written with 1: seen
    return MadStatus::ok;
}

MadStatus SwitchAgent::get_guid_info(const Call& call, Data data) {
    if (call.modifier != 0) // GUIDCap is 1
        return MadStatus::bad_value;
    abi::store<std::uint64_t, std::endian::big>(data.data(), config_.guid);
    return MadStatus::ok;
}

MadStatus SwitchAgent::get_port_info(const Call& call, Data data) {
    const auto number = management::port_of(call.modifier);
    if (number > port_count())
        return MadStatus::bad_value;
    const abi::View<PortInfo> info(data.first<PortInfo::size>());
    management::describe(ports_[number], config_.rate_gbps, info, abi::View<PortInfoExtended>(data));
    info.set<"local_port_num">(static_cast<std::uint8_t>(call.ingress)).set<"guid_cap">(std::uint8_t{1});
    if (number == 0) // the key is the switch's, and so are those that were wrong
        info.set<"mkey_violations">(management::counted(ports_[0].m_key_violations, bad_keys_forgiven_));
    else // port 0 has no queue
        info.set<"hoq_life">(lifetimes_[number].hoq_life).set<"vl_stall_count">(lifetimes_[number].vl_stall_count);
    return MadStatus::ok;
}

MadStatus SwitchAgent::set_port_info(const Call& call, Data data) {
    const auto number = management::port_of(call.modifier);
    if (number > port_count())
        return MadStatus::bad_value;
    const abi::ConstView<PortInfo> wanted(data.first<PortInfo::size>());
    const auto status = management::take_over(ports_[number], wanted, number != 0);
    if (status == MadStatus::ok && number == 0 && wanted.get<"mkey_violations">() == 0)
        bad_keys_forgiven_ = ports_[0].m_key_violations;
    if (status == MadStatus::ok)
        lifetimes_[number] = {.hoq_life = static_cast<std::uint8_t>(wanted.get<"hoq_life">()),
                              .vl_stall_count = static_cast<std::uint8_t>(wanted.get<"vl_stall_count">())};
    return status;
}

MadStatus SwitchAgent::get_linear(const Call& call, Data data) {
    const auto first = std::size_t{call.modifier} * lids_per_block;
    if (first >= linear_.size())
        return MadStatus::bad_value;
    std::ranges::transform(std::span(linear_).subspan(first, lids_per_block), data.begin(),
                           [](std::uint8_t port) { return std::byte{port}; });
    return MadStatus::ok;
}

MadStatus SwitchAgent::set_linear(const Call& call, Data data) {
    const auto first = std::size_t{call.modifier} * lids_per_block;
    if (first >= linear_.size())
        return MadStatus::bad_value;
    std::ranges::transform(data, linear_.begin() + static_cast<std::ptrdiff_t>(first),
                           [](std::byte port) { return std::to_integer<std::uint8_t>(port); });
    return MadStatus::ok;
}

namespace {
/// IBA 14.2.5.10: 32 groups a block, 16 ports a position.
struct MulticastBlock {
    explicit MulticastBlock(std::uint32_t modifier)
        : first((modifier & 0x1ff) * groups_per_block), shift((modifier >> 28) * ports_per_position) {}
    bool is_valid() const { return first < multicast_lids && shift < 64; }
    std::size_t first, shift;
};
} // namespace

MadStatus SwitchAgent::get_multicast(const Call& call, Data data) {
    const MulticastBlock block(call.modifier);
    if (!block.is_valid())
        return MadStatus::bad_value;
    for (std::size_t i = 0; i < groups_per_block; ++i)
        abi::store<std::uint16_t, std::endian::big>(
            data.data() + 2 * i, static_cast<std::uint16_t>(multicast_[block.first + i] >> block.shift));
    return MadStatus::ok;
}

MadStatus SwitchAgent::set_multicast(const Call& call, Data data) {
    const MulticastBlock block(call.modifier);
    if (!block.is_valid())
        return MadStatus::bad_value;
    for (std::size_t i = 0; i < groups_per_block; ++i) {
        auto& mask = multicast_[block.first + i];
        mask = (mask & ~(std::uint64_t{0xffff} << block.shift)) |
               std::uint64_t{abi::load<std::uint16_t, std::endian::big>(data.data() + 2 * i)} << block.shift;
    }
    return MadStatus::ok;
}

/// IBA 14.2.5.7: the lower half names a block of 32 P_Keys, of which there is one, the upper half a port.
bool SwitchAgent::has_pkeys(const Call& call) const {
    return (call.modifier & 0xffff) == 0 && call.modifier >> 16 <= port_count();
}

MadStatus SwitchAgent::get_pkeys(const Call& call, Data data) {
    if (!has_pkeys(call))
        return MadStatus::bad_value;
    abi::store<std::uint16_t, std::endian::big>(data.data(), 0xffff);
    return MadStatus::ok;
}

MadStatus SwitchAgent::set_pkeys(const Call& call, Data) {
    return has_pkeys(call) ? MadStatus::ok : MadStatus::bad_value; // partitions are not enforced
}

MadStatus SwitchAgent::get_nothing(const Call&, Data) { return MadStatus::ok; }
MadStatus SwitchAgent::keep_nothing(const Call&, Data) { return MadStatus::ok; } // one lane

} // namespace model::net
