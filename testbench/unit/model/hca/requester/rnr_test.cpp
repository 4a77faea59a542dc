// Receiver not ready: the pause it asks for, how often, and what the responder does meanwhile.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using abi::wire::NakCode;
using abi::wire::Operation;
using abi::wire::rnr_syndrome;
using model::hca::queue::QpState;

namespace {

constexpr std::uint8_t good = abi::wire::ack_syndrome();
// IBA table "RNR NAK timer", in microseconds, written down once more: the code's own table is what is tested.
constexpr std::array<double, 32> specified_ms{
    655.36, .01,  .02,  .03,  .04,   .06,   .08,   .12,   .16,   .24,   .32,   .48,    .64,    .96,    1.28,   1.92,
    2.56,   3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};

struct Bench : OneHca {
    using OneHca::OneHca;
    Region source = a.make_region(8192, 1);
    void post_send(std::uint32_t length) { send({.opcode = WqeOpcode::send, .sges = {source.sge(0, length)}}); }
};

/// A SEND towards a receiver that has no buffer yet.
struct Pair : HcaPair {
    template <class Change> explicit Pair(Change&& change) {
        remake(change);
        connect();
    }
    Region source = a.make_region(8192, 1), target = b.make_region(8192);
};

} // namespace

TEST_CASE("an RNR NAK pauses for as long as its code says", "[unit][transport][rnr]") {
    for (std::uint8_t code = 0; code < 32; ++code) {
        Bench bench([](auto& attributes) { attributes.path.ack_timeout = 0; });
        const auto pause = std::chrono::nanoseconds{static_cast<std::int64_t>(specified_ms[code] * 1e6 + 0.5)};
        bench.post_send(10);
        bench.peer.take();
        INFO("code " << unsigned{code});

        bench.answer(100, rnr_syndrome(code));
        bench.run(pause - 1ns);
        CHECK(bench.peer.take().empty());
        bench.run(pause);

        const auto again = bench.peer.take();
        REQUIRE(again.size() == 1);
        CHECK(again[0].psn() == 100);
        CHECK(bench.a.q_counters().rnr_nak_retry_err == 1);
        CHECK(bench.a.hca.counters().retries == 0);
    }
}

TEST_CASE("RNR retries end with their own error", "[unit][transport][rnr]") {
    for (std::uint8_t count = 0; count < 7; ++count) {
        Bench bench([&](auto& attributes) { attributes.rnr_retry = count, attributes.retry_count = 0; });
        bench.post_send(10);
        bench.post_send(10);
        INFO("RNR retry " << unsigned{count});
        for (std::uint8_t i = 0; i < count; ++i) {
            bench.answer(100, rnr_syndrome(1));
            CHECK(bench.core().state == QpState::rts);
            bench.run(bench.clock.now() + 10us);
        }

        bench.answer(100, rnr_syndrome(1));

        const auto done = bench.a.drain(bench.cq);
        REQUIRE(done.size() == 2);
        CHECK(done[0].syndrome == CqeSyndrome::rnr_retry_exc_err);
        CHECK(done[1].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(bench.core().state == QpState::err);
        CHECK(bench.a.q_counters().req_rnr_retries_exceeded == 1);
        CHECK(bench.a.q_counters().rnr_nak_retry_err == count + 1u);
        CHECK(bench.a.q_counters().req_transport_retries_exceeded == 0);
        CHECK(bench.a.drain_events().empty());
    }
}

TEST_CASE("RNR retry 7 never gives up", "[unit][transport][rnr]") {
    Bench bench([](auto& attributes) { attributes.rnr_retry = 7; });
    bench.post_send(10);
    for (int i = 0; i < 100; ++i) {
        bench.answer(100, rnr_syndrome(1));
        bench.run(bench.clock.now() + 10us);
    }
    CHECK(bench.core().state == QpState::rts);
    bench.answer(100, good);
    CHECK(bench.a.drain(bench.cq).size() == 1);
}

TEST_CASE("progress gives RNR retries back", "[unit][transport][rnr]") {
    Bench bench([](auto& attributes) { attributes.rnr_retry = 1; });
    for (int i = 0; i < 4; ++i)
        bench.post_send(10);
    for (std::uint32_t i = 0; i < 4; ++i) {
        bench.answer(100 + i, rnr_syndrome(1));
        bench.run(bench.clock.now() + 10us);
        bench.answer(100 + i, good);
    }
    CHECK(bench.core().state == QpState::rts);
    CHECK(bench.a.drain(bench.cq).size() == 4);
}

TEST_CASE("an RNR NAK acknowledges what precedes its packet", "[unit][transport][rnr]") {
    Bench bench;
    bench.post_send(10);
    bench.post_send(10);
    bench.answer(101, rnr_syndrome(1));
    CHECK(bench.a.drain(bench.cq).size() == 1);
}

TEST_CASE("during the pause nothing is sent and answers of the past change nothing", "[unit][transport][rnr]") {
    Bench bench([](auto& attributes) {
        attributes.path.ack_timeout = 0, attributes.rnr_retry = 2, attributes.retry_count = 1;
    });
    bench.post_send(3000);
    bench.peer.take();
    bench.answer(100, rnr_syndrome(20)); // 10.24 ms

    for (int i = 0; i < 5; ++i) {
        bench.answer(100, rnr_syndrome(20));
        bench.answer(100, abi::wire::nak_syndrome(NakCode::psn_sequence_error));
    }
    bench.post_send(10);
    bench.run(10239us);
    CHECK(bench.peer.take().empty());
    CHECK(bench.core().state == QpState::rts);
    bench.run(10241us);

    CHECK(bench.peer.take().size() == 4);
}

TEST_CASE("when a copy of the refused packet was accepted, the pause is over", "[unit][transport][rnr]") {
    Bench bench;
    bench.post_send(10);
    bench.post_send(10);
    bench.answer(100, rnr_syndrome(20));
    bench.peer.take();

    bench.answer(100, good);

    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.peer.take().size() == 1); // the second one goes at once
    bench.answer(101, good);
    CHECK(bench.a.drain(bench.cq).size() == 1);
}

