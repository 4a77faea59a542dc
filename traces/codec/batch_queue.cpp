#include "traces/codec/batch_queue.h"

#include "traces/codec/layouts.h"

#include <csignal>
#include <utility>

namespace traces::codec {

BatchQueue::BatchQueue(Destination& destination, int level, std::size_t most_waiting)
    : frames_(destination, level), most_waiting_(most_waiting) {}

BatchQueue::~BatchQueue() {
    if (!thread_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void BatchQueue::put(std::vector<std::byte>& batch, std::uint64_t records, FrameWriter::Frame frame,
                     std::optional<std::size_t> sync) {
    if (most_waiting_ == 0) {
        Batch one{.bytes = std::move(batch), .records = records, .frame = frame, .sync = sync};
        write(one);
        batch = std::move(one.bytes);
    } else {
        if (!thread_.joinable())
            start();
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_.size() < most_waiting_; });
        const auto room = batch.capacity();
        waiting_.push_back({.bytes = std::move(batch), .records = records, .frame = frame, .sync = sync});
        batch = {};
        if (free_.empty()) {
            batch.reserve(room);
        } else {
            batch = std::move(free_.back());
            free_.pop_back();
        }
        changed_.notify_all();
    }
    batch.clear();
}

Destination::Outcome BatchQueue::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.empty(); });
    return outcome_;
}

/// Each sync block has the digest of all before it, those of other batches included.
void BatchQueue::add_digest(Batch& batch) {
    const auto bytes = std::span(batch.bytes);
    const auto begin = batch.sync.value_or(bytes.size());
    digest_.add(bytes.first(begin));
    if (batch.sync)
        abi::View<SyncBlock>(bytes.subspan(begin + TraceBlock::size)).set<"digest">(digest_.value());
    digest_.add(bytes.subspan(begin));
}

void BatchQueue::write(Batch& batch) {
    if (has_failed())
        return;
    add_digest(batch);
    outcome_ = frames_.put(batch.bytes, batch.frame);
    if (outcome_)
        outcome_ = frames_.keep();
    if (outcome_)
        kept_.store(batch.records, std::memory_order_release);
    else
        has_failed_.store(true, std::memory_order_release);
}

/// Signals are for the threads of the program.
void BatchQueue::start() {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void BatchQueue::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
        if (waiting_.empty())
            return;
        auto& batch = waiting_.front(); // stays where it is while others are put behind it
        lock.unlock();
        write(batch);
        lock.lock();
        free_.push_back(std::move(waiting_.front().bytes));
        waiting_.pop_front();
        changed_.notify_all();
    }
}

} // namespace traces::codec
