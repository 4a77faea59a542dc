// How often which value came, at a fixed relative precision and in bounded memory, as HDR histograms do it: a power of
// two is divided into 128 equal parts, so that a percentile is wrong by less than 1 %. The largest value is exact.
#pragma once

#include <cstdint>
#include <vector>

namespace traces::tool {

class Histogram {
public:
    /// Negative values count as 0.
    void add(std::int64_t value);
    /// And what another one has.
    Histogram& operator+=(const Histogram& other);
    std::uint64_t count() const { return count_; }
    std::int64_t least() const { return least_; }
    std::int64_t most() const { return most_; }
    /// The least value that `percent` of the values do not exceed, rounded up to the end of its part; 0 of none.
    std::int64_t percentile(double percent) const;

    /// How many values each part has, from number `first` on, for whoever sends a histogram elsewhere; and one made of
    /// that again.
    struct Parts {
        std::uint32_t first = 0;
        std::vector<std::uint64_t> counts;
    };
    const Parts& parts() const { return parts_; }
    static Histogram made_of(Parts parts, std::int64_t least, std::int64_t most);

private:
    std::uint64_t& count_of(std::size_t part);

    Parts parts_; ///< those between the least and the greatest that have a value: there may be thousands of histograms
    std::uint64_t count_ = 0;
    std::int64_t least_ = 0, most_ = 0;
};

} // namespace traces::tool
