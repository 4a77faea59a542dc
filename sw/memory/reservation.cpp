#include "sw/memory/reservation.h"

#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <cerrno>

namespace sw::memory {

Lock Reservation::try_lock() {
    if (state_->is_locked)
        return {};
    state_->is_locked = true;
    return Lock(state_);
}

Result<Lock> Reservation::lock(transport::Transport& machine, std::chrono::nanoseconds patience) {
    const auto state = state_; // the buffer may go while we wait
    const auto is_free = [&] { return !state->is_locked; };
    if (!transport::poll_until(machine, patience, is_free))
        return failure(EDEADLK,
                       "reservation lock: it did not come free; a caller that holds it already waits for itself "
                       "(dma-buf locking convention)");
    state->is_locked = true;
    return Lock(state);
}

Result<void> Reservation::require(const Lock& lock, std::string_view operation) const {
    if (lock.state_ == state_)
        return {};
    return failure(EINVAL, fmt::format("{}: {} (dma-buf locking convention)", operation,
                                       lock ? "the lock is another buffer's" : "the reservation lock is not held"));
}

Result<void> Reservation::add_fence(const Lock& lock, FenceHandle fence, Usage usage) {
    if (auto held = require(lock, "add a fence"); !held)
        return held;
    fences_.emplace_back(usage, std::move(fence));
    return {};
}

bool Reservation::is_signaled(Usage usage) {
    bool all = true;
    for (const auto& fence : pending(usage)) // a copy: looking at one may let others run, who add
        all = fence->is_signaled() && all;
    std::erase_if(fences_, [](const auto& entry) { return entry.second->has_ended(); });
    return all;
}

Result<void> Reservation::wait(transport::Transport& machine, Usage usage, std::chrono::nanoseconds patience) {
    if (transport::poll_until(machine, patience, [&] { return is_signaled(usage); }))
        return {};
    const auto left = pending(usage);
    return failure(ETIMEDOUT, fmt::format("wait for the fences of a buffer: the {} has not ended",
                                          left.empty() ? std::string("last one") : left.front()->what()));
}

std::vector<FenceHandle> Reservation::pending(Usage usage) const {
    std::vector<FenceHandle> list;
    for (const auto& [kind, fence] : fences_)
        if (kind <= usage && !fence->has_ended())
            list.push_back(fence);
    return list;
}

} // namespace sw::memory
