// Which bytes of a cache line are meant: the valid ones, the dirty ones. One bit for a byte, 128 at most.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

namespace model::gpu::cache {

class ByteMask {
public:
    static constexpr unsigned bytes = 128;

    constexpr ByteMask() = default;
    /// `length` bytes from `begin` on.
    constexpr ByteMask(unsigned begin, unsigned length)
        : words_{word(begin, begin + length), word(begin, begin + length, 64)} {
        assert(begin + length <= bytes);
    }

    constexpr bool is_empty() const { return (words_[0] | words_[1]) == 0; }
    constexpr bool has(const ByteMask& other) const {
        return (other.words_[0] & ~words_[0]) == 0 && (other.words_[1] & ~words_[1]) == 0;
    }
    constexpr bool touches(const ByteMask& other) const {
        return ((words_[0] & other.words_[0]) | (words_[1] & other.words_[1])) != 0;
    }
    constexpr void add(const ByteMask& other) { words_[0] |= other.words_[0], words_[1] |= other.words_[1]; }
    constexpr void remove(const ByteMask& other) { words_[0] &= ~other.words_[0], words_[1] &= ~other.words_[1]; }
    constexpr unsigned count() const {
        return static_cast<unsigned>(std::popcount(words_[0]) + std::popcount(words_[1]));
    }

    /// What is in both.
    constexpr ByteMask common(const ByteMask& other) const {
        ByteMask mask;
        mask.words_[0] = words_[0] & other.words_[0], mask.words_[1] = words_[1] & other.words_[1];
        return mask;
    }
    struct Run {
        unsigned begin, length;
    };
    /// The first run of bytes of a mask that is not empty.
    constexpr Run first_run() const {
        const auto begin = next(0, true);
        return {begin, next(begin, false) - begin};
    }
    /// Calls `visit(begin, length)` for each run of bytes, in ascending order.
    template <class Visit> constexpr void each_run(Visit&& visit) const {
        for (unsigned at = next(0, true); at < bytes;) {
            const auto end = next(at, false);
            visit(at, end - at);
            at = next(end, true);
        }
    }

    constexpr bool operator==(const ByteMask&) const = default;

private:
    static constexpr std::uint64_t word(unsigned begin, unsigned end, unsigned first = 0) {
        const auto low = begin > first ? begin - first : 0, high = end > first ? end - first : 0;
        const auto below = [](unsigned n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; };
        return below(high) & ~below(low);
    }
    /// The first byte from `at` on that is, or is not, in the mask; `bytes`: there is none.
    constexpr unsigned next(unsigned at, bool is_in) const {
        while (at < bytes) {
            const auto rest = (is_in ? words_[at / 64] : ~words_[at / 64]) >> at % 64;
            if (rest != 0)
                return at + static_cast<unsigned>(std::countr_zero(rest));
            at = (at / 64 + 1) * 64;
        }
        return bytes;
    }

    std::uint64_t words_[2]{};
};

} // namespace model::gpu::cache
