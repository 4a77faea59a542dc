// A set-associative cache of what the HCA keeps of its tables on chip. Holds tags, and when each was brought in: it
// decides hit or miss, for counters and time; the data is read from the tables either way, so a cache can never be
// wrong.
#pragma once

#include "model/port/time.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace model::hca::icm {

class Cache {
public:
    /// entries    rounded down so that the number of sets is a power of two; with 0 everything misses
    /// log_group  entries whose tags are equal from this bit on are chained, so that dropping them takes only as long
    ///            as there are such entries; with 64 none are
    Cache(std::uint32_t entries, std::uint32_t ways, unsigned log_group = 64)
        : ways_(entries < ways ? entries : ways), log_group_(log_group) {
        if (ways_ == 0)
            return;
        const auto sets = std::bit_floor(entries / ways_);
        set_mask_ = sets - 1;
        tags_.assign(std::size_t{sets} * ways_, no_tag);
        there_.resize(tags_.size());
        victims_.assign(sets, 0);
        if (is_chained())
            links_.resize(tags_.size());
    }
    /// Looks `tag` up and brings it in when it was not there. Returns whether it was.
    bool touch(std::uint64_t tag) {
        if (tag == last_) [[likely]]
            return true;
        if (ways_ == 0)
            return false;
        const auto set = set_of(tag);
        auto* line = &tags_[set * ways_];
        for (std::uint32_t way = 0; way < ways_; ++way) {
            if (line[way] == tag) {
                last_ = tag;
                last_line_ = set * ways_ + way;
                return true;
            }
        }
        // The entry that was brought in longest ago makes room.
        auto& victim = victims_[set];
        const auto at = static_cast<std::uint32_t>(set * ways_ + victim);
        unchain(at);
        line[victim] = tag;
        chain(at);
        victim = static_cast<std::uint8_t>(victim + 1u == ways_ ? 0 : victim + 1);
        last_ = tag;
        last_line_ = at;
        return false;
    }
    /// When what the last touch() has found is there for who asks at `at`: who comes while it is brought in waits for
    /// that.
    port::Time there(port::Time at) const { return ways_ == 0 ? at : std::max(at, there_[last_line_]); }
    /// The place of what the last touch() has brought in, for filled().
    std::size_t place() const { return last_line_; }
    /// It is there from `at` on.
    void filled(std::size_t place, port::Time at) {
        if (ways_ != 0)
            there_[place] = at;
    }
    /// Drops one entry, if it is there.
    void drop(std::uint64_t tag) {
        if (ways_ == 0)
            return;
        const auto begin = set_of(tag) * ways_;
        for (auto at = begin; at < begin + ways_; ++at)
            if (tags_[at] == tag)
                empty(static_cast<std::uint32_t>(at));
        if (last_ == tag)
            last_ = no_tag;
    }
    /// Drops the entries of a group for which `is_stale(tag)` holds. Returns how many entries it has looked at, which
    /// are all those of the group that are cached.
    template <class Stale> std::size_t drop_group(std::uint64_t group, Stale&& is_stale) {
        std::size_t seen = 0;
        if (!is_chained() || group >= first_.size())
            return seen;
        for (auto at = first_[group]; at != end; ++seen) {
            const auto next = links_[at].next;
            if (is_stale(tags_[at]))
                empty(at);
            at = next;
        }
        last_ = no_tag;
        return seen;
    }
    /// Drops every entry.
    void clear() {
        tags_.assign(tags_.size(), no_tag);
        first_.clear();
        last_ = no_tag;
    }

private:
    static constexpr std::uint64_t no_tag = ~std::uint64_t{0};
    static constexpr std::uint32_t end = ~std::uint32_t{0};
    struct Links {
        std::uint32_t previous = end, next = end;
    };

    /// Neighbours go to different sets. Tags of two parts have the upper one, the number of a key, from bit 40 on: it
    /// is spread over all sets, since most keys have few entries, which would all meet in the first ones.
    std::uint64_t set_of(std::uint64_t tag) const {
        constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15; // 2^64 by the golden ratio
        return (tag ^ tag >> 17 ^ (tag >> 40) * golden >> 32) & set_mask_;
    }
    bool is_chained() const { return log_group_ < 64; }
    void empty(std::uint32_t at) {
        unchain(at);
        tags_[at] = no_tag;
    }
    void chain(std::uint32_t at) {
        if (!is_chained())
            return;
        const auto group = tags_[at] >> log_group_;
        if (group >= first_.size())
            first_.resize(group + 1, end);
        auto& first = first_[group];
        links_[at] = {end, first};
        if (first != end)
            links_[first].previous = at;
        first = at;
    }
    void unchain(std::uint32_t at) {
        if (!is_chained() || tags_[at] == no_tag)
            return;
        const auto [previous, next] = links_[at];
        (previous != end ? links_[previous].next : first_[tags_[at] >> log_group_]) = next;
        if (next != end)
            links_[next].previous = previous;
    }

    std::uint32_t ways_;
    unsigned log_group_;
    std::uint64_t set_mask_ = 0;
    std::uint64_t last_ = no_tag;
    std::size_t last_line_ = 0; ///< where it is
    std::vector<std::uint64_t> tags_;
    std::vector<port::Time> there_;
    std::vector<std::uint8_t> victims_;
    std::vector<Links> links_;         ///< of each entry, to others of its group
    std::vector<std::uint32_t> first_; ///< entry of each group, or `end`
};

} // namespace model::hca::icm
