// Processing units, locks of atomics, and when the card knows of a WQE.
#include "model/hca/memory/atomic_locks.h"
#include "model/hca/processing_units.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <span>

using namespace harness;
using abi::prm::WqeOpcode;
using abi::wire::Operation;
using model::hca::HcaConfig;
using model::hca::ProcessingUnits;
using model::hca::memory::AtomicLocks;

namespace {

HcaConfig timed() {
    HcaConfig config;
    config.port_rate_gbps = 0;
    config.units = 4;
    config.unit_wqe = 100ns;
    config.unit_read = 300ns;
    config.packet_latency = 1ns;
    config.doorbell_latency = config.wqe_latency = 0ns;
    return config;
}

struct Bench : OneHca {
    explicit Bench(const HcaConfig& config = timed()) : OneHca({}, config) { a.dma.set_latency(1us); }
    Region source = a.make_region(64, 1);

    void post(TestQp& to) { a.post(to, {.sges = {source.sge()}, .remote = 0x1000, .rkey = abi::Key{1}}); }
    TestQp connected() {
        auto made = a.make_qp(a.attributes(cq));
        a.connect(made, OneHca::peer_qpn, 1, 1, clock.now());
        return made;
    }
    /// The doorbell that a driver rings with: the beginning of the last WQE posted, or all of it.
    std::vector<std::byte> doorbell(const TestQp& of, std::size_t bytes) {
        return a.dma.peek(a.sq_address(of, static_cast<std::uint16_t>(of.sq_producer - 1)), bytes);
    }
    void ring(const TestQp& of, std::size_t bytes = 8) {
        a.hca.write_uar(Node::uar, 0x800, doorbell(of, bytes), clock.now());
    }
    /// Reads of the send queue so far, and when the first one was made.
    std::vector<Time> fetches(const TestQp& of) const {
        std::vector<Time> found;
        for (const auto& access : a.dma.log())
            if (access.kind == model::port::MemoryDma::Kind::read && access.address >= a.sq_address(of, 0) &&
                access.address < a.sq_address(of, 0) + (64ull << of.log_sq))
                found.push_back(access.at);
        return found;
    }
};

} // namespace

TEST_CASE("WQEs of one queue pair follow each other on its unit, those of others have theirs", "[unit][units]") {
    ProcessingUnits units(timed());
    CHECK(units.begin(abi::Qpn{8}, false, 0ns, 10ns) == 10ns);
    CHECK(units.begin(abi::Qpn{8}, false, 0ns, 10ns) == 110ns);
    CHECK(units.begin(abi::Qpn{9}, false, 0ns, 10ns) == 10ns);
    CHECK(units.begin(abi::Qpn{12}, true, 0ns, 10ns) == 210ns); // the unit of 8, and a READ
    CHECK(units.begin(abi::Qpn{8}, false, 0ns, 10ns) == 510ns);
    CHECK(units.account().units == 4);
    CHECK(units.account().usage.busy == 700ns);
}

TEST_CASE("a unit takes no work that is far ahead", "[unit][units]") {
    ProcessingUnits units(timed());
    unsigned taken = 0;
    for (; units.has_room(abi::Qpn{8}, 0ns) && taken < 1000; ++taken)
        units.begin(abi::Qpn{8}, false, 0ns, 5us); // that it comes late from memory is not the unit's work
    CHECK(taken == 21);                            // 2 us
    CHECK(units.has_room(abi::Qpn{9}, 0ns));
    CHECK(units.room_at(abi::Qpn{8}) > 0ns);
    CHECK(units.has_room(abi::Qpn{8}, units.room_at(abi::Qpn{8})));
}

TEST_CASE("one queue pair sends as fast as its unit, and four as fast as four", "[unit][units]") {
    for (const std::size_t count : {1u, 4u}) {
        Bench bench;
        std::vector<TestQp> queues{bench.qp};
        while (queues.size() < count) // each of another unit
            if (auto made = bench.connected(); std::ranges::none_of(
                    queues, [&](const TestQp& other) { return other.number.value % 4 == made.number.value % 4; }))
                queues.push_back(made);
        constexpr unsigned each = 60;
        for (auto& queue : queues) {
            for (unsigned i = 0; i < each; ++i)
                bench.post(queue);
            bench.ring(queue);
        }
        bench.run(100us);
        const auto seen = bench.peer.take();
        INFO(count << " queue pairs");
        REQUIRE(seen.size() == count * each);
        std::vector<Time> at;
        for (const auto& one : seen)
            at.push_back(one.at);
        const auto [first, last] = std::ranges::minmax(at);
        CHECK(last - first >= 100ns * (each - 1));
        CHECK(last - first < 100ns * (each + 1)); // those of others do not come on top
        CHECK(std::ranges::is_sorted(at));
    }
}

