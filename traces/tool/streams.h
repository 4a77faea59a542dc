// The streams of a trace as numbers that can be compared: what each record says without its place among the records of
// other streams (its number, its cause, the numbers of events), chained, with a mark in each chunk. Where times are no
// difference, neither are those that a signal has as its value, and a CQE as its timestamp.
#pragma once

#include "traces/tool/decoder.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace traces::tool {

using Print = std::uint64_t;

class Fingerprints {
public:
    Fingerprints(const codec::Head& head, bool has_times) : head_(head), has_times_(has_times) {}
    /// `seen`: what the record is.
    Print of(const codec::Record& record, const Seen& seen);

private:
    void leave_out_times(const codec::Record& record, const Seen& seen);
    const codec::Head& head_;
    bool has_times_;
    std::vector<std::byte> bytes_;
};

/// Which stream a record belongs to: that of its interface. Where times are no difference, an event belongs to the
/// component that says it: which of two says its own first is a question of time.
class Streams {
public:
    Streams(const codec::Head& head, bool has_times) : head_(head), has_times_(has_times) {}
    std::size_t count() const { return head_.interfaces.size() + (has_times_ ? 0 : head_.names.size()); }
    std::uint32_t of(const codec::Record& record) const;
    std::string name(std::uint32_t stream) const;
    /// It may have no records at all, of which there is nothing to say.
    bool is_part(std::uint32_t stream) const;

private:
    const codec::Head& head_;
    bool has_times_;
};

/// One stream's records so far.
class Stream {
public:
    static constexpr std::uint64_t chunk = 1024;
    void add(Print print);
    std::uint64_t count() const { return count_; }
    /// The first chunk in which two streams are not the same; nothing: they are.
    static std::optional<std::uint64_t> first_difference(const Stream& a, const Stream& b);

private:
    std::uint64_t count_ = 0;
    Print chain_ = 0;
    std::vector<Print> chunks_; ///< the chain behind each whole chunk
};

/// Streams of two traces that have one name; of one only where the other has none.
struct StreamPair {
    std::string name;
    bool is_part = false; ///< as Streams says it
    std::optional<std::uint32_t> a{}, b{};
};
std::vector<StreamPair> pair_streams(const Streams& a, const Streams& b);

} // namespace traces::tool
