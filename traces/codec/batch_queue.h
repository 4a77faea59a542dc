// Batches on their way to a destination. A thread of its own hashes, compresses and writes them, so that whoever
// records waits only while as many as may wait do: memory is bounded, and nothing is dropped.
#pragma once

#include "traces/codec/digest.h"
#include "traces/codec/frames.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace traces::codec {

class BatchQueue {
public:
    /// most_waiting  batches that may be on their way; 0: put() writes them itself, without a thread
    BatchQueue(Destination& destination, int level, std::size_t most_waiting);
    /// What was put is written first.
    ~BatchQueue();
    BatchQueue(const BatchQueue&) = delete;
    BatchQueue& operator=(const BatchQueue&) = delete;

    /// Takes the bytes; `batch` is empty afterwards, with the memory of one that has been written.
    ///
    /// records  in the trace, with those of this batch
    /// sync     offset of the batch's sync block, which gets the digest of all that was put before it
    void put(std::vector<std::byte>& batch, std::uint64_t records, FrameWriter::Frame frame,
             std::optional<std::size_t> sync = std::nullopt);
    /// Waits for what was put. The first failure stays, and nothing is written behind it.
    Destination::Outcome wait();

    /// True: wait() says why. Of a batch that is on its way nobody knows yet.
    bool has_failed() const { return has_failed_.load(std::memory_order_acquire); }
    std::uint64_t kept_records() const { return kept_.load(std::memory_order_acquire); } ///< in the destination

private:
    struct Batch {
        std::vector<std::byte> bytes;
        std::uint64_t records;
        FrameWriter::Frame frame;
        std::optional<std::size_t> sync;
    };
    void write(Batch& batch);
    void add_digest(Batch& batch);
    void run();
    void start();

    FrameWriter frames_;   ///< of the thread, while there is one
    RunningDigest digest_; ///< the same
    std::size_t most_waiting_;
    Destination::Outcome outcome_; ///< written once, before has_failed_
    std::atomic<bool> has_failed_ = false;
    std::atomic<std::uint64_t> kept_ = 0;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Batch> waiting_;                ///< the first one is being written
    std::vector<std::vector<std::byte>> free_; ///< for batches to come
    bool is_over_ = false;
    std::thread thread_; ///< begins with the first batch
};

} // namespace traces::codec
