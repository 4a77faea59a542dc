// The card: where the HCA's silicon meets its firmware image, behind one PCIe endpoint and one end of a cable. BAR 0
// holds the initialization segment, MSI-X (kept by the endpoint) and the UAR pages.
#pragma once

#include "firmware/device.h"
#include "model/hca/hca.h"
#include "model/net/link_module.h"
#include "model/pcie/endpoint_module.h"
#include "model/pcie/function.h"
#include "model/tlm/kernel_clock.h"
#include "model/tlm/process.h"
#include "traces/events.h"

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

    /// What the function tells the bus of itself.
    static model::pcie::FunctionConfig function_config(const model::hca::HcaConfig& config, const SlotConfig& slot);

    model::hca::Hca& hca() { return hca_; }
    const model::hca::Hca& hca() const { return hca_; }
    firmware::Device& firmware() { return firmware_; }
    /// Nothing that the port sent to itself is under way.
    bool is_quiet() const { return inside_.link().under_way(0) + inside_.link().under_way(1) == 0; }

    model::pcie::EndpointModule endpoint;

private:
    model::port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into,
                                    model::port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) override;
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    model::port::RegisterSpaces* spaces() override { return &firmware_.spaces(); }
    void reset(model::port::Time at) override;
    void wake(model::port::Time now);
    void flush();
    /// When a call enters the core that was to enter it at `at`: no earlier than it has its turn.
    model::port::Time present(model::port::Time at) const {
        return turn_.can_delay() ? std::max(at, clock_.now()) : at;
    }
    // Receiver: packets of the cable, for the core
    void receive(model::port::Packet& packet, model::port::Time at) override {
        const model::tlm::Turn::Hold hold(turn_);
        hca_.receive(packet, present(at));
    }
    void received_all(model::port::Time at) override;
    void ready(model::port::Time at) override;
    void link_changed(bool is_up, model::port::Time at) override {
        const model::tlm::Turn::Hold hold(turn_);
        hca_.link_changed(is_up, present(at));
    }

    /// What the port sends to itself, when that comes in a process of its own.
    struct Inside final : model::port::Receiver {
        HcaCard& card;
        explicit Inside(HcaCard& owner) : card(owner) {}
        void receive(model::port::Packet& packet, model::port::Time at) override { card.receive(packet, at); }
        void received_all(model::port::Time at) override { card.received_all(at); }
        void ready(model::port::Time at) override { card.ready(at); }
    };

    std::uint64_t uar_begin_;
    model::tlm::Turn turn_; ///< of everything that enters the core
    model::net::LinkModule& cable_;
    model::net::LinkModule inside_; ///< what the port sends to itself
    model::tlm::KernelClock clock_;
    model::hca::Hca hca_;
    firmware::Device firmware_;
    Inside inside_receiver_{*this};
};

} // namespace platform::card
