// What a replay says, to people and to programs: one text, and one JSON object (replay.schema.json), for each device.
// Pure: values in, text out.
#pragma once

#include "testbench/hcasim/replay.h"
#include "testbench/hcasim/replay_report.h"
#include "traces/codec/fault.h"

#include <optional>
#include <string>

namespace hcasim {

/// How one device of one recording was played.
struct DeviceReplay {
    std::string trace{}, part{};
    ReplayMode mode = ReplayMode::strict;
    std::string again{}; ///< the command line that shows it again
    std::uint64_t records = 0, confirmed = 0, calls = 0;
    double wall_seconds = 0;
    std::vector<platform::topology::KeyDifference> differences{};
    std::optional<DivergenceReport> divergence{};
    std::optional<traces::codec::Fault> fault{}; ///< the recording cannot be read on
    std::string complaint{};                     ///< it could not be played at all, or its process ended
};

enum class Verdict : std::uint8_t {
    same,
    diverged,
    truncated,  ///< the same as far as the recording goes
    unreadable, ///< the same as far as it can be read
    ended,      ///< it could not be played, or its process ended
};
std::string_view name(Verdict verdict);
Verdict verdict(const DeviceReplay& replay);
/// The exit status of one.
int status_of(const DeviceReplay& replay);
/// Of all: the gravest that is there.
int gravest(int one, int other);

std::string print_text(const DeviceReplay& replay);
/// On one line.
std::string print_json(const DeviceReplay& replay);

/// A word of a command line, quoted where a shell would take it apart.
std::string shell_word(std::string_view word);

} // namespace hcasim
