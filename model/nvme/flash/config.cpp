#include "model/nvme/flash/config.h"

namespace model::nvme {

void FlashConfig::add_settings(std::vector<pcie::Setting>& all) {
    constexpr std::uint64_t highest_latency = 1'000'000'000'000; // 1 s
    constexpr std::uint64_t highest_rate = 1'000'000'000'000;
    const std::vector<pcie::Setting> mine{
        {.name = "channels", .help = "to flash dies", .value = &channels, .minimum = 1, .maximum = 64},
        {.name = "dies", .help = "of each channel", .value = &dies, .minimum = 1, .maximum = 64},
        {.name = "page",
         .help = "bytes that a die reads and programs at a time",
         .value = &page_bytes,
         .minimum = 4096,
         .maximum = 1 << 18,
         .is_power_of_two = true},
        {.name = "block_pages",
         .help = "pages that a die programs from one erase to the next",
         .value = &block_pages,
         .minimum = 1,
         .maximum = 1 << 20},
        {.name = "channel_rate",
         .help = "bytes a second of a channel; 0: bytes take no time there",
         .value = &channel_rate,
         .maximum = highest_rate},
        {.name = "host_rate",
         .help = "bytes a second between controller and link, each way; 0: bytes take no time there",
         .value = &host_rate,
         .maximum = highest_rate},
        {.name = "read_latency_ns", .help = "of a page of a die", .value = &read, .maximum = highest_latency},
        {.name = "program_latency_ns", .help = "of a page of a die", .value = &program, .maximum = highest_latency},
        {.name = "erase_latency_ns", .help = "of a block of a die", .value = &erase, .maximum = highest_latency},
        {.name = "cache",
         .help = "bytes of the write cache; it has one page at least",
         .value = &cache_bytes,
         .maximum = 1 << 30},
        {.name = "map_latency_ns",
         .help = "of a line of the mapping table, 256 KiB of the drive",
         .value = &map_latency,
         .maximum = highest_latency},
        {.name = "map_memory",
         .help = "bytes of the drive's own for its mapping table, 2 KiB for each MiB; 0: the whole table fits",
         .value = &map_memory,
         .maximum = 1 << 30},
        {.name = "map_misses",
         .help = "lines of the mapping table that are brought at a time",
         .value = &map_misses,
         .minimum = 1,
         .maximum = 1024},
        {.name = "host_buffer",
         .help = "bytes of host memory that the drive asks for, for its mapping table; 0: none",
         .value = &host_buffer,
         .maximum = 1ull << 40},
        {.name = "host_buffer_minimum",
         .help = "bytes of host memory, of which fewer are refused",
         .value = &host_buffer_minimum,
         .minimum = 4096,
         .maximum = 1ull << 40}};
    all.insert(all.end(), mine.begin(), mine.end());
}

} // namespace model::nvme
