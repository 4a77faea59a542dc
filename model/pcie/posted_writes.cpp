#include "model/pcie/posted_writes.h"

#include <algorithm>
#include <cstring>

namespace model::pcie {

void PostedWrites::post(std::byte* to, std::span<const std::byte> from, port::Time due, WriteOrder& order) {
    if (from.empty())
        return;
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const auto slot = free_.back();
    free_.pop_back();
    auto& held = slots_[slot];
    held.to = to;
    held.order = &order;
    held.bytes.assign(from.begin(), from.end());
    ++order.held;
    each_page(to, from.size(), [this](std::size_t page) { ++held_in_[page]; });
    landed_at_ = std::max(landed_at_, due);
    order_.push_back({due, sequence_++, slot});
    std::push_heap(order_.begin(), order_.end());
    if (order_.front().slot == slot)
        schedule(due);
}

bool PostedWrites::find_held(const std::byte* begin, std::size_t length) const {
    return std::ranges::any_of(order_, [&](const Due& due) {
        const auto& held = slots_[due.slot];
        return held.to < begin + length && begin < held.to + held.bytes.size();
    });
}

void PostedWrites::overlay(const std::byte* begin, std::span<std::byte> read) const {
    std::vector<Due> touched;
    const auto* end = begin + read.size();
    for (const auto& due : order_)
        if (const auto& held = slots_[due.slot]; held.to < end && begin < held.to + held.bytes.size())
            touched.push_back(due);
    std::ranges::sort(touched, [](const Due& a, const Due& b) { return b < a; });
    for (const auto& due : touched) {
        const auto& held = slots_[due.slot];
        const auto* from = std::max<const std::byte*>(begin, held.to);
        const auto* to = std::min<const std::byte*>(end, held.to + held.bytes.size());
        std::memcpy(read.data() + (from - begin), held.bytes.data() + (from - held.to),
                    static_cast<std::size_t>(to - from));
    }
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
    each_page(held.to, held.bytes.size(), [this](std::size_t page) { --held_in_[page]; });
    --held.order->held;
    free_.push_back(slot);
}

} // namespace model::pcie
