// A device, whatever it is: what its BARs answer (function.h), and what it does of itself. Plain C++ that reaches the
// outside through ports alone, so that a platform, a test and a fuzz target hold the same thing; whoever holds it
// brings the ports and calls it in time.
#pragma once

#include "model/pcie/function.h"
#include "model/port/clock.h"
#include "model/port/dma.h"
#include "model/port/interrupt.h"
#include "model/port/wire.h"
#include "model/time/usage.h"

#include <span>
#include <vector>

namespace model::pcie {

/// What one function of a device sends its requests and interrupts by.
struct FunctionPorts {
    port::Dma& dma;
    port::Interrupts& interrupts;
};

/// What a device has of the outside. All of them outlive it.
struct DevicePorts {
    port::Dma& dma; ///< of function 0, as are the interrupts
    port::Clock& clock;
    port::Interrupts& interrupts;
    std::span<port::Wire* const> wires{};       ///< of its network ports, in their order
    std::span<const FunctionPorts> functions{}; ///< of all its functions, for a device that has several
};

class Device : public Function {
public:
    /// What stands behind function `number` of its endpoint; function 0 is the device itself. Asked once for each
    /// function that its configuration names.
    virtual Function* function(unsigned number) { return number == 0 ? this : nullptr; }
    /// Time asked for by Clock::wake_at has come.
    virtual void wake(port::Time now) { static_cast<void>(now); }
    /// Where time plays no part: delivers what the device has sent to itself. False: there was nothing. Whoever calls
    /// bar_write() or wake() calls this afterwards until it says so, and each time lets the cables deliver first, since
    /// either may bring packets for the other.
    virtual bool settle() { return false; }
    /// The resources that its times are made of, in the order in which a request meets them, appended to `rows`: what
    /// a report says of a device whatever it is. Names live as long as the device. None: its times are constants.
    virtual void accounts(std::vector<time::Account>& rows) const { static_cast<void>(rows); }
    /// Nothing that the device sent to itself is under way.
    virtual bool is_quiet() const { return true; }
    /// Who takes what comes by the cable of network port `number`; nullptr: there is no such port.
    virtual port::Receiver* receiver(unsigned number) {
        static_cast<void>(number);
        return nullptr;
    }
};

} // namespace model::pcie
