// Function-level reset as an operating system does it (PCIe 6.0 §6.6.2): configuration space is kept, Initiate Function
// Level Reset set, 100 ms waited, the configuration written back.
#pragma once

#include "sw/transport/transport.h"

#include <array>
#include <cstdint>

namespace harness {

class FunctionReset {
public:
    /// Keeps standard configuration space and whether the function's own TLB is on; finds the device control register.
    explicit FunctionReset(sw::transport::Transport& function);
    /// One configuration write.
    void begin();
    /// 100 ms later the function is as it was configured. To be called by a thread of the simulation.
    void finish();

private:
    std::uint16_t find(std::uint8_t capability) const;

    sw::transport::Transport& function_;
    std::array<std::uint32_t, 16> dwords_{};
    std::uint16_t control_ = 0;
    std::uint32_t value_ = 0;
    bool has_device_tlb_on_ = false;
};

/// All of it. To be called by a thread of the simulation.
void reset_function(sw::transport::Transport& function);

} // namespace harness
