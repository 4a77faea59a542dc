#include "sw/transport/dma_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace sw::transport {

namespace {
constexpr std::size_t whole_pages(std::size_t bytes) {
    return (bytes + DmaPool::page - 1) / DmaPool::page * DmaPool::page;
}
} // namespace

DmaPool::~DmaPool() {
    while (!chunks_.empty())
        remove(chunks_.begin());
}

Result<DmaPool::Chunks::iterator> DmaPool::add_chunk(std::size_t bytes, std::size_t alignment) {
    const auto size = whole_pages(std::max(bytes, chunk_bytes));
    const auto bus = space_.allocate(size, std::max(alignment, page));
    if (!bus)
        return std::unexpected(bus.error());
    auto memory = make_(bus->value, size);
    if (!memory) {
        space_.release(*bus);
        return std::unexpected(memory.error());
    }
    const auto begin = bus->value;
    Chunk chunk{std::move(*memory), std::make_unique<memory::IovaSpace>(begin, begin + size), begin, size};
    return chunks_.emplace(begin, std::move(chunk)).first;
}

void DmaPool::remove(Chunks::iterator chunk) {
    const auto bus = chunk->first;
    chunks_.erase(chunk);
    space_.release(abi::Iova{bus});
}

std::optional<DmaMemory> DmaPool::take(Chunks::iterator at, std::size_t bytes, std::size_t alignment) {
    auto& chunk = at->second;
    const auto size = whole_pages(bytes);
    if (chunk.free_bytes < size)
        return {};
    const auto bus = chunk.free->allocate(size, std::max(alignment, page));
    if (!bus)
        return {};
    chunk.free_bytes -= size;
    auto* data = chunk.memory->bytes().data() + (bus->value - at->first);
    if (bus->value < chunk.touched) // it had an owner before
        std::memset(data, 0, std::min<std::uint64_t>(size, chunk.touched - bus->value));
    chunk.touched = std::max(chunk.touched, bus->value + size);
    return DmaMemory{data, bus->value, bytes};
}

Result<DmaMemory> DmaPool::allocate(std::size_t bytes, std::size_t alignment) {
    if (bytes == 0 || !std::has_single_bit(alignment) || bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 2)
        return failure(EINVAL, fmt::format("allocate DMA memory: {} bytes aligned to {}", bytes, alignment));
    for (auto at = chunks_.begin(); at != chunks_.end(); ++at)
        if (const auto memory = take(at, bytes, alignment))
            return *memory;
    const auto added = add_chunk(bytes, alignment);
    if (!added)
        return failure(added.error().code, fmt::format("allocate {} bytes of DMA memory aligned to {}: {}", bytes,
                                                       alignment, added.error().what));
    return *take(*added, bytes, alignment);
}

void DmaPool::release(const DmaMemory& memory) {
    auto at = chunks_.upper_bound(memory.bus);
    if (at == chunks_.begin())
        return;
    --at;
    at->second.free->release(abi::Iova{memory.bus});
    at->second.free_bytes += whole_pages(memory.size);
    if (at->second.free->used_ranges() == 0 && chunks_.size() > 1)
        remove(at);
}

std::span<std::byte> DmaPool::find(std::uint64_t bus, std::uint64_t size) const {
    const auto after = chunks_.upper_bound(bus);
    if (after == chunks_.begin())
        return {};
    const auto& [begin, chunk] = *std::prev(after);
    const auto bytes = chunk.memory->bytes();
    const auto offset = bus - begin;
    if (offset > bytes.size() || size > bytes.size() - offset)
        return {};
    return bytes.subspan(offset, size);
}

} // namespace sw::transport
