// The GPUDirect scenario as programs of real machines: a thread for each of the two, on transports that somebody else
// has opened; the cards are behind them, wherever that is. Reports what the drivers see; what happens inside of the
// cards is theirs.
#pragma once

#include "sw/transport/transport.h"
#include "testbench/scenario/gpudirect.h"
#include "testbench/scenario/result.h"

#include <array>
#include <string>
#include <string_view>

namespace scenario {

/// The cards of one machine.
struct Cards {
    std::string name; ///< "A"
    sw::transport::Transport& hca;
    sw::transport::Transport& gpu;
};

/// Moves the payload from the first machine's VRAM to the second's, back, and there again. What goes wrong is in the
/// result. `options.progress` is called by the thread that calls this.
Result drive_gpudirect(const std::array<Cards, 2>& machines, GpuDirectOptions options, bool is_ipv6);

/// "WRITE A -> B" of "WRITE".
std::string_view direction_of(std::string_view step);

} // namespace scenario
