// What the agents of channel adapters and switches say alike of a port (IBA 14.2.5.6 "PortInfo"), and what they take
// over alike when a subnet manager sets it.
#pragma once

#include "abi/prm/vport.h"
#include "abi/wire/mad.h"
#include "model/port/time.h"

#include <algorithm>
#include <cstdint>

namespace model::management {

/// What was decided of a port's end of its cable, and what became of that.
struct LinkControl {
    bool is_disabled = false; ///< until somebody enables it
    bool retrains = false;    ///< it is to go, and to come up again
    bool is_off = false;      ///< the cable has been told that it is disabled
    bool is_up = false;
};

/// What a subnet manager decides of a port.
struct ManagedPort {
    std::uint64_t m_key = 0, gid_prefix = 0xfe80000000000000;
    std::uint16_t lid = 0, sm_lid = 0, m_key_lease = 0;
    std::uint8_t lmc = 0, sm_sl = 0, m_key_protect = 0, subnet_timeout = 18, init_type = 0;
    std::uint8_t neighbor_mtu = abi::wire::mtu_4096, operational_vls = abi::wire::vl_0;
    abi::prm::PortState state = abi::prm::PortState::down;
    LinkControl link{};
    std::uint64_t m_key_violations = 0;        ///< since it was built
    port::Time m_key_lease_ends = port::never; ///< the protection ends then, unless its manager comes before
};

abi::prm::PortPhysicalState physical_state(const ManagedPort& port);

/// What CapabilityMask says of a port at this rate: every port of the model has extended speeds, and a second mask
/// where something is in it.
std::uint32_t speed_capabilities(double gbps);

/// The rows that every port has, at the end of a cable of rate `gbps`. Capabilities beside those of its speed, GUIDs
/// and the number of the port are the caller's.
void describe(const ManagedPort& port, double gbps, abi::View<abi::wire::PortInfo> out,
              abi::View<abi::wire::PortInfoExtended> extended);

/// Bytes of an MTU as PortInfo has it, 1 for 256 to 5 for 4096 (IBA 14.2.5.6).
constexpr std::uint32_t bytes_of_mtu(std::uint8_t code) { return 128u << code; }
/// Whether a manager that shows this M_Key may do so: whoever cannot show the right one may read up to level 1 of the
/// protection. One that may not is counted, and begins the lease: when no manager with the key has come until it ends,
/// the protection ends, so that another manager can take over where the first one is gone (IBA 14.2.4.1).
bool admits(ManagedPort& port, abi::wire::MadMethod method, std::uint64_t shown, port::Time at);
/// What a counter of bad keys says: those since a manager set it to 0, and no more than it holds.
constexpr std::uint16_t counted(std::uint64_t total, std::uint64_t forgiven) {
    return static_cast<std::uint16_t>(std::min<std::uint64_t>(total - forgiven, 0xffff));
}
/// At level 1 PortInfo does not tell the key to whoever cannot show it.
bool conceals_key(const ManagedPort& port, std::uint64_t shown);

/// Takes over what a Set(PortInfo) says, or nothing with the reason. Fields with 0 for "as it is" stay, and states go
/// up one by one. What it says of the link is noted, and done by apply_link_change(). has_link: false is port 0 of a
/// switch, whose state nobody sets.
abi::wire::MadStatus take_over(ManagedPort& port, abi::ConstView<abi::wire::PortInfo> wanted, bool has_link);

/// Does what was decided of the link, once the answer to whoever decided it is out. train(is_on): the cable's end; says
/// whether the link is up. changed(is_up): the port loses its link, or has one again.
template <class Train, class Changed> void apply_link_change(LinkControl& link, Train&& train, Changed&& changed) {
    if (link.is_disabled == link.is_off && !link.retrains)
        return;
    link.retrains = false;
    if (!link.is_off) {
        train(false);
        changed(false);
    }
    link.is_off = link.is_disabled;
    if (!link.is_off && train(true))
        changed(true);
}

} // namespace model::management
