// Acknowledgements: what asks for one, what one answers, and which are of no account.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::WqeOpcode;
using abi::wire::Operation;
using model::hca::queue::QpState;

namespace {

constexpr std::uint8_t good = abi::wire::ack_syndrome();

struct Bench : OneHca {
    using OneHca::OneHca;
    Region source = a.make_region(8192, 1);

    void write(std::uint32_t length, bool signalled = true) {
        send({.sges = {source.sge(0, length)}, .remote = 0x1000, .rkey = abi::Key{1}, .signalled = signalled});
    }
};

} // namespace

TEST_CASE("many WRITEs of one batch are answered by one ACK", "[unit][transport][ack]") {
    HcaPair pair;
    pair.connect(0xfffff0);
    const auto source = pair.a.make_region(64, 1), target = pair.b.make_region(64 * 60);
    for (std::uint32_t n = 0; n < 60; ++n)
        pair.a.post(pair.a_qp, {.sges = {source.sge()}, .remote = target.address + n * 64, .rkey = target.key});

    pair.ring();

    CHECK(pair.a.drain(pair.a_cq).size() == 60);
    CHECK(pair.link.counters(0).packets == 60);
    CHECK(pair.link.counters(1).packets == 1);
    CHECK(pair.b.hca.counters().acks_sent == 1);
}

TEST_CASE("an ACK completes every message up to its packet, and none behind it", "[unit][transport][ack]") {
    Bench bench;
    for (int i = 0; i < 5; ++i)
        bench.write(1500); // two packets each: PSN 100 to 109

    bench.answer(105, good);
    CHECK(bench.a.drain(bench.cq).size() == 3);
    bench.answer(106, good); // the first packet of the fourth
    CHECK(bench.a.drain(bench.cq).empty());
    bench.answer(109, good);

    CHECK(bench.a.drain(bench.cq).size() == 2);
    CHECK(bench.a.hca.counters().messages_completed == 5);
}

TEST_CASE("only signalled messages write a completion, but all of them complete", "[unit][transport][ack]") {
    Bench bench;
    for (int i = 0; i < 8; ++i)
        bench.write(10, i % 4 == 3);

    bench.answer(107, good);

    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].index == 3);
    CHECK(done[1].index == 7);
    CHECK(bench.a.hca.counters().messages_completed == 8);
    CHECK(bench.core().requester.sends.completed == 8);
}

TEST_CASE("an ACK for what was acknowledged before, or never sent, is ignored", "[unit][transport][ack]") {
    Bench bench;
    bench.write(10);
    bench.answer(100, good);
    CHECK(bench.a.drain(bench.cq).size() == 1);
    bench.write(3000); // PSN 101 to 103

    for (const std::uint32_t psn : {100u, 99u, 0u, 104u, 105u, 0x800000u, 0xffffffu})
        bench.answer(psn, good);

    CHECK(bench.a.drain(bench.cq).empty());
    CHECK(bench.core().state == QpState::rts);
    bench.answer(103, good);
    CHECK(bench.a.drain(bench.cq).size() == 1);
}

TEST_CASE("an ACK that acknowledges nothing new does not put the time-out off", "[unit][transport][ack]") {
    constexpr Time timeout = 4096ns * (1 << 14); // of the harness' queue pairs
    Bench bench;
    bench.write(10);
    bench.answer(100, good);
    bench.write(10);
    bench.peer.take();
    bench.run(timeout / 2);
    bench.clock.set(timeout / 2);

    bench.answer(100, good); // again

    bench.run(timeout);
    const auto again = bench.peer.take();
    REQUIRE(again.size() == 1);
    CHECK(again[0].psn() == 101);
}

TEST_CASE("an ACK on an idle queue pair is ignored", "[unit][transport][ack]") {
    Bench bench;
    for (const std::uint8_t syndrome : {0x1f, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64, 0x40})
        for (const std::uint32_t psn : {99u, 100u, 101u})
            bench.answer(psn, syndrome);

    CHECK(bench.core().state == QpState::rts);
    CHECK(bench.a.drain(bench.cq).empty());
    CHECK(bench.peer.take().empty());
}

TEST_CASE("every message asks for an ACK with its last packet", "[unit][transport][ack]") {
    Bench bench;
    bench.write(3000);
    bench.write(5);

    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(seen[i].psn() == 100 + i);
        CHECK(seen[i].header.rdma().ack_request == (i >= 2));
    }
}

TEST_CASE("log_ack_req_freq asks for ACKs on the way", "[unit][transport][ack]") {
    Bench bench([](auto& attributes) { attributes.log_ack_request = 1; });
    bench.write(7 * 1024);

    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 7);
    for (std::size_t i = 0; i < 7; ++i)
        CHECK(seen[i].header.rdma().ack_request == (i % 2 == 1 || i == 6));
}

