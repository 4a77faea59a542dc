// A work queue that is read ahead of its use: while the entries of one read are used up, those of the next one are on
// their way, so that a queue in steady use waits for neither.
#pragma once

#include "model/hca/queue/prefetch.h"

#include <array>
#include <cstdint>

namespace model::hca::queue {

class ReadAhead {
public:
    /// A ring of `entries` entries, each 2^log_entry bytes, and how far software has got.
    struct Posted {
        const memory::PagedBuffer& buffer;
        std::uint64_t ring_offset = 0;
        std::uint32_t entries = 0;
        unsigned log_entry = 0;
        std::uint16_t producer = 0;
    };

    /// The bytes of entry `index` and what was read behind it.
    Prefetch::Found find(std::uint16_t index, unsigned log_entry) const {
        const auto found = parts_[newest_].find(index, log_entry);
        return found.bytes.empty() ? parts_[1 - newest_].find(index, log_entry) : found;
    }
    /// Reads from entry `index` on, which is wanted now.
    Prefetch::Found fetch(port::Dma& dma, const Posted& posted, std::uint16_t index, port::Time at) {
        parts_[1 - newest_].forget(); // of no use any more, and its numbers come again after 2^16 entries
        if (!read(dma, posted, index, static_cast<std::uint16_t>(posted.producer - index), at))
            read(dma, posted, index, 1, at); // perhaps only a later entry cannot be read
        return parts_[newest_].find(index, posted.log_entry);
    }
    /// Entry `next` is used next: reads the entries behind those that were read, once it is among the last of these.
    void read_on(port::Dma& dma, const Posted& posted, std::uint16_t next, port::Time at) {
        const auto& newest = parts_[newest_];
        const auto known = static_cast<std::uint16_t>(newest.end() - next);
        const auto all = static_cast<std::uint16_t>(posted.producer - next);
        if (known > newest.size() || known >= all)
            return;
        newest_ = 1 - newest_;
        read(dma, posted, static_cast<std::uint16_t>(next + known), static_cast<std::uint16_t>(all - known), at);
    }

    /// Whole entries from `index` on have come with their doorbell, at most Prefetch::capacity bytes. They are kept
    /// where the first is the `next` one to be used, or follows those that are here from that one on.
    void put(std::uint16_t index, std::uint16_t next, std::span<const std::byte> entries, unsigned log_entry,
             port::Time at) {
        const bool has_next = !find(next, log_entry).bytes.empty();
        if (index != (has_next ? parts_[newest_].end() : next))
            return;
        if (!has_next) {
            parts_[1 - newest_].forget();
            parts_[newest_].begin(index);
        } else if (!parts_[newest_].has_room(entries.size(), log_entry)) {
            if (!parts_[1 - newest_].find(next, log_entry).bytes.empty())
                return; // which is still needed
            newest_ = 1 - newest_;
            parts_[newest_].begin(index);
        }
        parts_[newest_].append(entries, log_entry, at);
    }
    /// What was read is not what the queue holds next.
    void forget() {
        for (auto& part : parts_)
            part.forget();
    }

private:
    bool read(port::Dma& dma, const Posted& posted, std::uint16_t index, std::uint16_t count, port::Time at) {
        return parts_[newest_]
            .read(dma, posted.buffer, posted.ring_offset, index, count, posted.entries, posted.log_entry, at)
            .is_ok();
    }

    std::array<Prefetch, 2> parts_;
    std::uint8_t newest_ = 0; ///< of parts_, the one that was read last
};

} // namespace model::hca::queue
