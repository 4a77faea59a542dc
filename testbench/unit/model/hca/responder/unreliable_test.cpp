// IBA 9.8.2: the unreliable connected service.
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::WqeOpcode;
using abi::wire::Operation;
using model::hca::queue::QpState;
using model::hca::queue::QpType;

namespace {

struct Bench : HcaPair {
    Bench() {
        remake([](auto& attributes) { attributes.type = QpType::uc; });
        connect(100);
    }
    Post write(std::uint32_t bytes) const {
        return {.opcode = WqeOpcode::rdma_write, .sges = {from.sge(0, bytes)}, .remote = to.address, .rkey = to.key};
    }
    Post message(std::uint32_t bytes) const { return {.opcode = WqeOpcode::send, .sges = {from.sge(0, bytes)}}; }
    /// One packet of a WRITE or SEND as the peer would send it.
    void inject(Operation operation, std::uint32_t psn, std::uint32_t length, std::byte value) {
        model::port::Packet packet;
        packet.path = reversed(b.core(b_qp).path);
        packet.rdma().service = abi::wire::Service::uc;
        packet.rdma().operation = operation;
        packet.rdma().destination = b_qp.number;
        packet.rdma().psn = abi::Psn{psn};
        packet.rdma().reth = {.address = to.address, .rkey = to.key, .length = length};
        const std::vector bytes(std::min(length, 1024u), value);
        packet.payload.append_copy(bytes);
        b.hca.receive(packet, clock.now());
        b.hca.received_all(clock.now());
    }

    Region from = a.make_region(8192, 1);
    Region to = b.make_region(8192);
};

} // namespace

TEST_CASE("an unreliable WRITE of several packets arrives and is complete without an ACK", "[unit][uc]") {
    Bench bench;
    bench.send(bench.write(5000));

    CHECK(bench.a.drain(bench.a_cq).size() == 1);
    CHECK(bench.b.bytes(bench.to, 0, 5000) == bench.a.bytes(bench.from, 0, 5000));
    CHECK(bench.b.has_guards(bench.to));
    CHECK(bench.b.hca.counters().packets_sent == 0);
}

TEST_CASE("a local error stops the sending side alone, until software starts it again", "[unit][uc]") {
    Bench bench;
    auto bad = bench.write(100);
    bad.sges[0].key = abi::Key{0x7fffff, 1};
    bench.a.post(bench.a_qp, bad);
    bench.a.post(bench.a_qp, bench.write(100));
    bench.ring();
    auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].syndrome == abi::prm::CqeSyndrome::local_prot_err);
    CHECK(done[1].syndrome == abi::prm::CqeSyndrome::wr_flush_err);
    CHECK(bench.a.core(bench.a_qp).state == QpState::sqer);
    CHECK(bench.a.drain_events().empty());

    // It still receives; what is posted meanwhile is flushed.
    const auto target = bench.a.make_region(64);
    bench.a.post_receive(bench.a_qp, {target.sge()});
    bench.b.post(bench.b_qp, {.opcode = WqeOpcode::send, .sges = {bench.to.sge(0, 8)}});
    bench.b.ring(bench.b_qp, bench.clock.now());
    bench.settle();
    bench.send(bench.write(100));
    done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].opcode == CqeOpcode::resp_send);
    CHECK(done[1].syndrome == abi::prm::CqeSyndrome::wr_flush_err);

    bench.a.modify(bench.a_qp, QpState::rts, bench.clock.now());
    bench.send(bench.write(100));
    done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
    CHECK(bench.b.bytes(bench.to, 0, 100) == bench.a.bytes(bench.from, 0, 100));
}

TEST_CASE("an unreliable SEND without a receive is dropped, and the next one arrives", "[unit][uc]") {
    Bench bench;
    bench.send(bench.message(3000));
    CHECK(bench.a.drain(bench.a_cq).size() == 1);
    CHECK(bench.b.drain(bench.b_cq).empty());
    CHECK(bench.b.hca.counters().naks_sent == 0);
    CHECK(bench.b.hca.counters().packets_sent == 0);

    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    bench.send(bench.message(3000));
    const auto done = bench.b.drain(bench.b_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].bytes == 3000);
    CHECK(bench.b.bytes(bench.to, 0, 3000) == bench.a.bytes(bench.from, 0, 3000));
}

TEST_CASE("a lost packet drops its message, and the receive is used for the next one", "[unit][uc]") {
    Bench bench;
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    bench.inject(Operation::send_first, 100, 1024, std::byte{1});
    bench.inject(Operation::send_last, 102, 1024, std::byte{2}); // 101 is lost
    CHECK(bench.b.drain(bench.b_cq).empty());

    bench.inject(Operation::send_only, 103, 16, std::byte{3});
    const auto done = bench.b.drain(bench.b_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].bytes == 16);
    CHECK(bench.b.bytes(bench.to, 0, 1)[0] == std::byte{3});
    CHECK(bench.b.core(bench.b_qp).state == QpState::rts);
}

TEST_CASE("an unreliable WRITE that may not is dropped, and the connection lives", "[unit][uc]") {
    Bench bench;
    auto wr = bench.write(16);
    wr.rkey = abi::Key{0xdead00};
    bench.send(wr);
    CHECK(bench.b.hca.counters().naks_sent == 0);
    CHECK(bench.a.drain(bench.a_cq).size() == 1);
    CHECK(bench.b.core(bench.b_qp).state == QpState::rts);

    bench.send(bench.write(16));
    CHECK(bench.b.bytes(bench.to, 0, 16) == bench.a.bytes(bench.from, 0, 16));
}

TEST_CASE("a packet that asks an unreliable queue pair for an ACK gets none", "[unit][uc]") {
    Bench bench;
    model::port::Packet packet;
    packet.path = reversed(bench.b.core(bench.b_qp).path);
    packet.rdma().service = abi::wire::Service::uc;
    packet.rdma().operation = Operation::write_only;
    packet.rdma().destination = bench.b_qp.number;
    packet.rdma().psn = abi::Psn{100};
    packet.rdma().ack_request = true;
    packet.rdma().reth = {.address = bench.to.address, .rkey = bench.to.key, .length = 0};
    bench.b.hca.receive(packet, bench.clock.now());
    bench.b.hca.received_all(bench.clock.now());
    CHECK(bench.b.hca.counters().packets_sent == 0);
}
