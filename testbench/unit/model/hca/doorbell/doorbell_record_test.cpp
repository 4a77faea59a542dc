// The record, not the doorbell, says how far software has got: lost, merged, stale and wrong counters.
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::EventType;
using model::hca::queue::QpState;

namespace {

struct Bench : HcaPair {
    Bench() { connect(); }
    Region source = a.make_region(4096, 1), target = b.make_region(4096);

    std::uint16_t post(std::uint32_t n) {
        return a.post(a_qp, {.sges = {source.sge(n * 16, 16)}, .remote = target.address + n * 16, .rkey = target.key});
    }
    bool has_arrived(std::uint32_t n) { return b.bytes(target, n * 16, 16) == a.bytes(source, n * 16, 16); }
    void write_record(std::uint32_t counter) { a.write_be32(a_qp.record + 4, counter); }
};

} // namespace

TEST_CASE("a lost doorbell delays its WQE until the next one", "[unit][doorbell]") {
    Bench bench;
    bench.post(0); // its doorbell is lost
    bench.settle();
    CHECK(bench.a.drain(bench.a_cq).empty());

    bench.post(1);
    bench.ring();

    CHECK(bench.has_arrived(0));
    CHECK(bench.has_arrived(1));
    CHECK(bench.a.drain(bench.a_cq).size() == 2);
}

TEST_CASE("one doorbell starts all that was posted, in order", "[unit][doorbell]") {
    Bench bench;
    std::vector<std::uint16_t> indices;
    for (std::uint32_t n = 0; n < 64; ++n)
        indices.push_back(bench.post(n));

    bench.ring();

    const auto done = bench.a.drain(bench.a_cq);
    REQUIRE(done.size() == 64);
    for (std::uint32_t n = 0; n < 64; ++n) {
        CHECK(bench.has_arrived(n));
        CHECK(done[n].index == indices[n]);
    }
    CHECK(bench.a.hca.counters().doorbells == 1);
}

TEST_CASE("a doorbell without new work does nothing", "[unit][doorbell]") {
    Bench bench;
    bench.post(0);
    bench.ring();
    CHECK(bench.a.drain(bench.a_cq).size() == 1);
    const auto packets = bench.link.counters(0).packets;

    for (int i = 0; i < 3; ++i)
        bench.ring();

    CHECK(bench.link.counters(0).packets == packets);
    CHECK(bench.a.drain(bench.a_cq).empty());
    CHECK(bench.a.core(bench.a_qp).state == QpState::rts);
}

TEST_CASE("a doorbell that overtakes its record starts nothing, and the next one does", "[unit][doorbell]") {
    Bench bench;
    const auto before = bench.a_qp.sq_producer;
    bench.post(0);
    bench.write_record(before);
    bench.ring();
    CHECK(bench.a.drain(bench.a_cq).empty());

    bench.write_record(bench.a_qp.sq_producer);
    bench.ring();

    CHECK(bench.has_arrived(0));
    CHECK(bench.a.drain(bench.a_cq).size() == 1);
}

TEST_CASE("a doorbell is told of whose work request the record does not count", "[unit][doorbell]") {
    Bench bench;
    const auto ring = [&](std::uint16_t index) {
        abi::Block<abi::prm::SendDoorbell> first;
        first.view().set<"wqe_index">(index).set<"qpn">(bench.a_qp.number.value).set<"ds">(3);
        bench.a.hca.write_uar(bench.a.uar, 0x800, first.bytes, bench.clock.now());
        bench.settle();
    };
    const auto told = [&] { return bench.a.events.all<traces::DoorbellIgnored>(); };
    const auto before = bench.a_qp.sq_producer;
    const auto index = bench.post(0);
    bench.write_record(before);

    ring(index);

    REQUIRE(told().size() == 1);
    CHECK(told()[0].number == bench.a_qp.number.value);
    CHECK(told()[0].reason == traces::Reason("the doorbell record does not count this work request"));
    // A record that is ahead of its doorbells is none: the first of two may find both counted.
    bench.write_record(bench.a_qp.sq_producer);
    ring(index);
    const auto second = bench.post(1), third = bench.post(2);
    ring(second), ring(third), ring(third);
    CHECK(told().size() == 1);
    CHECK(bench.a.drain(bench.a_cq).size() == 3);
    // Nor is one that has moved, though not as far as the doorbell: something begins.
    bench.post(3);
    const auto fifth = bench.post(4);
    bench.write_record(static_cast<std::uint16_t>(bench.a_qp.sq_producer - 1));
    ring(fifth);
    CHECK(told().size() == 1);
    CHECK(bench.a.drain(bench.a_cq).size() == 1);
    bench.write_record(bench.a_qp.sq_producer);
    ring(fifth);
    CHECK(bench.a.drain(bench.a_cq).size() == 1);
}

