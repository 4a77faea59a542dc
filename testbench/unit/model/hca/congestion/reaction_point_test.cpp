#include "model/hca/congestion/reaction_point.h"

#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <utility>

using namespace std::chrono_literals;
using Catch::Approx;
using model::hca::congestion::Algorithm;
using model::hca::congestion::DcqcnConfig;
using model::hca::congestion::ReactionPoint;
using model::port::Time;

namespace {
constexpr double port = 100'000; ///< Mbit/s
} // namespace

TEST_CASE("the first CNP takes half of the rate of the port, and one that comes too soon takes nothing",
          "[unit][congestion]") {
    const DcqcnConfig config;
    ReactionPoint point(config, port, 0us);
    point.notified(10us);
    // alpha has decayed for 10 periods, and a CNP takes alpha / 2^11.
    const auto alpha = 1023 * std::pow(1019.0 / 1024, 10);
    CHECK(point.rate_mbps() == Approx(port * (1 - alpha / 2048)));
    CHECK(point.target_mbps() == Approx(port));
    const auto rate = point.rate_mbps();
    point.notified(10us + config.rate_reduce_period - 1ns);
    CHECK(point.rate_mbps() == rate);
    point.notified(10us + config.rate_reduce_period);
    CHECK(point.rate_mbps() < 0.6 * rate);
    // What it comes back to is lowered by a CNP only after time has raised the rate.
    CHECK(point.target_mbps() == Approx(port));
    point.sent({.bytes = 0, .at = 20us + config.time_reset});
    const auto raised = point.rate_mbps();
    point.notified(21us + config.time_reset);
    CHECK(point.target_mbps() == Approx(raised));
}

