// Event queues: entries and their owner bit, interrupts when armed, consumer index, overflow (PRM "EQ").
#include "model/hca/event/event_queue.h"
#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using namespace model::hca;
using abi::prm::EventType;
using event::State;

namespace {

struct Bench {
    static constexpr std::uint64_t ring = 0x10000;
    static constexpr abi::Eqn eqn{5};
    static constexpr std::uint32_t uar = 20;

    explicit Bench(unsigned log_size = 2, bool overrun_ignore = false)
        : eq(make(eqn, log_size, overrun_ignore, ring)) {}

    event::EventQueue& make(abi::Eqn number, unsigned log_size, bool overrun_ignore, std::uint64_t at) {
        for (std::uint64_t i = 0; i < 1ull << log_size; ++i) // as the driver hands it over
            dma.poke(at + i * 64 + 63, std::array{std::byte{1}});
        event::Attributes a;
        a.buffer = {{abi::BusAddress{at}}, 16, 0};
        a.log_size = static_cast<std::uint8_t>(log_size);
        a.vector = static_cast<std::uint16_t>(100 + number.value);
        a.overrun_ignore = overrun_ignore;
        a.uar_page = uar;
        return queues.create(number, a);
    }
    void write(std::uint32_t cqn, Time at = {}) {
        queues.write(eqn, EventType::completion, 0, cqn, at, [&](abi::View<abi::prm::Eqe> eqe) {
            abi::prm::event_data<abi::prm::CompletionEventData>(eqe).set<"cqn">(cqn);
        });
    }
    void doorbell(std::uint32_t consumer, bool arm) { queues.ring(eqn, consumer & 0xffffff, arm, uar, {}); }
    abi::Block<abi::prm::Eqe> entry(std::uint32_t slot) {
        abi::Block<abi::prm::Eqe> eqe;
        dma.peek(ring + std::uint64_t{slot} * 64, eqe.bytes);
        return eqe;
    }
    std::uint32_t cqn(std::uint32_t slot) {
        auto eqe = entry(slot);
        return abi::prm::event_data<abi::prm::CompletionEventData>(eqe.view()).get<"cqn">();
    }
    std::size_t interrupts() { return std::exchange(raised.vectors, {}).size(); }

    model::port::MemoryDma dma;
    InterruptLog raised;
    EventLog log;
    traces::Events trace{&log, 1};
    Counters counters;
    event::EventQueues queues{dma, raised, counters, trace};
    event::EventQueue& eq;
};

} // namespace

TEST_CASE("an event costs its subscribers, in the order of their numbers, and nobody else", "[unit][event]") {
    Bench bench;
    const auto make = [&](std::uint32_t number, std::uint64_t events) {
        event::Attributes a;
        a.buffer = {{abi::BusAddress{0x100000 + number * 0x1000}}, 12, 0};
        a.events = events;
        bench.queues.create(abi::Eqn{number}, a);
    };
    const auto bit = [](EventType type) { return std::uint64_t{1} << static_cast<unsigned>(type); };
    make(30, bit(EventType::port_change) | bit(EventType::page_request));
    for (std::uint32_t number = 40; number < 60; ++number)
        make(number, bit(EventType::page_request));
    make(20, bit(EventType::port_change));
    const auto numbers = [&](EventType type) {
        std::vector<std::uint32_t> all;
        for (const auto* eq : bench.queues.subscribers(type))
            all.push_back(eq->number.value);
        return all;
    };

    CHECK(numbers(EventType::port_change) == std::vector<std::uint32_t>{20, 30});
    CHECK(bench.queues.broadcast(EventType::port_change, 0, 1, {}, [](auto) {}));
    CHECK(bench.queues.table().find(20)->producer == 1);
    CHECK(bench.queues.table().find(30)->producer == 1);
    CHECK(bench.queues.table().find(40)->producer == 0);
    bench.queues.destroy(abi::Eqn{30});
    CHECK(numbers(EventType::port_change) == std::vector<std::uint32_t>{20});
    CHECK(numbers(EventType::page_request).size() == 20);
    bench.queues.destroy(abi::Eqn{20});
    CHECK_FALSE(bench.queues.is_heard(EventType::port_change));
    bench.queues.clear();
    CHECK_FALSE(bench.queues.is_heard(EventType::page_request));
}

