// Link-level flow control of InfiniBand (IBA 7.9), as the sender of one direction of a link knows it: how many blocks
// the buffer at the other end has left, and when more of them come back. What is in that buffer, its owner knows.
#pragma once

#include "model/port/time.h"

#include <cstdint>
#include <vector>

namespace model::net {

/// Room in the receive buffer at the other end of a link, in blocks of 64 bytes. A packet takes whole blocks.
class Credits {
public:
    static constexpr std::uint32_t block_bytes = 64;
    /// Of the longest packet: 4 KiB of payload, and headers of up to 126 bytes (IBA 7.7.8 "PktLen").
    static constexpr std::uint32_t largest_packet = 66;
    /// The most that a receiver can grant: the credit limit is at most so far ahead of what has come (IBA 7.9.4).
    static constexpr std::uint32_t most = 2048;

    explicit Credits(std::uint32_t blocks) : left_(blocks), returns_(16) {}

    static constexpr std::uint32_t blocks_of(std::uint64_t bytes) {
        return static_cast<std::uint32_t>((bytes + block_bytes - 1) / block_bytes);
    }
    /// Blocks that may be sent now; negative when more was sent than was granted.
    std::int64_t left() const { return left_; }
    void take(std::uint32_t blocks) { left_ -= blocks; }
    /// The sender hears at `at` that so many blocks are free again.
    void give_back(std::uint32_t blocks, port::Time at) {
        if (blocks == 0)
            return;
        if (end_ - begin_ == returns_.size()) [[unlikely]]
            grow();
        // Ports of a switch free what came in order in an order of their own.
        auto place = end_++;
        for (; place != begin_ && this->at(place - 1).at > at; --place)
            this->at(place) = this->at(place - 1);
        this->at(place) = {at, blocks};
    }
    /// Takes note of what the sender has heard by `now`.
    void collect(port::Time now) {
        while (begin_ != end_ && at(begin_).at <= now)
            left_ += at(begin_++).blocks;
    }
    /// When the sender hears of more room; never: as long as nothing else is given back.
    port::Time next() const { return begin_ != end_ ? at(begin_).at : port::never; }

private:
    struct Return {
        port::Time at{};
        std::uint32_t blocks = 0;
    };

    Return& at(std::uint32_t i) { return returns_[i & (returns_.size() - 1)]; }
    const Return& at(std::uint32_t i) const { return returns_[i & (returns_.size() - 1)]; }
    void grow() {
        std::vector<Return> larger(returns_.size() * 2);
        for (auto i = begin_; i != end_; ++i)
            larger[i & (larger.size() - 1)] = at(i);
        returns_ = std::move(larger);
    }

    std::int64_t left_;
    std::vector<Return> returns_; ///< a ring of a power of two, in order of time
    std::uint32_t begin_ = 0, end_ = 0;
};

} // namespace model::net
