// The harness of this level tells what a test must not overlook.
#include "testbench/harness/cluster.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace harness;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using sw::mlx::SendOperation;

TEST_CASE("what a test throws comes out of the simulation", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THROWS_WITH(cluster.run([&](Side&, Side&) {
        const auto connection = cluster.connect();
        throw std::runtime_error("on purpose");
    }),
                      "on purpose");
}

TEST_CASE("a test that waits for ever fails", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THROWS_WITH(cluster.run([&](Side&, Side&) { cluster.let(std::chrono::hours{1}); }), ContainsSubstring("still waits"));
}

TEST_CASE("a completion nobody asked for fails a test", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THROWS_WITH(cluster.run([&](Side& a, Side& b) {
        const auto from = a.dram(10), to = b.dram(10);
        auto connection = cluster.connect();
        post_receive(*connection.b, 3, {to->sge()});
        post(*connection.a, {.operation = SendOperation::send}, {from->sge()});
        cluster.let(std::chrono::milliseconds{1});
        [[maybe_unused]] static auto* kept = connection.b.release(); // destroyed, it would take its completion along
    }),
                      ContainsSubstring("B: a completion nobody asked for") && ContainsSubstring("B: 1 queue pairs left in the device"));
}

TEST_CASE("a byte beside a region fails a test", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THROWS_WITH(cluster.run([&](Side& a, Side&) {
        const auto memory = a.vram(10);
        memory->bytes().data()[10] = std::byte{1};
    }),
                      ContainsSubstring("A: bytes beside the 10"));
}

TEST_CASE("a refused command fails a test", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THROWS_WITH(cluster.run([&](Side& a, Side&) { CHECK_FALSE(a.context->dealloc_pd(abi::Pd{99})); }),
                      ContainsSubstring("A: DEALLOC_PD was refused: pd names no protection domain"));
}
