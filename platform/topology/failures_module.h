// Failures (failures.h) with the kernel's clock.
#pragma once

#include "model/tlm/kernel_clock.h"
#include "platform/topology/failures.h"

#include <systemc>

#include <utility>

namespace platform::topology {

class FailuresModule final : public sc_core::sc_module {
public:
    FailuresModule(const sc_core::sc_module_name& name, const Description& platform, model::port::Time reroute,
                   Failures::Reroute on_reroute)
        : sc_module(name), clock_([this](model::port::Time now) { failures_.wake(now); }),
          failures_(platform, reroute, clock_, std::move(on_reroute)) {}
    Failures& core() { return failures_; }

private:
    model::tlm::KernelClock clock_;
    Failures failures_;
};

} // namespace platform::topology
