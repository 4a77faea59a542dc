// When a completion queue raises its event (PRM "CQ doorbell", "Completion events"; IBA 11.4.2.2).
#include "testbench/unit/model/hca/completion/bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace completion_test;
using abi::prm::EventType;

TEST_CASE("a CQ that nobody armed raises nothing", "[unit][arm]") {
    Bench bench;
    bench.write_solicited();
    bench.write_error();
    CHECK(bench.events() == 0);
}

TEST_CASE("an armed CQ raises one event with its number for the next completion, then none", "[unit][arm]") {
    Bench bench;
    bench.arm(0);
    CHECK(bench.events() == 0);

    bench.write(0);
    bench.write(1);
    bench.write_error();

    const auto events = bench.take_events();
    REQUIRE(events.size() == 1);
    auto eqe = events[0];
    CHECK(eqe.view().get<"event_type">() == EventType::completion);
    CHECK(abi::prm::event_data<abi::prm::CompletionEventData>(eqe.view()).get<"cqn">() == Bench::cqn.value);
    CHECK(bench.interrupts.vectors == std::vector{Bench::vector});
}

TEST_CASE("a completion that came before the arm, beyond its consumer index, raises the event at once", "[unit][arm]") {
    Bench bench;
    bench.write(0);
    bench.write(1);

    bench.arm(1);

    CHECK(bench.events() == 1);
    CHECK_FALSE(bench.cq.arm.is_set);
}

TEST_CASE("an arm with everything consumed waits", "[unit][arm]") {
    Bench bench;
    bench.write(0);
    bench.write(1);

    bench.arm(2);
    CHECK(bench.events() == 0);
    bench.write(2);

    CHECK(bench.events() == 1);
}

TEST_CASE("event, arm, poll: a completion that was reported is not reported again, the next one is", "[unit][arm]") {
    Bench bench;
    bench.arm(0, false, 0);
    bench.write(0);
    REQUIRE(bench.events() == 1);

    bench.arm(0, false, 1); // before anything was polled
    CHECK(bench.events() == 0);
    bench.write(1);

    CHECK(bench.events() == 1);
}

TEST_CASE("a solicited arm sleeps through ordinary completions and wakes for solicited ones and errors",
          "[unit][arm]") {
    for (const bool is_error : {false, true}) {
        Bench bench;
        bench.arm(0, true);
        bench.write(0);
        bench.write(1);
        CHECK(bench.events() == 0);

        is_error ? bench.write_error() : bench.write_solicited();

        CHECK(bench.events() == 1);
    }
}

TEST_CASE("a solicited completion that was there before the arm counts, an older one does not", "[unit][arm]") {
    Bench bench;
    bench.write_solicited();
    bench.write(1);

    bench.arm(1, true); // the solicited one is consumed
    CHECK(bench.events() == 0);

    Bench other;
    other.write(0);
    other.write_solicited();
    other.arm(1, true);
    CHECK(other.events() == 1);
}

TEST_CASE("an event for ordinary completions uses up the solicited ones before it", "[unit][arm]") {
    Bench bench;
    bench.write_solicited();
    bench.arm(0);
    REQUIRE(bench.events() == 1);

    bench.arm(0, true, 1);
    CHECK(bench.events() == 0);
    bench.write_solicited();

    CHECK(bench.events() == 1);
}

TEST_CASE("a request for the next completion is not weakened by a later one for solicited completions", "[unit][arm]") {
    Bench bench;
    bench.arm(0);
    bench.arm(0, true);

    bench.write(0);

    CHECK(bench.events() == 1); // and only one, though two requests were made
    bench.write_solicited();
    CHECK(bench.events() == 0);
}

TEST_CASE("a request for solicited completions is widened by one for the next completion", "[unit][arm]") {
    Bench bench;
    bench.arm(0, true);
    bench.write(0);
    CHECK(bench.events() == 0);

    bench.arm(0);

    CHECK(bench.events() == 1);
}

TEST_CASE("once its event is out, a request for the next completion does not widen later ones", "[unit][arm]") {
    Bench bench;
    bench.arm(0);
    bench.write(0);
    REQUIRE(bench.events() == 1);

    bench.arm(1, true, 1);
    bench.write(1);

    CHECK(bench.events() == 0);
}

TEST_CASE("a doorbell that comes again after its event is stale: nobody waits for a second one", "[unit][arm]") {
    Bench bench;
    CHECK(bench.arm(0, false, 2));
    bench.write(0);
    REQUIRE(bench.events() == 1);

    CHECK_FALSE(bench.arm(0, false, 2));
    bench.write(1);

    CHECK(bench.events() == 0);
    CHECK(bench.arm(0, false, 3)); // software has seen the event, and asks for the next one
    CHECK(bench.events() == 1);
}

