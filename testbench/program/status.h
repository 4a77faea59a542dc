// How the program ends, for scripts.
#pragma once

namespace hcasim::status {

inline constexpr int good = 0;           ///< verified, no violation, served to the end
inline constexpr int failed = 1;         ///< ran, and is not verified; violations
inline constexpr int refused = 2;        ///< before it ran
inline constexpr int own_trouble = 3;    ///< nothing is known of the result: a process of the program has died
inline constexpr int output_lost = 3;    ///< something could not be written: a full disk, a closed standard output
inline constexpr int tested_nothing = 4; ///< an exploration whose actions never met a transfer under way somewhere
inline constexpr int damaged = 5;        ///< a recording cannot be read, or not to its end; what could be read is told
/// Ended by a signal, as shells count it: 130 for SIGINT, 143 for SIGTERM.
constexpr int signalled(int number) { return 128 + number; }

} // namespace hcasim::status
