#include "model/nvme/media/faulty_medium.h"
#include "model/nvme/media/memory_medium.h"
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

#include <algorithm>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;

TEST_CASE("an NVMe controller becomes ready, says who it is, and moves blocks", "[unit][nvme]") {
    Bench b;
    b.enable();
    CHECK(b.get(Register::csts) == 1);

    REQUIRE(b.ask(0, AdminOpcode::identify, 0, 1) == Status::success);
    const auto page = b.memory.peek(Bench::buffer, 4096);
    const abi::ConstView<abi::nvme::IdentifyController> identity{std::span<const std::byte>(page)};
    CHECK(identity.get<"ver">() == b.get(Register::vs));
    CHECK(identity.get<"sqes">() == 0x66);
    CHECK(static_cast<char>(page[768]) == 'n');

    b.create_pair(1);
    std::vector<std::byte> data(1024);
    std::ranges::generate(data, [n = 0]() mutable { return static_cast<std::byte>(n++ * 7); });
    b.memory.poke(Bench::buffer, data);
    b.interrupts.vectors.clear();
    CHECK(b.ask(1, IoOpcode::write, 1, 5, 0, 1) == Status::success);
    CHECK(b.interrupts.vectors == std::vector<std::uint16_t>{1});
    b.memory.poke(Bench::buffer, std::vector<std::byte>(1024));
    CHECK(b.ask(1, IoOpcode::read, 1, 5, 0, 1) == Status::success);
    CHECK(b.memory.peek(Bench::buffer, 1024) == data);
    CHECK(b.ask(1, IoOpcode::flush, 1) == Status::success);
    CHECK(b.ask(1, IoOpcode::read, 1, 2047, 0, 1) == Status::lba_out_of_range);
    CHECK(b.controller.is_quiet());
}

