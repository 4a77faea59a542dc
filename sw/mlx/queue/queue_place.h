// Where the rings of a queue lie when its owner is somebody else: a GPU, for one, which posts and polls in its own
// memory. The driver tells the device where that is, and touches nothing of it.
#pragma once

#include "sw/base/result.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sw::mlx {

struct QueuePlace {
    static constexpr std::uint64_t page_bytes = 4096;
    std::uint64_t ring = 0;       ///< as the device addresses it, at the begin of a page; one piece
    std::uint64_t ring_bytes = 0; ///< 0: the driver allocates memory, posts and polls
    std::uint64_t record = 0;     ///< of the doorbell record, 8 bytes

    bool is_given() const { return ring_bytes != 0; }
    /// Its pages of 4 KiB, for `needed` bytes of `what`. EINVAL: it is too small, or not aligned.
    Result<std::vector<std::uint64_t>> pages(std::uint64_t needed, std::string_view what) const {
        if (ring % page_bytes != 0 || record % 8 != 0 || ring_bytes < needed)
            return failure(EINVAL,
                           fmt::format("{} needs {:#x} bytes from the begin of a page and a record at a multiple "
                                       "of 8; given are {:#x} at {:#x}, and {:#x}",
                                       what, needed, ring_bytes, ring, record));
        std::vector<std::uint64_t> list;
        for (std::uint64_t at = 0; at < needed; at += page_bytes)
            list.push_back(ring + at);
        return list;
    }
};

} // namespace sw::mlx
