// A trace that ends too early, or of which a byte has changed: what is whole is read, and the fault says where it
// stops.
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <set>

using namespace trace_bench;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The last 4 KiB byte by byte, and as many random places before.
std::set<std::size_t> places(std::size_t size, std::mt19937_64& random) {
    std::set<std::size_t> out;
    for (std::size_t i = 1; i <= 4096 && i <= size; ++i)
        out.insert(size - i);
    for (int i = 0; i < 300; ++i)
        out.insert(random() % size);
    return out;
}

/// Of a trace without compression: where each record ends, by the lengths of the blocks alone.
struct Ends {
    std::vector<std::size_t> records, blocks;
    explicit Ends(std::span<const std::byte> bytes) {
        for (std::size_t at = 0; at < bytes.size();) {
            const auto type = abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + at);
            at += abi::load<std::uint32_t, abi::Endian::little>(bytes.data() + at + 4);
            blocks.push_back(at);
            if (type == pcapng::enhanced_packet_type)
                records.push_back(at);
        }
    }
    static std::size_t before(const std::vector<std::size_t>& ends, std::size_t cut) {
        return static_cast<std::size_t>(std::ranges::upper_bound(ends, cut) - ends.begin());
    }
};

bool is_start(std::span<const Kept> part, std::span<const Kept> whole) {
    return part.size() <= whole.size() && std::ranges::equal(part, whole.first(part.size()));
}

} // namespace

TEST_CASE("a trace that is cut anywhere is read up to its last whole block", "[unit][traces][property]") {
    const auto start = testbench::random_seed();
    INFO("HCA_SEED=" << start);
    std::mt19937_64 random(start);
    const auto sample = make_sample(200, {.level = FrameWriter::plain, .batch_bytes = 2000}, random);
    const std::span<const std::byte> bytes = sample.destination.bytes;
    const Ends ends(bytes);

    for (const auto cut : places(bytes.size(), random)) {
        INFO("cut at " << cut << " of " << bytes.size());
        const auto story = read_all(bytes.first(cut));
        const auto whole_blocks = Ends::before(ends.blocks, cut);

        REQUIRE(story.fault);
        INFO(story.why());
        REQUIRE(story.records.size() == Ends::before(ends.records, cut));
        REQUIRE(is_start(story.records, sample.records));
        REQUIRE(story.confirmed <= story.records.size());
        if (cut < 8) {
            REQUIRE((story.fault->kind == FaultKind::foreign || story.fault->kind == FaultKind::truncated));
            continue;
        }
        REQUIRE(story.fault->kind == FaultKind::truncated);
        const auto begin = whole_blocks == 0 ? 0 : ends.blocks[whole_blocks - 1];
        REQUIRE(story.fault->offset == begin);
        REQUIRE(story.fault->file_offset == begin);
        REQUIRE(story.fault->block == (begin == cut ? whole_blocks : whole_blocks + 1));
        REQUIRE_THAT(story.why(), ContainsSubstring(begin == cut ? "without the end" : "the file ends within a block"));
    }
}

TEST_CASE("a compressed trace that is cut anywhere is read up to its last whole batch", "[unit][traces][property]") {
    const auto start = testbench::random_seed();
    INFO("HCA_SEED=" << start);
    std::mt19937_64 random(start);
    Sample sample;
    std::vector<std::size_t> batch_ends;
    std::vector<std::uint64_t> records;
    Writer writer(sample.destination, small_head(), {.level = 3, .batch_bytes = SIZE_MAX / 2});
    for (int batch = 0; batch < 10; ++batch) {
        for (int i = 0; i < 30; ++i)
            record(writer, sample, random);
        REQUIRE(writer.flush());
        batch_ends.push_back(sample.destination.bytes.size());
        records.push_back(sample.records.size());
    }
    REQUIRE(writer.close());
    const std::span<const std::byte> bytes = sample.destination.bytes;

    for (const auto cut : places(bytes.size(), random)) {
        INFO("cut at " << cut << " of " << bytes.size());
        const auto story = read_all(bytes.first(cut));
        const auto batches = Ends::before(batch_ends, cut);

        REQUIRE(story.fault);
        INFO(story.why());
        REQUIRE(is_start(story.records, sample.records));
        REQUIRE(story.confirmed == (batches == 0 ? 0 : records[batches - 1]));
        REQUIRE(story.records.size() >= story.confirmed);
        if (cut >= 8)
            REQUIRE(story.fault->kind == FaultKind::truncated);
        REQUIRE(story.fault->file_offset <= cut);
    }
}

TEST_CASE("a trace of which one bit has changed is refused", "[unit][traces][property]") {
    const auto level = GENERATE(FrameWriter::plain, 1);
    const auto start = testbench::random_seed();
    INFO("HCA_SEED=" << start << " level " << level);
    std::mt19937_64 random(start);
    auto sample = make_sample(60, {.level = level, .batch_bytes = 2000}, random);
    auto& bytes = sample.destination.bytes;

    for (const auto place : places(bytes.size(), random)) {
        const auto bit = std::byte{1} << random() % 8;
        INFO("bit " << std::to_integer<int>(bit) << " of byte " << place << " of " << bytes.size());
        bytes[place] ^= bit;
        const auto story = read_all(bytes);
        bytes[place] ^= bit;

        INFO(story.why());
        if (level != FrameWriter::plain && !story.fault) { // zstd has bits that say nothing
            REQUIRE(story.records == sample.records);
            continue;
        }
        REQUIRE(story.fault);
        REQUIRE(story.fault->offset <= 1 << 20);
        REQUIRE(story.confirmed <= sample.records.size());
        REQUIRE(is_start(std::span(story.records).first(story.confirmed), sample.records));
    }
}
