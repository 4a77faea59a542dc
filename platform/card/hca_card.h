// The card: an HCA behind one PCIe endpoint and one end of a cable. Gives the device its ports, takes turns where calls
// may wait, and lets the cable deliver after each entry; what the device does is the device's.
#pragma once

#include "model/net/link_module.h"
#include "model/pcie/endpoint_module.h"
#include "model/tlm/kernel_clock.h"
#include "model/tlm/process.h"
#include "platform/card/mlx5_device.h"

#include <algorithm>
#include <systemc>

namespace platform::card {

/// What a card has towards the bus, beside what its HCA asks for.
struct SlotConfig {
    model::pcie::LinkConfig link;
    model::pcie::AtsConfig ats{};
    /// may_wait: its memory may be with somebody outside of the simulation, as a served machine's.
    model::tlm::Calls calls = model::tlm::Calls::at_once;
};

class HcaCard final : public sc_core::sc_module, private model::pcie::Function, private model::port::Receiver {
public:
    /// Plugs itself into end `end` of `cable`. `device` and `bus` are where its HCA and its endpoint report events.
    HcaCard(sc_core::sc_module_name name, const model::hca::HcaConfig& config, const SlotConfig& slot,
            model::net::LinkModule& cable, unsigned end, traces::Events device, traces::Events bus);

    model::hca::Hca& hca() { return device_.hca(); }
    const model::hca::Hca& hca() const { return device_.hca(); }
    firmware::Device& firmware() { return device_.firmware(); }
    bool is_quiet() const { return device_.is_quiet(); }

    model::pcie::EndpointModule endpoint;

private:
    // Function: what reaches the endpoint, for the device
    model::port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into,
                                    model::port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) override;
    std::span<std::byte> direct(unsigned bar, std::uint64_t offset) override { return device_.direct(bar, offset); }
    model::port::RegisterSpaces* spaces() override { return device_.spaces(); }
    void reset(model::port::Time at) override;
    void wake(model::port::Time now);
    void flush();
    /// When a call enters the device that was to enter it at `at`: no earlier than it has its turn.
    model::port::Time present(model::port::Time at) const {
        return turn_.can_delay() ? std::max(at, clock_.now()) : at;
    }
    // Receiver: packets of the cable, where they have to take turns with other calls
    void receive(model::port::Packet& packet, model::port::Time at) override {
        const model::tlm::Turn::Hold hold(turn_);
        device_.receive(packet, present(at));
    }
    void received_all(model::port::Time at) override {
        const model::tlm::Turn::Hold hold(turn_);
        device_.received_all(present(at));
    }
    void ready(model::port::Time at) override {
        const model::tlm::Turn::Hold hold(turn_);
        device_.ready(present(at));
    }
    void link_changed(bool is_up, model::port::Time at) override {
        const model::tlm::Turn::Hold hold(turn_);
        device_.link_changed(is_up, present(at));
    }

    model::tlm::Turn turn_; ///< of everything that enters the device
    model::net::LinkModule& cable_;
    model::tlm::KernelClock clock_;
    Mlx5Device device_;
};

} // namespace platform::card
