// A queue pair whose window is Swift's: two cards on a cable, and what leaves when.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"
#include "testbench/unit/model/hca/congestion/windows.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>

using namespace harness;
using abi::prm::WqeOpcode;
using model::hca::congestion::Algorithm;
using model::hca::congestion::SwiftConfig;
using windows::fixed;
using windows::mtu;

namespace {

/// 10 us there, 10 us back.
model::net::LinkConfig far(model::port::Time latency = 10us) {
    model::net::LinkConfig config;
    config.latency = latency;
    return config;
}

struct Windowed {
    explicit Windowed(const SwiftConfig& swift, const model::net::LinkConfig& link = far(),
                      std::uint8_t ack_timeout = 14, bool is_selective = false)
        : pair(link, config(swift, is_selective)) {
        pair.remake([&](auto& a) { a.path.ack_timeout = ack_timeout; });
        pair.connect();
    }
    static model::hca::HcaConfig config(const SwiftConfig& swift, bool is_selective) {
        model::hca::HcaConfig config;
        config.congestion_control = Algorithm::swift;
        config.swift = swift;
        config.selective_repeat = is_selective;
        return config;
    }
    void post(std::uint32_t packets, WqeOpcode opcode = WqeOpcode::rdma_write) {
        pair.a.post(
            pair.a_qp,
            {.opcode = opcode, .sges = {own.sge(0, packets * mtu)}, .remote = other.address, .rkey = other.key});
    }
    /// Rings for what was posted, and lets time pass.
    void run(Time limit) {
        pair.ring();
        pair.run(limit);
    }
    std::uint64_t sent() const { return pair.a.hca.counters().packets_sent; }
    const model::hca::Counters& counters() const { return pair.a.hca.counters(); }
    const auto& congestion() { return pair.a.core(pair.a_qp).requester.congestion; }
    bool has_arrived(std::uint32_t packets) {
        return pair.b.bytes(other, 0, packets * mtu) == pair.a.bytes(own, 0, packets * mtu);
    }
    HcaPair pair;
    Region own = pair.a.make_region(64 * mtu, 1), other = pair.b.make_region(64 * mtu, 2);
};

} // namespace

