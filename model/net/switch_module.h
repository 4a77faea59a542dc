// SystemC shell of a switch: gives it its clock, plugs cables into it and has them deliver. Owns no sockets, as the
// cables do not.
#pragma once

#include "model/net/infiniband_switch.h"
#include "model/net/link_module.h"

#include <systemc>

#include <vector>

namespace model::net {

class SwitchModule final : public sc_core::sc_module {
public:
    SwitchModule(const sc_core::sc_module_name& name, const SwitchConfig& config, traces::Events events)
        : sc_module(name), clock_([this](port::Time now) { switch_.wake(now); }, tlm::Calls::at_once),
          switch_(config, events, &clock_) {
        switch_.on_forwarded = [this] {
            for (auto* cable : cables_)
                cable->flush();
        };
    }
    InfinibandSwitch& core() { return switch_; }
    const InfinibandSwitch& core() const { return switch_; }
    /// Plugs end `end` of `cable` into port `number`.
    void plug(unsigned number, LinkModule& cable, unsigned end) {
        const auto blocks = cable.link().config().credit_blocks;
        switch_.connect(number, cable.link().end(end), blocks != 0 ? blocks : Credits::most,
                        &cable.link().counters(end));
        switch_.set_link(number, cable.link(), end);
        cable.link().attach(end, switch_.receiver(number));
        cables_.push_back(&cable);
    }

private:
    tlm::KernelClock clock_;
    InfinibandSwitch switch_;
    std::vector<LinkModule*> cables_;
};

} // namespace model::net
