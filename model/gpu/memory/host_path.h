// The host data path (HDP): where writes from PCIe to VRAM rest before they reach memory. They stay in order, one write
// behind another; only the pieces of one write may change places, where the profile says so. A read behind them, a
// flush, or their time brings them out.
#pragma once

#include "model/gpu/memory/config.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <vector>

namespace model::gpu::memory {

class HostPath {
public:
    static constexpr std::size_t capacity = 64 << 10; ///< bytes; a write that finds no room pushes the others out
    static constexpr std::size_t piece_bytes = 64;

    HostPath(const MemoryConfig& config, std::mt19937_64& random) : config_(config), random_(random) {}

    /// Takes a write; `apply(offset, bytes, at)` brings one to memory, now or later.
    template <class Apply>
    void write(std::uint64_t offset, std::span<const std::byte> from, port::Time at, Apply&& apply) {
        if (!config_.timed || config_.hdp_hold == port::Time{} || from.size() > capacity) {
            flush(apply);
            return apply(offset, from, at);
        }
        if (bytes_.size() + from.size() > capacity)
            flush(apply);
        const auto first = held_.size();
        if (!config_.is_adversarial)
            hold(offset, from, last_due(at + config_.hdp_hold));
        for (std::size_t i = 0; config_.is_adversarial && i < from.size(); i += piece_bytes)
            hold(offset + i, from.subspan(i, std::min(piece_bytes, from.size() - i)), {});
        if (!config_.is_adversarial)
            return;
        std::shuffle(held_.begin() + static_cast<std::ptrdiff_t>(first), held_.end(), random_);
        for (auto i = first; i < held_.size(); ++i)
            held_[i].due = std::max(i == 0 ? port::Time{} : held_[i - 1].due, at + draw());
    }
    /// Brings out what is due.
    template <class Apply> void advance(port::Time now, Apply&& apply) {
        while (!held_.empty() && held_.front().due <= now)
            bring_out(apply);
        if (held_.empty())
            bytes_.clear();
    }
    /// Brings out everything: memory holds it from now on.
    template <class Apply> void flush(Apply&& apply) { advance(port::never, apply); }

    port::Time next_due() const { return held_.empty() ? port::never : held_.front().due; }
    std::size_t held() const { return held_.size(); }

private:
    struct Held {
        std::uint64_t offset;
        std::size_t begin, length; ///< in bytes_
        port::Time due;
    };
    void hold(std::uint64_t offset, std::span<const std::byte> from, port::Time due) {
        held_.push_back({offset, bytes_.size(), from.size(), due});
        bytes_.insert(bytes_.end(), from.begin(), from.end());
    }
    port::Time last_due(port::Time due) const { return held_.empty() ? due : std::max(due, held_.back().due); }
    port::Time draw() {
        return port::Time{
            static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(config_.hdp_hold.count() + 1))};
    }
    template <class Apply> void bring_out(Apply& apply) {
        const auto one = held_.front();
        held_.pop_front();
        apply(one.offset, std::span<const std::byte>(bytes_).subspan(one.begin, one.length), one.due);
    }

    const MemoryConfig& config_;
    std::mt19937_64& random_;
    std::deque<Held> held_;
    std::vector<std::byte> bytes_; ///< of all that is held; starts anew whenever nothing is
};

} // namespace model::gpu::memory
