// Values by ranges of addresses: what was assigned last counts. Neighbours are not merged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace platform::observe::ownership {

template <class Value> class RangeMap {
public:
    struct Piece {
        std::uint64_t begin, end;
        const Value* value;
    };

    /// [begin, end) has this value from now on.
    void assign(std::uint64_t begin, std::uint64_t end, Value value) {
        erase(begin, end);
        ranges_.emplace(begin, Range{end, std::move(value)});
    }
    void erase(std::uint64_t begin, std::uint64_t end) {
        split(begin);
        split(end);
        ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
    }
    /// nullptr where nothing was assigned.
    const Value* find(std::uint64_t at) const {
        const auto after = ranges_.upper_bound(at);
        if (after == ranges_.begin())
            return nullptr;
        const auto& [begin, range] = *std::prev(after);
        return at < range.end ? &range.value : nullptr;
    }
    /// Calls `visit(piece)` for what touches [begin, end), cut to it, in ascending order; gaps are left out.
    template <class Visit> void for_each(std::uint64_t begin, std::uint64_t end, Visit&& visit) const {
        auto at = ranges_.upper_bound(begin);
        if (at != ranges_.begin() && std::prev(at)->second.end > begin)
            --at;
        for (; at != ranges_.end() && at->first < end; ++at)
            visit(Piece{std::max(begin, at->first), std::min(end, at->second.end), &at->second.value});
    }
    std::size_t size() const { return ranges_.size(); }

private:
    struct Range {
        std::uint64_t end;
        Value value;
    };
    void split(std::uint64_t at) {
        const auto after = ranges_.upper_bound(at);
        if (after == ranges_.begin())
            return;
        auto& [begin, range] = *std::prev(after);
        if (begin == at || range.end <= at)
            return;
        ranges_.emplace(at, range);
        range.end = at;
    }

    std::map<std::uint64_t, Range> ranges_; ///< by where they begin
};

} // namespace platform::observe::ownership
