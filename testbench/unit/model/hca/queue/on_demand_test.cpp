// State that only work needs: it comes with the first work, stays while there is some, and goes with a reset.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/heap.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::QpType;
using abi::prm::WqeOpcode;
using model::hca::queue::QpState;

namespace {

struct Bench : HcaPair {
    Bench() { connect(); }
    Region source = a.make_region(4096, 1), target = b.make_region(4096);

    /// A SEND, a WRITE and a READ, completed; the queues of completions are empty again.
    void work() {
        b.post_receive(b_qp, {target.sge(0, 64)});
        send({.opcode = WqeOpcode::send, .sges = {source.sge(0, 64)}});
        send({.opcode = WqeOpcode::rdma_write, .sges = {source.sge()}, .remote = target.address, .rkey = target.key});
        send({.opcode = WqeOpcode::rdma_read, .sges = {source.sge()}, .remote = target.address, .rkey = target.key});
        for (const auto& done : a.drain(a_cq))
            REQUIRE(done.is_ok());
        for (const auto& done : b.drain(b_cq))
            REQUIRE(done.is_ok());
        a.events.entries.clear();
        b.events.entries.clear();
        a.dma.clear_log();
        b.dma.clear_log();
    }
};

} // namespace

TEST_CASE("work that goes on takes no more memory than the first of it", "[unit][qp]") {
    Bench bench;
    bench.a.events.entries.reserve(4096);
    bench.b.events.entries.reserve(4096);
    for (int warm = 0; warm < 64; ++warm)
        bench.work();
    const auto before = heap_bytes();

    for (int again = 0; again < 200; ++again)
        bench.work();

    CHECK(heap_bytes() == before);
}

TEST_CASE("a reset gives back what work took", "[unit][qp]") {
    Bench bench;
    bench.a.events.entries.reserve(4096);
    bench.b.events.entries.reserve(4096);
    bench.work();
    const auto busy = heap_bytes();

    bench.a.modify(bench.a_qp, QpState::rst, bench.clock.now());
    const auto sender = busy - heap_bytes();
    bench.b.modify(bench.b_qp, QpState::rst, bench.clock.now());
    const auto receiver = busy - sender - heap_bytes();

    CHECK(sender >= 2 * sizeof(model::hca::queue::WorkRequest) + 1024); // two work requests and what was read ahead
    CHECK(receiver >= sizeof(model::hca::queue::ReceiveRequest) + 1024);
}

TEST_CASE("what was read ahead before a send error is not taken for a later WQE of the same index", "[unit][qp]") {
    HcaPair bench;
    bench.remake([](auto& attributes) { attributes.type = QpType::uc; });
    bench.connect();
    const auto source = bench.a.make_region(64, 1), target = bench.b.make_region(64);
    const Post good{
        .opcode = WqeOpcode::rdma_write, .sges = {source.sge()}, .remote = target.address, .rkey = target.key};
    auto bad = good;
    bad.sges[0].key = abi::Key{0xffff00};
    bench.a.post(bench.a_qp, bad);
    bench.a.post(bench.a_qp, good);
    bench.ring();
    auto& core = bench.a.core(bench.a_qp);
    REQUIRE(core.state == QpState::sqer);

    // Once around the counter of 16 bits: each doorbell's WQEs are flushed.
    while (bench.a_qp.sq_producer != 0) {
        for (int block = 0; block < 32 && bench.a_qp.sq_producer != 0; ++block)
            bench.a.post(bench.a_qp, good);
        bench.ring();
        bench.a.drain(bench.a_cq);
    }
    bench.a.modify(bench.a_qp, QpState::rts, bench.clock.now());
    bench.send(good);

    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
    CHECK(bench.b.bytes(target) == bench.a.bytes(source));
}