TEST_CASE("the packets of a message carry what the operation says", "[unit][transport]") {
    Bench bench;
    bench.send({.opcode = WqeOpcode::rdma_write_imm,
                .sges = {bench.source.sge(0, 2500)},
                .remote = 0x123456789a,
                .rkey = abi::Key{0x55aa},
                .immediate = 0xcafe,
                .solicited = true});
    const auto writes = bench.peer.take();
    REQUIRE(writes.size() == 3);
    CHECK(writes[0].operation() == Operation::write_first);
    CHECK(writes[1].operation() == Operation::write_middle);
    CHECK(writes[2].operation() == Operation::write_last_with_immediate);
    CHECK(writes[0].header.rdma().reth.address == 0x123456789a);
    CHECK(writes[0].header.rdma().reth.rkey == abi::Key{0x55aa});
    CHECK(writes[0].header.rdma().reth.length == 2500);
    CHECK(writes[2].header.rdma().immediate == 0xcafe);
    CHECK_FALSE(writes[0].header.rdma().solicited);
    CHECK_FALSE(writes[1].header.rdma().solicited);
    CHECK(writes[2].header.rdma().solicited);
    std::vector<std::byte> payload;
    for (const auto& packet : writes) {
        CHECK(packet.header.rdma().destination == OneHca::peer_qpn);
        payload.insert(payload.end(), packet.payload.begin(), packet.payload.end());
    }
    CHECK(payload == bench.a.bytes(bench.source, 0, 2500));

    bench.send(
        {.opcode = WqeOpcode::rdma_read, .sges = {bench.source.sge(0, 5000)}, .remote = 0x77, .rkey = abi::Key{9}});
    bench.send({.opcode = WqeOpcode::atomic_cs,
                .sges = {bench.source.sge(0, 8)},
                .remote = 0x88,
                .rkey = abi::Key{10},
                .swap_or_add = 3,
                .compare = 4});
    const auto reads = bench.peer.take();
    REQUIRE(reads.size() == 2);
    CHECK(reads[0].operation() == Operation::read_request);
    CHECK(reads[0].psn() == 103);
    CHECK(reads[0].header.rdma().reth.length == 5000);
    CHECK(reads[0].payload.empty());
    CHECK(reads[1].operation() == Operation::compare_swap);
    CHECK(reads[1].psn() == 108); // a READ takes a sequence number for each response packet
    CHECK(reads[1].header.rdma().atomic.address == 0x88);
    CHECK(reads[1].header.rdma().atomic.swap_or_add == 3);
    CHECK(reads[1].header.rdma().atomic.compare == 4);
}

TEST_CASE("READ responses acknowledge the messages before them", "[unit][transport][ack]") {
    Bench bench;
    bench.write(1500);
    bench.send({.opcode = WqeOpcode::rdma_read, .sges = {bench.source.sge(0, 10)}, .remote = 1, .rkey = abi::Key{1}});

    bench.receive(Operation::read_response_only, 102, 10);

    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].send_opcode == static_cast<std::uint8_t>(WqeOpcode::rdma_write));
    CHECK(done[1].send_opcode == static_cast<std::uint8_t>(WqeOpcode::rdma_read));
}

TEST_CASE("an acknowledge carries the packet it answers, the messages done, and no credits",
          "[unit][transport][ack][responder]") {
    Bench bench;
    const auto target = bench.a.make_region(64);
    const auto write = [&](std::uint32_t psn, bool ack_request) {
        bench.hand_over(Operation::write_only, psn, 16, [&](auto& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = 16};
            packet.rdma().ack_request = ack_request;
        });
    };
    write(5100, true);
    bench.settle();
    write(5101, false);
    write(5102, true);
    write(5103, false);
    bench.settle();

    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].operation() == Operation::acknowledge);
    CHECK(seen[0].psn() == 5100);
    CHECK(seen[0].syndrome() == 0x1f);
    CHECK(seen[0].header.rdma().aeth.msn == 1);
    CHECK(seen[1].psn() == 5103); // everything so far, also what did not ask
    CHECK(seen[1].header.rdma().aeth.msn == 4);
}

TEST_CASE("nothing is answered that does not ask", "[unit][transport][ack][responder]") {
    Bench bench;
    const auto target = bench.a.make_region(4096);
    for (std::uint32_t i = 0; i < 3; ++i)
        bench.receive(i == 0 ? Operation::write_first : Operation::write_middle, 5100 + i, 1024, [&](auto& packet) {
            packet.rdma().reth = {.address = target.address, .rkey = target.key, .length = 4096};
        });

    CHECK(bench.peer.take().empty());
    CHECK(bench.core().responder.order.expected == abi::Psn{5103});
    CHECK(bench.core().responder.order.msn == 0);
}
