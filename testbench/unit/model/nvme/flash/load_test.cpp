// What a drive makes of a load: rates and latencies of the order of a fast TLC drive, and what holds them back.
#include "testbench/unit/model/nvme/drive_load.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

using namespace nvme_test;
using abi::nvme::IoOpcode;
using Catch::Matchers::WithinRel;

TEST_CASE("a read of 4 KiB alone takes what a die takes to read, and little more", "[unit][nvme][time]") {
    LoadedDrive drive;

    const auto measured = drive.run({.depth = 1, .commands = 500});

    CHECK(measured.mean_us() > 60);
    CHECK(measured.mean_us() < 90);
    CHECK(measured.bottleneck() == "dies");
    CHECK(measured.of("dies").usage.waited == Time{});
    CHECK(measured.of("processors").usage.waited == Time{});
}

TEST_CASE("random reads grow with their depth until the dies are busy", "[unit][nvme][time]") {
    struct Row {
        unsigned depth;
        double least, most; // reads a second
        double load;        // of the dies, at least
    };
    const auto row = GENERATE(Row{16, 150e3, 260e3, 0.1}, Row{128, 600e3, 800e3, 0.6}, Row{768, 900e3, 1.1e6, 0.85});
    CAPTURE(row.depth);
    LoadedDrive drive;

    const auto measured = drive.run({.depth = row.depth, .commands = 20 * row.depth + 2000, .queues = 4});

    CHECK(measured.per_second() > row.least);
    CHECK(measured.per_second() < row.most);
    CHECK(measured.bottleneck() == "dies");
    CHECK(measured.of("dies").load(measured.took) > row.load);
}

TEST_CASE("long reads are held up by the way to the host, long writes by programming", "[unit][nvme][time]") {
    LoadedDrive drive;
    const auto reads = drive.run({.bytes = 128 << 10, .depth = 32, .commands = 2000, .is_random = false});
    CHECK(reads.gigabytes_per_second() > 6);
    CHECK(reads.gigabytes_per_second() < 7.1);
    CHECK(reads.bottleneck() == "to host");
    CHECK(reads.of("to host").load(reads.took) > 0.9);

    LoadedDrive other;
    const auto writes =
        other.run({.opcode = IoOpcode::write, .bytes = 128 << 10, .depth = 32, .commands = 8000, .is_random = false});
    CHECK(writes.gigabytes_per_second() > 4);
    CHECK(writes.gigabytes_per_second() < 5.1);
    CHECK(writes.bottleneck() == "dies");
    CHECK(model::time::longest_queue(writes.accounts)->name == "write cache");
}

TEST_CASE("a write alone takes no time of a die, since it ends in the cache", "[unit][nvme][time]") {
    LoadedDrive drive;

    const auto measured = drive.run({.opcode = IoOpcode::write, .depth = 1, .commands = 500});

    CHECK(measured.mean_us() < 10);
    CHECK(drive.flush() > 200us); // which is what a flush waits for
    CHECK(drive.flush() < 10us);
}

TEST_CASE("no resource is busier than it can be, and commands under way are rate times latency", "[unit][nvme][time]") {
    const auto depth = GENERATE(1u, 7u, 64u, 300u);
    const auto opcode = GENERATE(IoOpcode::read, IoOpcode::write);
    const auto bytes = GENERATE(4096u, 65536u);
    CAPTURE(depth, opcode, bytes);
    LoadedDrive drive;

    const auto measured = drive.run({.opcode = opcode, .bytes = bytes, .depth = depth, .commands = 2000 + 40 * depth});
    const auto until = measured.took + drive.flush(); // what was booked is over

    std::vector<model::time::Account> accounts;
    drive.bench.controller.accounts(accounts);
    for (const auto& account : accounts) {
        CAPTURE(account.name);
        CHECK(account.load(until) <= 1);
    }
    CHECK_THAT(measured.under_way(), WithinRel(static_cast<double>(depth), 0.08));
    CHECK_THAT(measured.per_second() * measured.mean_us() * 1e-6, WithinRel(measured.under_way(), 1e-9));
}

