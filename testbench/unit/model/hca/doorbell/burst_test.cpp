// BlueFlame bursts of several lines: when they bring their WQE, and that no doorbell is lost with one that does not.
#include "model/hca/doorbell/bursts.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <span>

using namespace harness;
using model::hca::HcaConfig;
using model::hca::doorbell::Bursts;

namespace {

HcaConfig timed() {
    HcaConfig config;
    config.port_rate_gbps = 0;
    config.packet_latency = 1ns;
    config.doorbell_latency = config.wqe_latency = 0ns;
    return config;
}

struct Bench : OneHca {
    Bench() : OneHca({}, timed()) { a.dma.set_latency(1us); }
    Region source = a.make_region(64, 1);

    /// A WQE of `lines` lines, from one on; returns it.
    std::vector<std::byte> post(TestQp& to, std::size_t lines) {
        const auto index = to.sq_producer;
        a.post(
            to,
            {.sges = std::vector<Post::Sge>(lines * 4 - 2, source.sge(0, 1)), .remote = 0x1000, .rkey = abi::Key{1}});
        return a.dma.peek(a.sq_address(to, index), lines * 64);
    }
    std::vector<std::byte> post(std::size_t lines = 2) { return post(qp, lines); }
    void store(std::span<const std::byte> bytes, std::uint32_t offset = 0x800) {
        a.hca.write_uar(Node::uar, offset, bytes, clock.now());
    }
    /// The stores of a processor that combines lines of 64 bytes.
    void burst(std::span<const std::byte> wqe, std::uint32_t offset = 0x800) {
        for (std::size_t at = 0; at < wqe.size(); at += 64)
            store(wqe.subspan(at, 64), offset + static_cast<std::uint32_t>(at));
    }
    std::uint64_t rung() const { return a.hca.counters().doorbells; }
    std::ptrdiff_t reads_of_queue() {
        return std::ranges::count_if(a.dma.log(), [&](const auto& access) {
            return access.kind == model::port::MemoryDma::Kind::read && access.address >= a.sq_address(qp, 0) &&
                   access.address < a.sq_address(qp, 0) + (64ull << qp.log_sq);
        });
    }
    std::size_t packets(Time until) {
        run(until);
        return peer.take().size();
    }
};

} // namespace

TEST_CASE("a WQE of several lines that comes line by line with its doorbell is not read", "[unit][doorbell]") {
    for (const std::size_t lines : {1, 2, 3, 4}) {
        CAPTURE(lines);
        Bench bench;
        bench.burst(bench.post(lines));
        CHECK(bench.rung() == 1);
        CHECK(bench.packets(10us) == 1);
        CHECK(bench.reads_of_queue() == 0);
    }
}

TEST_CASE("lines that come in one store are as good as one by one", "[unit][doorbell]") {
    Bench bench;
    const auto wqe = bench.post(4);
    bench.store(std::span(wqe).first(192));
    CHECK(bench.rung() == 0);
    bench.store(std::span(wqe).last(64), 0x800 + 192);
    CHECK(bench.rung() == 1);
    CHECK(bench.packets(10us) == 1);
    CHECK(bench.reads_of_queue() == 0);
}

TEST_CASE("a WQE that is longer than a BlueFlame buffer rings with its first line", "[unit][doorbell]") {
    Bench bench;
    const auto wqe = bench.post(5);
    bench.burst(std::span(wqe).first(256));
    CHECK(bench.rung() == 1);
    CHECK(bench.packets(10us) == 1);
    CHECK(bench.reads_of_queue() != 0);
}

TEST_CASE("a burst that stays incomplete rings when nobody waits for it any more", "[unit][doorbell]") {
    Bench bench;
    const auto wqe = bench.post();
    bench.store(std::span(wqe).first(64));
    bench.run(Bursts::patience - 1ns);
    CHECK(bench.rung() == 0);
    bench.run(Bursts::patience);
    CHECK(bench.rung() == 1);
    CHECK(bench.packets(10us) == 1);
    CHECK(bench.reads_of_queue() != 0);
}

TEST_CASE("a register that is used again rings for the burst that it had begun", "[unit][doorbell]") {
    Bench bench;
    auto other = bench.a.make_qp(bench.a.attributes(bench.cq));
    bench.a.connect(other, OneHca::peer_qpn, 1, 1, bench.clock.now());
    const auto first = bench.post(bench.qp, 2), second = bench.post(other, 2);
    bench.store(std::span(first).first(64));
    REQUIRE(bench.rung() == 0);

    SECTION("for a burst of another queue") {
        bench.burst(second);
        CHECK(bench.rung() == 2);
    }
    SECTION("for a doorbell of eight bytes") {
        bench.store(std::span(second).first(8));
        CHECK(bench.rung() == 2);
    }
    SECTION("for a line that is not the next") {
        bench.store(std::span(first).last(64), 0x800 + 128);
        CHECK(bench.rung() == 1);
    }
    SECTION("for a store that reaches beyond the WQE") {
        bench.store(std::vector<std::byte>(128), 0x800 + 64);
        CHECK(bench.rung() == 1);
    }
    SECTION("for its first line, once more") {
        bench.burst(first);
        CHECK(bench.rung() == 2);
    }
    CHECK(bench.packets(10us) != 0);
    CHECK(bench.core().requester.sends.producer == 2);
}

