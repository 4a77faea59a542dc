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

constexpr std::uint64_t target = 0x500000;

/// A drive with latencies, with a read of one block under way: fetched, and a die reads its page.
struct Reading {
    Bench bench;
    std::vector<std::byte> block, before;

    Reading() : bench(timed()), block(512, std::byte{0x5a}), before(512, std::byte{0xee}) {
        bench.enable();
        bench.create_pair(1);
        bench.memory.poke(Bench::buffer, block);
        REQUIRE(bench.ask(1, IoOpcode::write, 1) == Status::success);
        REQUIRE(bench.ask(1, IoOpcode::flush, 1) == Status::success); // the write cache has it no more
        bench.memory.poke(target, before);
        auto read = Bench::command(static_cast<std::uint8_t>(IoOpcode::read), 1);
        read.view().set<"prp1">(target).set<"cid">(std::uint16_t{0x77});
        bench.place(1, read), bench.ring(1);
        step();
    }
    static NvmeConfig timed() {
        auto config = small();
        config.timed = true;
        config.io.max_transfer_bytes = 64 << 10;
        return config;
    }
    void step() {
        bench.clock.set(bench.clock.next());
        bench.controller.wake(bench.clock.now());
    }
    std::vector<std::byte> seen() { return bench.memory.peek(target, 512); }
};

/// A drive of which no command on the first block ends, and that has room for two I/O commands.
struct Silent : Bench {
    explicit Silent(bool is_timed) : Bench(config(is_timed)) {
        enable();
        create_pair(1);
    }
    static NvmeConfig config(bool is_timed) {
        auto config = small();
        config.timed = is_timed;
        config.outstanding = 2;
        config.space.make_medium = [](std::uint32_t, const NamespaceConfig& one) {
            auto made = std::make_unique<FaultyMedium>(std::make_unique<MemoryMedium>("test", one.bytes), 512);
            made->make_silent({0, 512});
            return made;
        };
        return config;
    }
    void read(std::uint16_t cid, std::uint32_t block) {
        auto read = command(static_cast<std::uint8_t>(IoOpcode::read), 1, block);
        read.view().set<"cid">(cid);
        place(1, read), ring(1), run();
    }
    std::pair<unsigned, Status> end_of_next() {
        const auto entry = next(1);
        REQUIRE(entry);
        return {entry->view().get<"cid">(), entry->view().get<"status">()};
    }
};

} // namespace

TEST_CASE("data of a read goes to the host when the drive has it, and before the completion", "[unit][nvme]") {
    Reading reading;
    CHECK(reading.seen() == reading.before);
    CHECK_FALSE(reading.bench.controller.is_quiet());

    std::optional<abi::Block<abi::nvme::Completion>> completion;
    while (!completion) {
        reading.step();
        completion = reading.bench.next(1);
    }
    CHECK(completion->view().get<"status">() == Status::success);
    CHECK(completion->view().get<"cid">() == 0x77);
    CHECK(reading.seen() == reading.block);
}

TEST_CASE("a queue that is deleted takes back the data that is under way", "[unit][nvme]") {
    Reading reading;
    CHECK(reading.bench.ask(0, AdminOpcode::delete_sq, 0, 1) == Status::success);
    reading.bench.run();

    CHECK(reading.bench.next(1)->view().get<"status">() == Status::aborted_sq_deletion);
    CHECK(reading.seen() == reading.before);
}

TEST_CASE("a controller that is reset takes back the data that is under way", "[unit][nvme]") {
    Reading reading;
    reading.bench.set(Register::cc, 0);
    reading.bench.run();
    CHECK(reading.seen() == reading.before);
}

TEST_CASE("an aborted read brings nothing", "[unit][nvme]") {
    Reading reading;
    CHECK(reading.bench.ask(0, AdminOpcode::abort, 0, 0x77u << 16 | 1) == Status::success);
    reading.bench.run();
    CHECK(reading.bench.next(1)->view().get<"status">() == Status::abort_requested);
    CHECK(reading.seen() == reading.before);
}

TEST_CASE("a planted controller does not let go when it is reset", "[unit][nvme]") {
    Reading reading;
    reading.bench.controller.plant_missing_drains();
    reading.bench.set(Register::cc, 0);
    reading.bench.run();
    CHECK(reading.seen() == reading.block);
    CHECK(reading.bench.controller.is_quiet());
}

TEST_CASE("a planted controller does not let go when a queue is deleted, and tells nobody", "[unit][nvme]") {
    Reading reading;
    reading.bench.controller.plant_missing_drains();
    CHECK(reading.bench.ask(0, AdminOpcode::delete_sq, 0, 1) == Status::success);
    reading.bench.run();
    CHECK(reading.bench.next(1)->view().get<"status">() == Status::aborted_sq_deletion);
    CHECK_FALSE(reading.bench.next(1));
    CHECK(reading.seen() == reading.block);
    reading.bench.run(); // the doorbells that the host has rung meanwhile
    CHECK(reading.bench.controller.is_quiet());
}

