#include "model/time/server.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using namespace model::time;

TEST_CASE("k units serve k users at a time; the next one waits for the first that is free", "[unit][time]") {
    Server dies{"dies", 2, 10ns};

    CHECK(dies.use(0ns) == Booking{0ns, 10ns});
    CHECK(dies.use(2ns) == Booking{2ns, 12ns});
    CHECK(dies.use(3ns) == Booking{10ns, 20ns});
    CHECK(dies.use(3ns, 1ns) == Booking{12ns, 13ns});
}

TEST_CASE("a server in order begins and ends its work in the order of the calls", "[unit][time]") {
    Server pipeline{"pipeline", 2, 10ns, Order::in_order};

    CHECK(pipeline.use(5ns, 20ns) == Booking{5ns, 25ns});
    CHECK(pipeline.use(0ns, 1ns) == Booking{5ns, 25ns}); // is ready at 6 ns and waits for the one before
    CHECK(pipeline.use(0ns, 4ns) == Booking{6ns, 25ns}); // its unit is free again
}

TEST_CASE("a server out of order lets short work pass long work", "[unit][time]") {
    Server server{"server", 2, 10ns};

    CHECK(server.use(5ns, 20ns) == Booking{5ns, 25ns});
    CHECK(server.use(0ns, 1ns) == Booking{0ns, 1ns});
}

TEST_CASE("work whose end nobody knows yet takes a unit that is idle for as long as it should take", "[unit][time]") {
    Server engines{"engines", 1, {}};
    const auto use = [&](model::port::Time at, model::port::Time expected, model::port::Time takes) {
        return engines.use_until(at, expected, [&](auto begin) { return begin + takes; });
    };

    CHECK(use(100ns, 10ns, 10ns) == Booking{100ns, 110ns});
    CHECK(use(0ns, 10ns, 10ns) == Booking{0ns, 10ns});    // it comes later, and before that
    CHECK(use(0ns, 95ns, 10ns) == Booking{110ns, 120ns}); // too long for what is idle between them
    CHECK(use(80ns, 10ns, 30ns) == Booking{80ns, 130ns}); // longer than was expected: 20 ns, and 10 ns behind the last
    CHECK(engines.account().usage.uses == 4);
    CHECK(engines.account().usage.busy == 10ns + 10ns + 10ns + 30ns);
    CHECK(engines.account().usage.waited == 110ns);
}

TEST_CASE("work for a given unit waits for that unit only", "[unit][time]") {
    Server dies{"dies", 2, 10ns};

    dies.use_unit(1, 0ns, 50ns);

    CHECK(dies.use_unit(1, 0ns, 50ns) == Booking{50ns, 100ns});
    CHECK(dies.use_unit(0, 0ns, 50ns) == Booking{0ns, 50ns});
}

TEST_CASE("a server counts uses, busy and waited time, and how many waited already", "[unit][time]") {
    Server server{"walkers", 1, 10ns};

    server.use(0ns);
    server.use(0ns);
    server.use(1ns);
    server.use(1ns);

    const auto account = server.account();
    CHECK(account.name == "walkers");
    CHECK(account.kind == Kind::server);
    CHECK(account.units == 1);
    CHECK(account.usage.uses == 4);
    CHECK(account.usage.busy == 40ns);
    CHECK(account.usage.waited == 10ns + 19ns + 29ns);
    CHECK(account.usage.longest_wait == 29ns);
    CHECK(account.usage.found_waiting == QueueLengths{2, 1, 1});
    CHECK(account.load(80ns) == 0.5);
}

TEST_CASE("no server is busy for more than all of the time of its units", "[unit][time]") {
    const auto order = GENERATE(Order::in_order, Order::any);
    Server server{"server", 3, 7ns, order};

    model::port::Time end{};
    for (unsigned i = 0; i < 300; ++i)
        end = std::max(end, server.use(model::port::Time{i * i * 37 % 90'000}).done);

    CHECK(server.account().load(end) <= 1);
    CHECK(server.account().load(end) > 0.9);
}

TEST_CASE("the bottleneck is what was busy for the largest share of its units' time", "[unit][time]") {
    Server wide{"wide", 4, 10ns}, narrow{"narrow", 1, 10ns}, idle{"idle", 1, 10ns};
    wide.use(0ns), wide.use(0ns), wide.use(0ns);
    narrow.use(0ns);

    const std::array accounts{idle.account(), wide.account(), narrow.account()};

    REQUIRE(bottleneck(accounts) != nullptr);
    CHECK(bottleneck(accounts)->name == "narrow");
    CHECK(bottleneck({accounts.data(), 1}) == nullptr);
}

TEST_CASE("queues of 64 and more are counted together", "[unit][time]") {
    Server server{"server", 1, 10ns};

    for (unsigned i = 0; i < 200; ++i)
        server.use(0ns);

    CHECK(server.usage().found_waiting == QueueLengths{2, 1, 2, 4, 8, 16, 32, 135});
}
