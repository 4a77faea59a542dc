#include "firmware/buffer.h"

#include "abi/layout.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace firmware {

std::expected<model::hca::queue::PagedBuffer, Reply> decode_buffer(const Ring& ring, std::span<const std::byte> list) {
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
    return model::hca::queue::PagedBuffer(std::move(pages), shift, first_byte);
}

void encode_pages(const model::hca::queue::PagedBuffer& buffer, std::span<std::byte> list) {
    const auto count = std::min(buffer.pages().size(), list.size() / 8);
    for (std::size_t i = 0; i < count; ++i)
        abi::store<std::uint64_t, std::endian::big>(list.data() + 8 * i, buffer.pages()[i].value);
}

} // namespace firmware
