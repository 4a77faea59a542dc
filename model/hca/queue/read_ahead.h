// A work queue that is read ahead of its use: while the entries of one read are used up, those of the next one are on
// their way, so that a queue in steady use waits for neither.
#pragma once

#include "model/hca/config.h"
#include "model/hca/queue/prefetch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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
        HcaConfig::WqePrefetch limits{};
    };

    /// The bytes of entry `index` and what was read behind it.
    Prefetch::Found find(std::uint16_t index, unsigned log_entry) const {
        for (const auto& part : parts_)
            if (const auto found = part.find(index, log_entry); !found.bytes.empty())
                return found;
        return {};
    }
    /// Reads from entry `index` on, which is wanted now.
    Prefetch::Found fetch(port::Dma& dma, const Posted& posted, std::uint16_t index, port::Time at) {
        make(posted.limits.reads);
        forget(); // of no use any more, and their numbers come again after 2^16 entries
        if (!read(dma, posted, index, static_cast<std::uint16_t>(posted.producer - index), at))
            read(dma, posted, index, 1, at); // perhaps only a later entry cannot be read
        return parts_[newest_].find(index, posted.log_entry);
    }
    /// Entry `next` is used next: reads the entries behind those that were read, until there are as many reads ahead of
    /// it as there may be.
    void read_on(port::Dma& dma, const Posted& posted, std::uint16_t next, port::Time at) {
        make(posted.limits.reads);
        for (auto ahead = reads_ahead(next); ahead < posted.limits.reads; ++ahead) {
            const auto known = static_cast<std::uint16_t>(parts_[newest_].end() - next);
            const auto all = static_cast<std::uint16_t>(posted.producer - next);
            if (known >= all)
                return;
            newest_ = oldest();
            if (!read(dma, posted, static_cast<std::uint16_t>(next + known), static_cast<std::uint16_t>(all - known),
                      at))
                return;
        }
    }

    /// Whole entries from `index` on have come with their doorbell, at most Prefetch::capacity bytes. They are kept
    /// where the first is the `next` one to be used, or follows those that are here from that one on.
    void put(std::uint16_t index, std::uint16_t next, std::span<const std::byte> entries, unsigned log_entry,
             port::Time at) {
        make(1);
        const bool has_next = !find(next, log_entry).bytes.empty();
        if (index != (has_next ? parts_[newest_].end() : next))
            return;
        if (!has_next) {
            forget();
            parts_[newest_].begin(index);
        } else if (!parts_[newest_].has_room(entries.size(), log_entry)) {
            if (!parts_[oldest()].find(next, log_entry).bytes.empty())
                return; // which is still needed
            newest_ = oldest();
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
            .read(dma, posted.buffer, posted.ring_offset, index, count, posted.entries, posted.log_entry,
                  posted.limits.bytes, at)
            .is_ok();
    }
    /// Makes a part for each read that may be ahead, and one for that in use; two at least, since what comes with
    /// doorbells needs these.
    void make(unsigned reads) {
        const auto wanted = std::max<std::size_t>(2, reads + std::size_t{1});
        if (parts_.size() < wanted) [[unlikely]] {
            forget(); // the order of those there are would change
            newest_ = 0;
            parts_.resize(wanted);
        }
    }
    std::uint8_t oldest() const { return static_cast<std::uint8_t>(newest_ + 1U < parts_.size() ? newest_ + 1 : 0); }
    /// How many of the parts that were read last begin behind entry `next`.
    unsigned reads_ahead(std::uint16_t next) const {
        unsigned ahead = 0;
        auto part = newest_;
        while (static_cast<std::uint16_t>(parts_[part].end() - next) > parts_[part].size() &&
               ++ahead + 1 < parts_.size())
            part = static_cast<std::uint8_t>(part != 0 ? part - 1 : parts_.size() - 1);
        return ahead;
    }

    std::vector<Prefetch> parts_; ///< a ring in the order in which they were read; empty until there is work
    std::uint8_t newest_ = 0;     ///< of parts_, the one that was read last
};

} // namespace model::hca::queue
