#include "testbench/hcasim/interrupt.h"

#include "model/tlm/agenda.h"
#include "testbench/program/status.h"

#include <systemc>

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

namespace hcasim {
namespace {

struct Wish {
    int number;
    std::string_view words;
};
constexpr std::array wishes{Wish{SIGINT, "interrupted (SIGINT)"}, Wish{SIGTERM, "terminated (SIGTERM)"}};

/// From the signal until the kernel is paused, and from there until the program is ended, in microseconds of the
/// processor's time: a run that others keep from running is none that does not end. Both are a second at most.
constexpr suseconds_t until_paused = 400'000, until_ended = 500'000;

/// 0: never.
void set_timer(suseconds_t microseconds) {
    const itimerval once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = microseconds}};
    setitimer(ITIMER_PROF, &once, nullptr);
}

/// Of a signal handler, which may not format: one line by one call.
void complain_at_once(std::string_view words) {
    std::array<char, 160> line{};
    auto* end = line.begin();
    for (const auto& part : {std::string_view("hcasim: "), words,
                             std::string_view("; the run did not come to a stop by itself, and has no result\n")})
        end = std::copy(part.begin(), part.end(), end);
    [[maybe_unused]] const auto written =
        write(STDERR_FILENO, line.data(), static_cast<std::size_t>(end - line.begin()));
}

} // namespace

Interrupt::Interrupt(scenario::Stop& stop, Patience patience)
    : stop_(stop), has_limit_(patience != Patience::unlimited) {
    arrived_ = 0;
    struct sigaction first{};
    first.sa_handler = note;
    sigaddset(&first.sa_mask, SIGINT);
    sigaddset(&first.sa_mask, SIGTERM);
    sigaction(SIGINT, &first, &interrupt_);
    sigaction(SIGTERM, &first, &terminate_);
    // A reader that goes away is an output that cannot be written, and is told as such.
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &pipe_);
    stop_.on_ask = [this] { look(); };
    if (!has_limit_)
        return;
    struct sigaction timer{};
    timer.sa_handler = lose_patience;
    timer.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &timer, &timer_);
    limit(true); // what is built before it runs counts, too
    stop_.on_running = limit;
}

Interrupt::~Interrupt() {
    if (has_limit_) {
        limit(false);
        sigaction(SIGPROF, &timer_, nullptr);
    }
    stop_.on_ask = nullptr;
    stop_.on_running = nullptr;
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
    sigaction(SIGPIPE, &pipe_, nullptr);
}

void Interrupt::look() {
    if (arrived_ == 0 || stop_.is_requested())
        return;
    const auto wish = std::ranges::find(wishes, static_cast<int>(arrived_), &Wish::number);
    stop_.request(std::string(wish->words));
}

int Interrupt::number() const {
    const auto wish = std::ranges::find(wishes, std::string_view(stop_.why()), &Wish::words);
    return wish == wishes.end() ? 0 : wish->number;
}

/// A signal handler.
void Interrupt::note(int number) {
    const auto error = errno;
    arrived_ = number;
    for (const auto& wish : wishes)
        std::signal(wish.number, SIG_DFL);
    if (is_limited_ != 0)
        set_timer(until_paused);
    errno = error;
}

/// A signal handler, of the timer.
void Interrupt::lose_patience(int) {
    if (is_limited_ == 0)
        return;
    if (has_paused_ == 0) {
        const auto error = errno;
        has_paused_ = 1;
        // It sets a mark, at which the kernel looks between two delta cycles.
        if (sc_core::sc_get_status() == sc_core::SC_RUNNING)
            model::tlm::pause();
        set_timer(until_ended);
        errno = error;
        return;
    }
    const auto* const wish = std::ranges::find(wishes, static_cast<int>(arrived_), &Wish::number);
    complain_at_once(wish->words);
    _exit(status::signalled(wish->number));
}

void Interrupt::limit(bool is_limited) {
    is_limited_ = is_limited ? 1 : 0;
    has_paused_ = 0;
    if (!is_limited)
        set_timer(0);
}

} // namespace hcasim
