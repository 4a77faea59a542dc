// Rings in host memory as CREATE commands describe them (PRM "CQ", "EQ", "Work queue": log_page_size, page_offset,
// pas): takes the page list behind a command and gives a buffer that surely holds the ring, or says what is wrong with
// it.
#pragma once

#include "firmware/refusal.h"
#include "model/hca/queue/paged_buffer.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

namespace firmware {

struct Ring {
    std::uint32_t log_page_size; ///< pages of 2^(12 + n) bytes
    std::uint32_t page_offset;   ///< of byte 0 in the first page, in 64ths of a page
    std::uint64_t bytes;
};

/// `list`: bus addresses, eight bytes each. More of them than the ring needs are left alone.
std::expected<model::hca::queue::PagedBuffer, Reply> decode_buffer(const Ring& ring, std::span<const std::byte> list);

/// Writes the page list of `buffer` into `list`, as far as it goes.
void encode_pages(const model::hca::queue::PagedBuffer& buffer, std::span<std::byte> list);

} // namespace firmware
