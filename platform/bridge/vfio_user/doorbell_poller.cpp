#include "platform/bridge/vfio_user/doorbell_poller.h"

#include <utility>

namespace platform::bridge::vfio_user {

void DoorbellPoller::opened(std::uint64_t key, const model::port::DoorbellRecord& record) {
    if (!index_.try_emplace(key, records_.size()).second)
        return;
    records_.push_back({nullptr, in_memory_order(record.seen), key, record, by_address_.emplace(record.address, key)});
    ++unreadable_;
    auto& watched = records_.back();
    resolve(watched);
    if (is_on_ && watched.memory != nullptr && record.is_marked)
        std::atomic_ref(*watched.memory).store(watched.seen, std::memory_order_release);
}

void DoorbellPoller::closed(std::uint64_t key) {
    const auto found = index_.find(key);
    if (found == index_.end())
        return;
    const auto index = found->second;
    forget(records_[index]);
    --unreadable_;
    by_address_.erase(records_[index].place);
    index_.erase(found);
    if (index + 1 != records_.size()) {
        records_[index] = records_.back();
        index_[records_[index].key] = index;
    }
    records_.pop_back();
}

void DoorbellPoller::closed_all() {
    records_.clear();
    index_.clear();
    by_address_.clear();
    next_ = unreadable_ = 0;
}

void DoorbellPoller::mapped(model::pcie::Range range) {
    for_each_within(range, [this](Watched& watched) { resolve(watched); });
}

void DoorbellPoller::unmapped(model::pcie::Range range) {
    for_each_within(range, [this](Watched& watched) { forget(watched); });
}

void DoorbellPoller::resolve(Watched& watched) {
    forget(watched);
    const auto address = watched.record.address;
    const auto* range = memory_.find(address);
    // What may be marked has to be writable; what lies across an edge, or would need two loads, is nobody's counter.
    if (range == nullptr || range->memory == nullptr || !range->is_readable || !range->is_writable ||
        address % sizeof *watched.memory != 0 || range->bus.end - address < sizeof *watched.memory)
        return;
    watched.memory = reinterpret_cast<std::uint32_t*>(range->memory + (address - range->bus.begin));
    --unreadable_;
}

void DoorbellPoller::forget(Watched& watched) {
    if (std::exchange(watched.memory, nullptr) != nullptr)
        ++unreadable_;
}

} // namespace platform::bridge::vfio_user
