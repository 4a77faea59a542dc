// Compare and Write through the queues: the two entries of a pair are adjacent, and nothing else is.
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::fused_first;
using abi::nvme::fused_second;
using abi::nvme::IoOpcode;

namespace {

constexpr std::uint64_t old_data = Bench::buffer, new_data = Bench::buffer + 0x1000, back = Bench::buffer + 0x2000;

struct Pairs : Bench {
    explicit Pairs(const NvmeConfig& config = small(), std::uint32_t entries = 16) : Bench(config) {
        enable();
        create_pair(1, entries);
        memory.poke(old_data, std::vector<std::byte>(512, std::byte{1}));
        memory.poke(new_data, std::vector<std::byte>(512, std::byte{2}));
        REQUIRE(submit(1, half(IoOpcode::write, 0, old_data)).view().get<"status">() == Status::success);
    }
    static abi::Block<abi::nvme::Command> half(IoOpcode opcode, std::uint32_t fuse, std::uint64_t data) {
        auto block = command(static_cast<std::uint8_t>(opcode), 1);
        block.view().set<"fuse">(fuse).set<"prp1">(data);
        return block;
    }
    void put(abi::Block<abi::nvme::Command> block, std::uint16_t cid) {
        block.view().set<"cid">(cid);
        place(1, block);
    }
    void put_first(std::uint16_t cid, std::uint64_t data = old_data) {
        put(half(IoOpcode::compare, fused_first, data), cid);
    }
    void put_second(std::uint16_t cid) { put(half(IoOpcode::write, fused_second, new_data), cid); }
    void ring_and_run() { ring(1), run(); }
    /// The next completion is of this command.
    void expect(std::uint16_t cid, Status status) {
        const auto entry = next(1);
        REQUIRE(entry);
        CHECK(entry->view().get<"cid">() == cid);
        CHECK(entry->view().get<"status">() == status);
    }
    std::byte block_byte() {
        submit(1, half(IoOpcode::read, 0, back));
        return memory.peek(back, 1)[0];
    }
};

} // namespace

TEST_CASE("a pair of Compare and Write writes where the blocks are as they were, and only there",
          "[unit][nvme][fused]") {
    Pairs b;
    REQUIRE(b.ask(0, AdminOpcode::identify, 0, 1) == Status::success);
    CHECK(abi::load<std::uint16_t, abi::Endian::little>(b.memory.peek(Bench::buffer + 522, 2).data()) == 1); // FUSES
    b.memory.poke(old_data, std::vector<std::byte>(512, std::byte{1}));

    b.put_first(7), b.put_second(8), b.ring_and_run();
    b.expect(7, Status::success), b.expect(8, Status::success);
    CHECK(b.block_byte() == std::byte{2});

    b.put_first(9), b.put_second(10), b.ring_and_run(); // the blocks are others by now
    b.expect(9, Status::compare_failure), b.expect(10, Status::aborted_failed_fused);
    CHECK_FALSE(b.next(1));
}

TEST_CASE("a fused command without its partner is aborted, and what came instead is executed", "[unit][nvme][fused]") {
    Pairs b;

    b.put_first(7), b.put(Pairs::half(IoOpcode::read, 0, back), 8), b.put_second(9), b.ring_and_run();
    b.expect(7, Status::aborted_missing_fused), b.expect(8, Status::success);
    b.expect(9, Status::aborted_missing_fused);
    b.put_first(10), b.put_first(11), b.put_second(12), b.ring_and_run();
    b.expect(10, Status::aborted_missing_fused), b.expect(11, Status::success), b.expect(12, Status::success);
    b.put_first(13, new_data), b.put(Pairs::half(IoOpcode::read, 3, back), 14), b.ring_and_run(); // FUSE 3 is reserved
    b.expect(13, Status::aborted_missing_fused), b.expect(14, Status::invalid_field);
    b.put(Pairs::half(IoOpcode::read, fused_first, back), 15), b.put_second(16), b.ring_and_run();
    b.expect(15, Status::invalid_field), b.expect(16, Status::invalid_field); // no pair of these is there
    CHECK(b.block_byte() == std::byte{2});
}

