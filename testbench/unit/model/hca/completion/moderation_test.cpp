// Events that wait for company (cq_period, cq_max_count), and rings that are exchanged.
#include "testbench/unit/model/hca/completion/bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace completion_test;

namespace {
struct Moderated : Bench {
    Moderated() : Bench(4) { cq.attributes.moderation = {.period = 10us, .max_count = 3}; }
};
} // namespace

TEST_CASE("an event waits for cq_max_count completions", "[unit][completion][moderation]") {
    Moderated bench;
    bench.arm(0);
    bench.write(0);
    bench.write(1);
    CHECK(bench.events() == 0);
    bench.write(2);
    CHECK(bench.events() == 1);
    bench.writer.wake(1s); // nothing is owed any more
    CHECK(bench.events() == 0);
}

TEST_CASE("or for cq_period after the first one", "[unit][completion][moderation]") {
    Moderated bench;
    bench.arm(0);
    bench.write(0);
    CHECK(bench.clock.next() == 10us);
    bench.writer.wake(9us);
    CHECK(bench.events() == 0);
    bench.writer.wake(10us);
    CHECK(bench.events() == 1);
    bench.consume(1);
    bench.arm(1, false, 1);
    bench.write(1);
    CHECK(bench.events() == 0);
    bench.writer.wake(30us);
    CHECK(bench.events() == 1);
}

TEST_CASE("limits that are changed count anew from when they are", "[unit][completion][moderation]") {
    Moderated bench;
    bench.arm(0);
    bench.write(0);
    bench.cq.attributes.moderation = {.period = 100us, .max_count = 3};
    bench.writer.moderate_anew(bench.cq, 5us);

    bench.writer.wake(10us);
    CHECK(bench.events() == 0);
    bench.writer.wake(105us);
    CHECK(bench.events() == 1);
}

TEST_CASE("completions from before the arm count", "[unit][completion][moderation]") {
    Moderated bench;
    for (std::uint16_t i = 0; i < 3; ++i)
        bench.write(i);
    bench.arm(0);
    CHECK(bench.events() == 1);
}

TEST_CASE("the period of the next event begins with its own first completion", "[unit][completion][moderation]") {
    Moderated bench;
    bench.arm(0);
    for (std::uint16_t i = 0; i < 3; ++i)
        bench.write(i);
    CHECK(bench.events() == 1);
    bench.consume(3);
    bench.arm(3, false, 1);

    bench.write(Completion{.opcode = CqeOpcode::req, .qpn = abi::Qpn{0x1150}, .wqe_counter = 3}, 5us);

    bench.writer.wake(10us); // that of the first one's
    CHECK(bench.events() == 0);
    bench.writer.wake(15us);
    CHECK(bench.events() == 1);
}

TEST_CASE("a queue that goes owes no event", "[unit][completion][moderation]") {
    Moderated bench;
    bench.arm(0);
    bench.write(0);
    bench.writer.forget(bench.cq);
    bench.writer.wake(1s);
    CHECK(bench.events() == 0);
}

TEST_CASE("without a period or a count nothing waits", "[unit][completion][moderation]") {
    for (const ModerationLimits limits :
         {ModerationLimits{.period = {}, .max_count = 9}, ModerationLimits{.period = 10us, .max_count = 0}}) {
        Moderated bench;
        bench.cq.attributes.moderation = limits;
        bench.arm(0);
        bench.write(0);
        CHECK(bench.events() == 1);
    }
}

TEST_CASE("a resized queue ends its old ring with a CQE and goes on behind it in the new one",
          "[unit][completion][resize]") {
    constexpr std::uint64_t new_ring = 0x80000;
    Bench bench(2);
    for (std::uint16_t i = 0; i < 3; ++i)
        bench.write(i);
    REQUIRE(bench.writer.resize(bench.cq, {{abi::BusAddress{new_ring}}, 16, 0}, 3, {}));
    CHECK(bench.entry(3).view().get<"opcode">() == CqeOpcode::resize_cq);
    CHECK(bench.entry(3).view().get<"owner">() == 0);

    bench.consume(3);
    bench.write(77);
    abi::Block<abi::prm::Cqe64> cqe;
    bench.dma.peek(new_ring + 4 * 64, cqe.bytes);
    CHECK(cqe.view().get<"wqe_counter">() == 77);
    CHECK(cqe.view().get<"owner">() == 0);
    for (std::uint16_t i = 0; i < 4; ++i)
        bench.write(i);
    bench.dma.peek(new_ring, cqe.bytes);
    CHECK(cqe.view().get<"owner">() == 1); // entry 8 begins the second lap of eight
}

TEST_CASE("a full ring cannot take the CQE that ends it", "[unit][completion][resize]") {
    Bench bench(2);
    for (std::uint16_t i = 0; i < 4; ++i)
        bench.write(i);
    CHECK_FALSE(bench.writer.resize(bench.cq, {{abi::BusAddress{0x80000}}, 16, 0}, 3, {}));
    CHECK(bench.cq.state == CompletionState::ready);
    CHECK(bench.cq.size() == 4);
}

TEST_CASE("a ring that does not take the CQE that ends it is not exchanged", "[unit][completion][resize]") {
    Bench bench(2);
    bench.dma.fail(Bench::ring, Bench::ring + 64, model::port::DmaStatus::unsupported_request);

    CHECK_FALSE(bench.writer.resize(bench.cq, {{abi::BusAddress{0x80000}}, 16, 0}, 3, {}));

    CHECK(bench.cq.state == CompletionState::write_failed);
    CHECK(bench.cq.size() == 4);
}
