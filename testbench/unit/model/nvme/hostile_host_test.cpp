// A host that stops a controller in the middle, rings where it should not, and takes memory and queues away.
#include "model/nvme/media/faulty_medium.h"
#include "model/nvme/media/memory_medium.h"
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;

namespace {

constexpr std::uint32_t shut_down = 0x0046'4001, ready_and_done = 1 | 2 << 2;

NvmeConfig timed() {
    auto config = small();
    config.timed = true;
    return config;
}

struct Host : Bench {
    explicit Host(const NvmeConfig& config = small(), std::uint32_t entries = 16) : Bench(config) {
        enable();
        create_pair(1, entries);
    }
    void put(IoOpcode opcode, std::uint16_t cid, std::uint32_t fuse = 0, std::uint16_t queue = 1) {
        auto block = command(static_cast<std::uint8_t>(opcode), 1);
        block.view().set<"cid">(cid).set<"fuse">(fuse);
        place(queue, block);
    }
    void step() { clock.set(clock.next()), controller.wake(clock.now()); }
    void expect(std::uint16_t cid, Status status) {
        const auto entry = next(1);
        REQUIRE(entry);
        CHECK(entry->view().get<"cid">() == cid);
        CHECK(entry->view().get<"status">() == status);
    }
};

} // namespace

