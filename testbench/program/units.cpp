#include "testbench/program/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string_view>

namespace hcasim {
namespace {

std::string scaled(double value, double step, std::span<const std::string_view> units) {
    std::size_t unit = 0;
    while (value >= step && unit + 1 < units.size())
        value /= step, ++unit;
    return value == std::floor(value) ? fmt::format("{:.0f} {}", value, units[unit])
                                      : fmt::format("{:.2f} {}", value, units[unit]);
}

} // namespace

std::string print_bytes(std::uint64_t bytes) {
    static constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    return scaled(static_cast<double>(bytes), 1024, units);
}

std::string print_count(std::uint64_t count) {
    auto text = std::to_string(count);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

std::string print_time(std::int64_t picoseconds) {
    static constexpr std::array<std::string_view, 5> units{"ps", "ns", "us", "ms", "s"};
    return scaled(static_cast<double>(picoseconds), 1000, units);
}

std::string print_rate(std::uint64_t bytes, std::int64_t picoseconds) {
    static constexpr std::array<std::string_view, 5> units{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    return picoseconds <= 0 ? "-"
                            : scaled(static_cast<double>(bytes) * 1e12 / static_cast<double>(picoseconds), 1000, units);
}

std::string print_share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

} // namespace hcasim
