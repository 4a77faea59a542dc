// IBA 9.8.3: unreliable datagrams, and QP1.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using abi::wire::Operation;
using model::hca::queue::QpState;
using model::hca::queue::QpType;

namespace {

constexpr std::uint32_t q_key = 0x1234;

struct Bench : HcaPair {
    explicit Bench(QpType type = QpType::ud) {
        remake([type](auto& attributes) {
            attributes.type = type;
            attributes.q_key = q_key;
        });
        connect();
    }
    Post datagram(std::uint32_t bytes, std::uint32_t key = q_key) const {
        return {.opcode = WqeOpcode::send, .sges = {from.sge(0, bytes)}, .datagram = Post::Address{b_qp.number, key}};
    }

    Region from = a.make_region(4096, 1);
    Region to = b.make_region(4096);
};

} // namespace

TEST_CASE("a datagram arrives behind 40 bytes of network header and names its sender", "[unit][datagram]") {
    Bench bench;
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    bench.send(bench.datagram(100));

    const auto cqe = bench.b.poll(bench.b_cq);
    REQUIRE(cqe);
    CHECK(cqe->view().get<"opcode">() == CqeOpcode::resp_send);
    CHECK(cqe->view().get<"byte_cnt">() == 140);
    CHECK(cqe->view().get<"rqpn">() == bench.a_qp.number.value);
    CHECK(cqe->view().get<"grh">() == 1);
    CHECK(cqe->view().get<"sl">() == 1); // RoCE: the network header is IPv6
    CHECK(bench.b.bytes(bench.to, 40, 100) == bench.a.bytes(bench.from, 0, 100));
    CHECK(bench.b.bytes(bench.to, 0, 1)[0] == std::byte{0x60}); // version 6
}

TEST_CASE("a datagram is complete when it has left, without an answer", "[unit][datagram]") {
    Bench bench;
    bench.send(bench.datagram(100)); // nobody posted a receive

    CHECK(bench.a.drain(bench.a_cq).size() == 1);
    CHECK(bench.b.drain(bench.b_cq).empty());
    CHECK(bench.b.hca.counters().packets_dropped == 1);
    CHECK(bench.a.core(bench.a_qp).state == QpState::rts);
    CHECK(bench.b.core(bench.b_qp).state == QpState::rts);
}

TEST_CASE("a datagram with another queue key is dropped and takes no receive", "[unit][datagram]") {
    Bench bench;
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    bench.send(bench.datagram(100, q_key + 1));
    CHECK(bench.b.drain(bench.b_cq).empty());

    bench.send(bench.datagram(8));
    CHECK(bench.b.drain(bench.b_cq).size() == 1);
}

TEST_CASE("a privileged queue key stands for the one of the sending queue pair", "[unit][datagram]") {
    Bench bench;
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    bench.send(bench.datagram(8, 0x80010000));

    CHECK(bench.b.drain(bench.b_cq).size() == 1);
}

TEST_CASE("a datagram longer than the MTU is a local length error", "[unit][datagram]") {
    Bench bench;
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    bench.send(bench.datagram(1025)); // the MTU is 1024

    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].syndrome == CqeSyndrome::local_length_err);
    CHECK(bench.b.drain(bench.b_cq).empty());
}

TEST_CASE("a datagram beyond the receiver's MTU is dropped and takes no receive", "[unit][datagram]") {
    Bench bench;
    bench.b.core(bench.b_qp).attributes.mtu = 1; // 256
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});

    bench.send(bench.datagram(257));
    CHECK(bench.b.drain(bench.b_cq).empty());
    bench.send(bench.datagram(256));
    CHECK(bench.b.drain(bench.b_cq).size() == 1);
}

TEST_CASE("a datagram that does not fit its receive ends that receive with an error", "[unit][datagram]") {
    Bench bench;
    bench.b.post_receive(bench.b_qp, {bench.to.sge(0, 139)});
    bench.send(bench.datagram(100));

    const auto done = bench.b.drain(bench.b_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].syndrome == CqeSyndrome::local_length_err);
    CHECK(bench.b.core(bench.b_qp).state == QpState::err);
    CHECK(bench.b.has_guards(bench.to));
}

TEST_CASE("READ, WRITE and atomics are no operations of a datagram queue pair", "[unit][datagram]") {
    for (const auto opcode : {WqeOpcode::rdma_read, WqeOpcode::rdma_write, WqeOpcode::atomic_fa}) {
        Bench bench;
        auto wr = bench.datagram(8);
        wr.opcode = opcode;
        bench.send(wr);

        const auto done = bench.a.drain(bench.a_cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].syndrome == CqeSyndrome::local_qp_op_err);
    }
}

TEST_CASE("what is no SEND of one packet is dropped by a datagram queue pair", "[unit][datagram]") {
    OneHca bench([](auto& attributes) {
        attributes.type = QpType::ud;
        attributes.q_key = q_key;
    });
    const auto to = bench.a.make_region(4096);
    bench.a.post_receive(bench.qp, {to.sge()});
    const auto arrives = [&](Operation operation) {
        bench.receive(operation, OneHca::peer_psn, 8, [](auto& packet) {
            packet.rdma().service = abi::wire::Service::ud;
            packet.rdma().deth = {.qkey = q_key, .source_qpn = OneHca::peer_qpn};
        });
        return bench.a.drain(bench.cq).size();
    };

    for (const auto operation :
         {Operation::send_first, Operation::send_middle, Operation::send_last, Operation::write_only,
          Operation::read_request, Operation::acknowledge, Operation::fetch_add, Operation::send_only_with_invalidate})
        CHECK(arrives(operation) == 0);
    CHECK(arrives(Operation::send_only) == 1);
}

TEST_CASE("immediate data of a datagram reaches the completion, the P_Key does otherwise", "[unit][datagram]") {
    Bench bench;
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    auto wr = bench.datagram(8);
    wr.opcode = WqeOpcode::send_imm;
    wr.immediate = 0xcafef00d;
    bench.send(wr);
    bench.send(bench.datagram(8));

    const auto done = bench.b.drain(bench.b_cq);
    REQUIRE(done.size() == 2);
    CHECK(done[0].opcode == CqeOpcode::resp_send_imm);
    CHECK(done[0].immediate == 0xcafef00d);
    CHECK(done[1].immediate == 0xffff);
}

TEST_CASE("QP1 is reached by its number and sends under it", "[unit][datagram]") {
    Bench bench(QpType::qp1);
    bench.b.post_receive(bench.b_qp, {bench.to.sge()});
    auto wr = bench.datagram(8);
    wr.datagram->destination = abi::Qpn{1};
    bench.send(wr);

    const auto cqe = bench.b.poll(bench.b_cq);
    REQUIRE(cqe);
    CHECK(cqe->view().get<"rqpn">() == 1);
}

TEST_CASE("without a QP1 a packet to number 1 is dropped", "[unit][datagram]") {
    Bench bench;
    auto wr = bench.datagram(8);
    wr.datagram->destination = abi::Qpn{1};
    bench.send(wr);
    CHECK(bench.b.hca.counters().packets_dropped == 1);
}
