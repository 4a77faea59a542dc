// Runs a measurement in a process of its own: SystemC elaborates once in a process, and no measurement warms another's
// memory. The result comes back as plain numbers.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <type_traits>

namespace harness {

/// What `measure` returned in the child; nothing when the child failed.
template <class Measure> auto in_process_of_its_own(Measure&& measure) -> std::optional<decltype(measure())> {
    using Value = decltype(measure());
    static_assert(std::is_trivially_copyable_v<Value>);
    int ends[2];
    if (pipe(ends) != 0)
        return std::nullopt;
    std::fflush(nullptr);
    const auto child = fork();
    if (child == 0) {
        const Value value = measure();
        const bool is_sent = write(ends[1], &value, sizeof value) == static_cast<ssize_t>(sizeof value);
        std::_Exit(is_sent ? 0 : 1);
    }
    close(ends[1]);
    Value value{};
    const bool is_whole = child > 0 && read(ends[0], &value, sizeof value) == static_cast<ssize_t>(sizeof value);
    close(ends[0]);
    int status = 0;
    if (child > 0)
        waitpid(child, &status, 0);
    return is_whole && status == 0 ? std::optional(value) : std::nullopt;
}

} // namespace harness
