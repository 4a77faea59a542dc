#include "firmware/buffer.h"

#include "abi/layout.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace firmware {

std::expected<model::hca::memory::PagedBuffer, Reply> decode_buffer(const Ring& ring, std::span<const std::byte> list) {
    const unsigned shift = 12 + ring.log_page_size;
    const auto first_byte = std::uint64_t{ring.page_offset} << (shift - 6);
    const auto page = std::uint64_t{1} << shift;
    const auto count = (first_byte + ring.bytes + page - 1) >> shift;
    if (list.size() / 8 < count)
        return std::unexpected(refuse("buffer.pages_missing"));
    std::vector<abi::BusAddress> pages(count);
    for (std::size_t i = 0; i < count; ++i) {
        pages[i] = abi::BusAddress{abi::load<std::uint64_t, std::endian::big>(list.data() + 8 * i)};
        if (pages[i].value & (page - 1))
            return std::unexpected(refuse("buffer.page_not_aligned"));
    }
    return model::hca::memory::PagedBuffer(std::move(pages), shift, first_byte);
}

std::expected<model::hca::memory::PagedBuffer, Reply> part_of(const Scope& scope, const InUmem& umem,
                                                              std::uint64_t bytes) {
    const auto* memory = scope.find<Kind::umem>(umem.id);
    if (memory == nullptr)
        return std::unexpected(refuse("umem.unknown"));
    const auto& whole = memory->pages;
    if (umem.offset > whole.capacity() || bytes > whole.capacity() - umem.offset)
        return std::unexpected(refuse("umem.range"));
    const auto page = whole.page_bytes();
    const auto first_byte = whole.first_byte() + umem.offset;
    const auto first = first_byte / page, end = (first_byte + bytes + page - 1) / page;
    std::vector<abi::BusAddress> pages(whole.pages().begin() + static_cast<std::ptrdiff_t>(first),
                                       whole.pages().begin() + static_cast<std::ptrdiff_t>(end));
    return model::hca::memory::PagedBuffer(std::move(pages), whole.page_shift(), first_byte % page);
}

std::expected<model::hca::memory::PagedBuffer, Reply> ring_buffer(const Scope& scope, const Ring& ring,
                                                                  const InUmem& umem, std::span<const std::byte> list) {
    return umem.is_valid ? part_of(scope, umem, ring.bytes) : decode_buffer(ring, list);
}

std::expected<abi::BusAddress, Reply> doorbell_record(const Scope& scope, const InUmem& place) {
    if (!place.is_valid)
        return abi::BusAddress{place.offset};
    const auto part = part_of(scope, place, doorbell_record_bytes);
    if (!part)
        return std::unexpected(part.error());
    return part->address(0);
}

void encode_pages(const model::hca::memory::PagedBuffer& buffer, std::span<std::byte> list) {
    const auto count = std::min(buffer.pages().size(), list.size() / 8);
    for (std::size_t i = 0; i < count; ++i)
        abi::store<std::uint64_t, std::endian::big>(list.data() + 8 * i, buffer.pages()[i].value);
}

} // namespace firmware
