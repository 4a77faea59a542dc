#include "model/nvme/media/memory_medium.h"

#include "model/memory/copy.h"

#include <cassert>

namespace model::nvme {

MemoryMedium::MemoryMedium(const std::string& name, std::uint64_t bytes, const MediumTiming& timing)
    : memory_(name, bytes), timing_(timing) {}

MediumResult MemoryMedium::read(std::uint64_t offset, std::span<std::byte> into, port::Time at) {
    assert(offset + into.size() <= size());
    memory::copy(into.data(), memory_.bytes().data() + offset, into.size());
    return {.done = timing_.after_read(at, into.size())};
}

Medium::View MemoryMedium::view(std::uint64_t offset, std::uint64_t length, port::Time at) {
    assert(offset + length <= size());
    return {memory_.bytes().data() + offset, {.done = timing_.after_read(at, length)}};
}

MediumResult MemoryMedium::write(std::uint64_t offset, Pieces from, Durability, port::Time at) {
    const auto length = length_of(from);
    assert(offset + length <= size());
    auto* to = memory_.bytes().data() + offset;
    for (const auto& piece : from) {
        memory::copy(to, piece.data(), piece.size());
        to += piece.size();
    }
    return {.done = timing_.after_write(at, length)};
}

MediumResult MemoryMedium::discard(std::uint64_t offset, std::uint64_t length, Durability, port::Time at) {
    assert(offset + length <= size());
    memory_.discard(offset, length);
    return {.done = at + timing_.discard};
}

std::optional<Extent> MemoryMedium::next_data(std::uint64_t offset) const {
    // It begins empty, and whoever writes knows what was written since.
    (void)offset;
    return std::nullopt;
}

} // namespace model::nvme
