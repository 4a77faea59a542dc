#include "testbench/harness/command_bench.h"
#include "testbench/hcasim/holdings.h"

#include <catch2/catch_test_macros.hpp>

using harness::CommandBench;

TEST_CASE("a card holds what its driver made, and nothing after a reset", "[unit][hcasim]") {
    CommandBench bench;
    CHECK(hcasim::print_holdings(bench.device) == "nothing");

    REQUIRE(bench.initialize());
    bench.alloc_pd();
    bench.alloc_pd();
    bench.make_objects();
    bench.create_umem(bench.create_uctx(), 0x60000000);

    const auto held = hcasim::print_holdings(bench.device);
    CHECK(held.find("3 protection domains") != std::string::npos);
    CHECK(held.find("1 completion queues") != std::string::npos);
    CHECK(held.find("1 user memories, 1 user contexts") != std::string::npos);
    CHECK(held.find("lent pages") != std::string::npos);

    bench.device.reset();
    CHECK(hcasim::print_holdings(bench.device) == "nothing");
}
