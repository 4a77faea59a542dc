// The health of the device: fatal signs in the initialization segment, in the stock driver's order, and a counter that
// must move (PRM "Health buffer"). Reads registers when asked; decides nothing about recovery.
#pragma once

#include "abi/prm/init_segment.h"
#include "sw/base/result.h"
#include "sw/transport/mmio.h"
#include "sw/transport/transport.h"

#include <chrono>
#include <cstdint>

namespace sw::mlx {

class Health {
public:
    static constexpr std::chrono::seconds period{2};
    static constexpr unsigned misses_allowed = 3;

    Health(transport::Transport& transport, unsigned bar)
        : transport_(transport), segment_(transport, bar, 0),
          buffer_(transport, bar, abi::prm::InitialSegment::field<"health_buffer">::offset) {}

    /// Looks now. An Error is fatal: the device will not answer any more.
    Result<void> look();
    /// Looks when `period` has passed since the last look; for loops that wait.
    Result<void> look_now_and_then();

    /// The counter stood still for `misses_allowed` looks: suspicious, not fatal.
    bool is_compromised() const { return misses_ >= misses_allowed; }
    /// Syndrome of the last look; 0 is well.
    std::uint8_t syndrome() const { return syndrome_; }

private:
    transport::Transport& transport_;
    transport::Registers<abi::prm::InitialSegment> segment_;
    transport::Registers<abi::prm::HealthBuffer> buffer_;
    std::chrono::nanoseconds last_look_{std::chrono::nanoseconds::min() / 2};
    std::uint32_t last_counter_ = ~0u; // no counter has this value: it has 24 bits
    unsigned misses_ = 0;
    std::uint8_t syndrome_ = 0;
};

} // namespace sw::mlx
