// The records of a trace in memory, each payload once, and any of them as a trace again: with the numbers that they
// then have, and causes that still mean the same record. What is left out is nobody's cause.
#pragma once

#include "traces/codec/reader.h"
#include "traces/codec/writer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace platform::record {

class RecordStore {
public:
    /// `interfaces`: of `head`, those whose records are wanted.
    RecordStore(const traces::codec::Head& head, std::span<const std::uint32_t> interfaces);

    struct Entry {
        std::uint64_t number; ///< in the trace that it comes from
        std::int64_t time_ps;
        traces::codec::Mark mark;
        std::uint64_t head, payload; ///< where in bytes_
        std::uint32_t interface;     ///< in head()
        std::uint16_t head_bytes, payload_bytes;
    };
    /// False: it is of another interface.
    bool add(const traces::codec::Record& record);
    const std::vector<Entry>& entries() const { return entries_; }
    /// With the wanted interfaces only.
    const traces::codec::Head& head() const { return head_; }
    std::size_t bytes() const { return bytes_.size() + entries_.size() * sizeof(Entry); }
    std::span<const std::byte> head_of(const Entry& entry) const {
        return std::span(bytes_).subspan(entry.head, entry.head_bytes);
    }
    std::span<const std::byte> payload_of(const Entry& entry) const {
        return std::span(bytes_).subspan(entry.payload, entry.payload_bytes);
    }

    /// As it was in the trace that it comes from.
    traces::codec::Record record_of(const Entry& entry) const {
        return {entry.number, entry.interface, entry.time_ps, entry.mark, head_of(entry), payload_of(entry)};
    }

    /// Other bytes of a record.
    struct Edited {
        std::vector<std::byte> head, payload;
    };
    /// What is to be written of the record at a position; nothing: what it has.
    using Edit = std::function<std::optional<Edited>(std::size_t)>;
    /// Writes the entries for which `is_kept(position)`. Returns their numbers in the trace that they come from.
    std::vector<std::uint64_t> write(
        traces::codec::Writer& writer, const std::function<bool(std::size_t)>& is_kept,
        const Edit& edit = [](std::size_t) { return std::nullopt; }) const;
    /// Forgets the records.
    void clear();

private:
    std::uint64_t put(std::span<const std::byte> bytes);

    static constexpr std::uint32_t unwanted = ~0u;
    traces::codec::Head head_;
    std::vector<std::uint32_t> interface_of_; ///< by that of the trace
    std::vector<Entry> entries_;
    std::vector<std::byte> bytes_;
    std::unordered_map<std::uint64_t, std::uint64_t> payloads_; ///< where the last one with this hash is
};

} // namespace platform::record
