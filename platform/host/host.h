// One machine: DRAM, root complex, switches, and slots that cards are plugged into. Enumerated by configuration cycles
// when the simulation starts, so that a driver's thread finds everything in place. Has no cards and no drivers of its
// own.
#pragma once

#include "model/pcie/endpoint_module.h"
#include "model/pcie/root_complex_module.h"
#include "model/pcie/switch_module.h"
#include "platform/host/bar_access.h"
#include "platform/host/enumerate.h"
#include "platform/host/interrupts.h"
#include "platform/host/memory.h"
#include "platform/host/software.h"
#include "platform/observe/ownership/ownership.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <systemc>
#include <vector>

namespace platform::host {

/// Where something is plugged in: a port of the root complex or of a switch, with a switch or a slot for a card.
struct Place {
    std::optional<std::size_t> parent{}; ///< the place of a switch, earlier in the list; none: the root complex
    unsigned port = 0;                   ///< of the parent
    bool is_switch = false;
    model::pcie::LinkConfig link{}; ///< to the parent
    std::string name{};             ///< of a switch, among the modules of its host
};

struct HostConfig {
    std::uint64_t memory_bytes = std::uint64_t{4} << 30;
    bool timed = true; ///< of all links
    /// The tree; none: one switch, or none, and slots below it and at root ports, as the next four say.
    std::vector<Place> places{};
    unsigned switch_slots = 2;               ///< downstream ports of the switch; 0: no switch
    unsigned root_slots = 0;                 ///< root ports with a slot of their own
    model::pcie::LinkConfig upstream_link{}; ///< root port to switch
    model::pcie::LinkConfig device_link{};   ///< to a slot
    unsigned root_ports = 0;                 ///< at least so many, the others are empty
    model::port::Time dram_read_latency = std::chrono::nanoseconds{90};
    model::pcie::HostCacheConfig cache{};                   ///< in front of DRAM, for devices
    unsigned max_payload = 512, max_read_request = 512;     ///< what enumeration programs at most
    std::optional<model::iommu::IommuModuleConfig> iommu{}; ///< off until software turns it on
    bool peer_forwarding = true; ///< the root complex passes requests of devices on to devices
    model::pcie::Acs acs{};      ///< what firmware switches on at ports
    BarAccessConfig bar_access{};
    SoftwareConfig software{};
};

class Host final : public sc_core::sc_module, private ConfigAccess {
public:
    Host(sc_core::sc_module_name name, const HostConfig& config);

    /// Puts a card into a slot, before the simulation starts. Slots are numbered as their places are listed; without a
    /// list the switch's come first, then the root ports'.
    void plug(unsigned slot, model::pcie::EndpointModule& card);
    unsigned slot_count() const { return static_cast<unsigned>(slots_.size()); }

    Memory& memory() { return memory_; }
    model::pcie::RootComplexModule& root_complex() { return root_complex_; }
    Interrupts& interrupts() { return interrupts_; }
    BarAccess& bar_access() { return bar_access_; }
    const HostConfig& config() const { return config_; }

    /// Where the switches, in the order of their places, and the root complex report what they do not let pass, and the
    /// remapping unit its faults.
    void set_events(std::span<const traces::Events> switch_events, traces::Events root_complex_events);
    void set_events(traces::Events switch_events, traces::Events root_complex_events) {
        set_events(std::span(&switch_events, switches_.empty() ? 0 : 1), root_complex_events);
    }

    /// Is told who owns which memory; outlives this. nullptr: nobody.
    void set_ownership(observe::ownership::Ownership* ownership) { ownership_ = ownership; }
    observe::ownership::Ownership* ownership() const { return ownership_; }

    /// What the last enumeration found; empty before the simulation starts.
    const Enumeration& enumeration() const { return enumeration_; }
    /// Enumerates again, as after a reset of the machine.
    void enumerate();

    /// From switch `number` to what it is plugged into; nullptr without such a switch.
    model::pcie::Link* upstream_link(std::size_t number = 0) const;
    /// Of a slot; nullptr when it is empty.
    model::pcie::Link* slot_link(unsigned slot);
    /// All that are up: those of the switches first, then slots in order.
    std::vector<model::pcie::Link*> links();

private:
    void start_of_simulation() override;
    std::uint32_t read(abi::pcie::Bdf target, std::uint16_t offset, unsigned bytes) override;
    void write(abi::pcie::Bdf target, std::uint16_t offset, unsigned bytes, std::uint32_t value) override;
    model::tlm::PciePort& port_of(const Place& place);

    struct Branch {
        std::size_t place;
        std::unique_ptr<model::pcie::SwitchModule> module;
    };
    HostConfig config_; ///< with all places
    model::pcie::RootComplexConfig root_config_;
    Memory memory_;
    Interrupts interrupts_;
    model::pcie::RootComplexModule root_complex_;
    BarAccess bar_access_;
    std::vector<Branch> switches_;
    std::vector<std::size_t> slots_; ///< places of them
    std::vector<model::pcie::EndpointModule*> cards_;
    Enumeration enumeration_;
    observe::ownership::Ownership* ownership_ = nullptr;
};

} // namespace platform::host
