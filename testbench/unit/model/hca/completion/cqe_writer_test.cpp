// Completion entries: their bytes, their places in the ring, and what happens when there is no place (PRM "CQE", "CQ").
#include "testbench/unit/model/hca/completion/bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace completion_test;
using abi::prm::CqErrorSyndrome;
using abi::prm::EventType;

namespace {

std::uint8_t xor_of(std::span<const std::byte> bytes) {
    std::byte sum{};
    for (const auto byte : bytes)
        sum ^= byte;
    return std::to_integer<std::uint8_t>(sum);
}

} // namespace

TEST_CASE("a completion says what completed, where the PRM has it", "[unit][cqe]") {
    Bench bench;

    REQUIRE(bench.write({.opcode = CqeOpcode::resp_send_imm,
                         .qpn = abi::Qpn{0x123456},
                         .user_index = 0xabcdef,
                         .send_opcode = 0x0b,
                         .wqe_counter = 0x8765,
                         .byte_count = 0x89abcdef,
                         .immediate = 0xdeadbeef,
                         .solicited = true}));

    const auto cqe = bench.entry(0);
    const auto v = cqe.view();
    CHECK(v.get<"opcode">() == CqeOpcode::resp_send_imm);
    CHECK(v.get<"qpn">() == 0x123456);
    CHECK(v.get<"srqn_uidx">() == 0xabcdef);
    CHECK(v.get<"sop">() == 0x0b);
    CHECK(v.get<"wqe_counter">() == 0x8765);
    CHECK(v.get<"byte_cnt">() == 0x89abcdef);
    CHECK(v.get<"imm_inval_pkey">() == 0xdeadbeef);
    CHECK(v.get<"se">() == 1);
    CHECK(v.get<"owner">() == 0);
    CHECK(v.get<"cqe_format">() == abi::prm::CqeFormat::no_data);
    CHECK(xor_of(cqe.bytes) == 0xff);
    CHECK(bench.counters.completions_ok == 1);
}

TEST_CASE("a completion waits for the context of its queue", "[unit][cqe]") {
    Bench bench(2, 6, false, HcaConfig{});
    const std::vector<std::uint64_t> pages{0x90000};
    bench.contexts.set_pages(&pages);
    bench.dma.set_latency(500ns);
    REQUIRE(bench.write({}));
    REQUIRE(bench.write({}));
    const auto& log = bench.dma.log();
    REQUIRE(log.size() == 3);
    CHECK(log[0].address / 4096 == 0x90); // the context, once
    CHECK(log[1].at >= 500ns);
    CHECK(log[2].at >= 500ns);
    CHECK(bench.counters.cqc_misses == 1);
    CHECK(bench.counters.cqc_hits == 1);
}

TEST_CASE("an error completion has syndromes instead of a byte count and a time", "[unit][cqe]") {
    Bench bench;

    REQUIRE(bench.write({.opcode = CqeOpcode::resp_err,
                         .syndrome = CqeSyndrome::local_prot_err,
                         .vendor_syndrome = 0x93,
                         .qpn = abi::Qpn{0x77},
                         .wqe_counter = 5,
                         .byte_count = 1000,
                         .immediate = 7},
                        1ms));

    const auto cqe = bench.entry(0);
    const abi::ConstView<abi::prm::ErrCqe> error{cqe.bytes};
    CHECK(error.get<"opcode">() == CqeOpcode::resp_err);
    CHECK(error.get<"syndrome">() == CqeSyndrome::local_prot_err);
    CHECK(error.get<"vendor_err_synd">() == 0x93);
    CHECK(error.get<"qpn">() == 0x77);
    CHECK(error.get<"wqe_counter">() == 5);
    CHECK(std::ranges::all_of(std::span(cqe.bytes).subspan(0x24, 0x12), [](std::byte b) { return b == std::byte{}; }));
    CHECK(xor_of(cqe.bytes) == 0xff);
    CHECK(bench.counters.completions_error == 1);
    CHECK(bench.counters.completions_ok == 0);
}

TEST_CASE("entries go round the ring, and the owner bit changes with each lap", "[unit][cqe]") {
    Bench bench(2);

    for (std::uint32_t i = 0; i < 4 * 7 + 3; ++i) {
        bench.consume(i); // one by one
        INFO("entry " << i);
        REQUIRE(bench.write(static_cast<std::uint16_t>(i)));
        const auto cqe = bench.entry(i % 4);
        CHECK(cqe.view().get<"wqe_counter">() == i);
        CHECK(cqe.view().get<"owner">() == (i / 4) % 2);
        CHECK(xor_of(cqe.bytes) == 0xff);
        for (std::uint32_t other = 1; other < 4 && other <= i; ++other) // nobody else's place
            CHECK(bench.entry((i - other) % 4).view().get<"wqe_counter">() == i - other);
    }
    CHECK(bench.cq.producer == 31);
}

