#include "sw/memory/buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace sw::memory {

Result<Buffer> Buffer::allocate(transport::Transport& transport, std::size_t bytes, std::size_t alignment) {
    constexpr std::size_t page = 4096;
    if (bytes == 0 || bytes > SIZE_MAX - page)
        return failure(EINVAL, fmt::format("allocate DMA memory: {} bytes", bytes));
    if (!std::has_single_bit(alignment))
        return failure(EINVAL, fmt::format("allocate DMA memory: alignment {} is not a power of two", alignment));
    auto memory = transport.allocate((bytes + page - 1) / page * page, std::max(alignment, page));
    if (!memory)
        return std::unexpected(std::move(memory.error()));
    return Buffer(transport, *memory);
}

} // namespace sw::memory
