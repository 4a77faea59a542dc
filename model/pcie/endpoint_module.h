// A PCIe endpoint: one end of a link and the functions behind it, each with a configuration space and BARs of its own.
// Gives what comes by the link to the function that it is for; all else is the function's (function_module.h). The
// functions are numbered from 0 without gaps, as device 0 of their bus. PCIe 6.0 §7.3, §2.2.6.2.
#pragma once

#include "model/pcie/function_module.h"

#include <array>
#include <deque>
#include <span>
#include <systemc>

namespace model::pcie {

/// A function that an endpoint is to have, and the device's side of it.
struct FunctionPart {
    FunctionConfig config;
    Function& function;
};

class EndpointModule final : public sc_core::sc_module, private tlm::PcieComponent {
public:
    /// Each `config` must be free of faults (find_fault). The link is what function 0 says of it.
    EndpointModule(sc_core::sc_module_name name, std::span<const FunctionPart> functions);
    EndpointModule(sc_core::sc_module_name name, const FunctionConfig& config, Function& function)
        : EndpointModule(name, std::array{FunctionPart{config, function}}) {}

    static constexpr unsigned max_functions = 8;

    tlm::PciePort port;

    unsigned function_count() const { return static_cast<unsigned>(functions_.size()); }
    EndpointFunction& function(unsigned number) { return functions_[number]; }
    const EndpointFunction& function(unsigned number) const { return functions_[number]; }

    // All of its functions
    /// Where DmaRead, DmaWritten and InterruptRaised go.
    void set_events(traces::Events events) {
        for_each([&](auto& function) { function.set_events(events); });
    }
    /// Called before memory may get another owner: reads have completed, and packets get a copy of the bytes that they
    /// were lent.
    void drain() {
        for_each([](auto& function) { function.drain(); });
    }
    /// The same where only these bytes do.
    void drain(std::span<const std::byte> memory) {
        for_each([&](auto& function) { function.drain(memory); });
    }
    /// A mistake on purpose, to see whether it is found: loans of this card are not drained.
    void plant_missing_drains(port::Giver giver) {
        for_each([&](auto& function) { function.plant_missing_drains(giver); });
    }
    /// A reset of the link: everything at its reset values, but what is sticky (§6.6.1).
    void reset(port::Time at) {
        for_each([&](auto& function) { function.reset(at); });
    }

    /// The link, each way, and the tags of the functions as resources, appended to `rows`. None: they have no time.
    void accounts(std::vector<time::Account>& rows) const;

    // Function 0, which most devices have alone
    port::Dma& dma() { return first().dma(); }
    port::Dma& dma(std::uint32_t pasid) { return first().dma(pasid); }
    tlm::Initiator& initiator() { return first().initiator(); }
    port::Interrupts& interrupts() { return first().interrupts(); }
    using PageRequest = EndpointFunction::PageRequest;
    port::DmaResult request_page(const PageRequest& request, port::Time at) {
        return first().request_page(request, at);
    }
    const DeviceTlb& tlb() const { return function(0).tlb(); }
    void set_watch(LandingWatch* watch) { first().set_watch(watch); }
    abi::pcie::Bdf requester() const { return function(0).requester(); }
    const EndpointSpace& space() const { return function(0).space(); }
    const Msix& msix() const { return function(0).msix(); }
    Volume volume(TargetKind kind) const { return function(0).volume(kind); }
    std::size_t known_windows() const { return function(0).known_windows(); }
    void invalidate(unsigned bar) { first().invalidate(bar); }
    void note_failed_write(port::DmaStatus status) { first().note_failed_write(status); }

private:
    // PcieComponent: requests of others
    void receive(unsigned, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                 sc_core::sc_time& delay) override;
    bool receive_direct(unsigned, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                        ::tlm::tlm_dmi& dmi) override;
    void receive_invalidate(unsigned, Range range) override {
        for_each([&](auto& function) { function.forget(range); });
    }
    void linked(unsigned, const LinkConfig& negotiated) override {
        for_each([&](auto& function) { function.set_link(negotiated); });
    }

    template <class F> void for_each(F&& f) {
        for (auto& function : functions_)
            f(function);
    }
    EndpointFunction& first() { return functions_.front(); }
    port::DmaStatus receive_memory(::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                   sc_core::sc_time& delay);
    /// The function that a configuration request or a message is for; nullptr: there is none of that number.
    EndpointFunction* target_of(const tlm::Extension& request);

    std::deque<EndpointFunction> functions_;
};

} // namespace model::pcie
