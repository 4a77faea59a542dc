// SystemC shell of a cable: gives the core its clock by one event, and the devices at its ends one call to say "my turn
// is over". Owns no sockets: ports are plain interfaces, since both ends live in the kernel's one thread.
#pragma once

#include "model/net/link.h"

#include <systemc>

namespace model::net {

class LinkModule final : public sc_core::sc_module, public port::Clock {
public:
    LinkModule(const sc_core::sc_module_name& name, const LinkConfig& config, traces::Events events);

    Link& link() { return link_; }
    /// To be called by a device at the end of every entry from outside (a doorbell, a timer). Untimed: delivers inline
    /// what was sent, and all that follows from it. Timed: nothing to do, the first arrival is scheduled already.
    void flush() {
        if (!link_.config().timed)
            link_.pump(now());
    }

    port::Time now() const override;
    void wake_at(port::Time at) override;

private:
    void on_wake();

    sc_core::sc_event wake_;
    port::Time next_ = port::never; ///< when `wake_` fires
    Link link_;
};

} // namespace model::net
