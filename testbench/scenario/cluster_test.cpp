// The harness of this level tells what a test must not overlook.
#include "testbench/harness/cluster.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <exception>
#include <functional>
#include <string>
#include <vector>

using namespace harness;
using Catch::Matchers::ContainsSubstring;
using sw::mlx::SendOperation;

namespace {

/// What a run of the cluster fails with; empty when it does not.
std::string failure_of(Cluster& cluster, std::function<void(Side&, Side&)> body) {
    try {
        cluster.run(std::move(body));
    } catch (const std::exception& error) {
        forget_left_frames();
        return error.what();
    }
    return {};
}

} // namespace

TEST_CASE("what a test throws comes out of the simulation", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THAT(failure_of(cluster,
                          [&](Side&, Side&) {
                              const auto connection = cluster.connect();
                              throw std::runtime_error("on purpose");
                          }),
               Catch::Matchers::Equals("on purpose"));
}

TEST_CASE("a test that waits for ever fails", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THAT(failure_of(cluster, [&](Side&, Side&) { cluster.let(std::chrono::hours{1}); }),
               ContainsSubstring("still waits"));
}

TEST_CASE("a completion nobody asked for fails a test", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THAT(failure_of(cluster,
                          [&](Side& a, Side& b) {
                              const auto from = a.dram(10), to = b.dram(10);
                              auto connection = cluster.connect();
                              post_receive(*connection.b, 3, {to->sge()});
                              post(*connection.a, {.operation = SendOperation::send}, {from->sge()});
                              cluster.let(std::chrono::milliseconds{1});
                              static auto& kept = *new std::vector<const void*>; // where a leak checker finds it
                              kept.push_back(connection.b.release()); // destroyed, it would take its completion along
                          }),
               ContainsSubstring("B: a completion nobody asked for") &&
                   ContainsSubstring("B: 1 queue pairs left in the device"));
}

TEST_CASE("a byte beside a region fails a test", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THAT(failure_of(cluster,
                          [&](Side& a, Side&) {
                              const auto memory = a.vram(10);
                              memory->bytes().data()[10] = std::byte{1};
                          }),
               ContainsSubstring("A: bytes beside the 10"));
}

TEST_CASE("a refused command fails a test", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THAT(failure_of(cluster, [&](Side& a, Side&) { CHECK_FALSE(a.context->dealloc_pd(abi::Pd{99})); }),
               ContainsSubstring("A: DEALLOC_PD was refused: pd names no protection domain"));
}