TEST_CASE("queue pairs that wait for their units go on each in its time", "[unit][units]") {
    Bench bench;
    auto other = bench.connected();
    for (unsigned i = 0; i < 25; ++i) // it waits once
        bench.post(bench.qp);
    bench.ring(bench.qp);
    bench.clock.set(700ns);
    for (unsigned i = 0; i < 60; ++i)
        bench.post(other);
    bench.ring(other);
    bench.run(100us);
    CHECK(bench.peer.take().size() == 85);
}

TEST_CASE("a long send queue is read as its unit gets on, not all at once", "[unit][units]") {
    Bench bench;
    for (unsigned i = 0; i < 60; ++i)
        bench.post(bench.qp);
    bench.ring(bench.qp);
    CHECK(bench.a.hca.counters().wqes_fetched < 30);
    bench.run(100us);
    CHECK(bench.a.hca.counters().wqes_fetched == 60);
}

TEST_CASE("a WQE that comes with its doorbell is not read from memory", "[unit][doorbell]") {
    Bench bench;
    bench.post(bench.qp);
    bench.ring(bench.qp, 64);
    bench.run(10us);
    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].payload == bench.a.bytes(bench.source, 0, 64));
    CHECK(bench.fetches(bench.qp).empty());
    CHECK(seen[0].at < 2us); // its payload is, once
}

TEST_CASE("what comes with a doorbell and is not the next WQE is read from memory", "[unit][doorbell]") {
    Bench bench;
    bench.post(bench.qp);
    bench.post(bench.qp);
    bench.ring(bench.qp, 64);
    bench.run(10us);
    CHECK(bench.peer.take().size() == 2);
    CHECK(bench.fetches(bench.qp).size() == 1);
}

TEST_CASE("a WQE that comes with a doorbell far behind does not take the place of those that were read ahead",
          "[unit][doorbell]") {
    Bench bench;
    for (unsigned i = 0; i < 60; ++i)
        bench.post(bench.qp);
    bench.ring(bench.qp); // the unit has enough with 21 of them, and 48 were read
    const auto read = bench.fetches(bench.qp).size();
    bench.post(bench.qp);
    bench.ring(bench.qp, 64);
    bench.run(100us);
    CHECK(bench.peer.take().size() == 61);
    CHECK(bench.fetches(bench.qp).size() == read + 1);
    CHECK(std::ranges::count_if(bench.a.dma.log(), [&](const auto& access) {
              return access.address == bench.a.sq_address(bench.qp, 48);
          }) == 1);
}

TEST_CASE("a WQE that comes whole with its doorbell, behind the last one known, needs no look at the record",
          "[unit][doorbell]") {
    Bench bench;
    for (std::size_t sent = 1; sent <= 3; ++sent) {
        bench.post(bench.qp);
        bench.ring(bench.qp, 64);
        bench.run(sent * 10us);
        CHECK(bench.peer.take().size() == 1);
    }
    CHECK(std::ranges::none_of(bench.a.dma.log(), [&](const auto& access) {
        return access.kind == model::port::MemoryDma::Kind::read && access.address == bench.qp.record + 4;
    }));
    CHECK(bench.fetches(bench.qp).empty());
}

TEST_CASE("WQEs that come with their doorbells while others wait for the unit are not read either",
          "[unit][doorbell]") {
    Bench bench;
    for (unsigned i = 0; i < 12; ++i) {
        bench.post(bench.qp);
        bench.ring(bench.qp, 64);
    }
    bench.run(100us);
    CHECK(bench.peer.take().size() == 12);
    CHECK(bench.fetches(bench.qp).empty());
}

TEST_CASE("a WQE that came with its doorbell before the record counts it is not the one that is sent",
          "[unit][doorbell]") {
    Bench bench;
    bench.post(bench.qp); // of which nobody tells
    bench.post(bench.qp);
    const auto wqe = bench.doorbell(bench.qp, 64);
    bench.a.write_be32(bench.qp.record + 4, 0); // not yet
    bench.a.hca.write_uar(Node::uar, 0x800, wqe, bench.clock.now());
    bench.run(10us);
    CHECK(bench.peer.take().empty());

    bench.qp.sq_producer = 0; // software has thought better of it
    bench.a.post(bench.qp,
                 {.sges = {{bench.source.address, 16, bench.source.key}}, .remote = 0x1000, .rkey = abi::Key{1}});
    bench.ring(bench.qp);
    bench.run(20us);
    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].payload.size() == 16);
}

TEST_CASE("a burst that a bridge has cut rings, and its WQE is read from memory", "[unit][doorbell]") {
    Bench bench;
    bench.post(bench.qp);
    const auto wqe = bench.doorbell(bench.qp, 64);
    for (std::uint32_t at = 0; at < 64; at += 8)
        bench.a.hca.write_uar(Node::uar, 0x800 + at, std::span(wqe).subspan(at, 8), bench.clock.now());
    bench.run(10us);
    CHECK(bench.peer.take().size() == 1);
    CHECK(bench.fetches(bench.qp).size() == 1);
}

