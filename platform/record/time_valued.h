// Registers whose value is time, so that two devices that differ in time differ there, and no driver may ask more of
// them than that they go on.
#pragma once

#include "abi/prm/init_segment.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace platform::record {

struct TimeValued {
    unsigned bar;
    std::size_t offset, bytes;
    std::string_view why;
};

inline constexpr auto time_valued = [] {
    using Segment = abi::prm::InitialSegment;
    constexpr auto health = Segment::field<"health_buffer">::offset;
    return std::array{
        TimeValued{0, Segment::field<"internal_timer_h">::offset, 8, "the device's free-running timer, both halves"},
        TimeValued{0, Segment::field<"health_counter">::offset & ~std::size_t{3}, 4,
                   "counts while the firmware lives; only that it moves is looked at"},
        TimeValued{0, Segment::field<"real_time_h">::offset, 8, "the time of day, both halves"},
        TimeValued{0, health + abi::prm::HealthBuffer::field<"time">::offset, 4, "when the firmware last looked"},
    };
}();

/// Clears what is time in `bytes`, which were read at `offset` of a BAR of an HCA.
inline void blank_time(unsigned bar, std::uint64_t offset, std::span<std::byte> bytes) {
    for (const auto& row : time_valued) {
        const auto begin = std::max<std::uint64_t>(row.offset, offset);
        const auto end = std::min<std::uint64_t>(row.offset + row.bytes, offset + bytes.size());
        if (row.bar == bar && begin < end)
            std::ranges::fill(bytes.subspan(begin - offset, end - begin), std::byte{});
    }
}

} // namespace platform::record