TEST_CASE("laps go on past 2^24 entries", "[unit][cqe]") {
    Bench bench(2);
    bench.cq.producer = 0xfffffe;
    bench.cq.consumer_seen = 0xfffffe;
    bench.consume(0xfffffe);

    for (std::uint64_t i = 0xfffffe; i < 0xfffffe + 4; ++i) {
        REQUIRE(bench.write(static_cast<std::uint16_t>(i)));
        CHECK(bench.entry(i % 4).view().get<"owner">() == (i >> 2 & 1));
    }
    CHECK_FALSE(bench.write(0)); // and four is four there too
}

TEST_CASE("a ring of one entry changes its owner with every completion", "[unit][cqe]") {
    Bench bench(0);
    for (std::uint32_t i = 0; i < 5; ++i) {
        bench.consume(i);
        REQUIRE(bench.write(static_cast<std::uint16_t>(i)));
        CHECK(bench.entry(0).view().get<"owner">() == i % 2);
    }
}

TEST_CASE("an entry of 128 bytes has the completion in its second half and leaves the first alone", "[unit][cqe]") {
    Bench bench(2, 7);
    const std::vector mark(64, std::byte{0x3c});
    for (std::uint64_t i = 0; i < 4; ++i)
        bench.dma.poke(Bench::ring + i * 128, mark);

    for (std::uint32_t i = 0; i < 9; ++i) {
        bench.consume(i);
        REQUIRE(bench.write(static_cast<std::uint16_t>(i)));

        const auto half = bench.dma.peek(Bench::ring + i % 4 * 128 + 64, 64);
        const abi::ConstView<abi::prm::Cqe64> cqe{half};
        CHECK(cqe.get<"wqe_counter">() == i);
        CHECK(cqe.get<"owner">() == (i / 4) % 2);
        CHECK(xor_of(half) == 0xff);
    }
    for (std::uint64_t i = 0; i < 4; ++i)
        CHECK(bench.dma.peek(Bench::ring + i * 128, 64) == mark);
    CHECK(bench.dma.peek(Bench::ring + 4 * 128, 64) == std::vector<std::byte>(64));
}

TEST_CASE("a completion becomes visible with its owner: one write of 64 bytes", "[unit][cqe]") {
    Bench bench;

    bench.write(0);

    REQUIRE(bench.dma.log().size() == 1);
    CHECK(bench.dma.log()[0] == model::port::MemoryDma::Access{model::port::MemoryDma::Kind::write, Bench::ring, 64,
                                                               model::port::Purpose::control,
                                                               model::port::DmaStatus::ok});
}

