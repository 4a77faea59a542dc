// What the firmware knows between two commands: where the driver stands in the life cycle, the capability pages in
// force, the pages it lent, and what it has made of them. The objects of the data path themselves live in model/hca;
// handlers (firmware/handlers) change both. No queue, no mailbox, no time of its own (PRM "HCA initialization",
// "Resources").
#pragma once

#include "abi/prm/access_register.h"
#include "abi/prm/capability.h"
#include "abi/prm/eqe.h"
#include "abi/prm/vport.h"
#include "firmware/capability.h"
#include "firmware/management/traps.h"
#include "firmware/objects/account.h"
#include "firmware/objects/page_pool.h"
#include "firmware/objects/registry.h"
#include "model/hca/hca.h"
#include "model/management/performance.h"
#include "model/management/port_info.h"
#include "model/port/time.h"
#include "traces/events.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace firmware {

using objects::Kind;

/// Where the driver stands. `enabled` becomes `booted` when the boot pages are there.
enum class Phase : std::uint8_t { disabled = 1, enabled = 2, booted = 4, initialized = 8 };

/// An InfiniBand port as its subnet manager sees it (IBA 14.2.5.6). Without one the platform has chosen: the port
/// starts active, with the LID of the configuration.
struct InfinibandPort {
    /// Bits of the capability mask (IBA 14.2.5.6): what software on the host offers (a subnet manager, SNMP tunnelling,
    /// communication, device and vendor management), and what the port can do.
    static constexpr std::uint32_t changeable_capabilities = 1u << 1 | 1u << 16 | 1u << 17 | 1u << 19 | 1u << 20;
    static constexpr std::uint32_t traps = 1u << 3, system_image_guid = 1u << 11, client_reregistration = 1u << 25;

    /// Beside those of the port's speed.
    std::uint32_t capability_mask = traps | system_image_guid | client_reregistration;
    model::management::ManagedPort managed{.sm_lid = 1, .state = abi::prm::PortState::active, .link = {.is_up = true}};
};
/// What has crossed the port, or what of it a driver has seen (QUERY_VPORT_COUNTER with clear).
struct Traffic {
    struct Count {
        std::uint64_t packets = 0, bytes = 0;
        friend Count operator-(const Count& a, const Count& b) { return {a.packets - b.packets, a.bytes - b.bytes}; }
    };
    Count unicast_sent{}, unicast_received{}, multicast_sent{}, multicast_received{}, damaged{};
};
/// Datagrams and packets whose keys were bad (IBA 14.2.5.6, M_Key-, P_Key- and Q_KeyViolations).
struct Violations {
    std::uint64_t m_key = 0, p_key = 0, q_key = 0;
};
/// The P_Key table: what pkey_table_size advertises, code 0.
struct Pkeys {
    static constexpr std::size_t count = 128;
};

/// What the port remembers of what the driver told it.
struct PortSettings {
    std::array<std::byte, abi::prm::node_description_bytes> node_description{};
    std::uint16_t mtu = 1500;    ///< of the NIC vport context; nothing in the RoCE data path depends on it
    std::uint16_t admin_mtu = 0; ///< PMTU register
    bool roce_enabled = false;
    InfinibandPort infiniband;
};

class State {
public:
    /// Pages that the device accepts from the driver, in total.
    static constexpr std::size_t max_given_pages = 1u << 20;

    State(model::hca::Hca& core, traces::Events events);

    model::hca::Hca& hca;
    Capabilities capabilities;

    const model::hca::HcaConfig& config() const { return hca.config(); }
    const traces::Events& events() const { return events_; }

    // --- life cycle ---
    Phase phase() const;
    std::uint16_t issi = 0;
    void enable() { is_enabled_ = true; }
    void initialize();
    /// TEARDOWN_HCA: every object is destroyed. The pages stay, and so does what a subnet manager has set at the port,
    /// which is a node of the subnet without a driver too. A disabled port stays disabled.
    void tear_down();
    /// The port before any subnet manager has set anything.
    void reset_port();
    /// The LID and the GID prefix of the port are new: the wire learns them.
    void adopt_port();
    std::uint32_t capability_mask() const {
        return port.infiniband.capability_mask | model::management::speed_capabilities(config().port_rate_gbps);
    }
    /// Does what software decided of the port's link (Set(PortInfo), PAOS), once the answer is out.
    void apply_link_change(model::port::Time at);
    /// The port's link is gone, or up: its state follows and the driver is told.
    void link_changed(bool is_up, model::port::Time at) { link_changed(is_up, config().is_managed, at); }
    /// Tells the driver what became of the port.
    void tell(abi::prm::PortChange change, model::port::Time at);
    /// DISABLE_HCA, function-level reset: as after power-on.
    void reset();

    // --- objects ---
    objects::PagePool pages;
    objects::Account account;
    objects::Registry registry;
    /// The event queue to which finished commands are reported; none means that the driver polls.
    std::optional<abi::Eqn> command_eq;
    PortSettings port;
    model::management::PerformanceAgent performance{1, 1};
    Traffic cleared;     ///< of the counters of the vport
    Violations forgiven; ///< those that PortInfo counts no more
    management::Traps traps;
    Violations violations() const {
        return {port.infiniband.managed.m_key_violations, hca.counters().pkey_violations,
                hca.counters().qkey_violations};
    }

private:
    void set_limits() { registry.set_limits({capabilities.general(), config()}); }
    void link_changed(bool is_up, bool awaits_manager, model::port::Time at);

    traces::Events events_;
    bool is_enabled_ = false, is_initialized_ = false;
};

/// How many queue pairs a device gives whose numbers have so many bits: small ones are kept back.
std::uint32_t queue_pairs_of(unsigned log_max_qp);

} // namespace firmware
