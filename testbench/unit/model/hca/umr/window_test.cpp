// Memory windows and invalidation (IBA 10.6.7): keys that give away a part of another key's memory.
#include "testbench/unit/model/hca/umr/bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace umr_test;
using model::hca::tpt::Rights;

namespace {
struct WindowBench : Bench {
    explicit WindowBench(Rights rights = {.local_read = true, .local_write = true})
        : Bench(false), region(b.make_region(8192, 0, rights)) {}
    Region region;
    abi::Key window = free_key(b, AccessMode::klms);
};
} // namespace

TEST_CASE("a window opens a part of a region that is closed otherwise", "[unit][umr][window]") {
    WindowBench bench;
    const auto at = bench.region.address + 100;
    REQUIRE(bench.change(Bench::bind(bench.window, bench.region.key, at, 5000)).is_ok());

    CHECK(bench.write(bench.window, at + 10, 4990).is_ok());
    CHECK(bench.b.bytes(bench.region, 110, 4990) == bench.a.bytes(bench.from, 0, 4990));
    CHECK(bench.write(bench.window, at + 1, 5000).syndrome == CqeSyndrome::remote_access_err);
    WindowBench direct;
    CHECK(direct.write(direct.region.key, direct.region.address, 8).syndrome == CqeSyndrome::remote_access_err);
}

TEST_CASE("a window gives nothing that the region behind it has not", "[unit][umr][window]") {
    WindowBench bench({.local_read = true});
    REQUIRE(bench.change(Bench::bind(bench.window, bench.region.key, bench.region.address, 100)).is_ok());
    CHECK(bench.write(bench.window, bench.region.address, 8).syndrome == CqeSyndrome::remote_access_err);
}

TEST_CASE("a window of a region that went is closed", "[unit][umr][window]") {
    WindowBench bench;
    REQUIRE(bench.change(Bench::bind(bench.window, bench.region.key, bench.region.address, 100)).is_ok());
    bench.b.hca.mkeys().destroy(bench.region.key.index());
    CHECK(bench.write(bench.window, bench.region.address, 8).syndrome == CqeSyndrome::remote_access_err);
}

TEST_CASE("a window of one queue pair serves no other", "[unit][umr][window]") {
    WindowBench bench;
    auto post = Bench::bind(bench.window, bench.region.key, bench.region.address, 100);
    post.control.view().set<"mkey_mask">(binding | mask({MkeyMask::qpn}));
    SECTION("its own") {
        post.context.view().set<"qpn">(bench.b_qp.number.value);
        REQUIRE(bench.change(post).is_ok());
        CHECK(bench.write(bench.window, bench.region.address, 8).is_ok());
    }
    SECTION("another") {
        post.context.view().set<"qpn">(0x77);
        REQUIRE(bench.change(post).is_ok());
        CHECK(bench.write(bench.window, bench.region.address, 8).syndrome == CqeSyndrome::remote_access_err);
    }
}

TEST_CASE("a window that is bound anew has a new key; the old one is dead", "[unit][umr][window]") {
    WindowBench bench;
    REQUIRE(bench.change(Bench::bind(bench.window, bench.region.key, bench.region.address, 100)).is_ok());
    auto post = Bench::bind(bench.window, bench.region.key, bench.region.address, 100);
    post.context.view().set<"mkey_7_0">(bench.window.variant() + 1u);
    REQUIRE(bench.change(post).is_ok());
    CHECK(bench.write(abi::Key{bench.window.value + 1}, bench.region.address, 8).is_ok());
    CHECK(bench.write(bench.window, bench.region.address, 8).syndrome == CqeSyndrome::remote_access_err);
}

