// The memory of a registration as a device sees it: where on the bus its bytes lie, and which page size describes them.
// Gives the page list of a translation table. Holds nothing and knows no HCA; umem_dmabuf.h makes one of a dma-buf.
#pragma once

#include "abi/types.h"
#include "sw/base/result.h"
#include "sw/memory/bus_range.h"
#include "sw/transport/transport.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sw::memory {

/// Page sizes a translation table can hold, log2.
struct PageSizes {
    unsigned log_min = 12;
    unsigned log_max = 31;
};

class Umem {
public:
    /// Part of host memory: `length` bytes at `offset`.
    static Result<Umem> from_host(const transport::DmaMemory& memory, std::uint64_t offset, std::uint64_t length);
    /// Pieces in the order of the region's bytes.
    static Umem from_ranges(const std::vector<BusRange>& ranges);

    std::uint64_t length() const { return length_; }
    const std::vector<BusRange>& ranges() const { return ranges_; }

    /// The largest page size, log2, with which a table beginning at `iova` describes this memory: inner boundaries fall
    /// on page boundaries, and iova and bus address agree within a page. Nothing when not even the smallest does.
    std::optional<unsigned> best_page_size(abi::Iova iova, PageSizes sizes = {}) const;

    /// Bus addresses of the pages of size 1 << log_page_size, in order; the first one contains the first byte. The size
    /// must be one that best_page_size allows, or smaller.
    std::vector<std::uint64_t> pages(unsigned log_page_size) const;

private:
    void append(BusRange range);

    std::vector<BusRange> ranges_; // adjacent ones merged
    std::uint64_t length_ = 0;
};

} // namespace sw::memory
