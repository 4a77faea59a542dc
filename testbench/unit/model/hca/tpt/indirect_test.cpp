// Keys whose entries name ranges of other keys: lists (KLM) and tables of equal pieces (KSM).
#include "testbench/unit/model/hca/tpt/bench.h"

#include "model/hca/tpt/mkey_context.h"

#include <catch2/catch_test_macros.hpp>

using namespace tpt_test;
using abi::prm::AccessMode;
using abi::prm::Klm;

namespace {

struct Entry {
    std::uint32_t length;
    abi::Key key;
    std::uint64_t address;
};

struct IndirectBench : Bench {
    static constexpr abi::Key first{0x10, 1}, second{0x11, 2};

    explicit IndirectBench(const HcaConfig& c = untimed()) : Bench(c) {
        auto a = attributes(0x1000, 0x2000);
        a.variant = 1;
        table.create(first.index(), a, {0xa000, 0xb000});
        a.start = 0x8000;
        a.variant = 2;
        a.rights = {.local_read = true};
        table.create(second.index(), a, {0xf000, 0xe000});
    }
    Mkey& list(std::vector<Entry> entries, AccessMode mode = AccessMode::klms, std::uint8_t page_shift = 12) {
        std::vector<std::byte> bytes(entries.size() * Klm::size);
        for (std::size_t i = 0; i < entries.size(); ++i)
            abi::View<Klm>(std::span(bytes).subspan(i * Klm::size, Klm::size))
                .set<"bcount">(entries[i].length)
                .set<"mkey">(entries[i].key.value)
                .set<"address">(entries[i].address);
        auto a = attributes(0x700, 0x10000, page_shift);
        a.mode = mode;
        create(a, {});
        auto& indirect = *table.find(index);
        write_ranges(indirect, 0, bytes);
        return indirect;
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> read(std::uint64_t address, std::uint64_t length) {
        const auto result = translate(address, length);
        return result ? pieces(*result) : std::vector<std::pair<std::uint64_t, std::uint64_t>>{};
    }
};
using Pieces = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

} // namespace

TEST_CASE("a list joins ranges of other keys", "[unit][tpt][indirect]") {
    IndirectBench bench;
    bench.list(
        {{0x10, IndirectBench::first, 0x1100}, {0, IndirectBench::first, 0}, {0x20, IndirectBench::second, 0x8ff0}});

    CHECK(bench.read(0x700, 0x10) == Pieces{{0xa100, 0x10}});
    CHECK(bench.read(0x708, 8) == Pieces{{0xa108, 8}});
    CHECK(bench.read(0x708, 0x10) == Pieces{{0xa108, 8}, {0xfff0, 8}});
    CHECK(bench.read(0x710, 0x20) == Pieces{{0xfff0, 0x10}, {0xe000, 0x10}});
    CHECK(bench.refusal(0x708, 0x29) == Violation::page_not_present);
}

TEST_CASE("an atomic whose bytes a list divides is refused, and one whose pieces touch is not",
          "[unit][tpt][indirect]") {
    IndirectBench bench;
    bench.list({{0x14, IndirectBench::first, 0x1100},
                {0x0c, IndirectBench::first, 0x1200},
                {0x04, IndirectBench::first, 0x1300},
                {0x1c, IndirectBench::first, 0x1304}});

    CHECK_FALSE(bench.refusal(0x708, 8, Access::remote_atomic));
    CHECK(bench.refusal(0x710, 8, Access::remote_atomic) == Violation::divided_atomic);
    CHECK_FALSE(bench.refusal(0x710, 8, Access::remote_write));
    CHECK_FALSE(bench.refusal(0x718, 8, Access::remote_atomic));
    CHECK_FALSE(bench.refusal(0x720, 8, Access::remote_atomic)); // two entries, one place
}

TEST_CASE("the keys behind a list have the last word", "[unit][tpt][indirect]") {
    IndirectBench bench;
    bench.list({{0x10, IndirectBench::first, 0x1100},
                {0x10, IndirectBench::second, 0x8000},
                {0x10, IndirectBench::first, 0x2ff8}});

    CHECK_FALSE(bench.refusal(0x700, 0x10, Access::remote_write));
    CHECK(bench.refusal(0x710, 0x10, Access::remote_write) == Violation::no_right);
    CHECK_FALSE(bench.refusal(0x710, 0x10, Access::remote_read));
    CHECK(bench.refusal(0x720, 0x10) == Violation::out_of_bounds);
    bench.table.destroy(IndirectBench::first.index());
    CHECK(bench.refusal(0x700, 1) == Violation::no_such_key);
}

TEST_CASE("a table of equal pieces needs no lengths", "[unit][tpt][indirect]") {
    IndirectBench bench;
    bench.list({{0, IndirectBench::second, 0x9000}, {0, {}, 0}, {0, IndirectBench::first, 0x1000}}, AccessMode::ksm);

    CHECK(bench.read(0xf00, 0x10) == Pieces{{0xe800, 0x10}}); // the key begins at 0x700
    CHECK(bench.refusal(0x1700, 1) == Violation::page_not_present);
    CHECK(bench.read(0x2710, 0x10) == Pieces{{0xa010, 0x10}});
    CHECK(bench.refusal(0x3700, 1) == Violation::page_not_present);
}

TEST_CASE("a table of equal pieces counts from where its key begins, however large the pieces",
          "[unit][tpt][indirect]") {
    // As UCX shifts a buffer for its atomics: one piece of 2 GiB, and an address that is no multiple of that.
    IndirectBench bench;
    bench.list({{0, IndirectBench::first, 0x1100}}, AccessMode::ksm, 31);

    CHECK(bench.read(0x700, 0x10) == Pieces{{0xa100, 0x10}});
    CHECK(bench.read(0x7f8, 0x10) == Pieces{{0xa1f8, 0x10}});
}

// mlx5_ib's regions over a whole address space have such children.
TEST_CASE("pages of a key without an end count from where it begins", "[unit][tpt][indirect]") {
    IndirectBench bench;
    auto a = bench.attributes(0x4000'0000, 0);
    a.length64 = true;
    a.variant = 3;
    bench.table.create(0x12, a, {0xc000, 0xd000});
    bench.list({{0, abi::Key{0x12, 3}, 0x4000'0000}}, AccessMode::ksm, 30);

    CHECK(bench.read(0x700 + 0x1010, 0x10) == Pieces{{0xd010, 0x10}});
}

TEST_CASE("ranges of a key without an end count from where it begins", "[unit][tpt][indirect]") {
    IndirectBench bench;
    auto& a = bench.list({{0, IndirectBench::first, 0x1000}}, AccessMode::ksm).attributes;
    a.start = 0x9000'0000;
    a.length64 = true;

    CHECK(bench.read(0x9000'0010, 0x10) == Pieces{{0xa010, 0x10}});
    CHECK(bench.refusal(0x10, 0x10) == Violation::page_not_present);
}

TEST_CASE("a piece that is not there yet is a page fault to whoever may wait, and else a refusal",
          "[unit][tpt][indirect]") {
    IndirectBench bench;
    bench.list({{0, IndirectBench::second, 0x9000}, {0, null_key, 0}}, AccessMode::ksm);
    auto request = bench.request(0x16f0, 0x20);

    CHECK(bench.refusal(request) == Violation::page_not_present);
    request.may_wait = true;
    CHECK(bench.refusal(request) == Violation::page_fault);
    CHECK(bench.refusal({.key = null_key, .address = 0, .length = 1, .pd = Bench::pd}) == Violation::no_such_key);
}

TEST_CASE("on a card without page faults nobody waits for a piece that is not there", "[unit][tpt][indirect]") {
    auto config = Bench::untimed();
    config.on_demand_paging = false;
    IndirectBench bench(config);
    bench.list({{0, IndirectBench::second, 0x9000}, {0, null_key, 0}}, AccessMode::ksm);
    auto request = bench.request(0x16f0, 0x20);
    request.may_wait = true;

    CHECK(bench.refusal(request) == Violation::page_not_present);
}

TEST_CASE("a key that refers to itself gets nowhere", "[unit][tpt][indirect]") {
    IndirectBench bench;
    bench.list({{0x1000, Bench::key, 0x700}});
    CHECK(bench.refusal(0x700, 0x100) == Violation::page_not_present);
}

TEST_CASE("very many empty and short entries cost no more than what is asked of them", "[unit][tpt][indirect]") {
    IndirectBench bench;
    std::vector<Entry> entries(1 << 16, Entry{0, IndirectBench::first, 0});
    entries.front() = {1, IndirectBench::first, 0x1000};
    entries.back() = {1, IndirectBench::first, 0x1001};
    bench.list(entries);
    for (int i = 0; i < 100'000; ++i) // with a walk over the empty ones this would take minutes
        REQUIRE(bench.translate(0x700, 2)->covered == 2);

    bench.list(std::vector<Entry>(1 << 16, Entry{1, IndirectBench::first, 0x1000}));
    for (int i = 0; i < 100'000; ++i)
        REQUIRE(bench.translate(0x700, 1 << 16)->covered == Segments::capacity);
}

TEST_CASE("what does not fit into one answer is left for the next", "[unit][tpt][indirect]") {
    IndirectBench bench;
    std::vector<Entry> entries;
    for (unsigned i = 0; i < 10; ++i)
        entries.push_back({0x10, IndirectBench::first, 0x1000 + 0x100 * i});
    bench.list(entries);
    const auto result = bench.translate(0x700, 0xa0);
    REQUIRE(result);
    CHECK(result->count == Segments::capacity);
    CHECK(result->covered == 0x10 * Segments::capacity);
}

namespace {

/// An interleaved key over 0x10 bytes of the first key and 8 of the second, `count` times.
struct InterleavedBench : IndirectBench {
    static constexpr std::uint32_t repetition = 0x18;

    explicit InterleavedBench(std::uint32_t count, std::uint32_t entries = 2, std::uint32_t bytes_each = repetition) {
        std::vector<std::byte> list(4 * Klm::size);
        const auto at = [&](std::size_t i) { return std::span(list).subspan(i * Klm::size, Klm::size); };
        abi::View<abi::prm::RepeatBlock>(at(0))
            .set<"bcount_per_cycle">(bytes_each)
            .set<"op">(abi::prm::repeat_block_op)
            .set<"repeat_count">(count)
            .set<"num_entries">(entries);
        abi::View<abi::prm::RepeatEntry>(at(1))
            .set<"stride">(0x40u)
            .set<"bcount">(0x10u)
            .set<"mkey">(first.value)
            .set<"address">(0x1100u);
        abi::View<abi::prm::RepeatEntry>(at(2))
            .set<"stride">(0x20u)
            .set<"bcount">(8u)
            .set<"mkey">(second.value)
            .set<"address">(0x8000u);
        abi::View<abi::prm::RepeatEntry>(at(3))
            .set<"stride">(8u)
            .set<"bcount">(8u)
            .set<"mkey">(second.value)
            .set<"address">(0x8800u);
        auto a = attributes(0x700, 0x10000);
        a.mode = AccessMode::klms;
        create(a, {});
        write_ranges(*table.find(index), 0, list);
    }
};

} // namespace

TEST_CASE("an interleaved key repeats its ranges, each a stride further", "[unit][tpt][indirect]") {
    InterleavedBench bench(3);

    CHECK(bench.read(0x700, 0x18) == Pieces{{0xa100, 0x10}, {0xf000, 8}});
    CHECK(bench.read(0x718, 0x18) == Pieces{{0xa140, 0x10}, {0xf020, 8}});
    CHECK(bench.read(0x730, 0x18) == Pieces{{0xa180, 0x10}, {0xf040, 8}});
    CHECK(bench.read(0x70c, 0x10) == Pieces{{0xa10c, 4}, {0xf000, 8}, {0xa140, 4}});
}

TEST_CASE("an interleaved key ends behind its last repetition", "[unit][tpt][indirect]") {
    InterleavedBench bench(3);

    CHECK(bench.read(0x747, 1) == Pieces{{0xf047, 1}});
    CHECK(bench.refusal(0x748, 1) == Violation::page_not_present);
    CHECK(bench.refusal(0x747, 2) == Violation::page_not_present);
}

TEST_CASE("a repetition that is longer than its ranges has a hole, and one that is shorter cuts them",
          "[unit][tpt][indirect]") {
    InterleavedBench longer(2, 2, 0x20), shorter(2, 2, 8);

    CHECK(longer.refusal(0x718, 1) == Violation::page_not_present);
    CHECK(longer.read(0x720, 4) == Pieces{{0xa140, 4}});
    CHECK(shorter.read(0x704, 8) == Pieces{{0xa104, 4}, {0xa140, 4}});
}

TEST_CASE("ranges beyond the count of the repeat block are not part of it", "[unit][tpt][indirect]") {
    InterleavedBench bench(1, 1, 0x10), none(1, 0, 0x10), many(1, 0xffff, 0x10);

    CHECK(bench.read(0x700, 0x10) == Pieces{{0xa100, 0x10}});
    CHECK(bench.refusal(0x710, 1) == Violation::page_not_present);
    CHECK(none.refusal(0x700, 1) == Violation::page_not_present);
    CHECK(many.read(0x700, 0x10) == Pieces{{0xa100, 0x10}});
}

TEST_CASE("ranges that are repeated no times cover nothing", "[unit][tpt][indirect]") {
    InterleavedBench bench(0);

    CHECK(bench.refusal(0x700, 1) == Violation::page_not_present);
}

TEST_CASE("a list without a repeat block ends the interleaving", "[unit][tpt][indirect]") {
    InterleavedBench bench(3);
    std::vector<std::byte> bytes(Klm::size);
    abi::View<Klm>(std::span(bytes))
        .set<"bcount">(0x100u)
        .set<"mkey">(IndirectBench::first.value)
        .set<"address">(0x1200u);

    write_ranges(*bench.table.find(bench.index), 0, bytes);

    CHECK(bench.read(0x720, 0x20) == Pieces{{0xa220, 0x20}});
}

TEST_CASE("a repeat block is one at the start of a KLM list only", "[unit][tpt][indirect]") {
    std::vector<std::byte> block(Klm::size);
    abi::View<abi::prm::RepeatBlock>(std::span(block))
        .set<"bcount_per_cycle">(0x10u)
        .set<"op">(abi::prm::repeat_block_op)
        .set<"repeat_count">(1u)
        .set<"num_entries">(1u);
    IndirectBench bench;
    auto& table = bench.list({{0, IndirectBench::first, 0x1000}}, AccessMode::ksm);

    write_ranges(table, 0, block);

    CHECK(table.interleaving.repetition == 0);
}

TEST_CASE("entries that are written behind the repeat block leave it and the others as they are",
          "[unit][tpt][indirect]") {
    constexpr abi::Key third{0x12, 1};
    InterleavedBench bench(3);
    auto a = Bench::attributes(0x10000, 0x1000);
    a.variant = 1;
    bench.table.create(third.index(), a, {0xc000});
    std::vector<std::byte> bytes(Klm::size);
    abi::View<abi::prm::RepeatEntry>(std::span(bytes))
        .set<"stride">(0x20u)
        .set<"bcount">(8u)
        .set<"mkey">(third.value)
        .set<"address">(0x10000u); // where a repeat block has its count of entries: 0

    write_ranges(*bench.table.find(bench.index), 2, bytes);

    CHECK(bench.read(0x700, 0x18) == Pieces{{0xa100, 0x10}, {0xc000, 8}});
}
