#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace harness;
using Space = abi::pcie::GatewaySpace;

namespace {
std::optional<std::uint32_t> read(CommandBench& bench, Space space, std::uint32_t address) {
    return bench.device.spaces().read(space, address, bench.clock.now());
}
} // namespace

TEST_CASE("the CR space shows the initialization segment and the number of the silicon", "[unit][firmware][spaces]") {
    CommandBench bench;
    bench.write32(0x10, 0x12345678);

    CHECK(read(bench, Space::cr, 0x10) == 0x12345678);
    CHECK(read(bench, Space::cr, 0x04) == bench.read32(0x04));
    CHECK(read(bench, Space::cr, 0x230) == bench.read32(0x230)); // health buffer, firmware version
    CHECK(read(bench, Space::cr, 0xf0014) == 0x20f);             // ConnectX-6
}

TEST_CASE("addresses without a register, between registers and of unknown spaces read nothing",
          "[unit][firmware][spaces]") {
    CommandBench bench;

    for (const std::uint32_t bad : {0x2u, 0x1048u, 0xf0010u, 0xf0018u, 0xfffffffcu})
        CHECK_FALSE(read(bench, Space::cr, bad));
    CHECK_FALSE(read(bench, Space::scan_cr, 0xf0014));
    CHECK_FALSE(read(bench, Space::semaphores, 64));
    CHECK_FALSE(read(bench, Space::icmd, 0));
    CHECK(bench.device.spaces().size(Space::icmd) == 0);
    CHECK(bench.device.spaces().size(static_cast<Space>(0xffff)) == 0);
}

TEST_CASE("a sweep goes over every named register once and ends with the space", "[unit][firmware][spaces]") {
    CommandBench bench;
    auto& spaces = bench.device.spaces();
    std::vector<std::uint32_t> visited;

    for (std::uint32_t at = 0; at < spaces.size(Space::scan_cr); at = *spaces.next(Space::scan_cr, at)) {
        visited.push_back(at);
        REQUIRE(read(bench, Space::scan_cr, at));
        REQUIRE(*spaces.next(Space::scan_cr, at) > at);
    }

    CHECK(std::ranges::find(visited, 0x1fcu) != visited.end());  // initializing
    CHECK(std::ranges::find(visited, 0x23cu) != visited.end());  // the last word of the health buffer
    CHECK(std::ranges::find(visited, 0x1044u) != visited.end()); // the last register
    CHECK(std::ranges::find(visited, 0x008u) == visited.end());  // reserved
    CHECK(spaces.next(Space::scan_cr, 0xfffffffc) == spaces.size(Space::scan_cr));
    CHECK_FALSE(spaces.next(Space::cr, 0));
}

TEST_CASE("the CR space cannot be written", "[unit][firmware][spaces]") {
    CommandBench bench;
    const auto before = bench.read32(0x10);

    CHECK(bench.device.spaces().write(Space::cr, 0x10, ~before));
    CHECK_FALSE(bench.device.spaces().write(Space::cr, 0x2000, 1));

    CHECK(bench.read32(0x10) == before);
}

TEST_CASE("a semaphore stays with its holder until 0 is written, or the card is reset", "[unit][firmware][spaces]") {
    CommandBench bench;
    auto& spaces = bench.device.spaces();
    constexpr std::uint32_t software_reset = 0x20;

    CHECK(spaces.write(Space::semaphores, software_reset, 7));
    CHECK(spaces.write(Space::semaphores, software_reset, 8));
    CHECK(read(bench, Space::semaphores, software_reset) == 7);
    CHECK(spaces.write(Space::semaphores, software_reset, 0));
    CHECK(spaces.write(Space::semaphores, software_reset, 8));
    CHECK(read(bench, Space::semaphores, software_reset) == 8);
    CHECK_FALSE(spaces.write(Space::semaphores, 64, 1));

    bench.device.reset();

    CHECK(read(bench, Space::semaphores, software_reset) == 0);
}