TEST_CASE("a CNP leaves at least the share and the rate that are configured", "[unit][congestion]") {
    DcqcnConfig config;
    config.gd = 10; // all of it, but for the limits
    config.min_dec_fac = 80;
    config.min_rate_mbps = 70'000;
    ReactionPoint point(config, port, 0us);
    point.notified(0us);
    CHECK(point.rate_mbps() == Approx(0.8 * port));
    point.notified(100us);
    CHECK(point.rate_mbps() == Approx(70'000));
}

TEST_CASE("alpha keeps its share of each period, and gains the rest in one that saw a CNP", "[unit][congestion]") {
    const DcqcnConfig config;
    ReactionPoint point(config, port, 0us);
    point.notified(100us);
    const auto before = 1023 * std::pow(1019.0 / 1024, 100);
    CHECK(point.alpha() == Approx(before));
    point.notified(101us);
    CHECK(point.alpha() == Approx(before * 1019 / 1024 + 5));
}

TEST_CASE("rates recover half of the way first, then additively, and faster when time and bytes agree",
          "[unit][congestion]") {
    DcqcnConfig config;
    config.byte_reset = 4'000'000'000; // by time alone
    ReactionPoint point(config, port, 0us);
    point.notified(0us);
    const auto slow = point.rate_mbps();
    point.sent({.bytes = 0, .at = config.time_reset});
    CHECK(point.rate_mbps() == Approx((slow + port) / 2));
    CHECK(point.target_mbps() == Approx(port));

    config.byte_reset = 1000;
    config.clamp_target = true;
    ReactionPoint both(config, port, 0us);
    both.notified(0us);
    both.notified(10us); // its target is the rate of the first one now
    const auto target = both.target_mbps();
    CHECK(target < 0.6 * port);
    both.sent({.bytes = 1000, .at = 11us});
    CHECK(both.target_mbps() == Approx(target)); // fast recovery
    both.sent({.bytes = 1000, .at = 12us});
    CHECK(both.target_mbps() == Approx(target + config.ai_rate_mbps));
    both.sent({.bytes = 0, .at = 10us + 2 * config.time_reset});
    CHECK(both.target_mbps() == Approx(target + 2 * config.ai_rate_mbps + config.hai_rate_mbps));
}

TEST_CASE("packets of a slowed queue pair leave one after the other at its rate", "[unit][congestion]") {
    DcqcnConfig config;
    config.first_rate_mbps = 1000;
    config.byte_reset = 4'000'000'000;
    config.time_reset = 100ms;
    ReactionPoint point(config, port, 0us);
    point.notified(0us);
    CHECK(point.rate_mbps() == 1000);
    point.sent({.bytes = 1250, .at = 0us});
    CHECK(point.next(0us) == 10us);
    point.sent({.bytes = 1250, .at = 2us});
    CHECK(point.next(2us) == 20us);
    point.sent({.bytes = 1250, .at = 50us});
    CHECK(point.next(50us) == 60us);
}

TEST_CASE("a packet that waits at a low rate leaves sooner when the rate grows", "[unit][congestion]") {
    DcqcnConfig config;
    config.first_rate_mbps = 1;
    config.byte_reset = 4'000'000'000;
    ReactionPoint point(config, port, 0us);
    point.notified(0us);
    point.sent({.bytes = 4096, .at = 0us});
    CHECK(point.next(0us) > 32ms);
    CHECK(point.asks_again() == config.time_reset);
    // Half of the way to the rate of the port: what was left of 32 ms becomes less than a microsecond.
    CHECK(point.next(config.time_reset) < config.time_reset + 1us);
}

TEST_CASE("a queue pair that hears nothing for long has the rate of its port again", "[unit][congestion]") {
    const DcqcnConfig config;
    ReactionPoint point(config, port, 0us);
    point.notified(0us);
    CHECK_FALSE(point.is_over(1us));
    CHECK(point.is_over(100ms));
}

// --- two cards ---

using namespace harness;

namespace {

struct Congested {
    explicit Congested(bool is_on = true) : pair(model::net::LinkConfig{}, config(is_on)) {
        pair.connect();
        source = pair.a.allocate(0x10000), target = pair.b.allocate(0x10000);
        lkey = pair.a.make_mr(source, 0x10000), rkey = pair.b.make_mr(target, 0x10000);
    }
    static model::hca::HcaConfig config(bool is_on) {
        model::hca::HcaConfig config;
        config.congestion_control = is_on ? Algorithm::dcqcn : Algorithm::none;
        config.dcqcn.min_time_between_cnps = 50us;
        config.dcqcn.first_rate_mbps = 1000;
        return config;
    }
    /// As if a switch had marked every packet.
    void mark() { pair.a.core(pair.a_qp).path.traffic_class |= 3; }
    void write(std::uint32_t bytes) {
        pair.send({.sges = {{source, bytes, lkey}}, .remote = target, .rkey = rkey});
        pair.run(pair.clock.now() + 10ms);
    }
    HcaPair pair;
    std::uint64_t source = 0, target = 0;
    abi::Key lkey, rkey;
};

} // namespace

TEST_CASE("marked packets are answered with CNPs, no more often than configured, and these slow the sender down",
          "[unit][congestion]") {
    Congested free, marked;
    marked.mark();
    for (auto* one : {&free, &marked})
        one->write(0x10000);
    const auto& receiver = marked.pair.b.hca.counters();
    CHECK(receiver.packets_marked > 32);
    CHECK(receiver.cnps_sent >= 1);
    CHECK(receiver.cnps_sent <= receiver.packets_marked / 4);
    CHECK(marked.pair.a.hca.counters().cnps_handled == receiver.cnps_sent);
    CHECK(marked.pair.b.dma.peek(marked.target, 0x10000) == marked.pair.a.dma.peek(marked.source, 0x10000));
    CHECK(marked.pair.a.drain(marked.pair.a_cq).size() == 1);
    CHECK(free.pair.b.hca.counters().packets_marked == 0);
    CHECK(free.pair.a.hca.counters().cnps_handled == 0);
    REQUIRE(marked.pair.a.core(marked.pair.a_qp).requester.congestion.control);
    CHECK_FALSE(free.pair.a.core(free.pair.a_qp).requester.congestion.control);
}

TEST_CASE("a READ response whose packets are marked leaves at the rate that its CNPs have left", "[unit][congestion]") {
    Congested free, marked;
    marked.mark(); // of a, which is read from
    std::vector<Time> took;
    for (auto* one : {&free, &marked}) {
        const auto own = one->pair.b.make_region(0x10000), other = one->pair.a.make_region(0x10000, 5);
        for (unsigned i = 0; i < 4; ++i)
            one->pair.b.post(one->pair.b_qp, {.opcode = abi::prm::WqeOpcode::rdma_read,
                                              .sges = {own.sge()},
                                              .remote = other.address,
                                              .rkey = other.key});
        one->pair.b.ring(one->pair.b_qp, one->pair.clock.now());
        one->pair.run(1s);
        CHECK(one->pair.b.drain(one->pair.b_cq).size() == 4);
        CHECK(one->pair.b.bytes(own) == one->pair.a.bytes(other));
        took.emplace_back(one->pair.b.core(one->pair.b_qp).requester.heard_at);
    }
    CHECK(marked.pair.b.hca.counters().cnps_sent >= 1);
    CHECK(marked.pair.a.hca.counters().cnps_handled == marked.pair.b.hca.counters().cnps_sent);
    CHECK(took[0] < 30us);
    // At a gigabit a second from the first CNP on, for as many bytes as come before the first increase.
    CHECK(took[1] > 250us);
}

TEST_CASE("a queue pair whose rate is that of its port again forgets its CNPs when it answers a READ",
          "[unit][congestion]") {
    Congested bench;
    auto& reader = bench.pair.b;
    auto& congestion = bench.pair.a.core(bench.pair.a_qp).requester.congestion;
    const auto own = reader.make_region(4096), other = bench.pair.a.make_region(4096, 5);
    bench.mark();
    const auto read = [&] {
        reader.post(bench.pair.b_qp, {.opcode = abi::prm::WqeOpcode::rdma_read,
                                      .sges = {own.sge()},
                                      .remote = other.address,
                                      .rkey = other.key});
        reader.ring(bench.pair.b_qp, bench.pair.clock.now());
        bench.pair.run(bench.pair.clock.now() + 1ms);
        CHECK(reader.drain(bench.pair.b_cq).size() == 1);
    };
    read();
    REQUIRE(congestion.control);

    bench.pair.a.core(bench.pair.a_qp).path.traffic_class &= 0xfc; // the congestion is over
    bench.pair.clock.set(1s);
    read();

    CHECK_FALSE(congestion.control);
}

TEST_CASE("a card without congestion control sends packets that cannot be marked, and no CNPs", "[unit][congestion]") {
    Congested off(false);
    off.mark();
    off.write(0x10000);
    CHECK(off.pair.b.hca.counters().packets_marked == 0);
    CHECK(off.pair.b.hca.counters().cnps_sent == 0);
    CHECK_FALSE(off.pair.a.core(off.pair.a_qp).requester.congestion.control);
}

TEST_CASE("packets leave as such that can be marked, and never as such that are marked already", "[unit][congestion]") {
    for (const auto& [chosen, sent] : {std::pair{0, 2}, {1, 1}, {2, 2}}) {
        model::hca::HcaConfig config;
        config.congestion_control = model::hca::congestion::Algorithm::dcqcn;
        OneHca bench(
            [chosen](auto& attributes) {
                attributes.path.dscp = 26;
                attributes.path.ecn = static_cast<std::uint8_t>(chosen);
            },
            config);
        const auto from = bench.a.make_region(64, 1);

        bench.send({.sges = {from.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
        bench.run(100us);

        const auto packets = bench.peer.take();
        REQUIRE(packets.size() == 1);
        CHECK(packets[0].header.path.traffic_class == (26 << 2 | sent));
    }
}
