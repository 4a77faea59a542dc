// Rings and doorbell records in host memory as CREATE commands describe them (PRM "CQ", "EQ", "Work queue":
// log_page_size, page_offset, pas; "UMEM"): takes the page list behind a command, or the user memory that it names, and
// gives a buffer that surely holds the ring, or says what is wrong with it.
#pragma once

#include "firmware/call.h"
#include "firmware/refusal.h"
#include "model/hca/memory/paged_buffer.h"

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

/// `list`: bus addresses, eight bytes each. Those that the ring does not need are ignored.
std::expected<model::hca::memory::PagedBuffer, Reply> decode_buffer(const Ring& ring, std::span<const std::byte> list);

/// A place in user memory, as the fields *_umem_valid, *_umem_id and *_umem_offset say it.
struct InUmem {
    bool is_valid = false;
    std::uint32_t id = 0;
    std::uint64_t offset = 0; ///< bytes from its start; of a doorbell record that is in none, the bus address

    /// The user memory that is used; it was found before.
    objects::Ref<objects::UserMemory> memory(const Scope& scope) const {
        return objects::Ref(is_valid ? scope.find<Kind::umem>(id) : nullptr);
    }
};

/// The ring in the user memory that `umem` names, whose pages then count instead of the ring's; otherwise in `list`.
std::expected<model::hca::memory::PagedBuffer, Reply> ring_buffer(const Scope& scope, const Ring& ring,
                                                                  const InUmem& umem, std::span<const std::byte> list);
/// `bytes` of the user memory at `umem`, with the pages that hold them.
std::expected<model::hca::memory::PagedBuffer, Reply> part_of(const Scope& scope, const InUmem& umem,
                                                              std::uint64_t bytes);

inline constexpr std::uint64_t doorbell_record_bytes = 8;
/// Where a doorbell record is. Its alignment is the caller's to check; one that crosses a page is misaligned.
std::expected<abi::BusAddress, Reply> doorbell_record(const Scope& scope, const InUmem& place);

/// Writes the page list of `buffer` into `list`, as far as it goes.
void encode_pages(const model::hca::memory::PagedBuffer& buffer, std::span<std::byte> list);

} // namespace firmware
