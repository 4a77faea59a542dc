// What a load draws: numbers that are the same on every machine for the same seed, in a few bytes of state, since each
// queue pair has its own; and ranks by Zipf's law.
#pragma once

#include <cmath>
#include <cstdint>

namespace load {

__extension__ using Wide = unsigned __int128; ///< which ISO C++ does not have

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
public:
    explicit constexpr Random(std::uint64_t seed) : state_(seed) {}
    /// Of a part of a load, by its number.
    constexpr Random(std::uint64_t seed, std::uint64_t part) : state_(mix(seed) ^ mix(~part)) {}

    constexpr std::uint64_t next() { return mix(state_ += 0x9e37'79b9'7f4a'7c15); }
    /// Below `count`, which is not 0.
    constexpr std::uint64_t below(std::uint64_t count) {
        return static_cast<std::uint64_t>(static_cast<Wide>(next()) * count >> 64);
    }
    /// In [0, 1).
    constexpr double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    static constexpr std::uint64_t mix(std::uint64_t value) {
        value = (value ^ value >> 30) * 0xbf58'476d'1ce4'e5b9;
        value = (value ^ value >> 27) * 0x94d0'49bb'1331'11eb;
        return value ^ value >> 31;
    }

private:
    std::uint64_t state_;
};

/// Ranks from 0 to count - 1, of which rank k comes with a probability proportional to 1 / (k + 1)^exponent. Takes the
/// same time and space for any count (Hoermann, Derflinger: "Rejection-inversion to generate variates from monotone
/// discrete distributions", ACM TOMACS 6(3), 1996).
class Zipf {
public:
    /// `count` at least 1, `exponent` above 0.
    Zipf(std::uint64_t count, double exponent)
        : count_(count), exponent_(exponent), first_(area(1.5) - 1), last_(area(static_cast<double>(count) + 0.5)),
          slack_(2 - inverse(area(2.5) - height(2))) {}

    std::uint64_t draw(Random& random) const {
        for (;;) {
            const auto u = last_ + random.fraction() * (first_ - last_);
            const auto x = inverse(u);
            auto k = std::round(x);
            k = k < 1 ? 1 : k > static_cast<double>(count_) ? static_cast<double>(count_) : k;
            if (k - x <= slack_ || u >= area(k + 0.5) - height(k))
                return static_cast<std::uint64_t>(k) - 1;
        }
    }

private:
    double height(double x) const { return std::exp(-exponent_ * std::log(x)); }
    /// Below the curve, from 1 to x.
    double area(double x) const {
        const auto log = std::log(x), power = (1 - exponent_) * log;
        return std::abs(power) > 1e-8 ? std::expm1(power) / power * log : log * (1 + power / 2);
    }
    double inverse(double u) const {
        auto power = u * (1 - exponent_);
        power = power < -1 ? -1 : power; // by a rounding error
        return std::exp(std::abs(power) > 1e-8 ? std::log1p(power) / power * u : u * (1 - power / 2));
    }

    std::uint64_t count_;
    double exponent_, first_, last_, slack_;
};

} // namespace load
