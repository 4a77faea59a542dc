// A result of `hcasim run --json`, or one of a baseline's, as what can be compared: things (a transfer, a component, a
// cache, the counts of events) with values by name. Knows the shape of results, not their members: a new one is
// compared as soon as it is written.
#pragma once

#include "testbench/result/json_value.h"

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim {

struct ResultValue {
    std::string name;
    json::Scalar value;
};

struct Thing {
    std::string group; ///< "transfers"; empty: the run as a whole
    std::string name;  ///< "WRITE A -> B"; empty: the group is one thing
    std::vector<ResultValue> values;
};

/// The digest of the first events of a run.
struct EventMark {
    std::uint64_t events = 0, last_id = 0;
    std::int64_t time_ps = 0;
    std::string digest{};
};

struct ResultFile {
    std::string file;                                 ///< for a person
    std::string name;                                 ///< in a baseline: of the file without directory and ".json"
    std::string scenario, version, revision, stopped; ///< empty: it does not say
    std::vector<Thing> things;                        ///< in the order of the file
    std::vector<EventMark> marks;                     ///< a baseline has none
};

/// What a file that is compared may be.
inline constexpr std::string_view baseline_kind = "hcasim baseline";
inline constexpr std::uint64_t baseline_format = 1;

struct ComparedFile {
    bool is_baseline = false;
    std::vector<ResultFile> results; ///< of a result one
};

/// Reads what `text` is. The error is one line with the place: "B.json:3: ...".
std::expected<ComparedFile, std::string> read_compared(std::string_view text, const std::string& path);

/// "gpudirect" of "results/gpudirect.json".
std::string name_of_result(const std::string& path);

} // namespace hcasim