TEST_CASE("what a controller cannot be enabled with is fatal, until it is disabled", "[unit][nvme]") {
    Bench b;

    b.set(Register::cc, 0x0046'0001); // queues have no size
    CHECK(b.get(Register::csts) == 2);
    b.set(Register::cc, 0x0046'0000);
    CHECK(b.get(Register::csts) == 0);
    b.enable(0x0046'0001 | 5 << 7); // pages larger than MPSMAX
    CHECK(b.get(Register::csts) == 2);
    b.set(Register::cc, 0);
    b.enable(0x0046'0001 | 6 << 4); // I/O command sets
    CHECK(b.get(Register::csts) == 2);
    b.set(Register::cc, 0);
    b.enable();
    CHECK(b.get(Register::csts) == 1);
}

TEST_CASE("a queue that cannot be created says why", "[unit][nvme]") {
    Bench b;
    b.enable();
    const auto cq = AdminOpcode::create_cq, sq = AdminOpcode::create_sq;

    CHECK(b.create(cq, 0x300000, 15 << 16 | 0, 1) == Status::invalid_queue_id);
    CHECK(b.create(cq, 0x300000, 15 << 16 | 5, 1) == Status::invalid_queue_id);
    CHECK(b.create(cq, 0x300000, 0 << 16 | 1, 1) == Status::invalid_queue_size);
    CHECK(b.create(cq, 0x300000, 15 << 16 | 1, 0) == Status::invalid_field);
    CHECK(b.create(cq, 0x300800, 15 << 16 | 1, 1) == Status::invalid_prp_offset);
    CHECK(b.create(cq, 0x300000, 15 << 16 | 1, 5u << 16 | 3) == Status::invalid_interrupt_vector);
    CHECK(b.create(sq, 0x310000, 15 << 16 | 1, 1u << 16 | 1) == Status::invalid_completion_queue);
    CHECK(b.create(cq, 0x300000, 15 << 16 | 1, 1) == Status::success);
    CHECK(b.create(cq, 0x300000, 15 << 16 | 1, 1) == Status::invalid_queue_id);
    CHECK(b.create(sq, 0x310000, 15 << 16 | 2, 1u << 16 | 1) == Status::success);
    CHECK(b.create(sq, 0x310000, 15 << 16 | 2, 1u << 16 | 1) == Status::invalid_queue_id);
    CHECK(b.create(sq, 0x310010, 15 << 16 | 3, 1u << 16 | 1) == Status::invalid_prp_offset);
    CHECK(b.ask(0, AdminOpcode::delete_cq, 0, 1) == Status::invalid_queue_deletion);
    CHECK(b.ask(0, AdminOpcode::delete_sq, 0, 3) == Status::invalid_queue_id);
    CHECK(b.ask(0, AdminOpcode::set_features, 0, 7, 0x10001) == Status::command_sequence_error);
    CHECK(b.ask(0, AdminOpcode::delete_sq, 0, 2) == Status::success);
    CHECK(b.ask(0, AdminOpcode::delete_cq, 0, 1) == Status::success);
    CHECK(b.ask(0, AdminOpcode::set_features, 0, 7, 0x10001) == Status::success);
    CHECK(b.create(cq, 0x300000, 15 << 16 | 3, 1) == Status::invalid_queue_id); // two were allocated
}

TEST_CASE("queue memory that cannot be reached is fatal", "[unit][nvme]") {
    Bench b;
    b.enable();

    b.memory.fail(Bench::admin_sq, Bench::admin_sq + 64, model::port::DmaStatus::unsupported_request);
    b.place(0, Bench::command(6, 0, 1));
    b.ring(0);
    CHECK(b.get(Register::csts) == 3);
}

TEST_CASE("a full completion queue holds back completions and loses none", "[unit][nvme]") {
    Bench b;
    b.enable();
    b.create_pair(1, 4);
    const auto& queue = b.queues[1];
    std::uint16_t cid = 1;
    for (unsigned round = 0; round < 2; ++round) { // three completions fill the queue, three wait for room
        for (unsigned i = 0; i < 3; ++i) {
            auto flush = Bench::command(0, 1);
            flush.view().set<"cid">(cid++);
            b.place(1, flush);
        }
        b.ring(1);
        b.run();
    }
    abi::Block<abi::nvme::Completion> fourth;
    b.memory.peek(queue.cq + 3 * 16, fourth.bytes);
    CHECK_FALSE(fourth.view().get<"p">());

    for (std::uint16_t expected = 1; expected < cid; ++expected) {
        const auto entry = b.next(1);
        b.run();
        REQUIRE(entry);
        CHECK(entry->view().get<"cid">() == expected);
    }
    CHECK_FALSE(b.next(1));
}

TEST_CASE("without the key sgl a command with an SGL is refused", "[unit][nvme]") {
    auto config = small();
    config.has_sgl = false;
    Bench b(config);
    b.enable();
    b.create_pair(1);
    auto read = Bench::command(static_cast<std::uint8_t>(IoOpcode::read), 1);
    CHECK(b.submit(1, read).view().get<"status">() == Status::success);
    read.view().set<"psdt">(abi::nvme::DataPointerType::sgl_metadata_buffer);
    CHECK(b.submit(1, read).view().get<"status">() == Status::invalid_field);
}

TEST_CASE("a wrong doorbell changes nothing and is reported once", "[unit][nvme]") {
    Bench b;
    b.enable();
    b.create_pair(1);
    b.place(0, Bench::command(0x0c)), b.place(0, Bench::command(0x0c));
    b.ring(0);
    REQUIRE_FALSE(b.next(0)); // parked, both

    b.set(0x1008, 16); // the tail is behind the queue
    b.set(0x1008, 16);
    const auto event = b.next(0);
    REQUIRE(event);
    CHECK(event->view().get<"dw0">() == 0x010100);
    CHECK_FALSE(b.next(0));
    CHECK(b.ask(1, IoOpcode::flush, 1) == Status::success);
}

TEST_CASE("a write of several dwords rings each doorbell that it has, and none beyond", "[unit][nvme]") {
    Bench bench;
    bench.enable();
    bench.create_pair(1), bench.create_pair(2);
    for (const std::uint16_t id : {1, 2}) {
        abi::Block<abi::nvme::Command> flush;
        flush.view().set<"nsid">(1);
        bench.place(id, flush);
    }
    std::array<std::byte, 12> tails{}; // of queue 1, the head of its completions, and of queue 2
    tails[0] = tails[8] = std::byte{1};
    bench.controller.bar_write(0, 0x1008, tails, bench.clock.now());
    bench.run();
    CHECK(bench.next(1));
    CHECK(bench.next(2));
    bench.controller.bar_write(0, 0x1ffc, std::vector<std::byte>(8192), bench.clock.now());
    CHECK((bench.get(Register::csts) & 3) == 1);
}

TEST_CASE("with shadow doorbells a tail in memory counts, and the device asks for the next one", "[unit][nvme]") {
    Bench b;
    b.enable();
    b.create_pair(1);
    auto config = Bench::command(0x7c);
    config.view().set<"prp1">(0x400000).set<"prp2">(0x401000);
    REQUIRE(b.submit(0, config).view().get<"status">() == Status::success);
    const auto word = [&](std::uint64_t at) {
        return abi::load<std::uint32_t, abi::Endian::little>(b.memory.peek(at, 4).data());
    };

    b.place(1, Bench::command(0, 1)), b.place(1, Bench::command(0, 1));
    b.memory.poke(0x400008, std::array{std::byte{2}, std::byte{}, std::byte{}, std::byte{}});
    b.set(0x1008, 1); // the register is a kick only
    CHECK(b.next(1));
    CHECK(b.next(1));
    CHECK(word(0x401008) == 2);
    CHECK(word(0x40100c) == 0xffff);
}

TEST_CASE("a timed NVMe command ends after its latencies, and a reset ends it for good", "[unit][nvme]") {
    auto config = small();
    config.timed = true;
    config.flash.read = 10us;
    Bench b(config);
    b.enable();
    CHECK(b.get(Register::csts) == 1);
    b.create_pair(1);

    const auto before = b.clock.now();
    CHECK(b.ask(1, IoOpcode::read, 1) == Status::success);
    CHECK(b.clock.now() - before >= Time(11us));
    b.place(1, Bench::command(2, 1)), b.ring(1);
    b.clock.set(b.clock.next()), b.controller.wake(b.clock.now());
    CHECK_FALSE(b.controller.is_quiet());
    b.set(Register::cc, 0x0046'0000);
    b.run();
    CHECK_FALSE(b.next(1));
    CHECK(b.controller.is_quiet());
}

TEST_CASE("a shutdown is complete when nothing is under way", "[unit][nvme]") {
    Bench b;
    b.enable();

    b.set(Register::cc, 0x0046'4001);
    CHECK(b.get(Register::csts) == (1 | 2 << 2));
    CHECK(b.get(Register::cc) == 0x0046'4001);
    b.set(Register::cc, 0x0046'0000);
    CHECK(b.get(Register::csts) == 0);
}

TEST_CASE("the memory buffer is one file for processors and the controller, and commands are fetched from it",
          "[unit][nvme][controller]") {
    auto config = small();
    config.memory_buffer = 1 << 20;
    Bench b(config);
    constexpr std::uint64_t base = 0x80'0000'0000;
    constexpr auto cmbmsc = static_cast<std::uint64_t>(Register::cmbmsc);
    b.set(cmbmsc + 4, base >> 32), b.set(cmbmsc, 3);
    b.enable();
    b.create_pair(1);
    REQUIRE(b.create(AdminOpcode::delete_sq, 0, 1, 0) == Status::success);
    REQUIRE(b.create(AdminOpcode::create_sq, base, 15 << 16 | 1, 1 << 16 | 1) == Status::success);

    // A processor that has mapped the file, and not the BAR.
    REQUIRE(b.controller.file(2) >= 0);
    auto flush = Bench::command(static_cast<std::uint8_t>(IoOpcode::flush), 1);
    flush.view().set<"cid">(0x123);
    REQUIRE(pwrite(b.controller.file(2), flush.bytes.data(), flush.bytes.size(), 0) == 64);
    b.queues[1].tail = 1;
    b.ring(1), b.run();

    const auto entry = b.next(1);
    REQUIRE(entry.has_value());
    CHECK(entry->view().get<"cid">() == 0x123);
    CHECK(entry->view().get<"status">() == Status::success);
}

TEST_CASE("a controller without a memory buffer, and one whose BAR shows more than there is, have no file",
          "[unit][nvme][controller]") {
    CHECK(Bench().controller.file(2) == -1);
    CHECK(Bench().controller.file(0) == -1);
    auto config = small();
    config.memory_buffer = 3 << 16;
    CHECK(Bench(config).controller.file(2) == -1);
}

TEST_CASE("a shutdown takes as long as what is under way, and the flush after it", "[unit][nvme][time]") {
    auto config = small();
    config.timed = true;
    config.flash = {.program = 300us, .erase = 0us};
    Bench b(config);
    b.enable();
    b.create_pair(1);
    CHECK(b.ask(1, IoOpcode::write, 1) == Status::success);
    b.place(1, Bench::command(2, 1, 512)), b.ring(1);
    b.clock.set(b.clock.next()), b.controller.wake(b.clock.now()); // fetched, and not completed
    b.place(1, Bench::command(2, 1)), b.ring(1);                   // not fetched

    const auto begin = b.clock.now();
    b.set(Register::cc, 0x0046'4001);
    CHECK(b.get(Register::csts) == (1 | 1 << 2));
    CHECK_FALSE(b.controller.is_quiet());
    while (b.get(Register::csts) == (1 | 1 << 2)) {
        REQUIRE(b.clock.next() != model::port::never);
        b.clock.set(b.clock.next()), b.controller.wake(b.clock.now());
    }
    CHECK(b.get(Register::csts) == (1 | 2 << 2));
    CHECK(b.clock.now() - begin > 300us);
    CHECK(b.clock.now() - begin < 400us);
    CHECK(b.next(1));
    CHECK_FALSE(b.next(1));
    CHECK(b.controller.is_quiet());
    b.set(Register::cc, 0x0046'0000);
    b.enable();
    CHECK(b.get(Register::csts) == 1);
}

TEST_CASE("a shutdown waits for a read that is under way", "[unit][nvme][time]") {
    auto config = small();
    config.timed = true;
    Bench b(config);
    b.enable();
    b.create_pair(1);
    b.place(1, Bench::command(2, 1)), b.ring(1);
    b.clock.set(b.clock.next()), b.controller.wake(b.clock.now());

    b.set(Register::cc, 0x0046'4001);
    CHECK(b.get(Register::csts) == (1 | 1 << 2));
    b.interrupts.vectors.clear();
    b.run();
    CHECK(b.get(Register::csts) == (1 | 2 << 2));
    CHECK(b.next(1));
    CHECK(b.interrupts.vectors == std::vector<std::uint16_t>{1});
}

TEST_CASE("a reset in the middle of a shutdown ends it", "[unit][nvme]") {
    auto config = small();
    config.timed = true;
    Bench b(config);
    b.enable();
    b.create_pair(1);
    CHECK(b.ask(1, IoOpcode::write, 1) == Status::success);

    b.set(Register::cc, 0x0046'4001);
    b.set(Register::cc, 0x0046'0000);
    CHECK(b.get(Register::csts) == 0);
    b.run();
    CHECK(b.get(Register::csts) == 0);
    CHECK(b.controller.is_quiet());
}

TEST_CASE("a command that never ends holds up no shutdown", "[unit][nvme]") {
    auto config = small();
    config.timed = true;
    FaultyMedium* medium = nullptr;
    config.space.make_medium = [&](std::uint32_t, const NamespaceConfig& one) {
        auto made = std::make_unique<FaultyMedium>(std::make_unique<MemoryMedium>("test", one.bytes), 512);
        medium = made.get();
        return made;
    };
    Bench b(config);
    medium->make_silent({0, 512});
    b.enable();
    b.create_pair(1);
    b.place(1, Bench::command(2, 1)), b.ring(1), b.run();

    b.set(Register::cc, 0x0046'4001);
    b.run();
    CHECK(b.get(Register::csts) == (1 | 2 << 2));
    CHECK_FALSE(b.next(1));
}

TEST_CASE("a read that waits for the drive can be aborted, and ends with its queue", "[unit][nvme]") {
    auto config = small();
    config.timed = true;
    Bench b(config);
    b.enable();
    b.create_pair(1);
    const auto place = [&](std::uint16_t cid) {
        auto command = Bench::command(2, 1);
        command.view().set<"cid">(cid);
        b.place(1, command), b.ring(1);
        b.clock.set(b.clock.next()), b.controller.wake(b.clock.now());
    };

    place(900);
    CHECK(b.submit(0, Bench::command(8, 0, 900u << 16 | 1)).view().get<"dw0">() == 0);
    const auto aborted = b.next(1).value();
    CHECK(aborted.view().get<"cid">() == 900);
    CHECK(aborted.view().get<"status">() == Status::abort_requested);
    place(901);
    CHECK(b.ask(0, AdminOpcode::delete_sq, 0, 1) == Status::success);
    const auto deleted = b.next(1).value();
    CHECK(deleted.view().get<"cid">() == 901);
    CHECK(deleted.view().get<"status">() == Status::aborted_sq_deletion);
    b.run();
    CHECK_FALSE(b.next(1));
    CHECK(b.controller.is_quiet());
}

namespace {

constexpr std::uint64_t list_of_late_read = 0x180000; ///< behind the data

/// Enables the controller and rings for a read whose data goes out late: it writes when it has read its PRP list.
void read_late(Bench& b) {
    b.enable();
    b.create_pair(1);
    std::array<std::byte, 16> pages;
    for (std::uint64_t i = 0; i < 2; ++i)
        abi::store<std::uint64_t, abi::Endian::little>(pages.data() + i * 8, Bench::buffer + (i + 1) * 4096);
    b.memory.poke(list_of_late_read, pages);
    b.memory.set_latency(10us);
    b.memory.clear_log();
    auto read = Bench::command(static_cast<std::uint8_t>(IoOpcode::read), 1, 0, 0, 23);
    read.view().set<"cid">(900).set<"prp2">(list_of_late_read);
    b.place(1, read), b.ring(1);
}

} // namespace

TEST_CASE("whoever takes a queue away is answered behind what its commands write", "[unit][nvme]") {
    Bench b;
    read_late(b);
    REQUIRE(b.ask(0, AdminOpcode::delete_sq, 0, 1) == Status::success);

    model::port::Time data{}, answer{};
    for (const auto& access : b.memory.log())
        if (access.kind == model::port::MemoryDma::Kind::write) {
            if (access.address >= Bench::buffer && access.address < list_of_late_read)
                data = std::max(data, access.at);
            else if (access.address >= Bench::admin_cq && access.address < Bench::buffer)
                answer = std::max(answer, access.at);
        }
    CHECK(data > model::port::Time{});
    CHECK(answer >= data);
}

TEST_CASE("a host hears that the controller is disabled behind what its commands write", "[unit][nvme]") {
    Bench b;
    read_late(b);
    b.set(Register::cc, 0x0046'0000);

    std::array<std::byte, 4> status{};
    const auto answer =
        b.controller.bar_read(0, static_cast<std::uint64_t>(Register::csts), status, b.clock.now()).done;
    REQUIRE(b.get(Register::csts) == 0);
    model::port::Time data{};
    for (const auto& access : b.memory.log())
        if (access.kind == model::port::MemoryDma::Kind::write && access.address >= Bench::buffer)
            data = std::max(data, access.at);
    CHECK(data > b.clock.now());
    CHECK(answer >= data);
}