TEST_CASE("WQEs that a doorbell names are read at once, those that only its record names behind that",
          "[unit][doorbell]") {
    Bench named;
    named.post(named.qp);
    named.ring(named.qp);
    REQUIRE(named.fetches(named.qp).size() == 1);
    CHECK(named.fetches(named.qp)[0] == 0ns);

    Bench later;
    later.post(later.qp);
    const auto first = later.doorbell(later.qp, 8);
    later.post(later.qp);
    later.a.hca.write_uar(Node::uar, 0x800, first, later.clock.now());
    later.run(10us);
    CHECK(later.peer.take().size() == 2);

    Bench unsaid; // a doorbell whose WQE is none that is posted
    unsaid.post(unsaid.qp);
    unsaid.a.ring(unsaid.qp, unsaid.clock.now());
    REQUIRE(unsaid.fetches(unsaid.qp).size() == 1);
    CHECK(unsaid.fetches(unsaid.qp)[0] == 1us); // the read of the record
}

TEST_CASE("atomics to one lock follow each other, those to others do not wait", "[unit][atomic]") {
    HcaConfig config = timed();
    config.atomic_buckets = 4096;
    AtomicLocks locks(config);
    const auto hold = [&](std::uint64_t address, Time at) {
        const auto begin = locks.take(abi::BusAddress{address}, at);
        locks.release(abi::BusAddress{address}, begin, begin + 400ns);
        return begin;
    };
    CHECK(hold(0x10000, 0ns) == 0ns);
    CHECK(hold(0x10000, 0ns) == 400ns);
    CHECK(hold(0x10008, 0ns) == 0ns);
    CHECK(hold(0x20000, 0ns) == 800ns); // the same low 12 bits
    CHECK(hold(0x10000, 5us) == 5us);
    CHECK(locks.account().units == 2);

    config.atomic_buckets = 1;
    AtomicLocks one(config);
    const auto begin = one.take(abi::BusAddress{0x10000}, 0ns);
    one.release(abi::BusAddress{0x10000}, begin, 400ns);
    CHECK(one.take(abi::BusAddress{0x10008}, 0ns) == 400ns);
}

TEST_CASE("a card carries out atomics on one address one after the other, on two at the same time", "[unit][atomic]") {
    for (const bool is_same : {true, false}) {
        Bench bench;
        auto other = bench.connected();
        const auto ask = [&](abi::Qpn target, std::uint32_t psn, std::uint64_t address) {
            bench.hand_over(Operation::fetch_add, psn, 0, [&](model::port::Packet& packet) {
                packet.rdma().destination = target;
                packet.rdma().atomic = {.address = address, .rkey = bench.source.key, .swap_or_add = 1, .compare = 0};
            });
        };
        ask(bench.qp.number, OneHca::peer_psn, bench.source.address);
        ask(other.number, 1, bench.source.address + (is_same ? 0 : 8));
        bench.run(20us);
        std::vector<Time> reads;
        for (const auto& access : bench.a.dma.log())
            if (access.kind == model::port::MemoryDma::Kind::read && access.length == 8)
                reads.push_back(access.at);
        REQUIRE(reads.size() == 2);
        INFO((is_same ? "one address" : "two addresses"));
        CHECK((reads[1] - reads[0] >= 1us) == is_same);
    }
}

TEST_CASE("what a card was at when it was reset holds nothing up that comes after it", "[unit][units]") {
    auto config = timed();
    config.units = 1;
    config.unit_wqe = 20us;
    Bench bench(config);
    bench.post(bench.qp);
    bench.ring(bench.qp);

    bench.a.hca.reset();
    bench.a.make_eq();
    bench.cq = bench.a.make_cq();
    bench.source = bench.a.make_region(64, 1);
    bench.qp = bench.a.make_qp(bench.a.attributes(bench.cq));
    const abi::Qpn another{OneHca::peer_qpn.value + 1}; // what had left the card by then is for the other one
    bench.a.connect(bench.qp, another, 1, 1, bench.clock.now());
    const auto reads = bench.a.dma.log().size();
    bench.post(bench.qp);
    bench.ring(bench.qp);
    bench.run(50us);

    unsigned payloads = 0;
    for (const auto& access : std::span(bench.a.dma.log()).subspan(reads)) {
        const bool is_payload = access.address == bench.source.address && access.length == bench.source.length;
        payloads += is_payload;
        if (is_payload)
            CHECK(access.at < 10us); // what had been booked before the reset would have taken the unit 20 us
    }
    CHECK(payloads == 1);
}

TEST_CASE("locks of atomics are free after a reset, and those that were used stay counted", "[unit][atomic]") {
    HcaConfig config = timed();
    config.atomic_buckets = 4096;
    AtomicLocks locks(config);
    for (const std::uint64_t address : {0x10000, 0x10008})
        locks.release(abi::BusAddress{address}, locks.take(abi::BusAddress{address}, 0ns), 16us);

    locks.reset();

    CHECK(locks.take(abi::BusAddress{0x10000}, 1us) == 1us);
    CHECK(locks.take(abi::BusAddress{0x10008}, 1us) == 1us);
    CHECK(locks.account().units == 2);
}
