#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::WqeOpcode;

TEST_CASE("a WRITE puts the sender's bytes into the receiver's memory and completes once", "[unit][transport]") {
    HcaPair pair;
    pair.connect();
    const auto source = pair.a.allocate(0x10000), target = pair.b.allocate(0x10000);
    pair.a.fill(source, 5000, 1);
    const auto lkey = pair.a.make_mr(source, 5000), rkey = pair.b.make_mr(target, 5000);

    pair.a.post(pair.a_qp, {.sges = {{source, 5000, lkey}}, .remote = target, .rkey = rkey});
    pair.ring();

    CHECK(pair.b.dma.peek(target, 5000) == pair.a.dma.peek(source, 5000));
    CHECK(pair.b.dma.peek(target + 5000, 16) == std::vector<std::byte>(16));
    const auto cqe = pair.a.poll(pair.a_cq);
    REQUIRE(cqe);
    CHECK(cqe->view().get<"opcode">() == CqeOpcode::req);
    CHECK(cqe->view().get<"qpn">() == pair.a_qp.number.value);
    CHECK_FALSE(pair.a.poll(pair.a_cq));
    CHECK_FALSE(pair.b.poll(pair.b_cq));
}

TEST_CASE("a READ brings the responder's bytes, in as many packets as the MTU needs", "[unit][transport]") {
    HcaPair pair;
    pair.connect(0xfffffe);
    const auto local = pair.a.allocate(0x10000), remote = pair.b.allocate(0x10000);
    pair.b.fill(remote, 9000, 2);
    const auto lkey = pair.a.make_mr(local, 9000), rkey = pair.b.make_mr(remote, 9000);

    pair.a.post(pair.a_qp, {.opcode = WqeOpcode::rdma_read,
                            .sges = {{local, 4000, lkey}, {local + 4000, 5000, lkey}},
                            .remote = remote,
                            .rkey = rkey});
    pair.ring();

    CHECK(pair.a.dma.peek(local, 9000) == pair.b.dma.peek(remote, 9000));
    REQUIRE(pair.a.poll(pair.a_cq));
    CHECK_FALSE(pair.a.poll(pair.a_cq));
    CHECK(pair.link.counters(1).packets == 9);
}

TEST_CASE("a SEND fills the receive buffers in order and both sides complete", "[unit][transport]") {
    HcaPair pair;
    pair.connect();
    const auto source = pair.a.allocate(0x10000), target = pair.b.allocate(0x10000);
    pair.a.fill(source, 3000, 3);
    const auto lkey = pair.a.make_mr(source, 3000), rkey = pair.b.make_mr(target, 0x4000);
    pair.b.post_receive(pair.b_qp, {{target, 1000, rkey}, {target + 0x2000, 4000, rkey}});

    pair.a.post(pair.a_qp, {.opcode = WqeOpcode::send_imm, .sges = {{source, 3000, lkey}}, .immediate = 0xcafe});
    pair.ring();

    const auto sent = pair.a.dma.peek(source, 3000);
    CHECK(pair.b.dma.peek(target, 1000) == std::vector(sent.begin(), sent.begin() + 1000));
    CHECK(pair.b.dma.peek(target + 0x2000, 2000) == std::vector(sent.begin() + 1000, sent.end()));
    const auto cqe = pair.b.poll(pair.b_cq);
    REQUIRE(cqe);
    CHECK(cqe->view().get<"opcode">() == CqeOpcode::resp_send_imm);
    CHECK(cqe->view().get<"byte_cnt">() == 3000);
    CHECK(cqe->view().get<"imm_inval_pkey">() == 0xcafe);
    CHECK(pair.a.poll(pair.a_cq));
}

TEST_CASE("atomics act once and return the value found", "[unit][transport]") {
    HcaPair pair;
    pair.connect();
    const auto local = pair.a.allocate(64), remote = pair.b.allocate(64);
    const auto lkey = pair.a.make_mr(local, 64), rkey = pair.b.make_mr(remote, 64);
    std::array<std::byte, 8> bytes;
    abi::store<std::uint64_t, abi::Endian::big>(bytes.data(), 40);
    pair.b.dma.poke(remote, bytes);

    pair.a.post(
        pair.a_qp,
        {.opcode = WqeOpcode::atomic_fa, .sges = {{local, 8, lkey}}, .remote = remote, .rkey = rkey, .swap_or_add = 2});
    pair.a.post(pair.a_qp, {.opcode = WqeOpcode::atomic_cs,
                            .sges = {{local + 8, 8, lkey}},
                            .remote = remote,
                            .rkey = rkey,
                            .swap_or_add = 7,
                            .compare = 42});
    pair.ring();

    pair.a.dma.peek(local, bytes);
    CHECK(abi::load<std::uint64_t, abi::Endian::big>(bytes.data()) == 40);
    pair.a.dma.peek(local + 8, bytes);
    CHECK(abi::load<std::uint64_t, abi::Endian::big>(bytes.data()) == 42);
    pair.b.dma.peek(remote, bytes);
    CHECK(abi::load<std::uint64_t, abi::Endian::big>(bytes.data()) == 7);
    CHECK(pair.a.poll(pair.a_cq));
    CHECK(pair.a.poll(pair.a_cq));
}