TEST_CASE("a read that is refused takes no time of a die", "[unit][nvme][time]") {
    Reading reading;
    auto& bench = reading.bench;
    bench.run();
    REQUIRE(bench.next(1));
    const auto uses = [&] {
        std::vector<model::time::Account> rows;
        bench.controller.accounts(rows);
        return std::ranges::find(rows, "dies", &model::time::Account::name)->usage.uses;
    };
    const auto before = uses();
    const auto refused = [&](std::uint32_t nsid, std::uint32_t lba, std::uint32_t blocks, std::uint32_t fuse = 0) {
        auto read = Bench::command(static_cast<std::uint8_t>(IoOpcode::read), nsid, lba, 0, blocks - 1);
        read.view().set<"fuse">(fuse);
        return bench.submit(1, read).view().get<"status">();
    };
    CHECK(refused(1, 2048, 1) == Status::lba_out_of_range);
    CHECK(refused(1, 2047, 2) == Status::lba_out_of_range);
    CHECK(refused(0, 0, 1) == Status::invalid_namespace);
    CHECK(refused(2, 0, 1) == Status::invalid_field);
    CHECK(refused(1, 0, 129) == Status::invalid_field); // more than MDTS
    CHECK(refused(1, 0, 1, 3) == Status::invalid_field);
    bench.controller.namespaces().set_hold(Status::sanitize_in_progress);
    CHECK(refused(1, 0, 1) == Status::sanitize_in_progress);
    CHECK(uses() == before);
}

TEST_CASE("an Abort takes back the read that it names, and no other", "[unit][nvme]") {
    Reading reading;
    auto& bench = reading.bench;
    for (const auto named : {0x77u << 16 | 2, 0x76u << 16 | 1}) // another queue, another command
        CHECK(bench.ask(0, AdminOpcode::abort, 0, named) == Status::success);
    bench.run();
    const auto entry = bench.next(1);
    REQUIRE(entry);
    CHECK(entry->view().get<"status">() == Status::success);
    CHECK(reading.seen() == reading.block);
}

TEST_CASE("however many I/O commands never end, the admin queue takes them back, and others go on", "[unit][nvme]") {
    Silent drive(GENERATE(false, true));
    drive.read(100, 0), drive.read(101, 0);
    drive.read(102, 1);
    CHECK_FALSE(drive.next(1)); // there is no room for it

    CHECK(drive.ask(0, AdminOpcode::abort, 0, 100u << 16 | 1) == Status::success);
    CHECK(drive.end_of_next() == std::pair{100u, Status::abort_requested});
    CHECK(drive.end_of_next() == std::pair{102u, Status::success});
    drive.read(103, 0);
    drive.read(104, 1);
    CHECK_FALSE(drive.next(1));
    CHECK(drive.ask(0, AdminOpcode::delete_sq, 0, 1) == Status::success);
    CHECK(drive.end_of_next() == std::pair{101u, Status::aborted_sq_deletion});
    CHECK(drive.end_of_next() == std::pair{103u, Status::aborted_sq_deletion});
    CHECK_FALSE(drive.next(1));
    drive.create_pair(2);
    CHECK(drive.ask(2, IoOpcode::read, 1, 1) == Status::success);
}

TEST_CASE("admin commands that never end are as many as an admin queue may have, and take nothing from others",
          "[unit][nvme]") {
    Silent drive(false);
    constexpr unsigned most = 4096, at_a_time = 16;
    for (unsigned i = 0; i < most; i += at_a_time) {
        for (unsigned j = 0; j < at_a_time; ++j)
            drive.place(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::format_nvm), 1));
        drive.ring(0);
    }
    drive.place(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::identify), 0, 1));
    drive.ring(0);
    CHECK_FALSE(drive.next(0));
    drive.read(100, 1);
    CHECK(drive.end_of_next() == std::pair{100u, Status::success});

    drive.set(Register::cc, 0);
    drive.enable();
    CHECK(drive.ask(0, AdminOpcode::identify, 0, 1) == Status::success);
}

TEST_CASE("reads that are left to themselves at a reset move their data in the order of their times", "[unit][nvme]") {
    using model::nvme::InFlight;
    InFlight all;
    all.plant_missing_drains();
    const InFlight::Sqe command{};
    const auto wait = [&](std::int64_t at) { all.wait(1, InFlight::untouched(command, {}, 0), Time{at}); };
    const auto complete = [&](std::int64_t at) { all.add({.sqid = 1}, Time{at}); };
    complete(1), wait(5), complete(2), wait(6), wait(7), wait(3);

    all.clear(); // takes the completions from between them

    for (const std::int64_t at : {3, 5, 6, 7}) {
        CHECK(all.next() == Time{at});
        CHECK(all.take(Time{at}));
    }
    CHECK(all.is_empty());
}