TEST_CASE("no more packets are in flight than the window has, and the rest follows as answers come",
          "[unit][congestion][swift]") {
    const auto window = GENERATE(1, 2, 3, 7, 10);
    auto config = fixed(window + 0.5);
    config.answers = GENERATE(1u, 4u);
    Windowed bench(config);
    bench.post(40);

    bench.run(15us);
    CHECK(bench.sent() == static_cast<std::uint64_t>(window));
    bench.run(10ms);

    CHECK(bench.sent() == 40);
    const auto done = bench.pair.a.drain(bench.pair.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
    CHECK(bench.has_arrived(40));
    CHECK(bench.counters().timeouts == 0);
    CHECK(bench.counters().window_waits > 0);
    CHECK(bench.counters().window_waited_ps > 15'000'000);
}

TEST_CASE("a window that is never larger than a part of a message does not stop it, whatever it is",
          "[unit][congestion][swift]") {
    auto config = fixed(GENERATE(0.02, 0.3, 1.0, 1.9, 2.0, 4.2, 39.0, 40.0, 1000.0));
    config.answers = GENERATE(1u, 4u, 64u);
    Windowed bench(config);
    bench.post(40);
    bench.run(1s);
    CHECK(bench.pair.a.drain(bench.pair.a_cq).size() == 1);
    CHECK(bench.counters().timeouts == 0);
    CHECK(bench.sent() == 40);
}

TEST_CASE("a window asks for so many answers, and a card without congestion control for that of the last packet alone",
          "[unit][congestion][swift]") {
    auto config = fixed(20.5);
    config.answers = 4;
    Windowed bench(config);
    bench.post(20);
    bench.run(1ms);
    CHECK(bench.pair.b.hca.counters().acks_sent == 4); // of packets 6, 12, 18 and the last one

    HcaPair off(far(), model::hca::HcaConfig{});
    off.connect();
    const auto own = off.a.make_region(20 * mtu, 1), other = off.b.make_region(20 * mtu, 2);
    off.send({.sges = {own.sge()}, .remote = other.address, .rkey = other.key});
    off.run(1ms);
    CHECK(off.b.hca.counters().acks_sent == 1);
    CHECK(off.a.drain(off.a_cq).size() == 1);
}

TEST_CASE("a window grows by the round trips that the card has measured, and shrinks when they are too long",
          "[unit][congestion][swift]") {
    SwiftConfig config;
    config.flow_range = 0us;
    config.first_window = 4;
    config.base_target = GENERATE(Time{30us}, Time{20us}); // a round trip takes 20 us and some
    Windowed bench(config);
    bench.post(40);
    bench.run(10ms);
    if (config.base_target > 20us) {
        CHECK(bench.congestion().control->window() > 7);
        CHECK(bench.counters().window_cuts == 0);
    } else {
        CHECK(bench.congestion().control->window() < 4);
        CHECK(bench.counters().window_cuts > 0);
    }
    CHECK(bench.has_arrived(40));
}

TEST_CASE("below one packet, packets leave a round trip by the window apart", "[unit][congestion][swift]") {
    Windowed bench(fixed(0.1));
    bench.post(4);
    bench.run(10ms);
    REQUIRE(bench.sent() == 4);
    std::vector<Time> left;
    for (const auto& [stamp, event] : bench.pair.a.events.entries)
        if (std::holds_alternative<traces::PacketSent>(event))
            left.emplace_back(stamp.time_ps);
    REQUIRE(left.size() == 4);
    for (std::size_t i = 2; i < left.size(); ++i) {
        CHECK(left[i] - left[i - 1] > 190us); // 20 us / 0.1, less what three answers have added
        CHECK(left[i] - left[i - 1] < 230us);
    }
    CHECK(bench.counters().window_waited_ps > 400'000'000);
}

TEST_CASE("a pause that is longer than the time-out is none", "[unit][congestion][swift]") {
    Windowed bench(fixed(0.02), far(), 4); // a millisecond, and 65 us
    bench.post(6);
    bench.run(1s);
    CHECK(bench.counters().timeouts == 0);
    CHECK(bench.sent() == 6);
    const auto done = bench.pair.a.drain(bench.pair.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
}

TEST_CASE("the packets of a READ's answer are in flight from its request on, and the next one waits for them",
          "[unit][congestion][swift]") {
    Windowed bench(fixed(8.5));
    bench.post(6, WqeOpcode::rdma_read);
    bench.post(6, WqeOpcode::rdma_read); // with one packet within the window it goes
    bench.post(6, WqeOpcode::rdma_read); // and this one does not
    bench.run(15us);
    CHECK(bench.sent() == 2);
    bench.run(10ms);
    CHECK(bench.sent() == 3);
    CHECK(bench.pair.a.drain(bench.pair.a_cq).size() == 3);
    CHECK(bench.has_arrived(6));
}

TEST_CASE("a READ that is larger than the window goes when nothing else is in flight", "[unit][congestion][swift]") {
    Windowed bench(fixed(2.5));
    for (unsigned i = 0; i < 3; ++i)
        bench.post(16, WqeOpcode::rdma_read);
    bench.run(15us);
    CHECK(bench.sent() == 1);
    bench.run(10ms);
    CHECK(bench.pair.a.drain(bench.pair.a_cq).size() == 3);
    CHECK(bench.counters().timeouts == 0);
}

TEST_CASE("a READ is measured by the first packet of its answer", "[unit][congestion][swift]") {
    Windowed bench(fixed(64));
    bench.post(64, WqeOpcode::rdma_read); // whose last one is 5 us behind its first
    bench.run(10ms);
    CHECK(bench.counters().round_trips == 1);
    CHECK(bench.counters().round_trips_ps > 20'000'000);
    CHECK(bench.counters().round_trips_ps < 22'000'000);
}

TEST_CASE("whatever is lost, messages arrive, and windows become smaller", "[unit][congestion][swift]") {
    const bool is_selective = GENERATE(false, true);
    const auto seed = GENERATE(range(1, 6));
    auto link = far(1us);
    link.loss = 0.05;
    link.seed = static_cast<std::uint64_t>(seed);
    INFO("link.seed " << seed);
    SwiftConfig config;
    config.first_window = GENERATE(1.0, 8.0);
    Windowed bench(config, link, 5, is_selective);
    for (unsigned i = 0; i < 4; ++i)
        bench.post(32, i % 2 == 0 ? WqeOpcode::rdma_write : WqeOpcode::rdma_read);
    bench.run(100ms);
    const auto done = bench.pair.a.drain(bench.pair.a_cq);
    REQUIRE(done.size() == 4);
    for (const auto& one : done)
        CHECK(one.is_ok());
    CHECK(bench.has_arrived(32));
    CHECK(bench.counters().retries > 0);
    CHECK(bench.counters().window_cuts > 0);
}

TEST_CASE("an answer to a packet that was sent twice, or that was refused, is no round trip",
          "[unit][congestion][swift]") {
    OneHca bench({}, Windowed::config(fixed(8.5), GENERATE(false, true)));
    const auto own = bench.a.make_region(16 * mtu, 1);
    const auto after = [&](Time span) {
        bench.run(bench.clock.now() + span), bench.clock.set(bench.clock.now() + span);
    };
    bench.send({.sges = {own.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
    bench.run(1us);
    const auto sent = bench.peer.take();
    REQUIRE(sent.size() == 8);
    std::vector<std::uint32_t> asked;
    for (const auto& one : sent)
        if (one.header.rdma().ack_request)
            asked.push_back(one.psn());
    REQUIRE(asked == std::vector<std::uint32_t>{102, 105, 107});

    after(10us);
    bench.answer(102, abi::wire::ack_syndrome());
    CHECK(bench.a.hca.counters().round_trips == 1);
    bench.answer(105, abi::wire::nak_syndrome(abi::wire::NakCode::psn_sequence_error));
    after(10us);
    for (std::uint32_t psn = 105; psn < 111; ++psn)
        bench.answer(psn, abi::wire::ack_syndrome());

    // Those up to 102 were sent once; those from 105 to 110, 107 among them, again.
    CHECK(bench.a.hca.counters().retries == 1);
    CHECK(bench.a.hca.counters().round_trips == 1);

    after(10us);
    const auto later = bench.peer.take();
    const auto once =
        std::ranges::find_if(later, [](const auto& one) { return one.psn() > 110 && one.header.rdma().ack_request; });
    REQUIRE(once != later.end());
    bench.answer(once->psn(), abi::wire::ack_syndrome());
    CHECK(bench.a.hca.counters().round_trips == 2);
}

TEST_CASE("what nobody answers, and what does not leave the port, has no window", "[unit][congestion][swift]") {
    Windowed bench(fixed(1));
    REQUIRE(bench.congestion().control);
    bench.pair.remake([](auto& a) { a.type = abi::prm::QpType::uc; });
    bench.pair.connect();
    CHECK_FALSE(bench.congestion().control);

    auto config = Windowed::config(fixed(1), false);
    TestClock clock;
    model::net::Link cable(far(), clock, {}), loop(far(), clock, {});
    Node alone(config, clock, cable.end(0), 1, &loop.end(0));
    alone.make_eq();
    const auto cq = alone.make_cq();
    for (const std::uint16_t to : {1, 2}) {
        const auto qp = alone.make_qp(alone.attributes(cq));
        alone.peer = to;
        alone.connect(qp, qp.number, 0, 0, {});
        CHECK((alone.core(qp).requester.congestion.control == nullptr) == (to == 1));
    }

    config.is_ethernet = false;
    auto link = far();
    link.encapsulation = model::port::Encapsulation::infiniband;
    HcaPair infiniband(link, config);
    infiniband.connect();
    CHECK_FALSE(infiniband.a.core(infiniband.a_qp).requester.congestion.control);
}

TEST_CASE("windows are a resource of the card: one for each queue pair, busy while it holds a packet back",
          "[unit][congestion][swift]") {
    Windowed bench(fixed(1));
    bench.post(10);
    bench.run(10ms);
    std::vector<model::time::Account> rows;
    bench.pair.a.hca.accounts(rows);
    const auto row = std::ranges::find(rows, "congestion windows", &model::time::Account::name);
    REQUIRE(row != rows.end());
    CHECK(row->kind == model::time::Kind::window);
    CHECK(row->units == 1);
    CHECK(row->usage.uses == 9);
    CHECK(row->usage.busy > 9 * 20us);
    CHECK(row->usage.busy == row->usage.waited);
    CHECK(row->usage.longest_wait > 20us);
    CHECK(row->usage.longest_wait < 25us);
}
