// Host memory as a recording implies it: what the device has read there, and what it writes. Answers a read of any
// address and length by what the recorded device saw there at that point, whatever pieces it asked for: a model that
// splits or prefetches otherwise gets the same bytes.
//
// Software writes its memory where no record says so. Between two reads that saw different bytes it has; so a read of
// the played device that comes sooner than the recorded one (it has taken what the recorded one saw before) gets what
// will be seen next, one version ahead and no further.
#pragma once

#include "model/port/dma.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace platform::record {

class MemoryImage {
public:
    using Time = model::port::Time;

    /// The recorded device has read this, at this record; without bytes where the status says why. In order.
    void observe(std::uint64_t record, std::uint64_t address, std::size_t length, std::span<const std::byte> bytes,
                 model::port::DmaStatus status, Time took);

    struct Answer {
        bool is_known = true; ///< otherwise the recording has not all of the bytes
        model::port::DmaStatus status = model::port::DmaStatus::ok;
        Time took{};
    };
    /// What the played device reads. All calls before the record `applied` have been made, and the next one has the
    /// record `next`.
    Answer read(std::uint64_t address, std::span<std::byte> into, std::uint64_t applied, std::uint64_t next);
    /// What the played device writes; the recorded one did at this record.
    void write(std::uint64_t address, std::span<const std::byte> bytes, std::uint64_t record);
    /// What was seen before this record is old: only its bytes count.
    void forget(std::uint64_t record);

    std::size_t held_bytes() const { return held_bytes_; } ///< by what was observed
    /// All of it, about: a page stays, since the device may read it again.
    std::size_t footprint_bytes() const {
        return held_bytes_ + held_bytes_ / 8 + observations_.size() * sizeof(Observation) +
               pages_.size() * (sizeof(Page) + sizeof(void*));
    }

private:
    static constexpr std::uint64_t page_bytes = 4096;
    struct Observation {
        std::uint64_t address;
        std::size_t length;
        std::vector<std::byte> bytes;
        model::port::DmaStatus status;
        Time took;
        std::vector<bool> used; ///< by byte: the played device has it, or something later
        std::size_t used_count = 0;
        std::uint64_t record;
        void use(std::size_t byte) {
            used_count += used[byte] ? 0 : 1;
            used[byte] = true;
        }
        /// How far on from this byte all are used as it is; at most `most`.
        std::size_t run(std::size_t byte, std::size_t most) const;
    };
    struct Page {
        std::array<std::byte, page_bytes> bytes{};
        std::bitset<page_bytes> known;
        std::vector<Observation*> observations; ///< that touch it, in their order
    };
    /// What the next bytes of a read get instead of what the page has (nullptr: that), and how many of them.
    struct Choice {
        Observation* seen;
        std::size_t run;
    };
    static Choice choose(const Page& page, std::uint64_t address, std::size_t most, std::uint64_t applied,
                         std::uint64_t next);
    template <class Visit> static void each_page(std::uint64_t address, std::size_t length, Visit&& visit);

    std::unordered_map<std::uint64_t, Page> pages_;
    std::deque<Observation> observations_; ///< in their order
    std::size_t held_bytes_ = 0;
    Time took_{}; ///< by the last read of which the recording knows
};

} // namespace platform::record
