// SystemC shell of an Ethernet switch: gives it its clock, plugs cables into it and has them deliver. Owns no sockets,
// as the cables do not.
#pragma once

#include "model/net/ethernet_switch.h"
#include "model/net/link_module.h"

#include <systemc>

#include <vector>

namespace model::net {

class EthernetSwitchModule final : public sc_core::sc_module {
public:
    EthernetSwitchModule(const sc_core::sc_module_name& name, const EthernetSwitchConfig& config, traces::Events events)
        : sc_module(name), clock_([this](port::Time now) { switch_.wake(now); }, tlm::Calls::at_once),
          switch_(config, clock_, events) {
        switch_.on_forwarded = [this] {
            for (auto* cable : cables_)
                cable->flush();
        };
    }
    EthernetSwitch& core() { return switch_; }
    const EthernetSwitch& core() const { return switch_; }
    /// Plugs end `end` of `cable` into port `number`.
    void plug(unsigned number, LinkModule& cable, unsigned end) {
        switch_.connect(number, cable.link().end(end));
        cable.link().attach(end, switch_.receiver(number));
        cables_.push_back(&cable);
    }

private:
    tlm::KernelClock clock_;
    EthernetSwitch switch_;
    std::vector<LinkModule*> cables_;
};

} // namespace model::net
