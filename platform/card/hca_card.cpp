#include "platform/card/hca_card.h"

namespace platform::card {

namespace {
/// The card as it finds its cable.
model::hca::HcaConfig at_end_of(const model::net::LinkConfig& cable, model::hca::HcaConfig config) {
    config.port_rate_gbps = cable.rate_gbps;
    return config;
}

model::pcie::FunctionConfig in_slot(const SlotConfig& slot, model::pcie::FunctionConfig function) {
    function.link = slot.link;
    function.ats = slot.ats;
    return function;
}
} // namespace

HcaCard::HcaCard(sc_core::sc_module_name name, const model::hca::HcaConfig& config, const SlotConfig& slot,
                 model::net::LinkModule& cable, unsigned end, traces::Events device, traces::Events bus)
    : sc_module(name), endpoint("pcie", in_slot(slot, Mlx5Device::function_config(config)), *this), turn_(slot.calls),
      cable_(cable), clock_([this](model::port::Time now) { wake(now); }, slot.calls),
      device_(at_end_of(cable.link().config(), config),
              {endpoint.dma(), clock_, endpoint.interrupts(), cable.link().end(end)}, device) {
    endpoint.set_events(bus);
    const bool takes_turns = slot.calls == model::tlm::Calls::may_wait;
    cable.link().attach(end, takes_turns ? static_cast<model::port::Receiver&>(*this) : device_);
}

model::port::DmaResult HcaCard::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into,
                                         model::port::Time at) {
    // Does not wait for its turn: it changes nothing that a chain of calls relies on, and whoever reads may be the one
    // who has what the device waits for.
    return device_.bar_read(bar, offset, into, at);
}

void HcaCard::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) {
    const model::tlm::Turn::Hold hold(turn_);
    device_.bar_write(bar, offset, from, present(at));
    flush();
}

void HcaCard::reset(model::port::Time at) {
    const model::tlm::Turn::Hold hold(turn_);
    device_.reset(at);
}

void HcaCard::wake(model::port::Time now) {
    const model::tlm::Turn::Hold hold(turn_);
    device_.wake(present(now));
    flush();
}

/// Delivers what was sent when time plays no part.
void HcaCard::flush() {
    do
        cable_.flush();
    while (device_.settle());
}

} // namespace platform::card
