// Whether a thread gets anywhere. A thread that reads the same values from the same few addresses over and over waits
// for somebody to change them: it makes no progress. What it reads there, and since when, is kept for whoever explains.
#pragma once

#include "model/gpu/memory/access.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace model::gpu::wave {

/// One address that a thread reads, and has found the same value at.
struct Poll {
    std::uint64_t address = 0;
    std::uint64_t value = 0; ///< its first 8 bytes, little endian
    std::uint32_t length = 0;
    std::uint64_t count = 0; ///< times it was read; 0: none
    port::Time since{}, last{};
    memory::Outcome outcome; ///< of the last time
};

class PollWatch {
public:
    void begin(port::Time at) { progress_ = at; }
    /// Something else than reading happened: a store, a new command.
    void progress(port::Time at) { progress_ = at; }
    void read(std::uint64_t address, std::span<const std::byte> bytes, const memory::Outcome& outcome, port::Time at) {
        Poll now{.address = address,
                 .length = static_cast<std::uint32_t>(bytes.size()),
                 .count = 1,
                 .since = at,
                 .last = at,
                 .outcome = outcome};
        std::memcpy(&now.value, bytes.data(), std::min(bytes.size(), sizeof now.value));
        for (auto& poll : polls_) {
            if (poll.address != address || poll.length != now.length) // an empty place has no length
                continue;
            if (poll.value == now.value) {
                ++poll.count;
                poll.last = at;
                poll.outcome = outcome;
                return;
            }
            poll = now;
            progress_ = at;
            return;
        }
        polls_[next_++ % polls_.size()] = now;
        progress_ = at;
    }
    /// It would have read what it has read last so many times more, and found the same.
    void skip(std::uint64_t looks, port::Time at) {
        const auto last = std::ranges::max_element(polls_, {}, &Poll::last);
        last->count += looks;
        last->last = at;
    }
    /// Since when the thread has learned nothing new.
    port::Time progress() const { return progress_; }
    /// What it has read most often without change.
    const Poll& busiest() const { return *std::ranges::max_element(polls_, {}, &Poll::count); }

private:
    std::array<Poll, 6> polls_{};
    std::size_t next_ = 0;
    port::Time progress_{};
};

} // namespace model::gpu::wave
