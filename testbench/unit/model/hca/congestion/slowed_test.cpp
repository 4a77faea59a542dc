// A queue pair whose peer sends CNPs, and what of its packets waits for that: requests and READ responses, and nothing
// else.
#include "model/hca/congestion/reaction_point.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <vector>

using namespace harness;
using abi::wire::Operation;
using model::hca::congestion::Algorithm;
using model::hca::congestion::ReactionPoint;

namespace {

constexpr std::uint32_t mtu = 1024;
constexpr Time for_a_packet = 80us; ///< at least, at the rate that the first CNP leaves: 1024 bytes at 100 Mbit/s

model::hca::HcaConfig settings_of(Algorithm algorithm = Algorithm::dcqcn) {
    model::hca::HcaConfig config;
    config.congestion_control = algorithm;
    config.dcqcn.first_rate_mbps = 100;
    config.dcqcn.time_reset = 10ms;
    config.dcqcn.byte_reset = 4'000'000'000;
    return config;
}

struct Bench : OneHca {
    explicit Bench(const model::hca::HcaConfig& config = settings_of(), const Change& change = {})
        : OneHca(change, config) {}

    void notify() {
        receive(Operation::acknowledge, 0, 0, [](auto& packet) { packet.rdma().service = abi::wire::Service::cnp; });
    }
    void write(std::uint32_t packets) {
        send({.sges = {own.sge(0, packets * mtu)}, .remote = 0x1000, .rkey = abi::Key{1}});
    }
    /// The peer reads. settle() lets the card answer.
    void hand_over_read(std::uint32_t psn, std::uint32_t packets) {
        hand_over(Operation::read_request, psn, 0, [&](auto& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = packets * mtu};
        });
    }
    void receive_read(std::uint32_t psn, std::uint32_t packets) {
        hand_over_read(psn, packets);
        settle();
    }
    void receive_write(std::uint32_t psn) {
        receive(Operation::write_only, psn, mtu, [&](auto& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = mtu};
            packet.rdma().ack_request = true;
        });
    }
    /// Lets so much time pass.
    void pass(Time span) {
        const auto end = clock.now() + span;
        run(end);
        clock.set(end);
    }
    ReactionPoint& slowed() { return static_cast<ReactionPoint&>(*core().requester.congestion.control); }
    bool is_slowed() { return core().requester.congestion.control != nullptr; }

    Region own = a.make_region(16 * mtu, 1), target = a.make_region(16 * mtu, 2);
};

} // namespace

TEST_CASE("a CNP says nothing to a card without DCQCN, or whose port has no rate", "[unit][congestion]") {
    const auto algorithm = GENERATE(Algorithm::none, Algorithm::swift, Algorithm::dcqcn);
    auto settings = settings_of(algorithm);
    if (algorithm == Algorithm::dcqcn)
        settings.port_rate_gbps = 0;
    Bench bench(settings);

    bench.notify();

    CHECK(bench.a.hca.counters().cnps_handled == 0);
    CHECK(bench.is_slowed() == (algorithm == Algorithm::swift));
}

TEST_CASE("a second CNP slows down from the rate that the first one has left", "[unit][congestion]") {
    Bench bench;
    bench.notify();
    CHECK(bench.slowed().rate_mbps() == 100);
    bench.pass(5us);

    bench.notify();

    CHECK(bench.a.hca.counters().cnps_handled == 2);
    CHECK(bench.slowed().rate_mbps() < 60);
}

TEST_CASE("READ responses leave one after the other at the rate of their queue pair, and an acknowledge behind them "
          "does not wait",
          "[unit][congestion][read]") {
    Bench bench;
    bench.notify();
    bench.receive_read(Bench::peer_psn, 3);
    bench.pass(1us);
    CHECK(bench.peer.take().size() == 1);
    bench.pass(1ms);
    auto sent = bench.peer.take();
    REQUIRE(sent.size() == 2);
    CHECK(sent[1].at - sent[0].at > for_a_packet);
    CHECK(sent[1].at - sent[0].at < for_a_packet + 20us);

    bench.pass(1ms);
    bench.hand_over_read(Bench::peer_psn + 3, 1);
    bench.receive_write(Bench::peer_psn + 4);
    bench.pass(1us);

    sent = bench.peer.take();
    REQUIRE(sent.size() == 2);
    CHECK(sent[1].operation() == Operation::acknowledge);
}

