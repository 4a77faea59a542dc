// Payloads that records refer to by their digest. Writer and reader keep the same window: the newest entries whose
// bytes fit, the oldest leave first. So both know without being told what may be referred to, and neither needs more
// memory than the window has.
#pragma once

#include "traces/codec/digest.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace traces::codec {

class Dictionary {
public:
    /// An entry takes this much of the window besides its bytes, so that many small ones are bounded, too.
    static constexpr std::uint64_t entry_overhead = 128;

    explicit Dictionary(std::uint64_t window_bytes) : window_(window_bytes) {}
    /// Valid until the next one is added.
    std::optional<std::span<const std::byte>> find(const Digest& digest) const;
    /// Adds an entry that is not there yet, and lets the oldest go as far as it needs. False: the window is too small.
    bool add(const Digest& digest, std::span<const std::byte> bytes);
    std::uint64_t used_bytes() const { return used_; }

private:
    struct Entry {
        Digest digest;
        std::vector<std::byte> bytes;
    };
    /// Where an entry is, by its digest: in the first place from that of its hash on that is free when it comes. What
    /// passes between two looks puts all of this out of the processor's cache; a look takes one line of it here.
    struct Place {
        std::uint64_t hash = 0, number = 0; ///< of the entry, from 1; 0: free
    };
    static std::uint64_t hash_of(const Digest& digest);
    const Entry& entry(std::uint64_t number) const { return entries_[number - first_]; }
    std::size_t first_place(std::uint64_t hash) const { return hash & (places_.size() - 1); }
    std::size_t next_place(std::size_t place) const { return (place + 1) & (places_.size() - 1); }
    void put(Place place);
    void forget_oldest();
    void grow();

    std::uint64_t window_, used_ = 0;
    std::uint64_t first_ = 1;   ///< number of the oldest entry
    std::deque<Entry> entries_; ///< oldest first
    std::vector<Place> places_; ///< a power of two of them, at most half of them taken
};

} // namespace traces::codec
