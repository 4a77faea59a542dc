#include "platform/host/memory.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace platform::host {

Memory::Memory(const std::string& name, const model::pcie::MemoryMap& map) : map_(map), memory_(name, map.dram_bytes) {
    const auto low = map_.low_dram(), high = map_.high_dram_range();
    if (low.end > reserved)
        add_hole(reserved, low.end - reserved);
    if (high.end > high.begin)
        add_hole(high.begin, high.end - high.begin);
}

std::optional<Memory::Block> Memory::allocate(std::uint64_t bytes, std::uint64_t alignment) {
    if (bytes == 0 || bytes > memory_.size())
        return {};
    const auto size = (bytes + page - 1) / page * page;
    alignment = std::max(alignment, page);
    auto lowest = holes_.end();
    for (auto places = places_.lower_bound(size); places != places_.end(); ++places) {
        const auto& [length, all] = *places;
        const auto fits = std::ranges::find_if(all, [&, room = length - size](std::uint64_t bus) {
            ++looked_at_;
            return (-bus & (alignment - 1)) <= room;
        });
        if (fits != all.end() && (lowest == holes_.end() || *fits < lowest->first))
            lowest = holes_.find(*fits);
    }
    if (lowest == holes_.end())
        return {};
    const auto begin = lowest->first, bus = (begin + alignment - 1) & ~(alignment - 1);
    const auto end = begin + remove_hole(lowest);
    add_hole(begin, bus - begin);
    add_hole(bus + size, end - (bus + size));
    used_[bus] = size;
    allocated_ += size;
    return Block{at(bus), bus, size};
}

void Memory::release(std::uint64_t bus) {
    const auto block = used_.find(bus);
    if (block == used_.end())
        return;
    auto size = block->second;
    used_.erase(block);
    allocated_ -= size;
    // The next owner gets zeroes; and what nobody owns takes no memory.
    memory_.discard(static_cast<std::uint64_t>(at(bus) - memory_.bytes().data()), size);

    if (const auto next = holes_.find(bus + size); next != holes_.end())
        size += remove_hole(next);
    if (const auto after = holes_.lower_bound(bus); after != holes_.begin())
        if (const auto previous = std::prev(after); previous->first + previous->second == bus) {
            bus = previous->first;
            size += remove_hole(previous);
        }
    add_hole(bus, size);
}

void Memory::add_hole(std::uint64_t bus, std::uint64_t size) {
    if (size == 0)
        return;
    holes_.emplace(bus, size);
    places_[size].insert(bus);
}

std::uint64_t Memory::remove_hole(Sizes::iterator hole) {
    const auto [bus, size] = *hole;
    const auto places = places_.find(size);
    places->second.erase(bus);
    if (places->second.empty())
        places_.erase(places);
    holes_.erase(hole);
    return size;
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
