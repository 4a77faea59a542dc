// A send queue that drains (IBA 10.3.1, SQD): what is under way ends, and nothing new begins.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::WqeOpcode;
using model::hca::queue::QpState;

TEST_CASE("a send queue that drains begins nothing new until it may send again", "[unit][error]") {
    HcaPair pair;
    pair.connect();
    pair.a.modify(pair.a_qp, QpState::sqd, pair.clock.now());

    pair.send({.opcode = WqeOpcode::rdma_write});
    CHECK(pair.a.hca.counters().packets_sent == 0);
    CHECK(pair.a.drain(pair.a_cq).empty());

    pair.a.modify(pair.a_qp, QpState::rts, pair.clock.now());
    pair.settle();
    const auto done = pair.a.drain(pair.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
}

TEST_CASE("what is under way when a send queue begins to drain completes with its ACK", "[unit][error]") {
    OneHca bench;
    bench.send({.opcode = WqeOpcode::rdma_write});
    bench.a.modify(bench.qp, QpState::sqd, bench.clock.now());

    bench.answer(OneHca::first_psn, abi::wire::ack_syndrome());

    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.core().state == QpState::sqd);
}
