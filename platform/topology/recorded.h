// The configuration that stands in a recording. Another revision of the program may have written it, so it is held
// against the keys of this one before anything is made of it: what a device is must not depend on a default that the
// recording does not know. Keys of the workload and of who looks on say nothing about a device; they are left out.
#pragma once

#include "platform/topology/config.h"

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace platform::topology {

/// What a key was when it was recorded, and what it is now.
struct KeyDifference {
    enum class Kind : std::uint8_t {
        added,   ///< the recording does not have it
        removed, ///< there is no such key any more
        changed, ///< its value is none here; or --set has changed it
    };
    Kind kind{};
    std::string key;
    std::string recorded, now; ///< values, or in the place of one why there is none
};
std::string_view name(KeyDifference::Kind kind);

struct RecordedConfig {
    Config config;
    std::vector<KeyDifference> differences; ///< all of them what somebody has said by an override
};

/// Reads `text`, which a recording called `name` has, then applies the overrides in their order, each "key=value".
///
/// An override explains the difference of its key: one that was added gets its value, one that was changed another. A
/// key that was removed is let go by "key=". The error has a line for each difference that nobody has explained, or for
/// each thing that is wrong.
std::expected<RecordedConfig, std::string> read_recorded(std::string_view text, std::string_view name,
                                                         std::span<const std::string> overrides);

} // namespace platform::topology
