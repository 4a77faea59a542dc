// SystemC shell of a cable: gives the core its clock, and the devices at its ends one call to say "my turn is over".
// Owns no sockets: ports are plain interfaces, since both ends live in the kernel's one thread.
#pragma once

#include "model/net/link.h"
#include "model/tlm/kernel_clock.h"

#include <systemc>

namespace model::net {

class LinkModule final : public sc_core::sc_module {
public:
    /// Where calls of a device at its ends may wait, packets are delivered in a process of the cable.
    LinkModule(const sc_core::sc_module_name& name, const LinkConfig& config, traces::Events events,
               tlm::Calls calls = tlm::Calls::at_once)
        : sc_module(name), calls_(calls), clock_([this](port::Time now) { link_.wake(now); }, calls),
          link_(config, clock_, events) {}

    Link& link() { return link_; }
    const Link& link() const { return link_; }
    /// To be called by a device at the end of every entry from outside (a doorbell, a timer). Without timing this
    /// delivers what was sent, and all that follows from it, before it returns; with timing the first arrival is
    /// scheduled already. Where calls of a device may wait, the cable's process delivers instead, so that the device at
    /// the other end does not wait for it.
    void flush() {
        if (link_.config().timed) [[likely]]
            return;
        if (calls_ == tlm::Calls::may_wait)
            clock_.wake_at(clock_.now());
        else
            link_.pump(clock_.now());
    }

private:
    tlm::Calls calls_;
    tlm::KernelClock clock_;
    Link link_;
};

} // namespace model::net
