// What the controller knows of one submission queue, and of one completion queue. NVMe base 2.0 "Submission Queue",
// "Completion Queue".
#pragma once

#include "model/nvme/data/refusal.h"
#include "model/port/time.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace model::nvme {

/// What is said of the end of a command, but for what the queues add.
struct CompletionEntry {
    std::uint16_t sqid = 0, cid = 0;
    Status status = Status::success;
    bool dnr = false, more = false;
    std::uint32_t dw0 = 0;
    std::uint64_t cause = 0; ///< event that fetched the command
};

struct SubmissionQueue {
    std::uint16_t id = 0, cqid = 0;
    std::uint64_t base = 0;
    std::uint32_t size = 0, head = 0, tail = 0;
    std::uint8_t priority = 0;      ///< 0 urgent .. 3 low
    bool is_shadowed = false;       ///< the tail is in memory
    bool is_listed = false;         ///< waits for a turn
    bool is_armed = false;          ///< the event index says that the next tail is to be rung
    std::uint64_t doorbell = 0;     ///< event of the last doorbell
    port::Time since{};             ///< it was created
    std::vector<port::Time> rung{}; ///< by entry, when the host rang for it; empty: nobody asks
    std::uint32_t waiting() const { return tail >= head ? tail - head : tail + size - head; }
};

struct CompletionQueue {
    std::uint16_t id = 0, vector = 0;
    bool has_interrupt = false;
    bool is_shadowed = false;
    bool phase = true;
    std::uint64_t base = 0;
    std::uint32_t size = 0, head = 0, tail = 0;
    port::Time since{};                  ///< it was created
    std::uint32_t submission_queues = 0; ///< that complete here
    std::deque<CompletionEntry> held{};  ///< for which there was no room
    // Interrupts:
    bool is_due = false;      ///< in the list of those that have something to say
    std::uint32_t unsaid = 0; ///< entries since the last interrupt
    port::Time written{};     ///< when the last of them is there
    port::Time deadline = port::never;
    bool is_full() const { return (tail + 1 == size ? 0 : tail + 1) == head; }
};

/// Queues that wait for a turn, in the order of their arrival. Has room for each queue once.
class Waiting {
public:
    void resize(std::size_t queues) { slots_.assign(queues, 0), first_ = count_ = 0; }
    bool is_empty() const { return count_ == 0; }
    void push(std::uint16_t id) { slots_[(first_ + count_++) % slots_.size()] = id; }
    std::uint16_t pop() {
        const auto id = slots_[first_];
        first_ = (first_ + 1) % slots_.size(), --count_;
        return id;
    }
    void remove(std::uint16_t id) {
        for (auto left = count_; left != 0; --left)
            if (const auto other = pop(); other != id)
                push(other);
    }
    void clear() { first_ = count_ = 0; }

private:
    std::vector<std::uint16_t> slots_;
    std::size_t first_ = 0, count_ = 0;
};

} // namespace model::nvme
