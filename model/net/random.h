// Random numbers of cables and switches.
#pragma once

#include <cstdint>

namespace model::net {

/// splitmix64: small, seeded, the same everywhere.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        auto z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    /// True with probability `rate`; draws nothing when the rate is zero.
    bool chance(double rate) { return rate > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < rate; }
    std::uint64_t below(std::uint64_t n) { return next() % n; }

private:
    std::uint64_t state_;
};

} // namespace model::net
