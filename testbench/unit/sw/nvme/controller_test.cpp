#include "sw/nvme/controller.h"

#include "sw/nvme/namespace.h"
#include "testbench/scenario/nvme.h"
#include "testbench/unit/sw/nvme/scripted_controller.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <vector>

using namespace sw::nvme;
using abi::nvme::AdminOpcode;
using abi::nvme::Status;
using testbench::FakeTransport;
using testbench::ScriptedController;

namespace {

struct Bench {
    FakeTransport transport;
    ScriptedController drive{transport};
    std::unique_ptr<Controller> controller;
    Bench() {
        const std::uint32_t id = 0xc0b2'1234;
        std::memcpy(transport.config.data(), &id, 4);
    }
    int open(const ControllerOptions& options = {}) {
        auto opened = Controller::open(transport, options);
        if (opened)
            controller = std::move(*opened);
        return opened ? 0 : opened.error().code;
    }
    std::uint32_t cc() { return abi::load<std::uint32_t, abi::Endian::little>(transport.bars[0].data() + 0x14); }
};

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        made[i] = static_cast<std::byte>(i * 31 + i / 251 + seed);
    return made;
}

} // namespace

TEST_CASE("a controller is enabled, says what it is, and nothing is left when it is closed", "[unit][nvme][driver]") {
    Bench bench;

    REQUIRE(bench.open() == 0);

    CHECK(bench.cc() == 0x0046'0001); // as Linux writes it
    CHECK(bench.controller->facts().serial == "SERIAL");
    CHECK(bench.controller->facts().largest_transfer == 128 << 10);
    CHECK(bench.controller->active_namespaces() == std::vector<std::uint32_t>{1});
    CHECK(bench.transport.interrupt_vectors == 5);
    CHECK(bench.controller->close().has_value());
    CHECK((bench.cc() & 1) == 0);
    CHECK(bench.transport.interrupt_vectors == 0);
    CHECK((bench.transport.config_read(4, 2) & 4) == 0); // no bus master
    bench.controller.reset();
    CHECK(bench.transport.live_allocations() == 0);
}

TEST_CASE("a controller that does not get ready, or is none of ours, is refused", "[unit][nvme][driver]") {
    Bench slow;
    slow.drive.becomes_ready = false;
    CHECK(slow.open() == ETIMEDOUT);
    CHECK(slow.transport.live_allocations() == 0);
    Bench fatal;
    fatal.drive.becomes_ready = false;
    fatal.drive.registers().set<"cfs">(true);
    CHECK(fatal.open() == EIO);
    Bench pages;
    pages.drive.registers().set<"mpsmin">(1);
    CHECK(pages.open() == ENODEV);
    Bench sets;
    sets.drive.registers().set<"css">(0x80);
    CHECK(sets.open() == ENODEV);
    Bench small;
    small.transport.bars[0].resize(0x1000);
    CHECK(small.open() == ENODEV);
}

TEST_CASE("what is written is read back, by PRP entries and by SGLs, however it lies", "[unit][nvme][driver]") {
    Bench bench;
    REQUIRE(bench.open() == 0);
    const auto queue = bench.controller->create_queue_pair({.vector = 1}).value();
    const auto space = Namespace::open(*bench.controller, 1).value();
    auto memory = sw::memory::Buffer::allocate(bench.transport, 1 << 20).value();
    const auto check = [&](std::vector<Segment> data, Scheme scheme) {
        std::size_t bytes = 0;
        for (const auto& segment : data)
            bytes += segment.bytes;
        const auto made = pattern(bytes, static_cast<unsigned>(bytes));
        std::size_t at = 0;
        for (const auto& segment : data) {
            std::copy_n(made.begin() + static_cast<std::ptrdiff_t>(at), segment.bytes,
                        memory.data() + (segment.bus - memory.bus()));
            at += segment.bytes;
        }
        REQUIRE(space.write(*queue, 8, data, scheme).has_value());
        CHECK(std::ranges::equal(std::span(bench.drive.medium).subspan(8 * 512, bytes), made));
        std::ranges::fill(memory.bytes(), std::byte{});
        REQUIRE(space.read(*queue, 8, data, scheme).has_value());
        at = 0;
        for (const auto& segment : data) {
            CHECK(std::memcmp(memory.data() + (segment.bus - memory.bus()), made.data() + at, segment.bytes) == 0);
            at += segment.bytes;
        }
    };
    const auto bus = memory.bus();
    for (const auto scheme : {Scheme::prp, Scheme::sgl}) {
        check({{bus, 512}}, scheme);
        check({{bus + 0x204, 4096}}, scheme);
        check({{bus + 0xe00, 512}, {bus + 0x3000, 0x2000}}, scheme);
        check({{bus + 0x204, 0x20000}}, scheme);
        check({{bus, 512 << 10}}, scheme); // four commands
    }
    check({{bus + 3, 300}, {bus + 0x1001, 200}, {bus + 0x5000, 12}}, Scheme::sgl);
    CHECK(space.flush(*queue).has_value());
    CHECK(space.deallocate(*queue, {0, 64}).has_value());
    CHECK(bench.drive.io_opcodes.back() == 9);
    CHECK(space.read(*queue, space.blocks(), std::array{Segment{bus, 512}}).error().what ==
          "NVMe Read: LBA Out of Range (0x080)");
}

TEST_CASE("queue pairs are as many as the controller grants, and their numbers are used again",
          "[unit][nvme][driver]") {
    Bench bench;
    bench.drive.granted_queues = 2;
    REQUIRE(bench.open() == 0);
    CHECK(bench.controller->queue_pairs() == 2);
    auto first = bench.controller->create_queue_pair().value();
    auto second = bench.controller->create_queue_pair().value();

    CHECK(bench.controller->create_queue_pair().error().code == ENOSPC);
    CHECK(bench.controller->destroy(std::move(first)).has_value());
    CHECK(bench.controller->create_queue_pair().value()->number() == 1);
    CHECK(second->number() == 2);
}

TEST_CASE("a completion queue without its submission queue is deleted", "[unit][nvme][driver]") {
    Bench bench;
    REQUIRE(bench.open() == 0);
    bench.drive.refuse = [](std::uint16_t, ScriptedController::Command command) -> std::optional<Status> {
        if (command.get<"opcode">() == static_cast<std::uint8_t>(AdminOpcode::create_sq))
            return Status::invalid_queue_size;
        return std::nullopt;
    };

    CHECK(bench.controller->create_queue_pair().error().code == EIO);

    CHECK(bench.drive.admin_opcodes.back() == static_cast<std::uint8_t>(AdminOpcode::delete_cq));
    bench.drive.refuse = {};
    CHECK(bench.controller->create_queue_pair().value()->number() == 1);
}

TEST_CASE("a controller that does not answer a command, or keeps a queue, is disabled", "[unit][nvme][driver]") {
    Bench bench;
    REQUIRE(bench.open({.admin_timeout = std::chrono::milliseconds{1}}) == 0);
    auto queue = bench.controller->create_queue_pair().value();
    bench.drive.answers = false;

    CHECK(bench.controller->destroy(std::move(queue)).error().code == ETIMEDOUT);

    CHECK((bench.cc() & 1) == 0);
    bench.drive.answers = true;
    CHECK(bench.controller->reset().has_value());
    CHECK(bench.controller->create_queue_pair().value()->number() == 1);
}

TEST_CASE("queue pairs are gone after a reset, and new ones work", "[unit][nvme][driver]") {
    Bench bench;
    REQUIRE(bench.open({.shadow_doorbells = true}) == 0);
    auto old = bench.controller->create_queue_pair().value();
    CHECK(bench.controller->has_shadow_doorbells());

    CHECK(bench.controller->reset().has_value());

    const auto commands = bench.drive.admin_opcodes.size();
    CHECK(bench.controller->destroy(std::move(old)).has_value());
    CHECK(bench.drive.admin_opcodes.size() == commands); // it is not told of what it has forgotten
    const auto queue = bench.controller->create_queue_pair().value();
    const auto space = Namespace::open(*bench.controller, 1).value();
    CHECK(space.flush(*queue).has_value());
}

TEST_CASE("a payload goes onto a drive and comes back, at a depth and in several queues", "[unit][nvme][driver]") {
    for (const bool is_lying : {false, true}) {
        CAPTURE(is_lying);
        Bench bench;
        const auto payload = pattern(300'000, 7);
        scenario::NvmeReport report;
        bench.drive.refuse = [&](std::uint16_t queue, ScriptedController::Command command) -> std::optional<Status> {
            if (is_lying && queue != 0 && command.get<"opcode">() == 2)
                bench.drive.medium[9000] = payload[9000] ^ std::byte{1};
            return std::nullopt;
        };

        const auto done = scenario::use_drive(bench.transport,
                                              {.payload = scenario::PayloadSource(payload),
                                               .command_bytes = 8192,
                                               .queue_depth = 4,
                                               .queue_pairs = 3,
                                               .random_reads = 200},
                                              report);

        REQUIRE(done.has_value());
        CHECK(report.steps[0].commands == 37);
        CHECK(report.steps[2].is_verified == !is_lying);
        CHECK(report.steps[3].is_verified == !is_lying);
        CHECK(report.steps[3].commands == 200);
        CHECK(bench.transport.live_allocations() == 0);
        // Shadow doorbells: far fewer registers are written than commands and completions come.
        CHECK(report.register_writes < 2 * (37 + 1 + 37 + 200));
    }
}
