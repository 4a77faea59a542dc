#include "sw/transport/bus_map.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using sw::transport::BusMap;

TEST_CASE("BARs are placed naturally aligned, apart from each other, from memory and from interrupt messages",
          "[unit][transport]") {
    BusMap bus;
    struct Placed {
        std::uint64_t address, size;
    };
    std::vector<Placed> all;

    for (const std::uint64_t size : {0x1000ull, 0x200'0000ull, 0x10ull, 0x8000'0000ull, 0x100'0000ull})
        for (const bool is_64bit : {true, false})
            if (is_64bit || size < 0x1000'0000)
                all.push_back({bus.place(size, is_64bit).value(), size});

    for (const auto& one : all) {
        CHECK(one.address % one.size == 0);
        CHECK((one.address + one.size <= 0xfee0'0000 || one.address >= BusMap::memory_end));
        for (const auto& other : all)
            CHECK((&one == &other || one.address + one.size <= other.address ||
                   other.address + other.size <= one.address));
    }
}

TEST_CASE("a range of the bus belongs to a BAR when all of it lies inside", "[unit][transport]") {
    BusMap bus;
    const auto address = bus.place(0x1'0000, true).value();

    CHECK(bus.find(address, 0x1'0000) == address);
    CHECK(bus.find(address + 0x1000, 0x1000) == address);
    CHECK_FALSE(bus.find(address + 0x1000, 0x1'0000));
    CHECK_FALSE(bus.find(address - 1, 2));
    CHECK_FALSE(bus.find(address + 1, UINT64_MAX));
    bus.remove(address);
    CHECK_FALSE(bus.find(address, 1));
    CHECK(bus.place(0x1'0000, true).value() == address);
}

TEST_CASE("a BAR of 32 bits that has no room below 4 GiB is refused", "[unit][transport]") {
    BusMap bus;

    CHECK_FALSE(bus.place(0x8000'0000, false));
    CHECK(bus.place(0x8000'0000, true));
}
