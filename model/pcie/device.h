// A device, whatever it is: what its BARs answer (function.h), and what it does of itself. Plain C++ that reaches the
// outside through ports alone, so that a platform, a test and a fuzz target hold the same thing; whoever holds it
// brings the ports and calls it in time.
#pragma once

#include "model/pcie/function.h"
#include "model/port/clock.h"
#include "model/port/dma.h"
#include "model/port/interrupt.h"
#include "model/port/wire.h"

#include <span>

namespace model::pcie {

/// What a device has of the outside. All of them outlive it.
struct DevicePorts {
    port::Dma& dma;
    port::Clock& clock;
    port::Interrupts& interrupts;
    std::span<port::Wire* const> wires{}; ///< of its network ports, in their order
};

class Device : public Function {
public:
    /// Time asked for by Clock::wake_at has come.
    virtual void wake(port::Time now) { static_cast<void>(now); }
    /// Where time plays no part: delivers what the device has sent to itself. False: there was nothing. Whoever calls
    /// bar_write() or wake() calls this afterwards until it says so, and each time lets the cables deliver first, since
    /// either may bring packets for the other.
    virtual bool settle() { return false; }
    /// Nothing that the device sent to itself is under way.
    virtual bool is_quiet() const { return true; }
    /// Who takes what comes by the cable of network port `number`; nullptr: there is no such port.
    virtual port::Receiver* receiver(unsigned number) {
        static_cast<void>(number);
        return nullptr;
    }
};

} // namespace model::pcie
