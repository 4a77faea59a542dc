// Two results held against each other, value by value. Pure: results in, differences out; who prints them is elsewhere.
#pragma once

#include "testbench/result/metrics.h"
#include "testbench/result/result_file.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hcasim {

enum class Likeness : std::uint8_t {
    equal,
    within,    ///< another value, which a tolerance allows or which the machine makes
    different, ///< or there in one of them only
};

struct ValueChange {
    std::string name;
    std::optional<json::Scalar> before, after; ///< nothing: it is not there
    Likeness verdict = Likeness::equal;
};

struct ThingChange {
    std::string group, name;
    std::vector<ValueChange> values; ///< also the equal ones
    Likeness verdict = Likeness::equal;
};

/// Between which events two runs parted.
struct Parting {
    EventMark same;                    ///< until here they were equal; 0 events: nothing is known to be
    std::optional<EventMark> not_same; ///< by here they were not any more; nothing: until their ends nobody knows
};

struct RunComparison {
    std::string name, scenario;
    std::string before_file, after_file;
    std::vector<ThingChange> things; ///< in the order of the second result, then what only the first has
    std::optional<Parting> parting;  ///< where the digests of all events differ, and both have marks
    std::string why_not;             ///< it was not compared: the other one is not there
    std::size_t differences = 0;     ///< values
    bool is_equal() const { return why_not.empty() && differences == 0; }
};

RunComparison compare(const ResultFile& before, const ResultFile& after, std::span<const Tolerance> tolerances);

/// An error when a tolerance is for nothing that these results have: with a likely name.
std::expected<void, std::string> all_apply(std::span<const Tolerance> tolerances,
                                           std::span<const ResultFile* const> results);

/// The value as a number; nothing: it is none.
std::optional<double> number_of(const json::Scalar& value);
/// "1,409", "true", "\"text\"", "-" of null.
std::string print(const json::Scalar& value);
/// "worse", "better", or nothing where that is not known.
std::string_view direction_of(const ValueChange& change);

} // namespace hcasim
