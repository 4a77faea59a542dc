// Consecutive bytes on the bus.
#pragma once

#include <cstdint>

namespace sw::memory {

struct BusRange {
    std::uint64_t bus = 0;
    std::uint64_t size = 0;
    bool operator==(const BusRange&) const = default;
};

} // namespace sw::memory
