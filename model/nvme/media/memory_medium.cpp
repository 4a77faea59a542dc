#include "model/nvme/media/memory_medium.h"

#include "model/memory/copy.h"

#include <cassert>

namespace model::nvme {

MemoryMedium::MemoryMedium(const std::string& name, std::uint64_t bytes) : memory_(name, bytes) {}

MediumResult MemoryMedium::read(std::uint64_t offset, std::span<std::byte> into, port::Time at) {
    assert(offset + into.size() <= size());
    memory::copy(into.data(), memory_.bytes().data() + offset, into.size());
    return {.done = at};
}

Medium::View MemoryMedium::view(std::uint64_t offset, [[maybe_unused]] std::uint64_t length, port::Time at) {
    assert(offset + length <= size());
    return {memory_.bytes().data() + offset, {.done = at}};
}

MediumResult MemoryMedium::write(std::uint64_t offset, Pieces from, Durability, port::Time at) {
    assert(offset + length_of(from) <= size());
    auto* to = memory_.bytes().data() + offset;
    for (const auto& piece : from) {
        memory::copy(to, piece.data(), piece.size());
        to += piece.size();
    }
    return {.done = at};
}

MediumResult MemoryMedium::discard(std::uint64_t offset, std::uint64_t length, Durability, port::Time at) {
    assert(offset + length <= size());
    memory_.discard(offset, length);
    return {.done = at};
}

std::optional<Extent> MemoryMedium::next_data(std::uint64_t offset) const {
    // It begins empty, and whoever writes knows what was written since.
    (void)offset;
    return std::nullopt;
}

} // namespace model::nvme
