// The writes of devices into one memory that others look at: brings each in at its time (pcie/posted_writes), and tells
// who waits for one.
#pragma once

#include "model/pcie/posted_writes.h"
#include "model/tlm/kernel_clock.h"

#include <systemc>

namespace model::tlm {

class HeldWrites final : public pcie::PostedWrites {
public:
    /// To be made while the design is elaborated.
    HeldWrites();

    /// Notified (next delta) by a write while somebody watches.
    const sc_core::sc_event& written() const { return written_; }

private:
    void wake() override { notify_now(written_); }
    void schedule(port::Time due) override;
    void apply_due();

    sc_core::sc_event written_;
    KernelClock clock_;
};

} // namespace model::tlm
