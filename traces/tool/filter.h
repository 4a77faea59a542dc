// Which records somebody wants to see, by the objects that they are about.
#pragma once

#include "traces/tool/decoder.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace traces::tool {

/// A record passes if it passes each part that is given.
struct Filter {
    std::string function{}; ///< part of the name of an interface, or of the source of an event
    /// Of the device that the record is of. A packet that leaves is its sender's; the peer's number in it counts only
    /// where nobody knows who has sent it.
    std::optional<std::uint32_t> qpn{}, cqn{}, eqn{}, mkey{};
    std::optional<std::uint32_t> queue{}; ///< of whatever kind
    std::vector<What> kinds{};            ///< one of them
    std::int64_t from_ps = 0;
    std::optional<std::int64_t> until_ps{}; ///< not included
    std::uint64_t first = 0;                ///< numbers of records
    std::optional<std::uint64_t> last{};

    bool passes(const codec::Record& record, const Seen& seen, const codec::Head& head) const;
    /// No record behind this one can pass: numbers ascend, times need not.
    bool is_over(const codec::Record& record) const { return last && record.number > *last; }
};

/// "1.5us", "20 ns", "3ms", "7 s", or picoseconds without a unit; the error says what is wrong.
std::expected<std::int64_t, std::string> parse_time(std::string_view text);
/// "17" or "0x11".
std::expected<std::uint64_t, std::string> parse_number(std::string_view text);
struct Range {
    std::uint64_t first = 0;
    std::optional<std::uint64_t> last{};
    bool operator==(const Range&) const = default;
};
/// "7", "7-9", "7-" or "-9", of numbers of records.
std::expected<Range, std::string> parse_range(std::string_view text);
/// Names of kinds with commas between them.
std::expected<std::vector<What>, std::string> parse_kinds(std::string_view text);

} // namespace traces::tool
