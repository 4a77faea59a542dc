// A queue's buffer in host memory as CREATE commands describe it: a list of pages and where in the first page it starts
// (PRM "Work queue", "CQ", "EQ": log_page_size, page_offset, pas).
#pragma once

#include "abi/types.h"
#include "model/port/dma.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace model::hca::memory {

class PagedBuffer {
public:
    PagedBuffer() = default;
    /// pages: bus addresses; page_shift: log2 of the page size in bytes; first_byte: offset of byte 0 in the first
    /// page.
    PagedBuffer(std::vector<abi::BusAddress> pages, unsigned page_shift, std::uint64_t first_byte)
        : pages_(std::move(pages)), page_shift_(page_shift), first_byte_(first_byte) {}

    /// Bytes that the pages hold behind the first byte.
    std::uint64_t capacity() const {
        const auto total = static_cast<std::uint64_t>(pages_.size()) << page_shift_;
        return total > first_byte_ ? total - first_byte_ : 0;
    }
    const std::vector<abi::BusAddress>& pages() const { return pages_; }
    unsigned page_shift() const { return page_shift_; }
    std::uint64_t page_bytes() const { return std::uint64_t{1} << page_shift_; }
    std::uint64_t first_byte() const { return first_byte_; }

    /// Bus address of byte `offset`, which must be below capacity().
    abi::BusAddress address(std::uint64_t offset) const {
        const auto at = offset + first_byte_;
        return pages_[at >> page_shift_] + (at & page_mask());
    }
    /// Bytes from `offset` to the end of its page.
    std::uint64_t contiguous(std::uint64_t offset) const {
        return page_mask() + 1 - ((offset + first_byte_) & page_mask());
    }

    port::DmaResult read(port::Dma& dma, std::uint64_t offset, std::span<std::byte> into, port::Time at) const {
        return each_piece(offset, into,
                          [&](abi::BusAddress a, std::span<std::byte> piece) { return dma.read(a, piece, at); });
    }
    port::DmaResult write(port::Dma& dma, std::uint64_t offset, std::span<const std::byte> from, port::Time at) const {
        return each_piece(offset, from,
                          [&](abi::BusAddress a, std::span<const std::byte> piece) { return dma.write(a, piece, at); });
    }

private:
    std::uint64_t page_mask() const { return (std::uint64_t{1} << page_shift_) - 1; }

    template <class Bytes, class Transfer>
    port::DmaResult each_piece(std::uint64_t offset, Bytes bytes, Transfer&& transfer) const {
        assert(offset + bytes.size() <= capacity());
        if (bytes.size() <= contiguous(offset)) [[likely]]
            return transfer(address(offset), bytes);
        port::DmaResult last;
        while (!bytes.empty()) {
            const auto length = std::min<std::uint64_t>(bytes.size(), contiguous(offset));
            const auto result = transfer(address(offset), bytes.first(length));
            if (!result.is_ok())
                return result;
            last.done = std::max(last.done, result.done);
            bytes = bytes.subspan(length);
            offset += length;
        }
        return last;
    }

    std::vector<abi::BusAddress> pages_;
    unsigned page_shift_ = 12;
    std::uint64_t first_byte_ = 0;
};

} // namespace model::hca::memory
