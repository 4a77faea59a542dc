// Writes from PCIe on their way to VRAM: those that have not arrived yet, and those that rest in the host data path
// (HDP) before they reach memory. They come there in the order of their arrival; only the pieces of one write may
// change places, where the profile says so. A read that arrives behind them, a flush, or their time brings out what has
// arrived by then.
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
    static constexpr std::size_t capacity = 64 << 10; ///< bytes that rest; more push the first ones out
    static constexpr std::size_t piece_bytes = 64;

    HostPath(const MemoryConfig& config, std::mt19937_64& random) : config_(config), random_(random) {}

    /// Takes a write that arrives at `at`, which may lie ahead. advance() brings it out.
    void write(std::uint64_t offset, std::span<const std::byte> from, port::Time at) {
        const bool is_in_pieces = config_.is_adversarial && config_.hdp_hold != port::Time{};
        const auto place = std::ranges::upper_bound(held_, at, {}, &Held::arrival) - held_.begin();
        auto due = place == 0 ? at : std::max(at, held_[static_cast<std::size_t>(place - 1)].due);
        const auto behind =
            static_cast<std::size_t>(place) < held_.size() ? held_[static_cast<std::size_t>(place)].due : port::never;
        if (!is_in_pieces) {
            hold(place, offset, from, at, std::min(std::max(due, at + config_.hdp_hold), behind));
            return push_out(at);
        }
        auto end = place;
        for (std::size_t i = 0; i < from.size(); i += piece_bytes)
            hold(end++, offset + i, from.subspan(i, std::min(piece_bytes, from.size() - i)), at, {});
        std::shuffle(held_.begin() + place, held_.begin() + end, random_);
        for (auto i = place; i < end; ++i)
            held_[static_cast<std::size_t>(i)].due = due = std::min(std::max(due, at + draw()), behind);
        push_out(at);
    }
    /// What a read that arrives at `at` finds of the bytes that it has from memory: it pushes out what is before it.
    void read(std::uint64_t offset, std::span<std::byte> into, port::Time at) {
        for (auto& one : held_) {
            if (one.arrival > at)
                break;
            one.due = std::min(one.due, at);
            const auto& bytes = storage_[one.slot];
            const auto begin = std::max(one.offset, offset),
                       end = std::min(one.offset + bytes.size(), offset + into.size());
            if (begin < end)
                std::memcpy(into.data() + (begin - offset), bytes.data() + (begin - one.offset), end - begin);
        }
    }
    /// What has arrived by `at` comes out then.
    void flush(port::Time at) { read(0, {}, at); }
    /// Brings out what is due: `apply(offset, bytes, when)`.
    template <class Apply> void advance(port::Time now, Apply&& apply) {
        while (!held_.empty() && held_.front().due <= now) {
            const auto one = held_.front();
            const auto bytes = storage_[one.slot].size();
            held_.pop_front();
            bytes_ -= bytes;
            if (pushed_ != 0)
                --pushed_, pushed_bytes_ -= bytes;
            apply(one.offset, std::span<const std::byte>(storage_[one.slot]), one.due);
            free_.push_back(one.slot);
        }
    }

    port::Time next_due() const { return held_.empty() ? port::never : held_.front().due; }
    std::size_t held() const { return held_.size(); }

private:
    struct Held {
        std::uint64_t offset;
        std::size_t slot; ///< of storage_
        port::Time arrival, due;
    };
    void hold(std::ptrdiff_t place, std::uint64_t offset, std::span<const std::byte> from, port::Time arrival,
              port::Time due) {
        if (free_.empty()) {
            free_.push_back(storage_.size());
            storage_.emplace_back();
        }
        const auto slot = free_.back();
        free_.pop_back();
        storage_[slot].assign(from.begin(), from.end());
        bytes_ += from.size();
        held_.insert(held_.begin() + place, Held{offset, slot, arrival, due});
    }
    /// The first ones that have arrived leave when a write arrives for which there is no room.
    void push_out(port::Time at) {
        if (bytes_ <= capacity)
            return;
        if (at < pushed_at_)
            pushed_ = pushed_bytes_ = 0;
        pushed_at_ = at;
        for (const auto over = bytes_ - capacity;
             pushed_bytes_ < over && pushed_ < held_.size() && held_[pushed_].arrival <= at; ++pushed_) {
            auto& one = held_[pushed_];
            one.due = std::min(one.due, at);
            pushed_bytes_ += storage_[one.slot].size();
        }
    }
    port::Time draw() {
        return port::Time{
            static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(config_.hdp_hold.count() + 1))};
    }

    const MemoryConfig& config_;
    std::mt19937_64& random_;
    std::deque<Held> held_;                       ///< by arrival; none is due before the one in front of it
    std::vector<std::vector<std::byte>> storage_; ///< each keeps its capacity from write to write
    std::vector<std::size_t> free_;
    std::size_t bytes_ = 0; ///< held
    // So many of the first ones, and their bytes, are due by then at the latest: a later write need not look at them.
    std::size_t pushed_ = 0, pushed_bytes_ = 0;
    port::Time pushed_at_{};
};

} // namespace model::gpu::memory
