#include "platform/bridge/vfio_user/guest_memory.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>

namespace platform::bridge::vfio_user {

int GuestMemory::map(const DmaMapRequest& map, const Descriptor& file) {
    const auto after = ranges_.lower_bound(map.address);
    if (after != ranges_.end() && after->first - map.address < map.size)
        return EEXIST;
    if (after != ranges_.begin() && std::prev(after)->second.bus.end > map.address)
        return EEXIST;
    if (ranges_.size() >= max_ranges)
        return ENOSPC;
    Range range{{map.address, map.address + map.size}, nullptr, map.is_readable, map.is_writable, nullptr};
    if (file) {
        auto mapping = files_.open(this, file, map.offset, map.size, map.is_writable);
        if (!mapping)
            return mapping.error();
        if (*mapping) {
            range.memory = (*mapping)->at(map.offset);
            range.file = std::move(*mapping);
        }
    }
    ranges_.emplace(map.address, std::move(range));
    return 0;
}

int GuestMemory::unmap(const DmaUnmapRequest& unmap) {
    if (unmap.is_all) {
        unmap_all();
        return 0;
    }
    const auto last = unmap.address + (unmap.size - 1); // the range may end where the addresses do
    const auto first = ranges_.lower_bound(unmap.address);
    const auto end = ranges_.upper_bound(last);
    const bool is_begin_cut = first != ranges_.begin() && std::prev(first)->second.bus.end > unmap.address;
    const bool is_end_cut = end != first && std::prev(end)->second.bus.end - 1 > last;
    if (is_begin_cut || is_end_cut)
        return EINVAL;
    ranges_.erase(first, end);
    return 0;
}

bool GuestMemory::has_message_memory() const {
    return std::ranges::any_of(
        ranges_, [](const auto& range) { return range.second.memory == nullptr && range.second.is_writable; });
}

bool GuestMemory::is_broken() const {
    return std::ranges::any_of(ranges_,
                               [](const auto& range) { return range.second.file && range.second.file->is_broken(); });
}

const GuestMemory::Range* GuestMemory::find(std::uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin())
        return nullptr;
    const auto& range = std::prev(after)->second;
    return range.bus.contains(address) ? &range : nullptr;
}

model::pcie::Range GuestMemory::gap(std::uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    return {after != ranges_.begin() ? std::prev(after)->second.bus.end : 0,
            after != ranges_.end() ? after->first : std::numeric_limits<std::uint64_t>::max()};
}

} // namespace platform::bridge::vfio_user