TEST_CASE("the counter wraps at 2^16 without a gap", "[unit][doorbell]") {
    Bench bench;
    std::size_t completed = 0;
    for (std::uint32_t round = 0; round < 0x10000 / 32 + 4; ++round) {
        for (std::uint32_t n = 0; n < 32; ++n)
            bench.a.post(bench.a_qp, {.sges = {bench.source.sge(n * 16, 16)},
                                      .remote = bench.target.address + n * 16,
                                      .rkey = bench.target.key,
                                      .signalled = n == 31});
        bench.ring();
        completed += bench.a.drain(bench.a_cq).size();
    }

    CHECK(completed == 0x10000 / 32 + 4);
    CHECK(bench.a.core(bench.a_qp).state == QpState::rts);
    CHECK(bench.a.hca.counters().messages_completed == 0x10000 + 128);
}

TEST_CASE("a counter more than a ring ahead puts the queue pair into error with an event", "[unit][doorbell]") {
    Bench bench;
    bench.post(0);
    bench.write_record(65);

    bench.ring();

    CHECK(bench.a.core(bench.a_qp).state == QpState::err);
    CHECK(bench.a.drain_events() == std::vector{std::pair{EventType::wq_catastrophic_error, bench.a_qp.number.value}});
    CHECK_FALSE(bench.has_arrived(0));
    CHECK(bench.a.drain(bench.a_cq).size() <= 64);
    CHECK(bench.b.core(bench.b_qp).state == QpState::rts);
}

TEST_CASE("a counter exactly a ring ahead is legal", "[unit][doorbell]") {
    Bench bench;
    for (std::uint32_t n = 0; n < 64; ++n)
        bench.post(n);
    CHECK(bench.a_qp.sq_producer == 64);

    bench.ring();

    CHECK(bench.a.core(bench.a_qp).state == QpState::rts);
    CHECK(bench.a.drain(bench.a_cq).size() == 64);
}

TEST_CASE("a counter that moves back puts the queue pair into error, and flushes what was posted once",
          "[unit][doorbell]") {
    HcaPair pair; // b does not answer: what a posts stays outstanding
    const auto source = pair.a.make_region(64, 1);
    pair.a.connect(pair.a_qp, pair.b_qp.number, 1, 1, pair.clock.now());
    for (int i = 0; i < 5; ++i)
        pair.a.post(pair.a_qp, {.sges = {source.sge()}, .remote = 0, .rkey = abi::Key{1}});
    pair.ring();
    pair.a.write_be32(pair.a_qp.record + 4, 3);

    pair.ring();

    CHECK(pair.a.core(pair.a_qp).state == QpState::err);
    CHECK(pair.a.drain_events() == std::vector{std::pair{EventType::wq_catastrophic_error, pair.a_qp.number.value}});
    const auto done = pair.a.drain(pair.a_cq);
    REQUIRE(done.size() == 5);
    for (std::uint16_t n = 0; n < 5; ++n) {
        CHECK(done[n].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(done[n].index == n);
    }
}

TEST_CASE("a record that memory does not give puts the queue pair into error with an event", "[unit][doorbell]") {
    Bench bench;
    bench.post(0);
    bench.a.dma.fail(bench.a_qp.record, bench.a_qp.record + 8, model::port::DmaStatus::unsupported_request);

    bench.ring();

    CHECK(bench.a.core(bench.a_qp).state == QpState::err);
    CHECK(bench.a.drain_events() == std::vector{std::pair{EventType::wq_catastrophic_error, bench.a_qp.number.value}});
    CHECK_FALSE(bench.has_arrived(0));
}

TEST_CASE("doorbells before RTR are ignored; one in RTR counts once the queue pair is in RTS", "[unit][doorbell]") {
    HcaPair pair;
    const auto source = pair.a.make_region(64, 1), target = pair.b.make_region(64);
    pair.b.connect(pair.b_qp, pair.a_qp.number, 1, 1, pair.clock.now());
    auto& core = pair.a.core(pair.a_qp);
    auto attributes = core.attributes;
    attributes.remote_qpn = pair.b_qp.number;
    attributes.next_send_psn = attributes.next_receive_psn = abi::Psn{1};
    harness::lead_to(attributes.path, pair.a.peer);
    const auto to = [&](QpState state) {
        pair.a.hca.modify_qp(core, attributes, state, pair.clock.now(), state == QpState::rtr);
    };
    pair.a.post(pair.a_qp, {.sges = {source.sge()}, .remote = target.address, .rkey = target.key});

    pair.ring();
    to(QpState::init);
    pair.ring();
    CHECK(pair.a.hca.counters().doorbells_ignored == 2);
    to(QpState::rtr);
    pair.ring();
    CHECK(pair.link.counters(0).packets == 0);
    to(QpState::rts);
    pair.settle();

    CHECK(pair.b.bytes(target) == pair.a.bytes(source));
    CHECK(pair.a.drain(pair.a_cq).size() == 1);
}
