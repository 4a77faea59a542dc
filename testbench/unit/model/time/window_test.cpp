#include "model/time/window.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace std::chrono_literals;
using model::port::never;
using model::port::Time;
using namespace model::time;

namespace {

struct Recorder final : Waiter {
    Recorder(std::vector<int>& order, int number) : order_(order), number_(number) {}
    void enter(Time begin) override { order_.push_back(number_), begin_ = begin; }
    std::vector<int>& order_;
    int number_;
    Time begin_ = never;
};

Time pass(Window& window, Time at, Time span) {
    const auto begin = window.enter(at);
    window.leave(begin, begin + span);
    return begin;
}

} // namespace

TEST_CASE("n are outstanding at a time; the next waits for the earliest end", "[unit][time]") {
    Window tags{"tags", 2};

    CHECK(pass(tags, 0ns, 100ns) == 0ns);
    CHECK(pass(tags, 0ns, 30ns) == 0ns);
    CHECK(pass(tags, 10ns, 100ns) == 30ns);
    CHECK(pass(tags, 10ns, 100ns) == 100ns);
    CHECK(pass(tags, 500ns, 1ns) == 500ns);
    CHECK(tags.usage().waited == 20ns + 90ns);
    CHECK(tags.usage().busy == 331ns);
}

TEST_CASE("who had to wait is not overtaken by one who comes later", "[unit][time]") {
    Window window{"window", 2};
    const auto open = window.enter(0ns);
    pass(window, 0ns, 100ns);

    CHECK(window.enter(5ns) == 100ns); // the only end that is known
    window.leave(open, 60ns);          // earlier, but it was not known when the third came
    CHECK(window.enter(10ns) == 100ns);
}

TEST_CASE("who waits for an end that is not known is let in when it is, in the order of arrival", "[unit][time]") {
    Window window{"window", 1};
    std::vector<int> order;
    Recorder first{order, 1}, second{order, 2}, third{order, 3};
    const auto open = window.enter(0ns);
    CHECK(window.enter(5ns) == never);
    window.wait(first, 5ns);
    window.wait(second, 6ns);
    window.wait(third, 7ns);

    window.leave(open, 50ns);

    CHECK(order == std::vector{1});
    CHECK(first.begin_ == 50ns);
    CHECK(window.enter(60ns) == never);
    window.forget(second);
    window.leave(first.begin_, 55ns);
    CHECK(order == std::vector{1, 3});
    CHECK(third.begin_ == 55ns);
    window.leave(third.begin_, 70ns);
    CHECK(window.enter(60ns) == 70ns);
    CHECK(window.usage().uses == 4);
}

TEST_CASE("nobody gets in before those who wait already", "[unit][time]") {
    Window window{"window", 2};
    std::vector<int> order;
    Recorder waiting{order, 1};
    const auto one = window.enter(0ns), two = window.enter(0ns);
    REQUIRE(window.enter(0ns) == never);
    window.wait(waiting, 0ns);
    window.leave(one, 10ns);
    REQUIRE(order == std::vector{1});
    Recorder last{order, 2};
    window.wait(last, 0ns);

    CHECK(window.enter(0ns) == never);
    window.forget(last);
    window.leave(two, 20ns);
    CHECK(window.enter(0ns) == 20ns);
    CHECK(window.inside_without_end() == 2);
}

TEST_CASE("the law of Little holds for a window: outstanding = rate x time inside", "[unit][time]") {
    Window window{"window", 16};
    Time end{};

    for (unsigned i = 0; i < 1000; ++i) {
        const auto begin = window.enter(0ns);
        window.leave(begin, begin + 100ns);
        end = std::max(end, begin + 100ns);
    }

    CHECK(end == 6300ns);                       // 1000 / 16 rounds of 100 ns
    CHECK(window.usage().busy == 1000 * 100ns); // time inside, of all
    CHECK(window.account().load(end) > 0.99);   // of 16
    CHECK(window.account().load(end) <= 1);
}

TEST_CASE("a window that is full is the bottleneck only where nothing behind it is busy", "[unit][time]") {
    const auto account = [](std::string_view name, Kind kind, model::port::Time busy) {
        return Account{.name = name, .kind = kind, .units = 1, .usage = {.busy = busy}};
    };
    const std::array busy{account("window", Kind::window, 100us), account("dies", Kind::server, 90us)};
    const std::array idle{account("window", Kind::window, 100us), account("dies", Kind::server, 60us)};

    CHECK(bottleneck(busy)->name == "dies");
    CHECK(bottleneck(idle)->name == "window");
    CHECK(bottleneck({busy.data(), 1})->name == "window");
    CHECK(longest_queue(busy) == nullptr);
}
