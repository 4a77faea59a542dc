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

void Histogram::add(std::int64_t value) {
    value = std::max<std::int64_t>(value, 0);
    const auto part = part_of(static_cast<std::uint64_t>(value));
    if (part >= parts_.size())
        parts_.resize(part + 1);
    ++parts_[part];
    least_ = count_ == 0 ? value : std::min(least_, value);
    most_ = std::max(most_, value);
    ++count_;
}

Histogram& Histogram::operator+=(const Histogram& other) {
    if (other.count_ == 0)
        return *this;
    parts_.resize(std::max(parts_.size(), other.parts_.size()));
    for (std::size_t part = 0; part < other.parts_.size(); ++part)
        parts_[part] += other.parts_[part];
    least_ = count_ == 0 ? other.least_ : std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
    count_ += other.count_;
    return *this;
}

Histogram Histogram::made_of(std::vector<std::uint64_t> parts, std::int64_t least, std::int64_t most) {
    Histogram made;
    made.parts_ = std::move(parts);
    made.count_ = std::accumulate(made.parts_.begin(), made.parts_.end(), std::uint64_t{0});
    made.least_ = least;
    made.most_ = most;
    return made;
}

std::int64_t Histogram::percentile(double percent) const {
    const auto wanted =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_))));
    std::uint64_t seen = 0;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
        seen += parts_[part];
        if (seen >= wanted)
            return std::min(static_cast<std::int64_t>(end_of(part)), most_);
    }
    return most_;
}

} // namespace traces::tool
