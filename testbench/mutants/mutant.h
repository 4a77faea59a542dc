// What a rewritten guard asks (testbench/mutants/README.md): whether its mutant is the one that was chosen for this
// process. A number counts as reached only where the mutant would change what the guard yields, so that a test that
// does not reach it cannot see it. Only files of the copy that mutants.py makes include this.
#pragma once

#include <atomic>
#include <cstdlib>

namespace mutants {

/// One above the largest number. Fixed, so that more mutants in one file do not rebuild the others.
inline constexpr int most = 1 << 15;

inline std::atomic<unsigned char> reached[most];
inline std::atomic<int> chosen{-1};

/// Reads HCASIM_MUTANT: 0 or nothing is no mutant.
inline int choose() {
    const char* text = std::getenv("HCASIM_MUTANT");
    const int number = text == nullptr ? 0 : std::atoi(text);
    chosen.store(number, std::memory_order_relaxed);
    return number;
}

inline bool is_chosen(int number) {
    reached[number].store(1, std::memory_order_relaxed);
    const int now = chosen.load(std::memory_order_relaxed);
    return (now < 0 ? choose() : now) == number;
}

/// Constants are as they were.
constexpr bool on(int number) {
    if consteval {
        return false;
    } else {
        return is_chosen(number);
    }
}

/// `plain`, or with the mutant `other`.
template <class T> constexpr T instead(int number, const T& plain, const T& other) {
    return plain == other ? plain : on(number) ? other : plain;
}

template <class A, class B> constexpr bool less(int number, const A& a, const B& b) {
    return instead(number, a < b, a <= b);
}
template <class A, class B> constexpr bool less_equal(int number, const A& a, const B& b) {
    return instead(number, a <= b, a < b);
}
template <class A, class B> constexpr bool greater(int number, const A& a, const B& b) {
    return instead(number, a > b, a >= b);
}
template <class A, class B> constexpr bool greater_equal(int number, const A& a, const B& b) {
    return instead(number, a >= b, a > b);
}

/// The lesser or greater of two, or with one mutant always the first, with another one always the second.
template <class T> constexpr T min(int first, int second, const T& a, const T& b) {
    const T plain = b < a ? b : a;
    return plain == a ? instead(second, plain, b) : instead(first, plain, a);
}
template <class T> constexpr T max(int first, int second, const T& a, const T& b) {
    const T plain = a < b ? b : a;
    return plain == a ? instead(second, plain, b) : instead(first, plain, a);
}

/// `value % size` and `value & mask`, or with the mutant the value.
template <class A, class B> constexpr auto modulo(int number, const A& value, const B& size) {
    return instead<decltype(value % size)>(number, value % size, static_cast<decltype(value % size)>(value));
}
template <class A, class B> constexpr auto masked(int number, const A& value, const B& mask) {
    return instead<decltype(value & mask)>(number, value & mask, static_cast<decltype(value & mask)>(value));
}

} // namespace mutants