TEST_CASE("a SEND of several packets waits for a receive and then arrives whole", "[unit][transport][rnr]") {
    Pair pair([](auto& attributes) { attributes.path.ack_timeout = 0; });
    pair.send({.opcode = WqeOpcode::send, .sges = {pair.source.sge(0, 5000)}});
    CHECK(pair.b.hca.counters().naks_sent == 1); // what follows the refused packet is dropped without a word
    pair.run(5ms);
    pair.b.post_receive(pair.b_qp, {pair.target.sge()});
    pair.run(20ms);

    CHECK(pair.b.bytes(pair.target, 0, 5000) == pair.a.bytes(pair.source, 0, 5000));
    CHECK(pair.a.drain(pair.a_cq).size() == 1);
    CHECK(pair.b.drain(pair.b_cq).size() == 1);
    CHECK(pair.a.q_counters().packet_seq_err == 0);
    CHECK(pair.b.q_counters().out_of_buffer > 1);
}

TEST_CASE("the responder asks for the time of its context", "[unit][transport][rnr][responder]") {
    for (std::uint8_t code = 0; code < 32; ++code) {
        Bench bench([&](auto& attributes) { attributes.min_rnr_nak = code; });
        bench.receive(Operation::send_only, 5100, 10, [](auto& packet) { packet.rdma().ack_request = true; });
        const auto seen = bench.peer.take();
        REQUIRE(seen.size() == 1);
        CHECK(seen[0].syndrome() == (0x20 | code));
        CHECK(seen[0].psn() == 5100);
        CHECK(bench.core().responder.order.expected == abi::Psn{5100});
        CHECK(bench.a.q_counters().out_of_buffer == 1);
    }
}

TEST_CASE("after an RNR NAK other packets are dropped without an answer until the refused one comes again",
          "[unit][transport][rnr][responder]") {
    Bench bench;
    const auto target = bench.a.make_region(8192);
    bench.receive(Operation::send_first, 5100, 1024);
    bench.receive(Operation::send_middle, 5101, 1024);
    bench.receive(Operation::send_last, 5102, 10, [](auto& packet) { packet.rdma().ack_request = true; });
    REQUIRE(bench.peer.take().size() == 1);

    bench.a.post_receive(bench.qp, {target.sge()});
    bench.receive(Operation::send_middle, 5101, 1024);
    CHECK(bench.peer.take().empty());
    bench.receive(Operation::send_first, 5100, 1024);
    bench.receive(Operation::send_middle, 5101, 1024);
    bench.receive(Operation::send_last, 5102, 10, [](auto& packet) { packet.rdma().ack_request = true; });

    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].syndrome() == good);
    CHECK(seen[0].psn() == 5102);
    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].bytes == 2058);
    // A later gap is told of again.
    bench.receive(Operation::send_only, 5110, 10);
    const auto nak = bench.peer.take();
    REQUIRE(nak.size() == 1);
    CHECK(nak[0].syndrome() == abi::wire::nak_syndrome(NakCode::psn_sequence_error));
    CHECK(nak[0].psn() == 5103);
}

TEST_CASE("a WRITE with immediate waits with its last packet only", "[unit][transport][rnr]") {
    Pair pair([](auto& attributes) { attributes.min_rnr_nak = 1; });
    pair.send({.opcode = WqeOpcode::rdma_write_imm,
               .sges = {pair.source.sge(0, 3000)},
               .remote = pair.target.address,
               .rkey = pair.target.key,
               .immediate = 5});

    CHECK(pair.b.bytes(pair.target, 0, 2048) == pair.a.bytes(pair.source, 0, 2048));
    CHECK(pair.b.bytes(pair.target, 2048, 952) == std::vector<std::byte>(952));
    CHECK(pair.a.drain(pair.a_cq).empty());
    pair.run(95us);
    pair.b.post_receive(pair.b_qp, {});
    pair.run(110us);

    CHECK(pair.b.bytes(pair.target, 0, 3000) == pair.a.bytes(pair.source, 0, 3000));
    const auto done = pair.b.drain(pair.b_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == CqeOpcode::resp_wr_imm);
    CHECK(done[0].bytes == 3000);
    CHECK(pair.a.drain(pair.a_cq).size() == 1);
}

TEST_CASE("a record of receives beyond the ring counts as none", "[unit][transport][rnr][responder]") {
    Bench bench;
    bench.a.write_be32(bench.qp.record, 65);
    bench.receive(Operation::send_only, 5100, 10);
    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(abi::wire::kind_of(seen[0].syndrome()) == abi::wire::SyndromeKind::rnr_nak);
}