TEST_CASE("an event has its type, subtype, data and software's owner bit", "[unit][eq]") {
    Bench bench;

    bench.queues.write(Bench::eqn, EventType::port_change, 4, 1, {},
                       [](abi::View<abi::prm::Eqe> eqe) { eqe.bytes()[0x28] = std::byte{0x10}; });

    const auto eqe = bench.entry(0);
    CHECK(eqe.view().get<"event_type">() == EventType::port_change);
    CHECK(eqe.view().get<"event_sub_type">() == 4);
    CHECK(eqe.view().get<"owner">() == 0);
    CHECK(eqe.bytes[0x01] == std::byte{0x09});
    CHECK(eqe.bytes[0x03] == std::byte{4});
    CHECK(eqe.bytes[0x28] == std::byte{0x10});
    REQUIRE(bench.dma.log().size() == 1); // the owner bit with the rest
    CHECK(bench.dma.log()[0].length == 64);
    CHECK(bench.counters.events_written == 1);
}

TEST_CASE("events go round the ring, and the owner bit changes with each lap", "[unit][eq]") {
    Bench bench(2);
    for (std::uint32_t i = 0; i < 31; ++i) {
        bench.doorbell(i, false);
        bench.write(1000 + i);
        INFO("event " << i);
        CHECK(bench.entry(i % 4).view().get<"owner">() == (i / 4) % 2);
        for (std::uint32_t back = 0; back < 4 && back <= i; ++back)
            CHECK(bench.cqn((i - back) % 4) == 1000 + i - back);
    }
    CHECK(bench.dma.peek(Bench::ring + 4 * 64, 64) == std::vector<std::byte>(64));
}

TEST_CASE("laps go on past 2^24 events", "[unit][eq]") {
    Bench bench(2);
    bench.eq.producer = 0xfffffe;
    bench.doorbell(0xfffffe, true);
    for (std::uint32_t i = 0xfffffe; i < 0x1000002; ++i) {
        bench.write(i & 0xffff);
        CHECK(bench.entry(i % 4).view().get<"owner">() == (i >> 2 & 1));
    }
    CHECK(bench.eq.state == State::ready);
    bench.doorbell(0x1000002, true);
    CHECK(bench.interrupts() == 1);
    bench.write(1);
    CHECK(bench.interrupts() == 1);
    CHECK(bench.eq.state == State::ready);
}

TEST_CASE("an event queue that was never armed interrupts nobody", "[unit][eq]") {
    Bench bench;
    bench.write(1);
    bench.doorbell(0, false);
    CHECK(bench.interrupts() == 0);
    CHECK(bench.cqn(0) == 1);
}

TEST_CASE("an armed event queue raises its own vector once, for the first event", "[unit][eq]") {
    Bench bench;
    bench.doorbell(0, true);
    CHECK(bench.interrupts() == 0);

    bench.write(1);
    bench.write(2);

    CHECK(bench.raised.vectors == std::vector<std::uint16_t>{105});
    CHECK_FALSE(bench.eq.is_armed);
    CHECK(bench.counters.interrupts == 1);
}

TEST_CASE("arming with events that software has not taken interrupts at once", "[unit][eq]") {
    Bench bench;
    bench.write(1);
    bench.write(2);

    bench.doorbell(1, true); // it saw the first one only
    CHECK(bench.interrupts() == 1);
    bench.doorbell(2, true); // now both
    CHECK(bench.interrupts() == 0);
    bench.write(3);
    CHECK(bench.interrupts() == 1);
}

TEST_CASE("an update of the consumer index neither arms nor disarms", "[unit][eq]") {
    Bench bench;
    bench.doorbell(0, true);
    bench.doorbell(0, false);
    bench.write(1);
    CHECK(bench.interrupts() == 1);

    bench.doorbell(1, false);
    bench.write(2);
    CHECK(bench.interrupts() == 0);
}

