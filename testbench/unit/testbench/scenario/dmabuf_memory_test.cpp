#include "testbench/scenario/dmabuf_memory.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace scenario;

TEST_CASE("at no place do two owners write the same, and each byte tells its own", "[unit][scenario]") {
    constexpr std::array all{Owner::nobody, Owner::sender, Owner::next};
    for (std::size_t step = 0; step < 20; ++step)
        for (std::uint64_t i = 0; i < 20'000; i += 7)
            for (const auto one : all)
                for (const auto other : all)
                    CHECK((content(step, one, i) == content(step, other, i)) == (one == other));
    CHECK(contents(1, Owner::sender, 5000) != contents(2, Owner::sender, 5000));
}

TEST_CASE("one byte of somebody else is found, and whose it is", "[unit][scenario]") {
    constexpr std::array only_sender{Owner::sender};
    auto bytes = contents(4, Owner::sender, 10'000);
    CHECK(find_foreign(bytes, 4, only_sender).empty());
    CHECK(count(bytes, 4, Owner::sender) == 10'000);

    bytes[7777] = content(4, Owner::next, 7777);
    CHECK(find_foreign(bytes, 4, only_sender).ends_with(", the next owner's"));
    CHECK(find_foreign(bytes, 4, only_sender).starts_with("byte 7777 is 0x"));
    CHECK(count(bytes, 4, Owner::sender) == 9'999);
    constexpr std::array both{Owner::sender, Owner::next};
    CHECK(find_foreign(bytes, 4, both).empty());

    bytes[0] = std::byte{0}; // nobody's
    CHECK(find_foreign(bytes, 4, both) == "byte 0 is 0x00, which nobody wrote");
}
