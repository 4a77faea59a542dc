// Which answers a queue pair with a window asks for, and which of those that come say how long the way is.
#include "testbench/harness/scripted_peer.h"
#include "testbench/unit/model/hca/congestion/windows.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <vector>

using namespace harness;
using abi::prm::WqeOpcode;
using model::hca::congestion::SwiftConfig;
using windows::fixed;
using windows::mtu;

namespace {

model::hca::HcaConfig with(const SwiftConfig& swift, bool is_selective) {
    model::hca::HcaConfig config;
    config.congestion_control = model::hca::congestion::Algorithm::swift;
    config.swift = swift;
    config.selective_repeat = is_selective;
    return config;
}

} // namespace

TEST_CASE("a window of whole packets asks with the last one that fits, and as often as it wants answers",
          "[unit][congestion][swift]") {
    const bool is_once = GENERATE(false, true);
    auto config = fixed(8);
    config.answers = is_once ? 1 : 4;
    OneHca bench({}, with(config, false));
    const auto own = bench.a.make_region(16 * mtu, 1);
    bench.send({.sges = {own.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
    bench.run(2us);
    const auto sent = bench.peer.take();
    CHECK(sent.size() == 8);
    std::vector<std::uint32_t> asked;
    for (const auto& one : sent)
        if (one.header.rdma().ack_request)
            asked.push_back(one.psn());
    CHECK(asked == (is_once ? std::vector<std::uint32_t>{107} : std::vector<std::uint32_t>{101, 103, 105, 107}));
}

TEST_CASE("an answer that is held behind a missing one is no round trip", "[unit][congestion][swift][selective]") {
    OneHca bench({}, with(fixed(64), true));
    const auto own = bench.a.make_region(mtu, 1);
    const auto read = [&] {
        bench.send({.opcode = WqeOpcode::rdma_read, .sges = {own.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
        bench.run(bench.clock.now() + 1us);
    };
    read();
    read();
    bench.receive(abi::wire::Operation::read_response_only, 101, mtu); // 100 is asked for again
    read();                                                            // 102, once

    bench.receive(abi::wire::Operation::read_response_only, 102, mtu);

    CHECK(bench.a.drain(bench.cq).empty());
    CHECK(bench.a.hca.counters().retries == 1);
    CHECK(bench.a.hca.counters().round_trips == 0);
}

TEST_CASE("a refusal that ends a connection is no round trip of the packet before it", "[unit][congestion][swift]") {
    OneHca bench({}, with(fixed(8.5), false));
    const auto own = bench.a.make_region(16 * mtu, 1);
    bench.send({.sges = {own.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
    bench.run(1us);

    bench.answer(102, abi::wire::nak_syndrome(abi::wire::NakCode::remote_access_error)); // 102 has asked

    REQUIRE(bench.core().state == model::hca::queue::QpState::err);
    CHECK(bench.a.hca.counters().round_trips == 0);
}

TEST_CASE("READ responses are no packets of the window, and its pause is none of theirs",
          "[unit][congestion][swift][read]") {
    OneHca bench({}, with(fixed(0.1), false));
    const auto own = bench.a.make_region(4 * mtu, 1);
    const auto pass = [&](Time span) {
        const auto end = bench.clock.now() + span;
        bench.run(end), bench.clock.set(end);
    };
    const auto write = [&] { bench.send({.sges = {own.sge(0, mtu)}, .remote = 0x1000, .rkey = abi::Key{1}}); };
    write();
    pass(20us);
    bench.answer(100, abi::wire::ack_syndrome()); // a round trip of 20 us
    write();
    pass(1us);
    bench.answer(101, abi::wire::ack_syndrome());
    REQUIRE(bench.peer.take().size() == 2);
    auto& control = *bench.core().requester.congestion.control;
    REQUIRE(control.is_silent(bench.clock.now()));
    const auto next = control.next(bench.clock.now());

    bench.receive(abi::wire::Operation::read_request, OneHca::peer_psn, 0, [&](auto& packet) {
        packet.rdma().reth = {.address = own.address, .rkey = own.key, .length = 4 * mtu};
    });
    pass(2us);

    CHECK(bench.peer.take().size() == 4);
    CHECK(control.next(bench.clock.now()) == next);
}
