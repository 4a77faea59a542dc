#include "model/time/line.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using model::port::Time;
using namespace model::time;

TEST_CASE("bytes cross a line one after the other, at its rate", "[unit][time]") {
    Line line{"channel", 1'000'000'000};

    CHECK(line.use(0ns, 4096) == Booking{0ns, 4096ns});
    CHECK(line.use(100ns, 4) == Booking{4096ns, 4100ns});
    CHECK(line.use(5000ns, 1) == Booking{5000ns, 5001ns});
    CHECK(line.bytes() == 4101);
    CHECK(line.usage().busy == 4101ns);
}

TEST_CASE("a reply that is booked ahead does not hold up a request that arrives before it", "[unit][time]") {
    Line line{"link", 1'000'000'000};

    CHECK(line.use(1000ns, 100) == Booking{1000ns, 1100ns});
    CHECK(line.use(10ns, 100) == Booking{10ns, 110ns});
    CHECK(line.use(950ns, 100) == Booking{1100ns, 1200ns});
}

TEST_CASE("many small uses take as long as one large one", "[unit][time]") {
    const auto rate = GENERATE(3ull, 7'877'000'000ull, 999'999'999'999ull, 12'345ull);
    CAPTURE(rate);
    Line small{"small", rate}, large{"large", rate};

    for (unsigned i = 0; i < 1000; ++i)
        small.use(0ns, 7);
    large.use(0ns, 7000);

    CHECK(small.free_from() == large.free_from());
}

TEST_CASE("a line is exact for a terabyte in one use", "[unit][time]") {
    Line line{"line", 1'000'000'000'000};

    CHECK(line.use(0ns, std::uint64_t{1} << 40).done == Time{std::int64_t{1} << 40});
    CHECK(Line("slow", 1'000'000).use(0ns, 3'000'000'001).done == 3000s + 1us);
}

TEST_CASE("a line without a rate takes no time and holds nobody up", "[unit][time]") {
    Line line{"wire", 0};

    CHECK(line.use(50ns, 1 << 30) == Booking{50ns, 50ns});
    CHECK(line.use(20ns, 1 << 30) == Booking{20ns, 20ns});
    CHECK(line.usage().uses == 2);
}

TEST_CASE("twice the rate is never slower, for each use", "[unit][time]") {
    Line slow{"slow", 500'000'000}, fast{"fast", 1'000'000'000};

    for (unsigned i = 0; i < 200; ++i) {
        const auto at = Time{i * 1'999'993ull % 1'000'000};
        const auto bytes = 1 + i * 37 % 97;
        const auto late = slow.use(at, bytes).done;
        CHECK(fast.use(at, bytes).done <= late);
    }
}
