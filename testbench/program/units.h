// Numbers as a person reads them: sizes, rates, times, counts.
#pragma once

#include <cstdint>
#include <string>

namespace hcasim {

/// "3.25 MiB", "512 B".
std::string print_bytes(std::uint64_t bytes);
/// "1,234,567"
std::string print_count(std::uint64_t count);
/// "12.35 us" of picoseconds.
std::string print_time(std::int64_t picoseconds);
/// "12.3 GB/s" of simulated time; "-" when no time passed.
std::string print_rate(std::uint64_t bytes, std::int64_t picoseconds);
/// "93.8 %"; "-" of nothing.
std::string print_share(std::uint64_t part, std::uint64_t whole);

} // namespace hcasim
