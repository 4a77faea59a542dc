// Answers that come between going back and sending again: what they cover is not sent a second time.
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::WqeOpcode;
using abi::wire::NakCode;
using abi::wire::Operation;

namespace {

constexpr std::uint8_t good = abi::wire::ack_syndrome();
constexpr std::uint8_t out_of_sequence = abi::wire::nak_syndrome(NakCode::psn_sequence_error);

struct Bench : OneHca {
    Region source = a.make_region(8192, 1);

    void write(std::uint32_t length) { send({.sges = {source.sge(0, length)}, .remote = 0x1000, .rkey = abi::Key{1}}); }
    void hand_over_answer(std::uint32_t psn, std::uint8_t syndrome) {
        hand_over(Operation::acknowledge, psn, 0, [&](auto& packet) { packet.rdma().aeth.syndrome = syndrome; });
    }
};

} // namespace

TEST_CASE("what is acknowledged while it waits to be sent again is not sent again", "[unit][transport][retry]") {
    Bench bench;
    bench.write(10);
    bench.write(4000);
    bench.peer.take();

    SECTION("after a sequence NAK for the message") { bench.hand_over_answer(101, out_of_sequence); }
    SECTION("after one for the message before it") { bench.hand_over_answer(100, out_of_sequence); }
    SECTION("after an RNR NAK") { bench.hand_over_answer(101, abi::wire::rnr_syndrome(1)); }
    bench.hand_over_answer(102, good);
    bench.settle();

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 2);
    CHECK(again[0].operation() == Operation::write_middle);
    CHECK(again[0].psn() == 103);
    CHECK(again[0].payload == bench.a.bytes(bench.source, 2048, 1024));
    CHECK(again[1].operation() == Operation::write_last);
    CHECK(again[1].payload == bench.a.bytes(bench.source, 3072, 928));
    bench.answer(104, good);
    CHECK(bench.a.drain(bench.cq).size() == 2);
}

TEST_CASE("an ACK of less than is already being sent again leaves sending where it is", "[unit][transport][retry]") {
    Bench bench;
    bench.write(4000);
    bench.peer.take();

    bench.hand_over_answer(102, out_of_sequence);
    bench.hand_over_answer(100, good); // a late copy
    bench.settle();

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 2);
    CHECK(again[0].psn() == 102);
}

TEST_CASE("a READ whose answers come while it waits to be sent again asks for what is missing then",
          "[unit][transport][retry][read]") {
    Bench bench;
    bench.send(
        {.opcode = WqeOpcode::rdma_read, .sges = {bench.source.sge(0, 5000)}, .remote = 0x1000, .rkey = abi::Key{1}});
    bench.receive(Operation::read_response_first, 100, 1024);
    bench.peer.take();

    bench.hand_over(Operation::read_response_middle, 102, 1024); // 101 is late, and asked for
    bench.hand_over(Operation::read_response_middle, 101, 1024);
    bench.settle();

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 1);
    CHECK(again[0].psn() == 102);
    CHECK(again[0].header.rdma().reth.address == 0x1000 + 2048);
    CHECK(again[0].header.rdma().reth.length == 5000 - 2048);
}

TEST_CASE("an ACK of a packet that was never sent is a ghost, and all packets are sent",
          "[unit][transport][retry][hostile]") {
    Bench bench;
    model::hca::tpt::MkeyAttributes a;
    a.rights = Node::all_rights;
    a.pd = Node::pd;
    a.length = 8u << 20;
    const auto key = bench.a.make_key(a, std::vector<std::uint64_t>(2048, 0x40000));
    bench.a.post(bench.qp, {.sges = {{0, 8u << 20, key}}, .remote = 0, .rkey = abi::Key{1}});
    bench.a.ring(bench.qp, bench.clock.now());

    SECTION("in the middle of its message") { bench.hand_over_answer(8000, good); }
    SECTION("the last of it") { bench.hand_over_answer(100 + 8191, good); }
    SECTION("behind it") { bench.hand_over_answer(100 + 8192, good); }
    bench.settle();

    CHECK(bench.peer.take().size() == 8192);
    CHECK(bench.a.drain(bench.cq).empty());
    bench.answer(100 + 8191, good);
    CHECK(bench.a.drain(bench.cq).size() == 1);
}
