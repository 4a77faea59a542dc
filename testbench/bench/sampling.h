// What every measurement here needs: to end when something does not work, clocks, and the middle one of several
// samples.
#pragma once

#include "sw/base/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

/// Time during which this process had a processor: what others on the machine take is none of it. For work that never
/// sleeps.
struct ProcessorClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<ProcessorClock>;
    static constexpr bool is_steady = true;
    static time_point now() {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
    }
};

template <class AClock> double seconds_since(std::chrono::time_point<AClock> begin) {
    return std::chrono::duration<double>(AClock::now() - begin).count();
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