TEST_CASE("an older doorbell that comes after its event is stale too", "[unit][arm]") {
    Bench bench;
    for (std::uint16_t i = 0; i < 3; ++i)
        bench.write(i);
    bench.arm(3);
    bench.write(3);
    REQUIRE(bench.events() == 1);

    CHECK_FALSE(bench.arm(2));
    bench.consume(4);
    bench.write(4);

    CHECK(bench.events() == 0);
}

TEST_CASE("a repeated doorbell before its event changes nothing", "[unit][arm]") {
    Bench bench;
    CHECK(bench.arm(0));
    CHECK(bench.arm(0));

    bench.write(0);

    CHECK(bench.events() == 1);
    CHECK_FALSE(bench.arm(0));
}

TEST_CASE("software that leaves the sequence number alone is served as long as it consumes", "[unit][arm]") {
    Bench bench;
    for (std::uint32_t i = 0; i < 20; ++i) {
        CHECK(bench.arm(i));
        bench.consume(i);
        bench.write(static_cast<std::uint16_t>(i));
        CHECK(bench.events() == 1);
    }
}

TEST_CASE("sequence numbers wrap at four", "[unit][arm]") {
    Bench bench;
    for (std::uint32_t i = 0; i < 20; ++i) {
        CHECK(bench.arm(0, false, i & 3)); // arms before it polls
        bench.consume(i);
        bench.write(static_cast<std::uint16_t>(i));
        CHECK(bench.events() == 1);
    }
}

TEST_CASE("arms work across the wrap of the index at 2^24", "[unit][arm]") {
    for (const std::uint64_t start : {0xffffffull, 0x1ffffffull, 0x100000000ull - 1}) {
        Bench bench;
        bench.cq.producer = bench.cq.last_notified = bench.cq.last_solicited = start;
        bench.cq.consumer_seen = start & 0xffffff;
        bench.consume(bench.cq.consumer_seen);
        bench.arm(static_cast<std::uint32_t>(start));
        bench.write(0);
        CHECK(bench.events() == 1);

        bench.arm(static_cast<std::uint32_t>(start + 1), true, 1);
        bench.write(0);
        CHECK(bench.events() == 0);
        bench.write_solicited();
        CHECK(bench.events() == 1);
    }
}

TEST_CASE("an arm works however long the CQ was only polled", "[unit][arm]") {
    for (const std::uint64_t polled :
         {0x7fffffull, 0x800001ull, 0xffffffull, 0x1000000ull, 0x80000001ull, 0x100000000ull}) {
        Bench bench;
        bench.arm(0);
        bench.write(0);
        REQUIRE(bench.events() == 1);
        bench.cq.producer += polled; // so many completions without an arm
        bench.cq.consumer_seen = bench.cq.producer & 0xffffff;
        bench.consume(bench.cq.consumer_seen);
        INFO(polled << " completions");

        CHECK(bench.arm(bench.cq.consumer_seen, false, 1));
        CHECK(bench.events() == 0);
        bench.write(1);

        CHECK(bench.events() == 1);
    }
}

TEST_CASE("a solicited completion of long ago does not wake a CQ", "[unit][arm]") {
    Bench bench;
    bench.write_solicited();
    bench.cq.producer += 0x900000; // ordinary ones since then
    bench.cq.consumer_seen = bench.cq.producer & 0xffffff;

    bench.arm(bench.cq.consumer_seen, true);

    CHECK(bench.events() == 0);
}

TEST_CASE("a consumer index ahead of the producer waits until the producer passes it", "[unit][arm]") {
    Bench bench(4);
    bench.arm(2);
    bench.write(0);
    bench.write(1);
    CHECK(bench.events() == 0);

    bench.write(2);

    CHECK(bench.events() == 1);
}

TEST_CASE("a CQ in error raises no completion events", "[unit][arm]") {
    Bench bench(0);
    bench.write(0);
    bench.arm(1);
    bench.write(1);               // overrun
    REQUIRE(bench.events() == 1); // the error

    bench.write_error();
    bench.arm(1, false, 1);

    CHECK(bench.events() == 0);
}

TEST_CASE("an event does not come before the entry that it tells of", "[unit][arm]") {
    for (const bool is_armed_before : {false, true}) {
        Bench bench;
        if (is_armed_before)
            bench.arm(0);
        bench.write(Completion{.opcode = CqeOpcode::req}, 18us);
        if (!is_armed_before)
            bench.arm(0); // at a time when the entry is not there yet

        CHECK(bench.events() == 1);
        CHECK(bench.dma.log().back().address >= Bench::eq_ring);
        CHECK(bench.dma.log().back().at >= Time{18us});
        CHECK(bench.interrupts.last_at >= Time{18us});
    }
}
