#include "testbench/scenario/thread_queues.h"

namespace scenario {

void ThreadQueues::End::take(std::span<const std::byte> message) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(message.begin(), message.end());
    changed_.notify_one();
}

std::vector<std::byte> ThreadQueues::End::receive() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty() || is_peer_gone_; });
    if (waiting_.empty())
        return {};
    auto message = std::move(waiting_.front());
    waiting_.pop_front();
    return message;
}

bool ThreadQueues::End::has_something() {
    const std::lock_guard lock(mutex_);
    return !waiting_.empty() || is_peer_gone_;
}

void ThreadQueues::End::peer_has_gone() {
    const std::lock_guard lock(mutex_);
    is_peer_gone_ = true;
    changed_.notify_one();
}

} // namespace scenario