namespace {
/// Something of a drive, a load that meets it, and how it becomes slower, or less.
struct Part {
    std::string_view name;
    Load load;
    void (*make_slower)(NvmeConfig& config);
};
const Load alone{.commands = 200}, many{.depth = 64, .commands = 3000};
const Load long_reads{.bytes = 131072, .depth = 32, .commands = 600, .is_random = false};
const Load writes{.opcode = IoOpcode::write, .bytes = 131072, .depth = 64, .commands = 600, .is_random = false};
const std::vector<Part> parts{{"read", alone, [](NvmeConfig& c) { c.flash.read *= 2; }},
                              {"program", writes, [](NvmeConfig& c) { c.flash.program *= 2; }},
                              {"erase", writes, [](NvmeConfig& c) { c.flash.erase *= 2; }},
                              {"map latency", alone, [](NvmeConfig& c) { c.flash.map_latency *= 2; }},
                              {"command latency", alone, [](NvmeConfig& c) { c.command_latency *= 2; }},
                              {"fetch latency", alone, [](NvmeConfig& c) { c.fetch_latency *= 2; }},
                              {"channel rate", alone, [](NvmeConfig& c) { c.flash.channel_rate /= 2; }},
                              {"host rate", long_reads, [](NvmeConfig& c) { c.flash.host_rate /= 2; }},
                              {"channels", many, [](NvmeConfig& c) { c.flash.channels /= 2; }},
                              {"dies", many, [](NvmeConfig& c) { c.flash.dies /= 2; }},
                              {"processors", many, [](NvmeConfig& c) { c.processors /= 2; }},
                              {"cache", writes, [](NvmeConfig& c) { c.flash.cache_bytes /= 2; }},
                              {"block", writes, [](NvmeConfig& c) { c.flash.block_pages /= 2; }},
                              {"map misses", many, [](NvmeConfig& c) { c.flash.map_misses /= 2; }},
                              {"map memory", many, [](NvmeConfig& c) { c.flash.map_memory /= 2; }}};

/// A drive in which each of them matters.
NvmeConfig tight_drive() {
    auto config = fast_drive();
    config.flash.cache_bytes = 4 << 20, config.flash.block_pages = 24, config.flash.erase = 400us;
    config.flash.map_memory = 64 << 10;
    return config;
}

/// What is in the cache at the end counts, too.
Time until_programmed(const Load& load, const NvmeConfig& config) {
    LoadedDrive drive(config);
    const auto took = drive.run(load).took;
    return took + drive.flush();
}
} // namespace

TEST_CASE("a slower part never makes a transfer faster, a faster one never slower", "[unit][nvme][time]") {
    const auto opcode = GENERATE(IoOpcode::read, IoOpcode::write);
    const auto bytes = GENERATE(4096u, 131072u);
    const auto [depth, queues] = GENERATE(std::pair{1u, 1u}, std::pair{64u, 1u}, std::pair{64u, 4u});
    const Load load{.opcode = opcode,
                    .bytes = bytes,
                    .depth = depth,
                    .commands = bytes == 4096 ? 3000u : 600u,
                    .queues = queues,
                    .is_random = bytes == 4096};
    const auto config = tight_drive();
    const auto usual = until_programmed(load, config);

    for (const auto& row : parts) {
        auto slower = config;
        row.make_slower(slower);
        CAPTURE(row.name, opcode, bytes, load.depth, load.queues);
        // Where many are under way, who meets whom is luck, of two parts in a hundred at most.
        CHECK(until_programmed(load, slower) >= (depth == 1 ? usual : usual - usual / 50));
    }
}

TEST_CASE("each part of a drive is met by some load", "[unit][nvme][time]") {
    for (const auto& part : parts) {
        auto slower = tight_drive();
        part.make_slower(slower);
        CAPTURE(part.name);
        CHECK(LoadedDrive(slower).run(part.load).took > LoadedDrive(tight_drive()).run(part.load).took);
    }
}

TEST_CASE("requests on the bus are not made long before their time, so that others need not wait",
          "[unit][nvme][time]") {
    for (const auto opcode : {IoOpcode::read, IoOpcode::write}) {
        LoadedDrive drive;
        drive.bench.memory.clear_log();
        drive.run({.opcode = opcode, .depth = 16, .commands = 500});

        Time latest{}, farthest{};
        for (const auto& access : drive.bench.memory.log()) {
            latest = std::max(latest, access.at);
            farthest = std::max(farthest, latest - access.at);
        }
        CHECK(farthest < 10us);
    }
}
