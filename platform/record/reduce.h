// Makes a trace small that shows a difference: first without all that comes behind it and all that is of other devices,
// then without calls of the device, in ever smaller groups, as long as the difference stays the same one. What is kept
// of a call is all of it, and its answers, as they were recorded; so whatever is left is again a recording, of a
// shorter life, and a device that lives as the recorded one did plays it without a difference.
//
// Of a send queue first most of the messages go that were before the one that matters (`work_gap`). Objects that
// nothing needs go, too, and the later ones have their numbers (`objects`).
#pragma once

#include "platform/record/record_store.h"

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace platform::record {

/// What a replay has found in a trace.
struct Sighting {
    std::string what;         ///< class and field: two with the same text are the same difference
    std::uint64_t record = 0; ///< in the trace that was played; 0: behind its last one, or while the device was made
};
/// Plays a trace. Nothing: there is no difference, or it cannot be played.
using Play = std::function<std::optional<Sighting>(traces::codec::Source& trace)>;
using OpenTrace = std::function<std::expected<std::unique_ptr<traces::codec::Source>, std::string>()>;

struct ReduceProgress {
    std::uint64_t records = 0; ///< of the smallest trace so far
    unsigned plays = 0;
    std::chrono::steady_clock::duration elapsed{};
};

struct ReduceOptions {
    std::vector<std::uint32_t> interfaces{}; ///< of the device that is looked at
    Sighting wanted{};                       ///< in the whole trace
    std::chrono::steady_clock::time_point deadline{};
    std::size_t most_bytes = std::size_t{512}
                             << 20; ///< of records in memory; of a longer trace only the end is cut off
    std::function<void(const ReduceProgress&)> tell = [](const ReduceProgress&) {};
};

struct Reduced {
    std::uint64_t records_cut = 0; ///< after the end and other devices were cut off
    std::uint64_t records = 0;     ///< of the result
    std::uint64_t record = 0;      ///< where in the result the difference is
    unsigned plays = 0, known = 0; ///< traces that were played; those that had been before
    bool is_out_of_time = false;   ///< there was more to try
    bool is_only_cut = false;      ///< too long to be held
};

/// The error is for a person: the trace cannot be read, the difference does not come again, the output is lost.
std::expected<Reduced, std::string> reduce(const OpenTrace& open, const ReduceOptions& options, const Play& play,
                                           traces::codec::Destination& into);

} // namespace platform::record
