#include "model/management/port_info.h"

#include "model/management/link_rate.h"

#include <chrono>

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

std::uint32_t speed_capabilities(double gbps) {
    return has_extended_speeds | (port_speed(gbps).capabilities2 != 0 ? has_capability_mask2 : 0);
}

void describe(const ManagedPort& port, double gbps, abi::View<PortInfo> out, abi::View<PortInfoExtended> extended) {
    const auto speed = port_speed(gbps);
    out.set<"mkey">(port.m_key)
        .set<"gid_prefix">(port.gid_prefix)
        .set<"lid">(port.lid)
        .set<"sm_lid">(port.sm_lid)
        .set<"cap_mask">(speed_capabilities(gbps))
        .set<"mkey_lease_period">(port.m_key_lease)
        .set<"link_width_enabled">(static_cast<std::uint8_t>(speed.width_supported))
        .set<"link_width_supported">(static_cast<std::uint8_t>(speed.width_supported))
        .set<"link_width_active">(static_cast<std::uint8_t>(speed.width_active))
        .set<"link_speed_supported">(speed.speed_supported)
        .set<"link_speed_enabled">(speed.speed_supported)
        .set<"link_speed_active">(speed.speed_active)
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
    extended.set<"cap_mask2">(speed.capabilities2)
        .set<"link_speed_ext_active">(speed.extended_active)
        .set<"link_speed_ext_supported">(speed.extended_supported)
        .set<"link_speed_ext_enabled">(speed.extended_supported);
}

bool admits(ManagedPort& port, MadMethod method, std::uint64_t shown, port::Time at) {
    if (port.m_key_lease_ends <= at) {
        port.m_key_lease_ends = port::never;
        port.m_key_protect = 0;
    }
    if (port.m_key == 0 || shown == port.m_key) {
        port.m_key_lease_ends = port::never;
        return true;
    }
    if (method == MadMethod::get && port.m_key_protect <= 1)
        return true;
    ++port.m_key_violations;
    // A lease of 0 never ends.
    if (port.m_key_lease != 0 && port.m_key_lease_ends == port::never)
        port.m_key_lease_ends = at + std::chrono::seconds{port.m_key_lease};
    return false;
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
