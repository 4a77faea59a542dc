// What a device tells of its doorbell records, and that who rings by them in software's place is understood.
#include "model/hca/dispatch/polled_records.h"

#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <set>
#include <utility>

using namespace harness;
using model::hca::queue::QpState;
using model::port::DoorbellRecord;

namespace {

struct Watch final : model::port::DoorbellWatch {
    std::map<std::uint64_t, DoorbellRecord> records;
    void opened(std::uint64_t key, const DoorbellRecord& record) override { records.try_emplace(key, record); }
    void closed(std::uint64_t key) override { records.erase(key); }
    void closed_all() override { records.clear(); }
};

/// Everybody's page, 20, is a polled one or not.
model::hca::HcaConfig polled(std::uint16_t first_page) {
    auto config = HcaPair::untimed();
    config.polled_doorbells = true;
    config.uar_pages = static_cast<std::uint16_t>(2 * first_page - config.first_uar);
    return config;
}

struct Bench : HcaPair {
    Watch watch;
    explicit Bench(std::uint16_t first_page = Node::uar) : HcaPair(clean(), polled(first_page)) {
        REQUIRE(a.hca.config().first_polled_uar() == first_page);
        a.hca.set_doorbell_watch(&watch);
        a_cq = a.make_cq();
        b_cq = b.make_cq();
        remake([](auto&) {});
    }
    ~Bench() { a.hca.set_doorbell_watch(nullptr); }
    /// Of A's queue pair; A's completion queue is there from the beginning.
    const DoorbellRecord* sending() const {
        const auto found = watch.records.find(a_qp.number.value);
        return found != watch.records.end() ? &found->second : nullptr;
    }
    const DoorbellRecord& arming() const { return watch.records.at(std::uint64_t{1} << 32 | a_cq.number.value); }
    void ring_by(const DoorbellRecord& record, std::uint32_t value) {
        a.hca.write_uar(static_cast<std::uint32_t>(record.doorbell / 4096), record.doorbell % 4096,
                        record.store(record.number, value), clock.now());
        settle();
    }
};

} // namespace

TEST_CASE("a send queue's record means its doorbell from RTR on until the queue pair is reset or gone",
          "[unit][doorbell]") {
    Bench bench;
    CHECK(bench.sending() == nullptr);
    bench.a.modify(bench.a_qp, QpState::init, bench.clock.now());
    CHECK(bench.sending() == nullptr);
    for (const auto state : {QpState::rtr, QpState::rts, QpState::sqd, QpState::err}) {
        bench.a.modify(bench.a_qp, state, bench.clock.now());
        CHECK(bench.sending() != nullptr);
    }
    bench.a.modify(bench.a_qp, QpState::rst, bench.clock.now());
    CHECK(bench.sending() == nullptr);

    bench.a.modify(bench.a_qp, QpState::rtr, bench.clock.now());
    REQUIRE(bench.sending() != nullptr);
    CHECK(bench.sending()->address == bench.a_qp.record + 4);
    CHECK(bench.sending()->doorbell == Node::uar * 4096 + 0x800);
    CHECK(bench.sending()->seen == 0);
    CHECK_FALSE(bench.sending()->is_marked);
    bench.a.hca.destroy_qp(bench.a_qp.number);
    CHECK(bench.sending() == nullptr);
}

TEST_CASE("who rings by the record starts all that it counts", "[unit][doorbell]") {
    Bench bench;
    bench.connect();
    const auto source = bench.a.make_region(4096, 1), target = bench.b.make_region(4096);
    const auto post = [&](std::uint32_t n) {
        return bench.a.post(bench.a_qp,
                            {.sges = {source.sge(n * 16, 16)}, .remote = target.address + n * 16, .rkey = target.key});
    };
    for (std::uint32_t n = 0; n < 3; ++n)
        post(n);

    bench.ring_by(*bench.sending(), bench.a_qp.sq_producer);

    CHECK(bench.a.drain(bench.a_cq).size() == 3);
    for (std::uint32_t n = 0; n < 3; ++n)
        CHECK(bench.b.bytes(target, n * 16, 16) == bench.a.bytes(source, n * 16, 16));
    CHECK(bench.a.hca.counters().doorbells == 1);
    CHECK(bench.a.hca.counters().doorbells_ignored == 0);
}

TEST_CASE("a record that jumps puts its own queue pair into error", "[unit][doorbell]") {
    Bench bench;
    bench.connect();
    bench.a.write_be32(bench.a_qp.record + 4, 0x4321);
    bench.ring_by(*bench.sending(), 0x4321);
    CHECK(bench.a.core(bench.a_qp).state == QpState::err);
}

TEST_CASE("a completion queue's arm word means its doorbell as long as there is one", "[unit][doorbell]") {
    Bench bench;
    const auto record = bench.arming();
    CHECK(record.address == bench.a_cq.record + 4);
    CHECK(record.doorbell == Node::uar * 4096 + 0x20);
    CHECK(record.is_marked);

    bench.connect();
    bench.ring_by(record, 0); // the first command that a driver gives: no event seen, nothing consumed
    const auto source = bench.a.make_region(64, 1), target = bench.b.make_region(64);
    bench.a.post(bench.a_qp, {.sges = {source.sge()}, .remote = target.address, .rkey = target.key});
    bench.ring_by(*bench.sending(), bench.a_qp.sq_producer);
    const auto events = bench.a.drain_events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].second == bench.a_cq.number.value);

    bench.a.hca.destroy_qp(bench.a_qp.number);
    bench.a.hca.destroy_cq(bench.a_cq.number);
    CHECK(bench.watch.records.empty());
}

TEST_CASE("queues whose page is the kernel's have nothing told of them", "[unit][doorbell]") {
    Bench bench(Node::uar + 1);
    bench.connect();
    CHECK(bench.watch.records.empty());
}

TEST_CASE("after a reset no record means anything", "[unit][doorbell]") {
    Bench bench;
    bench.connect();
    CHECK(bench.watch.records.size() == 2);
    bench.a.hca.reset();
    CHECK(bench.watch.records.empty());
}

TEST_CASE("a queue pair without a send queue has no record that means a doorbell, and no doorbell",
          "[unit][doorbell]") {
    Bench bench;
    bench.remake([](auto& attributes) { attributes.has_sq = false; });
    bench.connect();

    CHECK(bench.a.core(bench.a_qp).state == QpState::rts);
    CHECK(bench.sending() == nullptr);
    bench.ring();
    CHECK(bench.a.hca.counters().doorbells_ignored == 1);
}