TEST_CASE("requests and READ responses share the rate of their queue pair", "[unit][congestion][read]") {
    Bench bench;
    bench.notify();
    bench.receive_read(Bench::peer_psn, 1);
    bench.write(1);
    bench.pass(for_a_packet);
    CHECK(bench.peer.take().size() == 1);
    bench.pass(20us);
    CHECK(bench.peer.take().size() == 1);
    CHECK(bench.a.hca.counters().window_waits == 0); // none of them has a window
}

TEST_CASE("what a rate holds back is a window of the report, of requests as of READ responses",
          "[unit][congestion][read]") {
    const bool is_read = GENERATE(false, true);
    Bench bench;
    bench.notify();
    is_read ? bench.receive_read(Bench::peer_psn, 3) : bench.write(3);
    bench.pass(10 * for_a_packet);

    REQUIRE(bench.peer.take().size() == 3);
    std::vector<model::time::Account> rows;
    bench.a.hca.accounts(rows);
    const auto row = std::ranges::find(rows, "congestion rates", &model::time::Account::name);
    REQUIRE(row != rows.end());
    CHECK(row->units == 1);
    CHECK(bench.a.hca.counters().rates_limited == 1);
    CHECK(row->usage.uses == 2);
    CHECK(row->usage.busy >= 2 * for_a_packet);
    CHECK(row->usage.busy < 3 * for_a_packet);
    CHECK(row->usage.longest_wait < 2 * for_a_packet);
}

TEST_CASE("packets since the last one that asked for an answer are counted anew when they are sent again",
          "[unit][congestion][ack]") {
    Bench bench(settings_of(), [](auto& attributes) { attributes.log_ack_request = 2; });
    bench.notify();
    bench.write(8);
    bench.pass(for_a_packet + 20us);
    REQUIRE(bench.peer.take().size() == 2);

    bench.answer(Bench::first_psn, abi::wire::nak_syndrome(abi::wire::NakCode::psn_sequence_error));
    bench.pass(2ms);

    std::vector<std::uint32_t> asked;
    for (const auto& packet : bench.peer.take())
        if (packet.header.rdma().ack_request)
            asked.push_back(packet.psn());
    CHECK(asked == std::vector<std::uint32_t>{103, 107});
}

TEST_CASE("READ responses leave at their rate also while requests wait for a receiver that is not ready",
          "[unit][congestion][read][rnr]") {
    Bench bench;
    bench.write(1);
    bench.pass(1us);
    constexpr std::uint8_t longest = 0; // 655 ms
    bench.answer(Bench::first_psn, abi::wire::rnr_syndrome(longest));
    bench.peer.take();
    bench.notify();

    bench.receive_read(Bench::peer_psn, 3);
    bench.pass(1ms);

    CHECK(bench.peer.take().size() == 3);
    CHECK(bench.is_slowed());
    bench.pass(500ms); // then it has the rate of the port, and the requests still wait
    bench.receive_read(Bench::peer_psn + 3, 4);
    bench.pass(5us);
    CHECK(bench.peer.take().size() == 4);
    CHECK_FALSE(bench.is_slowed());
}

TEST_CASE("who has the rate of the port again is forgotten with the next packet, whichever it is",
          "[unit][congestion][read]") {
    const bool is_read = GENERATE(false, true);
    Bench bench;
    bench.notify();
    // What stays slow is not forgotten.
    is_read ? bench.receive_read(Bench::peer_psn, 1) : bench.write(1);
    bench.pass(1ms);
    CHECK(bench.peer.take().size() == 1);
    CHECK(bench.is_slowed());
    if (!is_read)
        bench.answer(Bench::first_psn, abi::wire::ack_syndrome());
    bench.pass(1s);

    is_read ? bench.receive_read(Bench::peer_psn + 1, 4) : bench.write(4);
    bench.pass(5us);

    CHECK(bench.peer.take().size() == 4);
    CHECK_FALSE(bench.is_slowed());
}
