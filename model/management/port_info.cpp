#include "model/management/port_info.h"

namespace model::management {

using namespace abi::wire;
using abi::prm::PortPhysicalState;
using abi::prm::PortState;

namespace {
constexpr std::uint32_t keep = 0;
constexpr std::uint32_t code_of(PortState state) { return static_cast<std::uint32_t>(state); }
} // namespace

PortPhysicalState physical_state(const ManagedPort& port) {
    if (port.link.is_disabled)
        return PortPhysicalState::disabled;
    return port.state == PortState::down ? PortPhysicalState::polling : PortPhysicalState::link_up;
}

void describe(const ManagedPort& port, abi::View<PortInfo> out, abi::View<PortInfoExtended> extended) {
    out.set<"mkey">(port.m_key)
        .set<"gid_prefix">(port.gid_prefix)
        .set<"lid">(port.lid)
        .set<"sm_lid">(port.sm_lid)
        .set<"cap_mask">(extended_speeds)
        .set<"mkey_lease_period">(port.m_key_lease)
        .set<"link_width_enabled">(link_width_4x)
        .set<"link_width_supported">(link_width_4x)
        .set<"link_width_active">(link_width_4x)
        .set<"link_speed_supported">(link_speeds_to_qdr)
        .set<"link_speed_enabled">(link_speeds_to_qdr)
        .set<"link_speed_active">(link_speed_qdr)
        .set<"port_state">(code_of(port.state))
        .set<"physical_state">(static_cast<std::uint32_t>(physical_state(port)))
        .set<"mkey_protect">(port.m_key_protect)
        .set<"lmc">(port.lmc)
        .set<"neighbor_mtu">(port.neighbor_mtu)
        .set<"master_sm_sl">(port.sm_sl)
        .set<"vl_cap">(vl_0)
        .set<"init_type_reply">(port.init_type)
        .set<"mtu_cap">(mtu_4096)
        .set<"operational_vls">(port.operational_vls)
        .set<"subnet_timeout">(port.subnet_timeout);
    // A port that says 10 Gbit/s here and something there runs at what it says there (IBA 14.2.5.6,
    // LinkSpeedExtActive).
    extended.set<"link_speed_ext_active">(link_speed_ext_edr)
        .set<"link_speed_ext_supported">(link_speeds_ext_to_edr)
        .set<"link_speed_ext_enabled">(link_speeds_ext_to_edr);
}

bool admits(const ManagedPort& port, MadMethod method, std::uint64_t shown) {
    return port.m_key == 0 || shown == port.m_key || (method == MadMethod::get && port.m_key_protect <= 1);
}

bool conceals_key(const ManagedPort& port, std::uint64_t shown) {
    return port.m_key_protect == 1 && shown != port.m_key;
}

MadStatus take_over(ManagedPort& port, abi::ConstView<PortInfo> wanted, bool has_link) {
    const auto to = wanted.get<"port_state">();
    const auto now = code_of(port.state);
    const bool goes_down = to == code_of(PortState::down);
    if (to > code_of(PortState::active) || wanted.get<"neighbor_mtu">() > mtu_4096 ||
        wanted.get<"operational_vls">() > vl_0)
        return MadStatus::bad_value;
    const auto physical = static_cast<PortPhysicalState>(wanted.get<"physical_state">());
    if (physical == PortPhysicalState::sleep) // testbench/conformance/deviations.h
        return MadStatus::bad_value;
    if (to != keep && !goes_down && (port.state == PortState::down || (to != now && to != now + 1)))
        return MadStatus::bad_value;

    port.m_key = wanted.get<"mkey">();
    port.m_key_protect = static_cast<std::uint8_t>(wanted.get<"mkey_protect">());
    port.m_key_lease = wanted.get<"mkey_lease_period">();
    port.gid_prefix = wanted.get<"gid_prefix">();
    port.lid = wanted.get<"lid">();
    port.lmc = static_cast<std::uint8_t>(wanted.get<"lmc">());
    port.sm_lid = wanted.get<"sm_lid">();
    port.sm_sl = static_cast<std::uint8_t>(wanted.get<"master_sm_sl">());
    port.subnet_timeout = static_cast<std::uint8_t>(wanted.get<"subnet_timeout">());
    port.init_type = static_cast<std::uint8_t>(wanted.get<"init_type">());
    if (const auto mtu = wanted.get<"neighbor_mtu">(); mtu != keep)
        port.neighbor_mtu = static_cast<std::uint8_t>(mtu);
    if (const auto lanes = wanted.get<"operational_vls">(); lanes != keep)
        port.operational_vls = static_cast<std::uint8_t>(lanes);
    if (!has_link)
        return MadStatus::ok;
    // IBA 14.2.5.6: a link goes to sleep, polls or is disabled on command; its other states are not for software to
    // set.
    const bool is_disabled = physical == PortPhysicalState::disabled;
    const bool polls = physical == PortPhysicalState::polling;
    if (port.state != PortState::down) {
        if (goes_down || is_disabled || polls) {
            port.link.retrains = !is_disabled;
            port.state = PortState::down;
        } else if (to != keep) {
            port.state = static_cast<PortState>(to);
        }
    }
    if (is_disabled || polls)
        port.link.is_disabled = is_disabled;
    return MadStatus::ok;
}

} // namespace model::management