TEST_CASE("a SEND waits with RNR NAKs until a receive is posted", "[unit][transport]") {
    HcaPair pair;
    pair.connect();
    const auto source = pair.a.allocate(64), target = pair.b.allocate(64);
    const auto lkey = pair.a.make_mr(source, 64), rkey = pair.b.make_mr(target, 64);
    pair.a.fill(source, 64, 4);

    pair.a.post(pair.a_qp, {.opcode = WqeOpcode::send, .sges = {{source, 64, lkey}}});
    pair.ring();
    CHECK_FALSE(pair.a.poll(pair.a_cq));
    pair.b.post_receive(pair.b_qp, {{target, 64, rkey}});
    pair.run(1s);

    CHECK(pair.a.poll(pair.a_cq));
    CHECK(pair.b.dma.peek(target, 64) == pair.a.dma.peek(source, 64));
    CHECK(pair.a.hca.counters().rnr_waits > 0);
}

TEST_CASE("everything arrives over a cable that loses, repeats, reorders and corrupts", "[unit][transport]") {
    auto faults = HcaPair::clean();
    faults.timed = true;
    faults.loss = faults.duplicate = faults.reorder = 0.02;
    faults.corrupt = 0.01;
    faults.seed = 42;
    HcaPair pair(faults);
    pair.connect(0xffff00);
    constexpr std::size_t size = 200'000;
    const auto source = pair.a.allocate(size), target = pair.b.allocate(size), back = pair.a.allocate(size);
    pair.a.fill(source, size, 5);
    const auto lkey = pair.a.make_mr(source, size), rkey = pair.b.make_mr(target, size),
               bkey = pair.a.make_mr(back, size);

    pair.a.post(pair.a_qp, {.sges = {{source, size, lkey}}, .remote = target, .rkey = rkey});
    pair.a.post(pair.a_qp, {.opcode = WqeOpcode::rdma_read,
                            .sges = {{back, size, bkey}},
                            .remote = target,
                            .rkey = rkey,
                            .fence = abi::prm::FenceMode::fence});
    pair.ring();
    pair.run(100s);

    CHECK(pair.a.dma.peek(back, size) == pair.a.dma.peek(source, size));
    for (int i = 0; i < 2; ++i) {
        const auto cqe = pair.a.poll(pair.a_cq);
        REQUIRE(cqe);
        CHECK(cqe->view().get<"opcode">() == CqeOpcode::req);
    }
    CHECK(pair.a.hca.counters().retries > 0);
}

TEST_CASE("a message that was lost is still delivered when the one behind it has a local error", "[unit][transport]") {
    HcaPair pair;
    const auto source = pair.a.allocate(64), target = pair.b.allocate(64);
    pair.a.fill(source, 64, 6);
    const auto lkey = pair.a.make_mr(source, 64), rkey = pair.b.make_mr(target, 64);
    pair.a.connect(pair.a_qp, pair.b_qp.number, 10, 20, pair.clock.now()); // b does not listen yet

    pair.a.post(pair.a_qp, {.sges = {{source, 64, lkey}}, .remote = target, .rkey = rkey});
    pair.a.post(pair.a_qp, {.sges = {{source, 65, lkey}}, .remote = target, .rkey = rkey});
    pair.ring();
    CHECK_FALSE(pair.a.poll(pair.a_cq));
    pair.b.connect(pair.b_qp, pair.a_qp.number, 20, 10, pair.clock.now());
    pair.run(1s);

    CHECK(pair.b.dma.peek(target, 64) == pair.a.dma.peek(source, 64));
    const auto first = pair.a.poll(pair.a_cq), second = pair.a.poll(pair.a_cq);
    REQUIRE(first);
    CHECK(first->view().get<"opcode">() == CqeOpcode::req);
    REQUIRE(second);
    CHECK(second->view().get<"opcode">() == CqeOpcode::req_err);
}
