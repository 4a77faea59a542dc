#include "model/nvme/flash/dies.h"

#include <catch2/catch_test_macros.hpp>

#include <map>

using namespace std::chrono_literals;
using model::port::Time;
using namespace model::nvme;

namespace {

/// Two channels of two dies; 4096 bytes take 4096 ns.
FlashConfig small() {
    return {.channels = 2,
            .dies = 2,
            .page_bytes = 4096,
            .block_pages = 2,
            .channel_rate = 1'000'000'000,
            .read = 50us,
            .program = 200us,
            .erase = 1000us};
}

struct Ends final : ProgramListener {
    void programmed(std::uint32_t page, Time done) override { of[page] = done; }
    std::map<std::uint32_t, Time> of;
};

} // namespace

TEST_CASE("a page is sensed, and then crosses the channel of its die", "[unit][nvme][time]") {
    Dies dies(small());

    CHECK(dies.read(0, 4096, 0us) == 54096ns);
    CHECK(dies.read(1, 1000, 0us) == 51us);     // on the other channel
    CHECK(dies.read(2, 4096, 0us) == 58192ns);  // sensed beside the first, across after it
    CHECK(dies.read(0, 4096, 0us) == 104096ns); // the die has one page at a time
    CHECK(dies.die_of(4) == 0);
    CHECK(dies.die_of(7) == 3);
}

TEST_CASE("a read overtakes a program that has not begun, and waits for one that has", "[unit][nvme][time]") {
    Dies dies(small());
    Ends ends;
    dies.set_listener(ends);
    dies.program(0, 7, 100us);

    CHECK(dies.read(0, 1000, 60us) == 111us);
    CHECK(ends.of.empty());
    CHECK(dies.read(0, 1000, 110us) == 111us + 4096ns + 200us + 50us + 1us);
    CHECK(ends.of.at(7) == 111us + 4096ns + 200us);
}

TEST_CASE("programs of a die keep their order, and each block but the first is erased before its first page",
          "[unit][nvme][time]") {
    Dies dies(small());
    Ends ends;
    dies.set_listener(ends);
    for (std::uint32_t page = 0; page < 3; ++page)
        dies.program(0, page, 0us);
    dies.program(1, 9, 0us);

    CHECK(dies.finish_programs(0) == 1000us + 3 * (4096ns + 200us));
    CHECK(ends.of.at(0) == 4096ns + 200us);
    CHECK(ends.of.at(1) == 2 * (4096ns + 200us));
    CHECK_FALSE(ends.of.contains(9));
    CHECK(dies.begin_next_program());
    CHECK(ends.of.at(9) == 4096ns + 200us);
    CHECK_FALSE(dies.begin_next_program());
    CHECK(dies.finish_programs() == ends.of.at(2));
}

TEST_CASE("until a time those programs begin that can, and no others", "[unit][nvme][time]") {
    Dies dies(small());
    Ends ends;
    dies.set_listener(ends);
    dies.program(0, 0, 5us), dies.program(0, 1, 5us), dies.program(1, 2, 50us);

    dies.begin_programs(4us);
    CHECK(ends.of.empty());
    dies.begin_programs(5us);
    CHECK(ends.of.size() == 1);
    dies.begin_programs(50us);
    CHECK(ends.of.contains(2));
    CHECK_FALSE(ends.of.contains(1));
}
