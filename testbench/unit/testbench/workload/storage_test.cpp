#include "testbench/workload/checkpoint_plan.h"
#include "testbench/workload/drive_part.h"
#include "testbench/workload/storage_plan.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

using namespace workload;
using platform::topology::StoragePattern;

namespace {

constexpr std::uint64_t part_blocks = 64;

StoragePlan plan(double reads, StoragePattern pattern, const char* sizes = "4 KiB, 12 KiB") {
    StoragePlan plan;
    plan.how.reads = reads;
    plan.how.pattern = pattern;
    plan.how.span = part_blocks * drive_block_bytes;
    plan.sizes = load::Sizes::read(sizes).value();
    plan.drives.users = 3;
    plan.drives.targets = 2;
    plan.drives.queues = 2;
    for (const std::string name : {"C", "D", "E", "A", "B"})
        plan.drives.load.nodes.push_back({.hca = {}, .gpu = {}, .name = name});
    return plan;
}

std::vector<std::byte> bytes_of(const DrivePart& part, const BlockRange& range) {
    std::vector<std::byte> bytes(range.bytes());
    part.fill(range, bytes);
    return bytes;
}

} // namespace

TEST_CASE("each client has a part of each drive for itself, and a queue pair more than I/O queues",
          "[unit][workload]") {
    auto all = plan(0, StoragePattern::random);
    plan_routes(all);
    REQUIRE(all.drives.routes.size() == 6);
    CHECK(all.drives.load.connections.size() == 6 * 3);
    std::set<std::pair<std::size_t, std::uint64_t>> parts;
    for (const auto& route : all.drives.routes) {
        CHECK(parts.insert({route.target, route.first}).second);
        CHECK(route.first % part_blocks == 0);
        CHECK(route.first < 3 * part_blocks);
        CHECK(route.blocks == part_blocks);
        CHECK(all.drives.load.flows[route.flow].from == route.user);
        CHECK(all.drives.load.flows[route.flow].to == 3 + route.target);
    }
    CHECK(all.drives.routes_of_user(1) == 2);
    CHECK(all.drives.routes_of_target(0) == 3);
}

TEST_CASE("ranks of a checkpoint go to the drives in turn, one behind the other on each", "[unit][workload]") {
    CheckpointPlan all;
    all.bytes = 10 * drive_block_bytes;
    all.drives.command_bytes = 4 * drive_block_bytes;
    all.drives.users = 5;
    all.drives.targets = 2;
    for (std::size_t i = 0; i < 7; ++i)
        all.drives.load.nodes.push_back({.hca = {}, .gpu = {}, .name = std::string(1, static_cast<char>('A' + i))});
    plan_routes(all);
    REQUIRE(all.drives.routes.size() == 5);
    for (std::size_t rank = 0; rank < 5; ++rank) {
        CHECK(all.drives.routes[rank].target == rank % 2);
        CHECK(all.drives.routes[rank].first == rank / 2 * 10);
        CHECK(all.drives.routes[rank].blocks == 10);
    }
    CHECK(all.commands() == 3);
}

TEST_CASE("what is read back of a checkpoint has its first and its last command", "[unit][workload]") {
    CHECK(sample_of(1, 16) == std::vector<std::uint64_t>{0});
    CHECK(sample_of(3, 16) == std::vector<std::uint64_t>{0, 1, 2});
    CHECK(sample_of(100, 4) == std::vector<std::uint64_t>{0, 33, 66, 99});
    CHECK(sample_of(100, 1) == std::vector<std::uint64_t>{0});
}

TEST_CASE("blocks are zero until they are written, and then of their part, place and version", "[unit][workload]") {
    DrivePart part(1, part_blocks), other(2, part_blocks);
    const BlockRange range{5, 3}, first{5, 1}, second{6, 1};
    CHECK(std::ranges::all_of(bytes_of(part, range), [](std::byte one) { return one == std::byte{}; }));
    CHECK_FALSE(part.find_foreign(range, bytes_of(part, range)).has_value());

    part.begin(range, true);
    part.end(range, true);
    other.begin(range, true);
    const auto before = bytes_of(part, range);
    CHECK_FALSE(part.find_foreign(range, before).has_value());
    CHECK(bytes_of(part, first) != bytes_of(part, second));
    CHECK(bytes_of(other, first) != bytes_of(part, first));

    part.begin(second, true);
    auto after = bytes_of(part, range);
    const auto stale = part.find_foreign(range, before);
    REQUIRE(stale.has_value());
    CHECK(stale->block == 6);
    after[2 * drive_block_bytes + 77] ^= std::byte{1};
    const auto spoiled = part.find_foreign(range, after);
    REQUIRE(spoiled.has_value());
    CHECK(spoiled->block == 7);
    CHECK(spoiled->offset == 77);
    std::vector<std::byte> dirty(drive_block_bytes);
    dirty[4095] = std::byte{9};
    const auto unwritten = part.find_foreign({0, 1}, dirty);
    REQUIRE(unwritten.has_value());
    CHECK(unwritten->offset == 4095);
}

