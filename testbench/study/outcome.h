// What became of a point.
#pragma once

#include "testbench/study/study.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace study {

enum class Status : std::uint8_t {
    done,    ///< ran, and every byte was verified
    failed,  ///< ran, and was not verified, or has not what a metric is made of
    refused, ///< the platform cannot be so
    crashed, ///< ended by a signal, or said nothing that can be read
    late,    ///< not finished within its time
};
/// As a results file has them, in the order of the enumeration.
inline constexpr std::array<std::string_view, 5> status_names{"done", "failed", "refused", "crashed", "late"};
constexpr std::string_view to_string(Status status) { return status_names.at(static_cast<std::size_t>(status)); }

struct Outcome {
    Point point{};
    Status status = Status::done;
    std::string reason{};                                 ///< why not done, for a person
    std::string event_digest{}, version{}, revision{};    ///< of the run; empty: it has not come so far
    std::map<std::string, double, std::less<>> metrics{}; ///< of a point that is done
    std::string result{}; ///< JSON, without what depends on the machine; empty: there is none
    double wall_seconds = 0;
};

} // namespace study
