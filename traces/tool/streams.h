// The streams of a trace as numbers that can be compared: what each record says without its place among the records of
// other streams (its number, its cause, the numbers of events), chained, with a mark in each chunk.
#pragma once

#include "traces/codec/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace traces::tool {

using Print = std::uint64_t;

class Fingerprints {
public:
    Fingerprints(const codec::Head& head, bool has_times) : head_(head), has_times_(has_times) {}
    Print of(const codec::Record& record);

private:
    const codec::Head& head_;
    bool has_times_;
    std::vector<std::byte> bytes_;
};

/// One interface's records so far.
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

/// Interfaces of two traces that have one name; of one only where the other has none.
struct StreamPair {
    std::string name;
    std::optional<std::uint32_t> a{}, b{};
};
std::vector<StreamPair> pair_streams(const codec::Head& a, const codec::Head& b);

} // namespace traces::tool
