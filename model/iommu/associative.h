// A set-associative cache. When the memory behind an entry changes, the entry becomes stale, and is used until it is
// invalidated or replaced. The entry that was not used for the longest time is replaced first. Knows nothing of tables.
#pragma once

#include "model/iommu/config.h"

#include <bit>
#include <cstdint>
#include <vector>

namespace model::iommu {

struct CacheCounters {
    std::uint64_t hits = 0, misses = 0, evictions = 0, invalidated = 0;
};

/// The key of an entry: its owner (domain, requester, ...), and a page or an index.
struct CacheKey {
    std::uint64_t owner = 0, page = 0;
    bool operator==(const CacheKey&) const = default;
};

template <class Value> class Associative {
public:
    struct Line {
        CacheKey key;
        std::uint64_t used = 0; ///< the look-up, by number, that used it last; 0: the line is free
        Value value{};
    };

    explicit Associative(CacheShape shape) : ways_(shape.entries < shape.ways ? shape.entries : shape.ways) {
        if (ways_ == 0)
            return;
        const auto sets = std::bit_floor(shape.entries / ways_);
        set_mask_ = sets - 1;
        lines_.resize(std::size_t{sets} * ways_);
    }

    /// The entry, or nullptr. Counts nothing: one translation may look for several sizes.
    Value* find(const CacheKey& key) {
        auto* const set = set_of(key);
        for (std::uint32_t way = 0; way < ways_; ++way) {
            auto& line = set[way];
            if (line.key == key && line.used != 0) {
                line.used = ++clock_;
                return &line.value;
            }
        }
        return nullptr;
    }
    /// Stores an entry in the place of one with the same key, or of the one used longest ago.
    void insert(const CacheKey& key, const Value& value) {
        if (ways_ == 0)
            return;
        auto* const set = set_of(key);
        auto* victim = set;
        for (std::uint32_t way = 0; way < ways_; ++way) {
            auto& line = set[way];
            if (line.key == key && line.used != 0) {
                victim = &line;
                break;
            }
            if (line.used < victim->used)
                victim = &line;
        }
        if (victim->used != 0 && victim->key != key)
            ++counters_.evictions;
        *victim = {key, ++clock_, value};
    }
    /// Drops every entry for which `is_gone(key, value)`.
    template <class IsGone> void invalidate(IsGone&& is_gone) {
        for (auto& line : lines_) {
            if (line.used != 0 && is_gone(line.key, line.value)) {
                line.used = 0;
                ++counters_.invalidated;
            }
        }
    }
    void clear() {
        invalidate([](const CacheKey&, const Value&) { return true; });
    }

    /// A look-up of `packets` requests for the same entry, one after the other.
    void note(bool is_hit, std::uint32_t packets = 1) {
        ++(is_hit ? counters_.hits : counters_.misses);
        (ways_ != 0 ? counters_.hits : counters_.misses) += packets - 1;
    }
    const CacheCounters& counters() const { return counters_; }

private:
    Line* set_of(const CacheKey& key) { return lines_.data() + ((key.page ^ key.owner) & set_mask_) * ways_; }

    std::uint32_t ways_;
    std::uint64_t set_mask_ = 0, clock_ = 0;
    std::vector<Line> lines_;
    CacheCounters counters_;
};

} // namespace model::iommu