TEST_CASE("a half that waits for its partner when the controller is shut down is one without a partner",
          "[unit][nvme][fused]") {
    const bool is_abrupt = GENERATE(false, true), has_time = GENERATE(false, true);
    Host b(has_time ? timed() : small());
    b.put(IoOpcode::compare, 7, abi::nvme::fused_first), b.ring(1), b.run();
    REQUIRE_FALSE(b.next(1));
    b.interrupts.vectors.clear();

    b.set(Register::cc, is_abrupt ? 0x0046'8001 : shut_down);
    b.run();
    CHECK(b.get(Register::csts) == ready_and_done);
    b.expect(7, Status::aborted_missing_fused);
    CHECK(b.interrupts.vectors == std::vector<std::uint16_t>{1});
    CHECK_FALSE(b.next(1));
}

TEST_CASE("an interrupt that waits for others does not wait beyond a shutdown", "[unit][nvme]") {
    Host b;
    REQUIRE(b.ask(0, AdminOpcode::set_features, 0, 8, 255 << 8 | 9) == Status::success); // ten, or 25 ms
    b.interrupts.vectors.clear();
    b.put(IoOpcode::flush, 7), b.ring(1);
    REQUIRE(b.interrupts.vectors.empty());

    b.set(Register::cc, shut_down);
    CHECK(b.interrupts.vectors == std::vector<std::uint16_t>{1});
    b.expect(7, Status::success);
}

TEST_CASE("doorbells do nothing while the controller is shut down, and behind that", "[unit][nvme]") {
    Host b(timed());
    b.put(IoOpcode::read, 7), b.ring(1), b.step();
    b.put(IoOpcode::read, 8);
    b.set(Register::cc, shut_down);
    REQUIRE(b.get(Register::csts) == (1 | 1 << 2));

    b.ring(1), b.set(0x1008, 99), b.set(0x1010, 1); // good, beyond the queue, and of a queue that is not there
    b.run();
    b.expect(7, Status::success);
    CHECK(b.get(Register::csts) == ready_and_done);
    b.ring(1), b.set(0x1008, 99);
    b.run();
    CHECK_FALSE(b.next(1));
    b.set(Register::cc, 0x0046'0000);
    b.enable();
    REQUIRE(b.ask(0, AdminOpcode::get_log_page, 0, 127u << 16 | 2) == Status::success);
    CHECK(b.memory.peek(Bench::buffer + 176, 1)[0] == std::byte{}); // no errors
}

TEST_CASE("a queue whose memory goes in the middle of a shutdown fails the controller, and the shutdown ends",
          "[unit][nvme][time]") {
    Host b(timed());
    b.put(IoOpcode::read, 7), b.put(IoOpcode::read, 8), b.ring(1), b.step();
    REQUIRE_FALSE(b.controller.is_quiet());
    b.set(Register::cc, shut_down);
    b.memory.fail(b.queues[1].cq, b.queues[1].cq + 0x100, model::port::DmaStatus::unsupported_request);

    for (unsigned i = 0; i < 1000 && b.clock.next() != model::port::never; ++i)
        b.step();
    CHECK(b.clock.next() == model::port::never);
    CHECK(b.get(Register::csts) == (ready_and_done | 2));
    CHECK(b.controller.is_quiet());
    b.memory.clear_faults();
    b.set(Register::cc, 0x0046'0000);
    b.enable();
    CHECK(b.get(Register::csts) == 1);
}

TEST_CASE("a controller that has failed is quiet, whatever was under way", "[unit][nvme][time]") {
    Host b(timed());
    b.put(IoOpcode::read, 7), b.ring(1), b.step();
    b.memory.fail(b.queues[1].sq, b.queues[1].sq + 0x1000, model::port::DmaStatus::unsupported_request);
    b.put(IoOpcode::read, 8), b.ring(1);
    b.run();
    CHECK((b.get(Register::csts) & 2) != 0);
    CHECK(b.controller.is_quiet());
    CHECK_FALSE(b.next(1));
}

TEST_CASE("no completion of a queue comes behind its deletion, and others of its completion queue go on",
          "[unit][nvme]") {
    Host b(small(), 3); // two completions fill the queue
    const std::uint64_t other = 0x700000;
    REQUIRE(b.create(AdminOpcode::create_sq, other, 15u << 16 | 2, 1u << 16 | 1) == Status::success);
    b.queues[2] = {.sq = other, .size = 16};
    for (const std::uint16_t cid : {1, 2})
        b.put(IoOpcode::flush, cid), b.ring(1);
    b.put(IoOpcode::flush, 3), b.ring(1); // has no room
    b.put(IoOpcode::flush, 4, 0, 2), b.ring(2);

    REQUIRE(b.ask(0, AdminOpcode::delete_sq, 0, 1) == Status::success);
    b.expect(1, Status::success), b.expect(2, Status::success);
    b.run();
    b.expect(4, Status::success);
    CHECK_FALSE(b.next(1));
}

TEST_CASE("what a reset of the function meets never ends, and nothing is left of the queues", "[unit][nvme][time]") {
    Host b(timed());
    b.memory.poke(Bench::buffer, std::vector<std::byte>(512, std::byte{0x5a}));
    b.put(IoOpcode::read, 7), b.ring(1), b.step();

    b.controller.reset(b.clock.now());
    b.run();
    CHECK(b.get(Register::csts) == 0);
    CHECK(b.get(Register::aqa) == 0);
    CHECK_FALSE(b.next(1));
    CHECK(b.memory.peek(Bench::buffer, 1)[0] == std::byte{0x5a});
    CHECK(b.controller.is_quiet());
    b.set(Register::cc, 0x0046'0001); // the admin queues have no size any more
    CHECK(b.get(Register::csts) == 2);
}

TEST_CASE("a drive has no subsystem reset, and no subsystem shutdown", "[unit][nvme]") {
    Host b;
    b.set(Register::nssr, abi::nvme::subsystem_reset_key);
    b.set(0x64, 0x4e72'6d6c);
    CHECK(b.get(Register::csts) == 1);
    CHECK(b.get(Register::nssr) == 0);
    CHECK(b.ask(1, IoOpcode::flush, 1) == Status::success);
}

TEST_CASE("what is checked when a controller is enabled is what it begins with", "[unit][nvme][time]") {
    Bench b(timed());
    b.start();
    SECTION("admin queues") { b.set(Register::aqa, 0x1f); }
    SECTION("their place") { b.set(Register::asq, Bench::admin_sq + 0x40); }
    SECTION("pages") { b.set(Register::cc, 0x0046'0001 | 9 << 7); }
    b.run();
    CHECK(b.get(Register::csts) == 2);
}

TEST_CASE("each thing that a controller cannot be enabled with is fatal", "[unit][nvme]") {
    Bench b;
    b.set(Register::aqa, 0x001f'001f);
    b.set(Register::asq, Bench::admin_sq), b.set(Register::acq, Bench::admin_cq);
    std::uint32_t cc = 0x0046'0001;
    SECTION("no submission entries") { b.set(Register::aqa, 0x001f'0000); }
    SECTION("no completion entries") { b.set(Register::aqa, 0x1f); }
    SECTION("submission queue within a page") { b.set(Register::asq, Bench::admin_sq + 0x800); }
    SECTION("completion queue within a page") { b.set(Register::acq, Bench::admin_cq + 0x10); }
    SECTION("within a larger page") {
        b.set(Register::asq, Bench::admin_sq + 0x1000);
        cc |= 1 << 7;
    }
    SECTION("an arbitration that there is not") { cc |= 2 << 11; }
    b.set(Register::cc, cc);
    CHECK(b.get(Register::csts) == 2);
}

TEST_CASE("a controller that is enabled takes no other pages, queues or arbitration", "[unit][nvme]") {
    Host b;
    b.set(Register::aqa, 0), b.set(Register::asq, 0x123'4000), b.set(Register::acq, 0x567'8000);
    b.set(Register::cc, 0x0046'0001 | 9 << 7 | 1 << 11 | 6 << 4);
    CHECK(b.get(Register::csts) == 1);
    CHECK(b.ask(0, AdminOpcode::identify, 0, 1) == Status::success);
    CHECK(b.ask(1, IoOpcode::read, 1, 0, 0, 7) == Status::success);
}

TEST_CASE("a shutdown while the controller is disabled is over when it is enabled", "[unit][nvme]") {
    Host b;
    b.set(Register::cc, 0);
    b.set(Register::cc, 0x4000);
    CHECK(b.get(Register::csts) == 2 << 2);
    b.enable();
    CHECK(b.get(Register::csts) == 1);
    CHECK(b.ask(0, AdminOpcode::identify, 0, 1) == Status::success);
}

TEST_CASE("two commands with one identifier both end: nobody looks for them", "[unit][nvme]") {
    Host b(timed());
    b.put(IoOpcode::read, 7), b.put(IoOpcode::read, 7), b.ring(1), b.run();
    b.expect(7, Status::success), b.expect(7, Status::success);
    CHECK_FALSE(b.next(1));
}

TEST_CASE("accesses of a part of a register, or across two, write nothing", "[unit][nvme]") {
    Host b;
    b.put(IoOpcode::flush, 7);
    const auto write = [&](std::uint64_t offset, std::size_t length) {
        b.controller.bar_write(0, offset, std::vector<std::byte>(length, std::byte{1}), b.clock.now());
    };
    for (const std::size_t length : {1, 2, 3})
        write(0x1008, length), write(static_cast<std::uint64_t>(Register::cc), length);
    for (const std::uint64_t offset : {0x1006, 0x1009, 0x100a})
        write(offset, 4);
    b.run();
    CHECK_FALSE(b.next(1));
    CHECK(b.get(Register::csts) == 1);
    CHECK(b.get(Register::cc) == 0x0046'0001);
    std::array<std::byte, 16> bytes{};
    bytes.fill(std::byte{0xee});
    b.controller.bar_read(0, 0x6c, bytes, b.clock.now()); // over the last register
    CHECK(std::ranges::count(bytes, std::byte{}) == 16);
    b.controller.bar_read(0, 0x1008, bytes, b.clock.now());
    CHECK(std::ranges::count(bytes, std::byte{}) == 16);
    b.ring(1);
    b.expect(7, Status::success);
}

TEST_CASE("an Abort of what is not under way aborts nothing, however many there are", "[unit][nvme]") {
    Host b;
    for (unsigned i = 0; i < 20; ++i)
        b.place(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::abort), 0, i << 16 | i));
    b.ring(0);
    for (unsigned i = 0; i < 20; ++i) {
        const auto entry = b.next(0);
        REQUIRE(entry);
        CHECK(entry->view().get<"status">() == Status::success);
        CHECK(entry->view().get<"dw0">() == 1);
    }
}

TEST_CASE("an event request can be aborted, and makes room for another", "[unit][nvme]") {
    Host b;
    for (unsigned i = 0; i < 4; ++i) {
        auto request = Bench::command(static_cast<std::uint8_t>(AdminOpcode::async_event_request));
        request.view().set<"cid">(static_cast<std::uint16_t>(100 + i));
        b.place(0, request), b.ring(0);
        CHECK_FALSE(b.next(0));
    }
    CHECK(b.ask(0, AdminOpcode::async_event_request) == Status::event_limit_exceeded);
    auto abort = Bench::command(static_cast<std::uint8_t>(AdminOpcode::abort), 0, 102u << 16);
    abort.view().set<"cid">(7);
    b.place(0, abort), b.ring(0);
    const auto aborted = b.next(0), answer = b.next(0);
    REQUIRE((aborted && answer));
    CHECK((aborted->view().get<"cid">() == 102 && aborted->view().get<"status">() == Status::abort_requested));
    CHECK((answer->view().get<"cid">() == 7 && answer->view().get<"dw0">() == 0));
    b.place(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::async_event_request))), b.ring(0);
    CHECK_FALSE(b.next(0));
}