TEST_CASE("a SEND with invalidate frees the key it names and says which", "[unit][umr][window]") {
    WindowBench bench;
    auto post = Bench::bind(bench.window, bench.region.key, bench.region.address, 100);
    REQUIRE(bench.change(post).is_ok());
    bench.key(bench.window).attributes.remote_invalidate = true;
    bench.b.post_receive(bench.b_qp, {bench.b.make_region(64).sge()});
    bench.send({.opcode = WqeOpcode::send_inval, .sges = {bench.from.sge(0, 64)}, .immediate = bench.window.value});

    const auto done = bench.b.drain(bench.b_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == CqeOpcode::resp_send_inv);
    CHECK(done[0].immediate == bench.window.value);
    CHECK(bench.a.drain(bench.a_cq).back().is_ok());
    CHECK(bench.key(bench.window).attributes.is_free);
    CHECK(bench.write(bench.window, bench.region.address, 8).syndrome == CqeSyndrome::remote_access_err);
}

TEST_CASE("packets under way keep their bytes when a peer's SEND frees the key they were taken by",
          "[unit][umr][window][loan]") {
    WindowBench bench;
    REQUIRE(bench.change(Bench::bind(bench.window, bench.region.key, bench.region.address, 100)).is_ok());
    bench.key(bench.window).attributes.remote_invalidate = true;
    bench.b.fill(bench.region.address, 100, 5);
    const auto before = bench.b.bytes(bench.region, 0, 64);
    const auto target = bench.a.make_region(64);
    bench.b.post(bench.b_qp, {.sges = {bench.region.sge(0, 64)}, .remote = target.address, .rkey = target.key});
    bench.b.ring(bench.b_qp, {}); // stays on the cable
    bench.b.post_receive(bench.b_qp, {});

    // The SEND arrives first: nothing else is delivered before software has heard of it.
    auto& hca = bench.b.hca;
    model::port::Packet send;
    send.path = harness::reversed(bench.b.core(bench.b_qp).path);
    send.rdma().operation = abi::wire::Operation::send_only_with_invalidate;
    send.rdma().destination = bench.b_qp.number;
    send.rdma().psn = abi::Psn{100};
    send.rdma().pkey = 0xffff;
    send.rdma().invalidate = bench.window;
    hca.receive(send, {});
    REQUIRE(bench.b.drain(bench.b_cq).size() == 1);
    bench.b.fill(bench.region.address, 100, 6);
    bench.settle();

    CHECK(bench.a.bytes(target) == before);
}

TEST_CASE("a SEND that may not invalidate its key is a remote access error on both ends", "[unit][umr][window]") {
    for (const auto& spoil : std::vector<std::function<abi::Key(WindowBench&)>>{
             [](WindowBench& w) { return abi::Key{w.window.value + 1}; },
             [](WindowBench&) { return abi::Key{0x7fffff, 0}; },
             [](WindowBench& w) { return w.key(w.window).attributes.remote_invalidate = false, w.window; },
             [](WindowBench& w) { return w.key(w.window).attributes.is_free = true, w.window; },
             [](WindowBench& w) { return w.key(w.window).attributes.pd = abi::Pd{8}, w.window; },
             [](WindowBench& w) { return w.key(w.window).attributes.qpn = 0x77, w.window; }}) {
        WindowBench bench;
        REQUIRE(bench.change(Bench::bind(bench.window, bench.region.key, bench.region.address, 100)).is_ok());
        bench.key(bench.window).attributes.remote_invalidate = true;
        const auto key = spoil(bench);
        const bool was_free = bench.key(bench.window).attributes.is_free;
        bench.b.post_receive(bench.b_qp, {bench.b.make_region(64).sge()});
        bench.send({.opcode = WqeOpcode::send_inval, .sges = {bench.from.sge(0, 64)}, .immediate = key.value});
        CHECK(bench.a.drain(bench.a_cq).back().syndrome == CqeSyndrome::remote_access_err);
        const auto done = bench.b.drain(bench.b_cq);
        REQUIRE_FALSE(done.empty());
        CHECK(done.front().opcode == CqeOpcode::resp_err);
        CHECK(bench.key(bench.window).attributes.is_free == was_free);
    }
}
