#include "model/pcie/posted_writes.h"

#include <algorithm>
#include <cstring>

namespace model::pcie {

void PostedWrites::post(std::byte* to, std::span<const std::byte> from, port::Time due) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const auto slot = free_.back();
    free_.pop_back();
    slots_[slot].to = to;
    slots_[slot].bytes.assign(from.begin(), from.end());
    landed_at_ = std::max(landed_at_, due);
    order_.push_back({due, sequence_++, slot});
    std::push_heap(order_.begin(), order_.end());
    if (order_.front().slot == slot)
        schedule(due);
}

void PostedWrites::settle(const std::byte* begin, std::size_t length) {
    std::vector<Due> touched;
    std::erase_if(order_, [&](const Due& due) {
        const auto& held = slots_[due.slot];
        const bool overlaps = held.to < begin + length && begin < held.to + held.bytes.size();
        if (overlaps)
            touched.push_back(due);
        return overlaps;
    });
    if (touched.empty())
        return;
    std::make_heap(order_.begin(), order_.end());
    std::ranges::sort(touched, [](const Due& a, const Due& b) { return b < a; });
    for (const auto& due : touched)
        store(due.slot);
    note();
}

port::Time PostedWrites::apply(port::Time now) {
    bool is_changed = false;
    while (!order_.empty() && order_.front().time <= now) {
        const auto slot = order_.front().slot;
        std::pop_heap(order_.begin(), order_.end());
        order_.pop_back();
        store(slot);
        is_changed = true;
    }
    if (is_changed)
        note();
    return order_.empty() ? port::never : order_.front().time;
}

void PostedWrites::store(std::uint32_t slot) {
    auto& held = slots_[slot];
    std::memcpy(held.to, held.bytes.data(), held.bytes.size());
    free_.push_back(slot);
}

} // namespace model::pcie