TEST_CASE("a full event queue loses events, says so in its context, and goes on when there is room", "[unit][eq]") {
    Bench bench(2);
    for (std::uint32_t i = 0; i < 4; ++i)
        bench.write(i);
    REQUIRE(bench.eq.state == State::ready);

    bench.write(4);

    CHECK(bench.eq.state == State::overflow);
    CHECK(bench.eq.producer == 4);
    CHECK(bench.counters.events_written == 4);
    const auto lost = bench.log.all<traces::EventLost>();
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].eqn == Bench::eqn.value);
    CHECK(lost[0].number == 4);
    for (std::uint32_t i = 0; i < 4; ++i)
        CHECK(bench.cqn(i) == i);
    bench.doorbell(2, true);
    CHECK(bench.interrupts() == 1);
    bench.write(5);
    CHECK(bench.cqn(0) == 5);
    CHECK(bench.entry(0).view().get<"owner">() == 1);
    CHECK(bench.eq.state == State::overflow); // what is lost stays lost
}

TEST_CASE("an event queue that ignores overrun writes over old events", "[unit][eq]") {
    Bench bench(1, true);
    for (std::uint32_t i = 0; i < 5; ++i)
        bench.write(i);
    CHECK(bench.cqn(0) == 4);
    CHECK(bench.cqn(1) == 3);
    CHECK(bench.eq.state == State::ready);
}

TEST_CASE("an event that memory does not take is lost, without an interrupt", "[unit][eq]") {
    Bench bench;
    bench.doorbell(0, true);
    bench.dma.fail(Bench::ring, Bench::ring + 64, model::port::DmaStatus::unsupported_request);

    bench.write(1);

    CHECK(bench.eq.state == State::write_failed);
    CHECK(bench.interrupts() == 0);
    CHECK(bench.eq.producer == 0);
    CHECK(bench.counters.events_written == 0);
}

TEST_CASE("an event for a queue that does not exist is dropped", "[unit][eq]") {
    Bench bench;
    bench.queues.write(abi::Eqn{77}, EventType::completion, 0, 1, {}, [](auto) {});
    CHECK(bench.eq.producer == 0);
    CHECK(bench.dma.log().empty());
}

TEST_CASE("an asynchronous event goes to every queue that asked for its type", "[unit][eq]") {
    Bench bench;
    auto& second = bench.make(abi::Eqn{6}, 2, false, 0x20000);
    auto& third = bench.make(abi::Eqn{7}, 2, false, 0x30000);
    const auto bit = [](EventType type) { return std::uint64_t{1} << static_cast<unsigned>(type); };
    bench.queues.subscribe(bench.eq, bit(EventType::cq_error) | bit(EventType::wq_access_error));
    bench.queues.subscribe(second, bit(EventType::wq_access_error) | bit(EventType::object_change));
    bench.queues.subscribe(third, ~bit(EventType::wq_access_error));

    bench.queues.broadcast(EventType::wq_access_error, 0, 0x1150, {}, [](abi::View<abi::prm::Eqe> eqe) {
        abi::prm::event_data<abi::prm::QueueEventData>(eqe).set<"qp_srq_n">(0x1150);
    });

    CHECK(bench.eq.producer == 1);
    CHECK(second.producer == 1);
    CHECK(third.producer == 0);
    CHECK(bench.dma.peek(0x20000, 64) == bench.dma.peek(Bench::ring, 64));
    bench.queues.broadcast(EventType::object_change, 0, 1, {}, [](auto) {}); // bit 39: the mask has 64
    CHECK(second.producer == 2);
    CHECK(bench.eq.producer == 1);
}

TEST_CASE("a doorbell through another page, or for another queue, moves nothing and is told", "[unit][eq]") {
    Bench bench;
    bench.write(1);

    bench.queues.ring(Bench::eqn, 0, true, Bench::uar + 1, {});
    bench.queues.ring(abi::Eqn{77}, 0, true, Bench::uar, {});

    CHECK(bench.interrupts() == 0);
    CHECK_FALSE(bench.eq.is_armed);
    CHECK(bench.log.all<traces::DoorbellIgnored>().size() == 2);
}

TEST_CASE("events go out in their order, and no interrupt comes before the event it is for", "[unit][eq]") {
    Bench bench;
    bench.write(1, 18us);
    bench.write(2, 2us);

    REQUIRE(bench.dma.log().size() == 2);
    CHECK(bench.dma.log()[0].at == Time{18us});
    CHECK(bench.dma.log()[1].at == Time{18us});
    bench.doorbell(0, true); // at 0: neither is there yet
    REQUIRE(bench.raised.vectors.size() == 1);
    CHECK(bench.raised.last_at == Time{18us});
}
