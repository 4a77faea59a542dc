// A cache, as far as it decides time: entries, ways, replacement. It holds tags, no data. A miss goes through a window
// to whatever fills it; who comes while a line is being filled waits for that fill and causes no second one.
#pragma once

#include "model/time/usage.h"
#include "model/time/window.h"

#include <bit>
#include <random>
#include <span>
#include <vector>

namespace model::time {

enum class Replacement : std::uint8_t { least_recently_used, first_in, random };

struct CacheConfig {
    unsigned entries = 0; ///< rounded down so that the number of sets is a power of two; 0: everything misses
    unsigned ways = 1;    ///< `entries` or more: fully associative
    Replacement replacement = Replacement::least_recently_used;
    port::Time hit{};    ///< time of a look-up; look-ups are pipelined
    unsigned misses = 1; ///< outstanding at a time
    std::uint64_t seed = 1;
};

class Cache {
public:
    Cache(const std::string& name, const CacheConfig& config)
        : config_(config), meter_(name), misses_(name + ".misses", config.misses), random_(config.seed) {
        const auto ways = std::min(config.entries, std::max(1u, config.ways));
        if (ways == 0)
            return;
        sets_ = std::bit_floor(config.entries / ways);
        ways_ = ways;
        lines_.resize(std::size_t{sets_} * ways_);
    }

    /// Looks `tag` up at `at` and returns when its content is there. `fill(begin)` brings it in from `begin` on and
    /// returns when it is there; it must not use this cache.
    template <typename Fill> port::Time use(std::uint64_t tag, port::Time at, Fill&& fill) {
        meter_.count(at, at);
        ++uses_;
        const auto looked_up = at + config_.hit;
        if (auto* line = find(tag)) {
            line->used = config_.replacement == Replacement::least_recently_used ? uses_ : line->used;
            ++(line->ready > looked_up ? counters_.merged : counters_.hits);
            return std::max(looked_up, line->ready);
        }
        ++counters_.misses;
        const auto begin = misses_.enter(looked_up);
        const port::Time done = fill(begin);
        misses_.leave(begin, done);
        if (auto* line = victim(tag)) {
            counters_.evictions += line->used != 0;
            *line = {.tag = tag, .used = uses_, .ready = done};
        }
        return done;
    }
    bool has(std::uint64_t tag) { return find(tag) != nullptr; }
    void drop(std::uint64_t tag) {
        if (auto* line = find(tag))
            *line = {};
    }
    void drop_all() { std::ranges::fill(lines_, Line{}); }

    const CacheCounters& counters() const { return counters_; }
    Account account() const { return {meter_.name(), Kind::cache, 1, meter_.usage(), 0, counters_}; }
    const Window& misses() const { return misses_; }

private:
    struct Line {
        std::uint64_t tag = 0;
        std::uint64_t used = 0; ///< number of the use that counts for replacement; 0: empty
        port::Time ready{};
    };

    std::span<Line> set_of(std::uint64_t tag) {
        if (sets_ == 0)
            return {};
        // Neighbours go to different sets; tags that are far apart by a power of two do not all meet in one.
        const auto set = (tag ^ (tag >> 17)) & (sets_ - 1);
        return std::span{lines_}.subspan(set * ways_, ways_);
    }
    Line* find(std::uint64_t tag) {
        for (auto& line : set_of(tag))
            if (line.tag == tag && line.used != 0)
                return &line;
        return nullptr;
    }
    Line* victim(std::uint64_t tag) {
        const auto set = set_of(tag);
        if (set.empty())
            return nullptr;
        auto* oldest = &*std::ranges::min_element(set, {}, &Line::used); // an empty line is the oldest of all
        if (oldest->used != 0 && config_.replacement == Replacement::random)
            return &set[random_() % set.size()];
        return oldest;
    }

    CacheConfig config_;
    Meter meter_;
    Window misses_;
    CacheCounters counters_;
    std::vector<Line> lines_;
    std::uint64_t uses_ = 0;
    unsigned sets_ = 0, ways_ = 0;
    std::mt19937_64 random_;
};

} // namespace model::time