TEST_CASE("a pair may be split over doorbells, batches and the end of the ring, and over other queues' commands",
          "[unit][nvme][fused]") {
    auto config = small();
    config.outstanding = 1; // a half that waits does not keep its partner out
    Pairs b(config, 8);     // one entry is used

    SECTION("two doorbells, and a command of another queue between them") {
        b.create_pair(2);
        b.put_first(7), b.ring_and_run();
        CHECK_FALSE(b.next(1));
        CHECK(b.ask(2, IoOpcode::write, 1) == Status::success); // of old_data, which is there already
        b.put_second(8), b.ring_and_run();
    }
    SECTION("two batches") {
        REQUIRE(b.ask(0, AdminOpcode::set_features, 0, 1, 0) == Status::success); // bursts of one command
        b.put_first(7), b.put_second(8), b.ring_and_run();
    }
    SECTION("the end of the ring") {
        for (unsigned i = 0; i < 6; ++i)
            b.ask(1, IoOpcode::flush, 1);
        REQUIRE(b.queues[1].tail == 7);
        b.put_first(7), b.put_second(8), b.ring_and_run();
    }
    b.expect(7, Status::success), b.expect(8, Status::success);
    CHECK(b.block_byte() == std::byte{2});
}

TEST_CASE("half of a pair can be aborted, and goes with its queue or with a reset", "[unit][nvme][fused]") {
    Pairs b;
    b.put_first(7), b.ring_and_run();
    REQUIRE_FALSE(b.next(1));

    SECTION("abort") {
        auto abort = Bench::command(static_cast<std::uint8_t>(AdminOpcode::abort), 0, 7u << 16 | 1);
        const auto answer = b.submit(0, abort);
        CHECK(answer.view().get<"dw0">() == 0); // it was aborted
        b.expect(7, Status::abort_requested);
        b.put_second(8), b.ring_and_run();
        b.expect(8, Status::aborted_missing_fused);
    }
    SECTION("deletion of the queue") {
        CHECK(b.ask(0, AdminOpcode::delete_sq, 0, 1) == Status::success);
        b.expect(7, Status::aborted_sq_deletion);
        CHECK(b.ask(0, AdminOpcode::delete_cq, 0, 1) == Status::success);
        b.create_pair(1);
        b.put_second(8), b.ring_and_run();
        b.expect(8, Status::aborted_missing_fused);
    }
    SECTION("reset") {
        b.set(Register::cc, 0x0046'0000);
        b.enable();
        b.create_pair(1);
        b.put_second(8), b.ring_and_run();
        b.expect(8, Status::aborted_missing_fused);
    }
    CHECK_FALSE(b.next(1));
    CHECK(b.block_byte() == std::byte{1});
}

TEST_CASE("a pair is one where the drive takes its time, and reads wait for it", "[unit][nvme][fused][time]") {
    auto config = small();
    config.timed = true;
    Pairs b(config);
    b.create_pair(2);
    const auto step = [&] { b.clock.set(b.clock.next()), b.controller.wake(b.clock.now()); };

    b.put(Pairs::half(IoOpcode::read, 0, back), 6), b.ring(1), step(); // it waits for the drive
    b.put_first(7), b.ring(1), step();
    auto other = Pairs::half(IoOpcode::read, 0, back + 0x1000);
    other.view().set<"cid">(9);
    b.place(2, other), b.ring(2), step();
    CHECK_FALSE(b.next(1));
    CHECK_FALSE(b.controller.is_quiet());
    b.put_second(8), b.ring_and_run();

    std::vector<std::uint16_t> ended;
    while (const auto entry = b.next(1)) {
        CHECK(entry->view().get<"status">() == Status::success);
        ended.push_back(entry->view().get<"cid">());
    }
    std::ranges::sort(ended);
    CHECK(ended == std::vector<std::uint16_t>{6, 7, 8});
    const auto entry = b.next(2);
    REQUIRE(entry);
    CHECK(entry->view().get<"status">() == Status::success);
    CHECK(b.block_byte() == std::byte{2});
    b.run(); // the doorbell of the last completion
    CHECK(b.controller.is_quiet());
}

TEST_CASE("a drive without Compare has no pairs", "[unit][nvme][fused]") {
    auto config = small();
    config.io.has_compare = false;
    Bench b(config);
    b.enable();
    b.create_pair(1);

    auto fused = Bench::command(static_cast<std::uint8_t>(IoOpcode::compare), 1);
    fused.view().set<"fuse">(fused_first);
    CHECK(b.submit(1, fused).view().get<"status">() == Status::invalid_field);
    REQUIRE(b.ask(0, AdminOpcode::identify, 0, 1) == Status::success);
    CHECK(b.memory.peek(Bench::buffer + 522, 1)[0] == std::byte{});
}
