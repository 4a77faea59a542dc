// A set-associative cache of what the HCA keeps of its tables on chip. Holds tags only: it decides hit or miss, for
// counters and time; the data is read from the tables either way, so a cache can never be wrong.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace model::hca::tpt {

class Cache {
public:
    /// entries: rounded down to a power of two of sets; 0 entries: everything misses.
    Cache(std::uint32_t entries, std::uint32_t ways) : ways_(entries < ways ? entries : ways) {
        if (ways_ == 0)
            return;
        const auto sets = std::bit_floor(entries / ways_);
        set_mask_ = sets - 1;
        tags_.assign(std::size_t{sets} * ways_, no_tag);
        victims_.assign(sets, 0);
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
                return true;
            }
        }
        // Oldest first: the entry that was brought in longest ago makes room.
        auto& victim = victims_[set];
        if (line[victim] == last_)
            last_ = no_tag;
        line[victim] = tag;
        victim = static_cast<std::uint8_t>(victim + 1u == ways_ ? 0 : victim + 1);
        last_ = tag;
        return false;
    }
    /// Drops one entry, if it is there.
    void drop(std::uint64_t tag) {
        if (ways_ == 0)
            return;
        auto* line = &tags_[set_of(tag) * ways_];
        for (std::uint32_t way = 0; way < ways_; ++way)
            if (line[way] == tag)
                line[way] = no_tag;
        if (last_ == tag)
            last_ = no_tag;
    }
    /// Drops every entry for which `is_stale(tag)`.
    template <class Stale> void invalidate(Stale&& is_stale) {
        for (auto& tag : tags_)
            if (tag != no_tag && is_stale(tag))
                tag = no_tag;
        last_ = no_tag;
    }

private:
    static constexpr std::uint64_t no_tag = ~std::uint64_t{0};
    std::uint64_t set_of(std::uint64_t tag) const { return (tag ^ tag >> 17) & set_mask_; }

    std::uint32_t ways_;
    std::uint64_t set_mask_ = 0;
    std::uint64_t last_ = no_tag;
    std::vector<std::uint64_t> tags_;
    std::vector<std::uint8_t> victims_;
};

} // namespace model::hca::tpt
