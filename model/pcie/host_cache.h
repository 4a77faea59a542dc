// The last-level cache of a host, as far as devices meet it: which of its lines are there when a device reads, and
// where what a device writes goes (Intel, "Data Direct I/O Technology"; Farshin et al., "Reexamining Direct Cache
// Access to Optimize I/O Intensive Applications for Multi-hundred-gigabit Networks", ATC 2020). Holds no data. Loads
// and stores of the processor are not seen here; what a device reads, the processor has written, so a read leaves its
// line in the cache. The bandwidth of DRAM is not modelled.
#pragma once

#include "model/port/time.h"
#include "model/time/usage.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace model::pcie {

struct HostCacheConfig {
    std::uint64_t bytes = 0;   ///< 0: there is none, and all of memory answers alike
    std::uint32_t ways = 20;   ///< associativity, as of Haswell's
    std::uint32_t io_ways = 2; ///< of these, into which writes of devices may come; 0: they go to DRAM
    /// What DRAM takes longer than the cache. The default is a Haswell's, 466 - 413 ns for a device's read ("cold" and
    /// "warm" in Neugebauer et al., "Understanding PCIe performance", SIGCOMM 2018).
    port::Time miss = std::chrono::nanoseconds{53};
    bool operator==(const HostCacheConfig&) const = default;
};

class HostCache {
public:
    static constexpr std::uint64_t line_bytes = 64;

    explicit HostCache(const HostCacheConfig& config)
        : config_(config), sets_(std::max<std::uint64_t>(1, config.bytes / line_bytes / std::max(1U, config.ways))),
          lines_(config.bytes != 0 ? sets_ * config.ways : 0) {}

    /// A device reads: how much later than from the cache it has the bytes. Lines are read from DRAM at the same time.
    port::Time read(std::uint64_t address, std::uint64_t length) { return use(address, length, config_.ways, true); }
    /// A device writes: how much later than from the cache a processor sees the bytes.
    port::Time write(std::uint64_t address, std::uint64_t length) {
        if (config_.io_ways == 0)
            return drop(address, length);
        use(address, length, std::min(config_.io_ways, config_.ways), true);
        return {};
    }
    /// The processor has used these bytes, which counts nowhere.
    void touch(std::uint64_t address, std::uint64_t length) { use(address, length, config_.ways, false); }

    bool is_on() const { return !lines_.empty(); }
    const time::CacheCounters& counters() const { return counters_; }

private:
    struct Line {
        std::uint64_t tag = 0;
        std::uint64_t used = 0; ///< number of the use; 0: empty
    };

    /// Has each line in the cache; a new one takes the place of the one of the first `ways` that was used longest ago.
    port::Time use(std::uint64_t address, std::uint64_t length, std::uint32_t ways, bool counts) {
        if (!is_on() || length == 0)
            return {};
        bool has_missed = false;
        for (auto tag = address / line_bytes; tag <= (address + length - 1) / line_bytes; ++tag) {
            auto* set = set_of(tag);
            auto* found = find(set, tag);
            const bool is_hit = found != nullptr;
            has_missed |= !is_hit;
            if (!is_hit)
                found = std::min_element(set, set + ways, [](const Line& a, const Line& b) { return a.used < b.used; });
            if (counts) {
                ++(is_hit ? counters_.hits : counters_.misses);
                counters_.evictions += !is_hit && found->used != 0;
            }
            *found = {tag, ++uses_};
        }
        return has_missed ? config_.miss : port::Time{};
    }
    port::Time drop(std::uint64_t address, std::uint64_t length) {
        if (!is_on() || length == 0)
            return {};
        for (auto tag = address / line_bytes; tag <= (address + length - 1) / line_bytes; ++tag) {
            ++counters_.misses;
            if (auto* found = find(set_of(tag), tag))
                *found = {};
        }
        return config_.miss;
    }
    Line* set_of(std::uint64_t tag) { return &lines_[tag % sets_ * config_.ways]; }
    Line* find(Line* set, std::uint64_t tag) const {
        for (auto* line = set; line != set + config_.ways; ++line)
            if (line->tag == tag && line->used != 0)
                return line;
        return nullptr;
    }

    HostCacheConfig config_;
    std::uint64_t sets_;
    std::uint64_t uses_ = 0;
    time::CacheCounters counters_;
    std::vector<Line> lines_; ///< set by set
};

} // namespace model::pcie
