#include "traces/tool/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace traces::tool {

namespace {

constexpr unsigned log_parts = 7;
constexpr std::uint64_t parts = std::uint64_t{1} << log_parts;

/// Values below 2^(log_parts + 1) have a part each; from there on a power of two has `parts`.
std::size_t part_of(std::uint64_t value) {
    if (value < 2 * parts)
        return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - log_parts - 1;
    return shift * parts + (value >> shift);
}
std::uint64_t end_of(std::size_t part) {
    if (part < 2 * parts)
        return part;
    const auto shift = part / parts - 1;
    return ((part - shift * parts + 1) << shift) - 1;
}

} // namespace

/// With room for it. A new first part has some more before it, since what is found afterwards is near.
std::uint64_t& Histogram::count_of(std::size_t part) {
    constexpr std::size_t together = 16;
    auto& [first, counts] = parts_;
    const auto begin = static_cast<std::uint32_t>(part / together * together);
    if (counts.empty()) {
        first = begin;
    } else if (part < first) {
        counts.insert(counts.begin(), first - begin, 0);
        first = begin;
    }
    if (part - first >= counts.size())
        counts.resize(part - first + 1);
    return counts[part - first];
}

void Histogram::add(std::int64_t value) {
    value = std::max<std::int64_t>(value, 0);
    ++count_of(part_of(static_cast<std::uint64_t>(value)));
    least_ = count_ == 0 ? value : std::min(least_, value);
    most_ = std::max(most_, value);
    ++count_;
}

Histogram& Histogram::operator+=(const Histogram& other) {
    if (other.count_ == 0)
        return *this;
    const auto& [first, counts] = other.parts_;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] != 0)
            count_of(first + i) += counts[i];
    least_ = count_ == 0 ? other.least_ : std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
    count_ += other.count_;
    return *this;
}

Histogram Histogram::made_of(Parts parts, std::int64_t least, std::int64_t most) {
    Histogram made;
    made.parts_ = std::move(parts);
    made.count_ = std::accumulate(made.parts_.counts.begin(), made.parts_.counts.end(), std::uint64_t{0});
    made.least_ = least;
    made.most_ = most;
    return made;
}

std::int64_t Histogram::percentile(double percent) const {
    const auto wanted =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_))));
    const auto& [first, counts] = parts_;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        seen += counts[i];
        if (seen >= wanted)
            return std::min(static_cast<std::int64_t>(end_of(first + i)), most_);
    }
    return most_;
}

} // namespace traces::tool
