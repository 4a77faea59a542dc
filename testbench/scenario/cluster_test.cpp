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

constexpr std::uint32_t asynchronous = 0; ///< vector

/// The monitor is told of an interrupt that no event queue has asked for, which the device has not raised.
void interrupt_for_nothing(Cluster& cluster, Side& side) {
    namespace codec = traces::codec;
    cluster.recording()
        ->boundary(side.hca_card.path)
        ->link(0)
        .signal(codec::Direction::outbound, codec::Signal::interrupt, side.hca_function->now(),
                {.number = asynchronous});
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

TEST_CASE("what breaks a rule of the specifications fails a test", "[scenario][harness]") {
    Cluster cluster;

    CHECK_THAT(failure_of(cluster, [&](Side& a, Side&) { interrupt_for_nothing(cluster, a); }),
               Catch::Matchers::StartsWith("event before interrupt (record") && ContainsSubstring("vector 0") &&
                   ContainsSubstring("an interrupt without an event"));
}

TEST_CASE("a test may say which rule is broken on purpose", "[scenario][harness]") {
    Cluster cluster;
    cluster.breaks("event before interrupt", "the test says that there was an interrupt");

    CHECK(failure_of(cluster, [&](Side& a, Side&) { interrupt_for_nothing(cluster, a); }).empty());
}

TEST_CASE("another rule than the one that a test says is not excused", "[scenario][harness]") {
    Cluster cluster;
    cluster.breaks("tags unique", "the test says something else");

    CHECK_THAT(
        failure_of(cluster, [&](Side& a, Side&) { interrupt_for_nothing(cluster, a); }),
        ContainsSubstring("event before interrupt (record") &&
            ContainsSubstring("nothing breaks the rule 'tags unique', which was to be: the test says something"));
}

TEST_CASE("a cluster that says why has no monitor", "[scenario][harness]") {
    Cluster cluster(Cluster::untimed(), true, harness::Unmonitored{"the test looks whether there is one"});

    CHECK(cluster.recording() == nullptr);
    CHECK(failure_of(cluster, [](Side&, Side&) {}).empty());
}
