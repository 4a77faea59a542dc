// How far a process may go before it has to hear of the others again: conservative windows (Chandy, Misra, IEEE
// Transactions on Software Engineering 1979; the windows are those of Nicol, JACM 1993). Pure arithmetic.
#pragma once

#include "model/port/time.h"

#include <algorithm>

namespace platform::ranks {

struct Windows {
    model::port::Time lookahead{}; ///< what a process does at a time has no effect in others for so long
    model::port::Time grid{};      ///< all stop at its multiples, to count together

    /// Nothing happens anywhere before `next`, so that a quiet time costs one round: the window begins there. Its end
    /// is what no effect of another process comes before.
    model::port::Time end_of(model::port::Time next) const { return std::min(next + lookahead, next_on_grid(next)); }
    /// The first multiple behind `time`.
    model::port::Time next_on_grid(model::port::Time time) const { return (time / grid + 1) * grid; }
};

} // namespace platform::ranks
