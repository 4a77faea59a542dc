// A card: any device (model/pcie/device.h) behind one PCIe endpoint and at the ends of its cables. Gives the device its
// ports, takes turns where calls may wait, and lets the cables deliver after each entry; what the device does is the
// device's.
#pragma once

#include "model/net/link_module.h"
#include "model/pcie/device.h"
#include "model/pcie/endpoint_module.h"
#include "model/tlm/kernel_clock.h"
#include "model/tlm/posted_requests.h"
#include "platform/card/kinds.h"
#include "platform/record/recorded_device.h"
#include "traces/events.h"

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <systemc>
#include <vector>

namespace platform::card {

/// What a slot decides of the card in it.
struct SlotConfig {
    model::pcie::LinkConfig link;
    model::pcie::AtsConfig ats{};
    /// For a card whose calls may wait, since its memory may be with somebody outside of the simulation, as a served
    /// machine's: it, and the cards that it may write to. nullptr: calls return at once.
    model::tlm::Neighbours* neighbours = nullptr;
};

/// One end of a cable.
struct Plug {
    model::net::LinkModule& cable;
    unsigned end;
};

/// Where a card and what is on it say what they do.
struct CardEvents {
    traces::Events device{}, bus{};
    record::Boundary* boundary = nullptr; ///< where the device is recorded; nullptr: it is not
};

/// Makes the device of a card, on the ports that the card gives it. Called once, by the card's constructor.
using MakeDevice = std::function<std::unique_ptr<model::pcie::Device>(const model::pcie::DevicePorts& ports)>;

class CardModule final : public sc_core::sc_module {
public:
    /// `plugs` are where the device's network ports have their cables, in the order of the ports.
    CardModule(sc_core::sc_module_name name, const DeviceConfig& device, const SlotConfig& slot,
               std::span<const Plug> plugs = {}, const CardEvents& events = {});
    /// A device that is in no table. `functions` is what it tells the bus of its functions; its own events are where
    /// `make` sends them.
    CardModule(sc_core::sc_module_name name, const std::vector<model::pcie::FunctionConfig>& functions,
               const SlotConfig& slot, std::span<const Plug> plugs, const CardEvents& events, const MakeDevice& make);
    ~CardModule() override;

    /// What the bus and the cables see.
    model::pcie::Device& device() { return *device_; }
    /// The device itself, of which the caller knows what it is.
    template <std::derived_from<model::pcie::Device> D> D& as() {
        return dynamic_cast<D&>(recorded_ != nullptr ? recorded_->device() : *device_);
    }
    /// A testbench has put these bytes into the memory behind a BAR, beside the bus: a recording has them, too.
    void note_injected(unsigned bar, std::uint64_t offset, std::span<const std::byte> bytes) {
        if (recorded_ != nullptr)
            recorded_->note_injected(bar, offset, bytes);
    }
    /// Nothing that the device sent to itself is under way.
    bool is_quiet() const { return device_->is_quiet() && (posted_ == nullptr || posted_->is_empty()); }

private:
    class Front;
    class Entrance;
    std::vector<model::pcie::FunctionPart> parts(const std::vector<model::pcie::FunctionConfig>& functions,
                                                 const SlotConfig& slot);
    void make_device(record::Boundary* boundary, const MakeDevice& make);
    void plug_in();
    void wake(model::port::Time now);
    void flush();
    /// Begins a chain of calls of the card's own.
    model::tlm::Turn::Hold begin() {
        if (posted_ != nullptr) [[unlikely]]
            posted_->await_credit();
        return model::tlm::Turn::Hold(turn_);
    }
    /// When a call enters the device that was to enter it at `at`: no earlier than it has its turn.
    model::port::Time present(model::port::Time at) const {
        return turn_.can_delay() ? std::max(at, clock_.now()) : at;
    }

    std::vector<std::unique_ptr<Front>> fronts_; ///< what the endpoint calls, by function

public:
    model::pcie::EndpointModule endpoint;

private:
    model::tlm::Turn turn_;                              ///< of everything that enters the device
    std::unique_ptr<model::tlm::PostedRequests> posted_; ///< where calls may wait
    std::vector<Plug> plugs_;
    std::vector<model::port::Wire*> wires_;
    std::vector<model::pcie::FunctionPorts> function_ports_;
    std::vector<std::unique_ptr<Entrance>> entrances_;
    model::tlm::KernelClock clock_;
    std::unique_ptr<model::pcie::Device> device_;
    record::RecordedDevice* recorded_ = nullptr; ///< device_, where it is recorded
};

} // namespace platform::card
