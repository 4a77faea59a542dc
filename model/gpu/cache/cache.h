// One cache of the GPU, of whatever level: sets and ways of lines that hold bytes, with a mask of the valid ones and a
// mask of the dirty ones. It knows neither what is above it nor what is below: whoever owns it fills lines, and takes
// the dirty bytes of those that leave.
#pragma once

#include "model/gpu/cache/byte_mask.h"
#include "model/port/time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace model::gpu::cache {

struct Geometry {
    std::uint64_t bytes = 0;
    unsigned ways = 16;
    unsigned line = 128; ///< bytes, a power of two, at most ByteMask::bytes

    constexpr std::uint64_t sets() const { return bytes / line / ways; }
    bool operator==(const Geometry&) const = default;
};
/// Refuses a geometry that cannot be built; static text, or nullptr.
const char* find_fault(const Geometry& geometry);

struct Line {
    std::uint64_t address = 0; ///< of its first byte
    ByteMask valid, dirty;     ///< a line without valid bytes is free
    ByteMask overtaken;        ///< dirty bytes behind which memory has got others since
    port::Time filled{};       ///< when bytes of memory came in last; of a line that was only written: its first store
    port::Time dirtied{};      ///< when the first byte that is still dirty was written
    std::uint64_t used = 0;    ///< larger is later
    std::array<std::byte, ByteMask::bytes> data{};

    bool is_free() const { return valid.is_empty(); }
    bool is_dirty() const { return !dirty.is_empty(); }
    void read(unsigned begin, std::span<std::byte> into) const {
        std::memcpy(into.data(), data.data() + begin, into.size());
    }
    /// Bytes that memory has, too.
    void fill(unsigned begin, std::span<const std::byte> from) {
        std::memcpy(data.data() + begin, from.data(), from.size());
        const ByteMask bytes{begin, static_cast<unsigned>(from.size())};
        valid.add(bytes);
        clean(bytes);
    }
    /// Memory has these bytes now.
    void clean(const ByteMask& bytes) {
        dirty.remove(bytes);
        overtaken.remove(bytes);
    }
    /// Bytes that memory does not have yet.
    void write(unsigned begin, std::span<const std::byte> from, port::Time at) {
        if (!is_dirty())
            dirtied = at;
        fill(begin, from);
        dirty.add({begin, static_cast<unsigned>(from.size())});
    }
};

/// How long a new line is meant to stay.
enum class Insert : std::uint8_t {
    most_recent,  ///< LRU
    least_recent, ///< stream: the first to be evicted
};

class Cache {
public:
    explicit Cache(const Geometry& geometry);

    unsigned line_bytes() const { return geometry_.line; }
    const Geometry& geometry() const { return geometry_; }

    /// The line that holds `address`, or nullptr. `find` counts as a use, `peek` does not.
    Line* find(std::uint64_t address);
    Line* peek(std::uint64_t address);

    /// The line of `address`, which is not held yet, in place of a free one or of the one used longest ago. That one
    /// leaves: `evict(line)` is called when it holds anything.
    template <class Evict> Line& allocate(std::uint64_t address, Insert where, port::Time at, Evict&& evict) {
        auto& line = victim(address);
        if (!line.is_free())
            evict(line);
        line = {.address = address & ~std::uint64_t{geometry_.line - 1},
                .valid = {},
                .dirty = {},
                .overtaken = {},
                .filled = at,
                .dirtied = {},
                .used = where == Insert::most_recent ? ++uses_ : 0,
                .data = {}};
        return line;
    }

    /// Takes a line out, whatever it holds. Dirty bytes are lost: write them back before.
    static void drop(Line& line) { line.valid = line.dirty = line.overtaken = {}; }
    /// Takes out all lines.
    void drop_all();

    /// Calls `visit(line)` for each line that holds anything, in the order of the sets.
    template <class Visit> void each(Visit&& visit) {
        for (const auto set : touched_)
            for (auto& line : ways_of(set))
                if (!line.is_free())
                    visit(line);
    }

private:
    std::span<Line> ways_of(std::uint64_t set) { return {sets_[set].get(), geometry_.ways}; }
    std::uint64_t set_of(std::uint64_t address) const { return address / geometry_.line % sets_.size(); }
    Line& victim(std::uint64_t address);

    Geometry geometry_;
    std::vector<std::unique_ptr<Line[]>> sets_; ///< made at their first line: most of a cache is never touched
    std::vector<std::uint64_t> touched_;        ///< the sets that exist, ascending
    std::uint64_t uses_ = 0;
};

} // namespace model::gpu::cache