TEST_CASE("bursts of two registers grow beside each other", "[unit][doorbell]") {
    Bench bench;
    auto other = bench.a.make_qp(bench.a.attributes(bench.cq));
    bench.a.connect(other, OneHca::peer_qpn, 1, 1, bench.clock.now());
    const auto first = bench.post(bench.qp, 2), second = bench.post(other, 2);
    bench.store(std::span(first).first(64));
    bench.store(std::span(second).first(64), 0x900);
    bench.store(std::span(first).last(64), 0x800 + 64);
    CHECK(bench.rung() == 1);
    bench.store(std::span(second).last(64), 0x900 + 64);
    CHECK(bench.rung() == 2);
    CHECK(bench.packets(10us) == 2);
    CHECK(bench.reads_of_queue() == 0);
}

TEST_CASE("more bursts than the device puts together: the oldest rings without its WQE", "[unit][doorbell]") {
    TestClock clock;
    Bursts bursts(clock);
    const std::vector<std::byte> line(64);
    const auto begin = [&](std::uint32_t number) {
        return bursts.begin(number / 8, number % 8 * 0x100, {.qpn = abi::Qpn{number}, .wqe = line, .wqe_bytes = 128},
                            Time{});
    };
    for (std::uint32_t i = 0; i < Bursts::capacity; ++i)
        REQUIRE_FALSE(begin(i));
    const auto oldest = begin(Bursts::capacity);
    REQUIRE(oldest);
    CHECK(oldest->ring.qpn.value == 0);
    CHECK(oldest->ring.wqe.empty());
    const auto whole = bursts.add(0, 0x140, line);
    REQUIRE(whole);
    CHECK(whole->ring.qpn.value == 1);
    CHECK(whole->ring.has_wqe());
    CHECK_FALSE(bursts.add(0, 0x140, line)); // it has ended
}

TEST_CASE("a reset forgets the bursts that have begun", "[unit][doorbell]") {
    Bench bench;
    const auto wqe = bench.post();
    bench.store(std::span(wqe).first(64));
    bench.a.hca.reset();
    bench.run(10us);
    CHECK(bench.a.events.all<traces::DoorbellIgnored>().empty()); // of a queue pair that is no more
}

TEST_CASE("a doorbell has the time at which it came, and its record is read behind it", "[unit][doorbell]") {
    Bench bench;
    const auto came = bench.clock.now();
    bench.post(1);

    bench.a.ring(bench.qp, came);

    const auto time_of = [&]<class E>(std::type_identity<E>) {
        for (const auto& [stamp, event] : bench.a.events.entries)
            if (std::holds_alternative<E>(event))
                return Time{stamp.time_ps};
        return model::port::never;
    };
    CHECK(time_of(std::type_identity<traces::DoorbellRung>{}) == came);
    CHECK(time_of(std::type_identity<traces::QueueScheduled>{}) == came);
    CHECK(time_of(std::type_identity<traces::WqeFetched>{}) >= came + 1us);
}

TEST_CASE("a burst is waited for as long as its time has not come, whoever asks", "[unit][doorbell]") {
    TestClock clock;
    Bursts bursts(clock);
    const std::vector<std::byte> line(64);
    REQUIRE_FALSE(bursts.begin(0, 0x800, {.qpn = abi::Qpn{7}, .wqe = line, .wqe_bytes = 128}, Time{}));
    int ended = 0;
    const auto end = [&](const Bursts::Rung& rung) {
        ++ended;
        CHECK(rung.ring.wqe.empty());
    };

    bursts.expire(Bursts::patience - 1ns, end);
    CHECK(ended == 0);
    bursts.expire(Bursts::patience, end);
    CHECK(ended == 1);
}

namespace {

/// A send queue that does not begin anything until go().
struct Drained : Bench {
    void to(model::hca::queue::QpState state) { a.modify(qp, state, clock.now()); }
    Drained() { to(model::hca::queue::QpState::sqd); }
    std::vector<Seen> go() {
        to(model::hca::queue::QpState::rts);
        run(clock.now() + 20us);
        return peer.take();
    }
};

} // namespace

TEST_CASE("a WQE that came with a doorbell and reaches beyond what the record counts is read from the queue",
          "[unit][doorbell]") {
    Drained bench;
    auto longer =
        Node::encode({.sges = std::vector<Post::Sge>(6, bench.source.sge(0, 1)), .remote = 0x2000, .rkey = abi::Key{1}},
                     bench.qp.number, 0);
    longer.resize(128);
    bench.post(1);
    bench.a.ring(bench.qp, bench.clock.now());

    bench.burst(longer);

    const auto seen = bench.go();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].header.rdma().reth.address == 0x1000);
}

TEST_CASE("a line that is longer than what is left of its WQE is no part of it", "[unit][doorbell]") {
    Bench bench;
    const auto wqe = bench.post(2);
    bench.store(std::span(wqe).first(64));
    std::vector<std::byte> more(wqe.begin() + 64, wqe.end());
    more.resize(128, std::byte{0xee});
    bench.store(more, 0x800 + 64);

    CHECK(bench.rung() == 1); // with its first line
    CHECK(bench.packets(10us) == 1);
    CHECK(bench.reads_of_queue() != 0);
}
