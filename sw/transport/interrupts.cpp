#include "sw/transport/interrupts.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

namespace sw::transport {

namespace {

/// Longest single wait of the kernel; callers wait again.
constexpr std::chrono::nanoseconds longest = std::chrono::hours{1};
/// A loop that comes back after more than this has done something else meanwhile.
constexpr std::chrono::microseconds away{20}, spinning{30}, nap{50};

/// How many of the files have something; 0 when the time is over, or on a signal.
int poll_for(std::span<pollfd> files, std::chrono::nanoseconds timeout) {
    const auto length = std::clamp(timeout, std::chrono::nanoseconds{0}, longest);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(length);
    const timespec time{static_cast<std::time_t>(seconds.count()), static_cast<long>((length - seconds).count())};
    return std::max(0, ::ppoll(files.data(), files.size(), &time, nullptr));
}

} // namespace

Result<Interrupts> Interrupts::create(unsigned count) {
    Interrupts made;
    for (unsigned i = 0; i < count; ++i) {
        File event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!event)
            return system_failure("make an event file for an interrupt vector");
        made.events_.push_back(std::move(event));
    }
    return made;
}

std::vector<int> Interrupts::files() const {
    std::vector<int> numbers;
    for (const auto& event : events_)
        numbers.push_back(event.number());
    return numbers;
}

Interrupts::Waited Interrupts::wait(unsigned vector, std::chrono::nanoseconds timeout, int other) const {
    if (vector >= events_.size())
        return Waited::over;
    const auto begin = std::chrono::steady_clock::now();
    const int file = events_[vector].number();
    for (;;) {
        std::uint64_t raised = 0;
        if (::read(file, &raised, sizeof raised) == sizeof raised)
            return Waited::raised;
        const auto left = timeout - (std::chrono::steady_clock::now() - begin);
        if (left <= std::chrono::nanoseconds{0})
            return Waited::over;
        std::array files{pollfd{file, POLLIN, 0}, pollfd{other, POLLIN, 0}};
        if (poll_for(files, left) > 0 && files[1].revents != 0 && files[0].revents == 0)
            return Waited::other;
    }
}

bool Rest::take(int other) {
    const auto now = Clock::now();
    if (now - last_ > away)
        begin_ = now;
    const bool is_sleep = now - begin_ > spinning;
    if (is_sleep) {
        std::array files{pollfd{other, POLLIN, 0}};
        poll_for(files, nap);
    }
    last_ = Clock::now();
    return is_sleep;
}

} // namespace sw::transport
