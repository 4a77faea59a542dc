// What is behind the controller: flash dies on channels, a cache in front of them, a table that says which page is
// where. Sizes, times and rates; where each comes from stands in the room's page (README.md).
#pragma once

#include "model/pcie/setting.h"
#include "model/port/time.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace model::nvme {

struct FlashConfig {
    bool timed = true;
    std::uint32_t channels = 8;
    std::uint32_t dies = 8;                     ///< of each channel
    std::uint64_t page_bytes = 16 << 10;        ///< what a die reads and programs at a time
    std::uint32_t block_pages = 1152;           ///< pages that a die programs from one erase to the next
    std::uint64_t channel_rate = 1'200'000'000; ///< bytes a second of each; 0: they take no time
    std::uint64_t host_rate = 7'000'000'000;    ///< bytes a second between controller and link, each way; 0: no time
    port::Time read = std::chrono::microseconds{60};
    port::Time program = std::chrono::microseconds{200};
    port::Time erase = std::chrono::microseconds{3500};
    std::uint64_t cache_bytes = 16 << 20; ///< of the write cache
    port::Time map_latency = std::chrono::nanoseconds{100};
    std::uint32_t map_misses = 16;               ///< outstanding at a time
    std::uint64_t map_memory = 0;                ///< bytes of the drive's own for its table; 0: the whole table fits
    std::uint64_t host_buffer = 0;               ///< HMPRE in bytes; 0: the drive asks for none
    std::uint64_t host_buffer_minimum = 1 << 20; ///< HMMIN in bytes

    /// HMMIN: no more than what the drive asks for.
    std::uint64_t least_host_buffer() const { return std::min(host_buffer, host_buffer_minimum); }
    /// Appends what a user may choose.
    void add_settings(std::vector<pcie::Setting>& all);
    bool operator==(const FlashConfig&) const = default;
};

} // namespace model::nvme
