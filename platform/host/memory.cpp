#include "platform/host/memory.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace platform::host {

Memory::Memory(const std::string& name, const model::pcie::MemoryMap& map) : map_(map), memory_(name, map.dram_bytes) {
    const auto low = map_.low_dram(), high = map_.high_dram_range();
    if (low.end > reserved)
        holes_[reserved] = low.end - reserved;
    if (high.end > high.begin)
        holes_[high.begin] = high.end - high.begin;
}

std::optional<Memory::Block> Memory::allocate(std::uint64_t bytes, std::uint64_t alignment) {
    if (bytes == 0 || bytes > memory_.size())
        return {};
    const auto size = (bytes + page - 1) / page * page;
    alignment = std::max(alignment, page);
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
        const auto [begin, length] = *hole;
        const auto bus = (begin + alignment - 1) & ~(alignment - 1);
        if (bus < begin || bus - begin > length || length - (bus - begin) < size)
            continue;
        holes_.erase(hole);
        if (bus > begin)
            holes_[begin] = bus - begin;
        if (const auto rest = begin + length - (bus + size); rest != 0)
            holes_[bus + size] = rest;
        used_[bus] = size;
        allocated_ += size;
        return Block{at(bus), bus, size};
    }
    return {};
}

void Memory::release(std::uint64_t bus) {
    const auto block = used_.find(bus);
    if (block == used_.end())
        return;
    const auto size = block->second;
    used_.erase(block);
    allocated_ -= size;
    // The next owner gets zeroes; and what nobody owns takes no memory.
    memory_.discard(static_cast<std::uint64_t>(at(bus) - memory_.bytes().data()), size);

    auto hole = holes_.emplace(bus, size).first;
    if (const auto next = std::next(hole); next != holes_.end() && bus + size == next->first) {
        hole->second += next->second;
        holes_.erase(next);
    }
    if (hole != holes_.begin())
        if (const auto previous = std::prev(hole); previous->first + previous->second == bus) {
            previous->second += hole->second;
            holes_.erase(hole);
        }
}

std::byte* Memory::at(std::uint64_t bus) const {
    if (map_.low_dram().contains(bus))
        return memory_.bytes().data() + bus;
    if (map_.high_dram_range().contains(bus))
        return memory_.bytes().data() + map_.low_dram_bytes() + (bus - map_.high_dram);
    return nullptr;
}

std::uint64_t Memory::bus_of(const std::byte* data) const {
    const auto all = memory_.bytes();
    if (std::less<>{}(data, all.data()) || !std::less<>{}(data, all.data() + all.size()))
        return 0;
    const auto offset = static_cast<std::uint64_t>(data - all.data());
    return offset < map_.low_dram_bytes() ? offset : map_.high_dram + (offset - map_.low_dram_bytes());
}

} // namespace platform::host