TEST_CASE("the timestamp counts ticks of the internal timer when the entry is written", "[unit][cqe]") {
    auto config = Bench::untimed();
    config.timed = true;
    config.cqe_latency = 30ns;
    const auto timestamp = [&](std::uint32_t khz, Time at) {
        config.internal_timer_khz = khz;
        Bench bench(2, 6, false, config);
        bench.write(Completion{.opcode = CqeOpcode::req}, at);
        return bench.entry(0).view().get<"timestamp">();
    };
    CHECK(timestamp(1'000'000, 970ns) == 1000);
    CHECK(timestamp(1'000'000, 0ns) == 30);
    CHECK(timestamp(250'000, 970ns) == 250);
    CHECK(timestamp(1'000'000, 3600s) == 3'600'000'000'030ull);
}

TEST_CASE("a full CQ is in error with one event, keeps what it has, and takes nothing more", "[unit][cqe]") {
    Bench bench(2);
    for (std::uint16_t i = 0; i < 4; ++i)
        REQUIRE(bench.write(i));
    REQUIRE(bench.cq.state == CompletionState::ready);

    CHECK_FALSE(bench.write(4));

    CHECK(bench.cq.state == CompletionState::overrun);
    const auto events = bench.take_events();
    REQUIRE(events.size() == 1);
    auto eqe = events[0];
    CHECK(eqe.view().get<"event_type">() == EventType::cq_error);
    const auto data = abi::prm::event_data<abi::prm::CqErrorEventData>(eqe.view());
    CHECK(data.get<"cqn">() == Bench::cqn.value);
    CHECK(data.get<"syndrome">() == CqErrorSyndrome::overrun);
    for (std::uint16_t i = 0; i < 4; ++i)
        CHECK(bench.entry(i).view().get<"wqe_counter">() == i);
    bench.consume(4); // too late
    CHECK_FALSE(bench.write(5));
    CHECK(bench.entry(0).view().get<"wqe_counter">() == 0);
    CHECK(bench.events() == 0);
    CHECK(bench.cq.producer == 4);
    CHECK(bench.counters.completions_ok == 4);
}

TEST_CASE("the record is read only when the ring looks full, and what it says counts", "[unit][cqe]") {
    Bench bench(2);
    const auto reads = [&bench] {
        return std::ranges::count(bench.dma.log(), model::port::MemoryDma::Kind::read,
                                  &model::port::MemoryDma::Access::kind);
    };
    for (std::uint16_t i = 0; i < 4; ++i)
        REQUIRE(bench.write(i));
    CHECK(reads() == 0);

    bench.consume(3);
    for (std::uint16_t i = 4; i < 7; ++i)
        REQUIRE(bench.write(i));
    CHECK(reads() == 1);
    CHECK_FALSE(bench.write(7));
    CHECK(reads() == 2);
}

TEST_CASE("a consumer index from nowhere is an overrun, not room", "[unit][cqe]") {
    for (const std::uint32_t consumer : {5u, 0x800000u, 0xfffffbu, 0xffffffu}) {
        Bench bench(2);
        for (std::uint16_t i = 0; i < 4; ++i)
            REQUIRE(bench.write(i));
        bench.consume(consumer);
        INFO("consumer index " << consumer);
        CHECK_FALSE(bench.write(4));
        CHECK(bench.cq.state == CompletionState::overrun);
    }
}

TEST_CASE("a CQ that ignores overrun never reads its record and writes on", "[unit][cqe]") {
    Bench bench(2, 6, true);
    for (std::uint16_t i = 0; i < 11; ++i)
        REQUIRE(bench.write(i));
    CHECK(bench.cq.state == CompletionState::ready);
    CHECK(bench.events() == 0);
    for (std::uint32_t i = 7; i < 11; ++i)
        CHECK(bench.entry(i % 4).view().get<"wqe_counter">() == i);
    CHECK(bench.dma.log().size() == 11);
}

TEST_CASE("a ring that memory does not take puts the CQ into error: access violation", "[unit][cqe]") {
    Bench bench(2);
    REQUIRE(bench.write(0));
    bench.dma.fail(Bench::ring + 64, Bench::ring + 128, model::port::DmaStatus::unsupported_request);

    CHECK_FALSE(bench.write(1));

    CHECK(bench.cq.state == CompletionState::write_failed);
    const auto events = bench.take_events();
    REQUIRE(events.size() == 1);
    auto eqe = events[0];
    CHECK(eqe.view().get<"event_type">() == EventType::cq_error);
    CHECK(abi::prm::event_data<abi::prm::CqErrorEventData>(eqe.view()).get<"syndrome">() ==
          CqErrorSyndrome::access_violation);
    CHECK_FALSE(bench.write(2));
    CHECK(bench.events() == 0);
}

TEST_CASE("a record that memory does not give is an overrun", "[unit][cqe]") {
    Bench bench(2);
    bench.dma.fail(Bench::record, Bench::record + 8, model::port::DmaStatus::completer_abort);
    for (std::uint16_t i = 0; i < 4; ++i)
        REQUIRE(bench.write(i));
    CHECK_FALSE(bench.write(4));
    CHECK(bench.cq.state == CompletionState::overrun);
}

TEST_CASE("an overrun is told to the queues that asked for CQ errors, not to the CQ's own event queue", "[unit][cqe]") {
    Bench bench(0);
    bench.event_queues.subscribe(*bench.event_queues.table().find(Bench::eqn.value), 0);
    event::Attributes other;
    other.buffer = {{abi::BusAddress{0x40000}}, 16, 0};
    other.log_size = 4;
    other.events = 1ull << static_cast<unsigned>(EventType::cq_error);
    const auto& eq = bench.event_queues.create(abi::Eqn{6}, other);
    REQUIRE(bench.write(0));

    CHECK_FALSE(bench.write(1));

    CHECK(bench.events() == 0);
    CHECK(eq.producer == 1);
}

TEST_CASE("an entry that is known early goes out no earlier than the one before it", "[unit][cqe]") {
    Bench bench(2);
    const Completion completion{.opcode = CqeOpcode::req, .qpn = abi::Qpn{0x1150}};
    const auto issued = [&](std::uint32_t slot) {
        for (const auto& access : bench.dma.log())
            if (access.kind == model::port::MemoryDma::Kind::write && access.address == Bench::ring + slot * 64)
                return access.at;
        return Time{-1};
    };
    REQUIRE(bench.write(completion, 1us));  // the completion queue's own context is there from now on
    REQUIRE(bench.write(completion, 18us)); // its queue pair's context was missing
    REQUIRE(bench.write(completion, 2us));
    REQUIRE(bench.write(completion, 19us));

    CHECK(issued(0) == Time{1us});
    CHECK(issued(1) == Time{18us});
    CHECK(issued(2) == Time{18us});
    CHECK(issued(3) == Time{19us});
    CHECK(bench.entry(2).view().get<"timestamp">() >= bench.entry(1).view().get<"timestamp">());
}
