// What every measurement here needs: to end when something does not work, the wall clock, and the middle one of several
// samples.
#pragma once

#include "sw/base/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

[[noreturn]] inline void give_up(const std::string& why) {
    fmt::print(stderr, "bench: {}\n", why);
    std::_Exit(1);
}

template <class T> T must(sw::Result<T> result) {
    if (!result)
        give_up(result.error().what);
    return std::move(*result);
}
inline void must(const sw::Result<void>& result) {
    if (!result)
        give_up(result.error().what);
}

} // namespace bench
