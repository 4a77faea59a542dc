#include "testbench/hcasim/interrupt.h"

#include "testbench/scenario/programs.h"

#include <catch2/catch_test_macros.hpp>

#include <poll.h>
#include <sys/wait.h>
#include <systemc>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>

using hcasim::Interrupt;

namespace {

/// How a process has ended, and what it has said on its standard error.
struct Ended {
    int status = 0; ///< as shells count it; 0 with what it returns, too
    std::string said{};
    bool was_in_time = true;
};

/// Runs `body` in a process of its own, which is ended after some seconds.
Ended ended_by(const std::function<int()>& body) {
    std::array<int, 2> pipe_ends{};
    REQUIRE(pipe(pipe_ends.data()) == 0);
    const auto child = fork();
    if (child == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        _exit(body());
    }
    close(pipe_ends[1]);
    Ended ended;
    constexpr int patience_ms = 20'000; // a machine under load
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{patience_ms};
    for (bool is_open = true; is_open;) {
        struct pollfd waited{.fd = pipe_ends[0], .events = POLLIN, .revents = 0};
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        ended.was_in_time = left.count() > 0 && poll(&waited, 1, static_cast<int>(left.count())) > 0;
        if (!ended.was_in_time)
            kill(child, SIGKILL);
        std::array<char, 256> piece{};
        const auto got = ended.was_in_time ? read(pipe_ends[0], piece.data(), piece.size()) : 0;
        is_open = got > 0;
        if (is_open)
            ended.said.append(piece.data(), static_cast<std::size_t>(got));
    }
    close(pipe_ends[0]);
    int how = 0;
    waitpid(child, &how, 0);
    ended.status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    return ended;
}

auto handler_of(int number) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    return action.sa_handler;
}

} // namespace

TEST_CASE("the first signal is a wish, and the second one of its kind ends the program", "[unit][hcasim]") {
    for (const int number : {SIGINT, SIGTERM}) {
        const auto before = handler_of(number);
        scenario::Stop stop;
        {
            Interrupt interrupt(stop);
            CHECK(handler_of(number) != SIG_DFL);
            std::raise(number);
            CHECK(handler_of(number) == SIG_DFL);
            CHECK_FALSE(stop.is_requested());

            interrupt.look();
            CHECK(interrupt.number() == number);
            CHECK(stop.is_requested());
        }
        CHECK(handler_of(number) == before);
    }
}

TEST_CASE("a second signal ends the program at once, also one of the other kind", "[unit][hcasim]") {
    for (const int second : {SIGINT, SIGTERM}) {
        const auto ended = ended_by([&] {
            scenario::Stop stop;
            const Interrupt interrupt(stop, Interrupt::Patience::a_second);
            std::raise(SIGINT);
            std::raise(second);
            return 0;
        });
        CHECK(ended.status == 128 + second);
    }
}

TEST_CASE("a simulation whose time stands still comes to a stop after a signal", "[unit][hcasim]") {
    const auto ended = ended_by([] {
        scenario::Stop stop;
        Interrupt interrupt(stop, Interrupt::Patience::a_second);
        scenario::Programs programs;
        programs.add("spins", [] {
            std::raise(SIGTERM);
            for (;;)
                sc_core::wait(sc_core::SC_ZERO_TIME);
        });
        const auto ran = programs.run(&stop);
        const bool is_told = !ran && ran.error().starts_with("terminated (SIGTERM)");
        return is_told && interrupt.number() == SIGTERM ? 77 : 1;
    });

    CHECK(ended.was_in_time);
    CHECK(ended.status == 77);
    CHECK_FALSE(ended.said.contains("hcasim:")); // the run has its usual end, and says so later
}

TEST_CASE("a step that does not end is ended with the program, which says so", "[unit][hcasim]") {
    const auto ended = ended_by([] {
        scenario::Stop stop;
        const Interrupt interrupt(stop, Interrupt::Patience::a_second);
        scenario::Programs programs;
        programs.add("spins", [] {
            std::raise(SIGINT);
            for (volatile bool goes_on = true; goes_on;)
                continue;
        });
        (void)programs.run(&stop);
        return 1;
    });

    CHECK(ended.was_in_time);
    CHECK(ended.status == 128 + SIGINT);
    CHECK(ended.said.starts_with("hcasim: interrupted (SIGINT)"));
}

TEST_CASE("whoever waits for other programs has no limit", "[unit][hcasim]") {
    const auto ended = ended_by([] {
        scenario::Stop stop;
        Interrupt interrupt(stop);
        std::raise(SIGINT);
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{1500};
        while (std::chrono::steady_clock::now() < until)
            continue;
        interrupt.look();
        return stop.is_requested() ? 77 : 1;
    });

    CHECK(ended.status == 77);
}

TEST_CASE("a reader that goes away ends nothing while a run lasts", "[unit][hcasim]") {
    const auto before = handler_of(SIGPIPE);
    {
        scenario::Stop stop;
        const Interrupt interrupt(stop);
        CHECK(handler_of(SIGPIPE) == SIG_IGN);
    }
    CHECK(handler_of(SIGPIPE) == before);
}
