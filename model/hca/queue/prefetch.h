// What was read ahead of a work queue: consecutive entries in one DMA read, as the device fetches them when a doorbell
// announced several. Software leaves posted entries alone until they complete, so what was read stays true.
#pragma once

#include "model/hca/memory/paged_buffer.h"
#include "model/port/dma.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace model::hca::queue {

class Prefetch {
public:
    static constexpr std::size_t capacity = 1024; ///< bytes

    struct Found {
        std::span<const std::byte> bytes; ///< empty: they were not read
        port::Time ready{};               ///< when they were there
    };
    /// The bytes of entry `index` and what was read behind it.
    Found find(std::uint16_t index, unsigned log_entry) const {
        const auto ahead = static_cast<std::uint16_t>(index - first_);
        if (ahead >= count_)
            return {};
        const auto at = std::size_t{ahead} << log_entry;
        return {std::span(*bytes_).subspan(at, (std::size_t{count_} << log_entry) - at), ready_};
    }
    /// Reads entries from `index` on: as many as are posted, fit into `most` bytes, and lie before the end of the ring
    /// of `ring_entries`; at least one.
    port::DmaResult read(port::Dma& dma, const memory::PagedBuffer& buffer, std::uint64_t ring_offset,
                         std::uint16_t index, std::uint16_t posted, std::uint32_t ring_entries, unsigned log_entry,
                         std::size_t most, port::Time at) {
        const auto slot = index & (ring_entries - 1);
        const auto fit = std::max<std::size_t>(1, std::min(most, capacity) >> log_entry);
        const auto count = std::min<std::uint32_t>({posted, ring_entries - slot, static_cast<std::uint32_t>(fit)});
        if (!bytes_) [[unlikely]]
            bytes_ = std::make_unique<Bytes>();
        const auto result = buffer.read(dma, ring_offset + (std::uint64_t{slot} << log_entry),
                                        std::span(*bytes_).first(std::size_t{count} << log_entry), at);
        first_ = index;
        count_ = result.is_ok() ? static_cast<std::uint16_t>(count) : std::uint16_t{0};
        ready_ = result.done;
        return result;
    }

    bool has_room(std::size_t bytes, unsigned log_entry) const {
        return (std::size_t{count_} << log_entry) + bytes <= capacity;
    }
    /// Whole entries that have come otherwise, behind those that are here; there is room for them.
    void append(std::span<const std::byte> entries, unsigned log_entry, port::Time at) {
        std::ranges::copy(entries, bytes_->begin() + (std::ptrdiff_t{count_} << log_entry));
        count_ = static_cast<std::uint16_t>(count_ + (entries.size() >> log_entry));
        ready_ = std::max(ready_, at);
    }
    /// Is to hold what follows from entry `index` on.
    void begin(std::uint16_t index) {
        if (!bytes_) [[unlikely]]
            bytes_ = std::make_unique<Bytes>();
        first_ = index;
        count_ = 0;
        ready_ = {};
    }

    std::uint16_t size() const { return count_; }
    /// Behind the last entry that was read.
    std::uint16_t end() const { return static_cast<std::uint16_t>(first_ + count_); }

    /// What was read is not what the queue holds next.
    void forget() { count_ = 0; }

private:
    using Bytes = std::array<std::byte, capacity>;

    std::uint16_t first_ = 0, count_ = 0;
    port::Time ready_{};
    std::unique_ptr<Bytes> bytes_; ///< from the first read on
};

} // namespace model::hca::queue