TEST_CASE("a Write begins where nothing is under way, a Read where no Write is", "[unit][workload]") {
    DrivePart part(1, part_blocks);
    part.begin({4, 4}, false);
    CHECK(part.is_free({6, 4}, false));
    CHECK_FALSE(part.is_free({7, 4}, true));
    CHECK(part.is_free({8, 4}, true));
    part.begin({6, 1}, false);
    part.end({4, 4}, false);
    CHECK_FALSE(part.is_free({6, 1}, true));
    part.end({6, 1}, false);
    CHECK(part.is_free({6, 1}, true));
    part.begin({10, 2}, true);
    CHECK_FALSE(part.is_free({11, 1}, false));
    CHECK_FALSE(part.is_free({11, 1}, true));
    part.end({10, 2}, true);
    CHECK(part.is_free({11, 1}, false));
}

TEST_CASE("sequential commands go through the part and begin again, in whole", "[unit][workload]") {
    const auto all = plan(1, StoragePattern::sequential);
    StorageDraw draw(all, 0);
    const DrivePart part(0, part_blocks);
    std::uint64_t next = 0;
    for (int i = 0; i < 200; ++i) {
        const auto one = draw.take(part);
        REQUIRE(one.has_value());
        CHECK_FALSE(one->is_write);
        CHECK(one->blocks.count == (i % 2 == 0 ? 1u : 3u));
        if (next + one->blocks.count > part_blocks)
            next = 0;
        CHECK(one->blocks.first == next);
        next += one->blocks.count;
    }
}

TEST_CASE("a sequential command waits for those where it would be, and is not lost", "[unit][workload]") {
    const auto all = plan(0, StoragePattern::sequential);
    StorageDraw draw(all, 0);
    DrivePart part(0, part_blocks);
    part.begin({1, 2}, false);
    CHECK(draw.take(part)->blocks == BlockRange{0, 1});
    CHECK_FALSE(draw.take(part).has_value());
    CHECK_FALSE(draw.take(part).has_value());
    part.end({1, 2}, false);
    CHECK(draw.take(part)->blocks == BlockRange{1, 3});
}

TEST_CASE("random commands are anywhere in the part, by their share, and never where others decide what they find",
          "[unit][workload]") {
    const auto all = plan(0.75, StoragePattern::random, "4 KiB..16 KiB:3, 32 KiB:1");
    StorageDraw draw(all, 0), other(all, 1);
    DrivePart part(0, part_blocks);
    std::deque<StorageCommand> under_way;
    std::uint64_t reads = 0, same = 0, missed = 0;
    std::set<std::uint64_t> first;
    std::set<std::uint32_t> counts;
    for (int i = 0; i < 4000; ++i) {
        const auto one = draw.take(part);
        if (!one) {
            REQUIRE_FALSE(under_way.empty());
            ++missed;
        } else {
            REQUIRE(part.is_free(one->blocks, one->is_write));
            CHECK(one->blocks.first + one->blocks.count <= part_blocks);
            part.begin(one->blocks, one->is_write);
            under_way.push_back(*one);
            reads += one->is_write ? 0 : 1;
            first.insert(one->blocks.first);
            counts.insert(one->blocks.count);
            const DrivePart empty(0, part_blocks);
            same += other.take(empty)->blocks == one->blocks ? 1 : 0;
        }
        if (!one || under_way.size() > 4) {
            part.end(under_way.front().blocks, under_way.front().is_write);
            under_way.pop_front();
        }
    }
    CHECK(missed < 400);
    CHECK(reads > 2600);
    CHECK(reads < 3200);
    CHECK(first.size() == part_blocks);
    CHECK(counts == std::set<std::uint32_t>{1, 2, 3, 4, 8});
    CHECK(same < 400);
}
