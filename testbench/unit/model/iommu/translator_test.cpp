#include "model/iommu/translator.h"
#include "testbench/harness/iommu_bench.h"
#include "testbench/unit/model/iommu/refusal.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace model::iommu;
using testbench::check_fault;
using testbench::IommuBench;
using Reason = abi::iommu::FaultReason;
using abi::iommu::SecondStageEntry;
using model::port::DmaStatus;

namespace {

constexpr auto device = IommuBench::device, other_device = IommuBench::other_device;

} // namespace

TEST_CASE("while translation is off every request goes through as it is", "[unit][iommu]") {
    IommuBench bench;

    const auto result = bench.translate(0x1234'5678'9000, Access::write);

    CHECK(result.is_ok());
    CHECK(result.address == 0x1234'5678'9000);
    CHECK(result.length == 64);
    CHECK(bench.memory.log().empty());
    CHECK(bench.translate({.requester = device, .address = 0, .length = 8, .type = AddressType::translation_request})
              .status == DmaStatus::unsupported_request);
}

TEST_CASE("a page of each size is translated by tables of four and five levels", "[unit][iommu]") {
    const auto levels = GENERATE(4u, 5u);
    const auto shift = GENERATE(12u, 21u, 30u);
    IommuBench bench;
    const auto tables = bench.attach(device, 7, levels);
    const auto size = std::uint64_t{1} << shift;
    const auto iova = (std::uint64_t{1} << (levels == 5 ? 56 : 47)) + 5 * size, page = 3 * size;
    bench.map(tables, iova, page, shift, true, true, levels);
    bench.enable();

    const auto first = bench.translate(iova + size - 0x40, Access::write, 0x100);

    REQUIRE(first.is_ok());
    CHECK(first.address == page + size - 0x40);
    CHECK(first.length == 0x40); // as far as the page goes
    CHECK(first.shift == shift);
    CHECK(first.reads == 2 + levels - (shift - 12) / 9);
    const auto second = bench.translate(iova, Access::read, 8);
    CHECK(second.address == page);
    CHECK(second.reads == 0);
    CHECK(bench.iommu.translator().iotlb_counters().hits == 1);
    CHECK(bench.iommu.translator().iotlb_counters().misses == 1);
    CHECK(bench.iommu.translator().context_counters().hits == 1);
    CHECK(bench.fault_status().value() == 0);
}

TEST_CASE("the time of a walk is that of its reads one after the other", "[unit][iommu]") {
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0, 0x5000);
    bench.enable();
    bench.memory.set_latency(std::chrono::nanoseconds{50});

    CHECK(bench.iommu.translate({.requester = device, .length = 8}, std::chrono::nanoseconds{1000}).ready ==
          std::chrono::nanoseconds{1000 + 6 * 50});
    CHECK(bench.iommu.translate({.requester = device, .length = 8}, std::chrono::nanoseconds{2000}).ready ==
          std::chrono::nanoseconds{2000});
}

TEST_CASE("upper levels that are known are not read again", "[unit][iommu]") {
    IommuBench bench;
    const auto tables = bench.attach(device);
    for (std::uint64_t page = 0; page < 3; ++page)
        bench.map(tables, page << 12, 0x5000 + (page << 12));
    bench.map(tables, 1 << 21, 0x9000); // shares levels 4 and 3
    bench.enable();

    CHECK(bench.translate(0x0000).reads == 6);
    CHECK(bench.translate(0x1000).reads == 1);
    CHECK(bench.translate(0x2000).reads == 1);
    CHECK(bench.translate(1 << 21).reads == 2);
    CHECK(bench.iommu.translator().page_table().counters(2).hits == 2);
    CHECK(bench.iommu.translator().page_table().counters(3).hits == 1);
}

TEST_CASE("without caches every request walks", "[unit][iommu]") {
    IommuBench bench({.iotlb = {}, .contexts = {}, .structures = {}});
    bench.map(bench.attach(device), 0, 0x5000);
    bench.enable();

    CHECK(bench.translate(0).reads == 6);
    CHECK(bench.translate(0).reads == 6);
}

TEST_CASE("an IOTLB of 64 entries holds 64 pages, and 65 in turn miss each time", "[unit][iommu]") {
    IommuBench bench({.iotlb = {64, 64}});
    const auto tables = bench.attach(device);
    for (std::uint64_t page = 0; page < 65; ++page)
        bench.map(tables, page << 12, page << 12);
    bench.enable();
    const auto sweep = [&](std::uint64_t pages) {
        const auto before = bench.iommu.translator().iotlb_counters().misses;
        for (std::uint64_t page = 0; page < pages; ++page)
            REQUIRE(bench.translate(page << 12).is_ok());
        return bench.iommu.translator().iotlb_counters().misses - before;
    };

    CHECK(sweep(64) == 64);
    CHECK(sweep(64) == 0);
    sweep(65);
    CHECK(sweep(65) == 65);
}

TEST_CASE("a page of 1 GiB takes one entry", "[unit][iommu]") {
    IommuBench bench;
    bench.map(bench.attach(device), 0, 0, 30);
    bench.enable();

    for (std::uint64_t page = 0; page < 1000; ++page)
        REQUIRE(bench.translate(page << 20).address == page << 20);
    CHECK(bench.iommu.translator().iotlb_counters().misses == 1);
}

TEST_CASE("two requesters of two domains have the same address at different places", "[unit][iommu]") {
    IommuBench bench;
    bench.map(bench.attach(device, 1), 0x4000, 0x5000);
    bench.map(bench.attach(other_device, 2), 0x4000, 0x6000);
    bench.enable();

    for (int turn = 0; turn < 2; ++turn) {
        CHECK(bench.translate(0x4000).address == 0x5000);
        CHECK(bench.translate(0x4000, Access::read, 64, other_device).address == 0x6000);
    }
}

TEST_CASE("a passed-through requester reaches host addresses and no others", "[unit][iommu]") {
    IommuBench bench;
    bench.attach(device, IommuBench::context(1, 0).set<"tt">(abi::iommu::TranslationType::pass_through));
    bench.enable();

    const auto result = bench.translate(0x3fff'ffff'f000, Access::write, 0x1000);
    CHECK(result.address == 0x3fff'ffff'f000);
    CHECK(result.length == 0x1000);
    CHECK(result.is_writable);
    check_fault(bench, bench.translate(0x4000'0000'0000), Reason::beyond_width);
}

TEST_CASE("a write of one dword into the interrupt range is a message, whatever the tables say", "[unit][iommu]") {
    IommuBench bench;
    bench.map(bench.attach(device), 0xfee0'0000, 0x5000);
    bench.enable();

    const auto result = bench.translate(0xfee0'0004, Access::write, 4);
    CHECK(result.is_ok());
    CHECK(result.is_interrupt);
    CHECK(result.address == 0xfee0'0004);
    check_fault(bench, bench.translate(0xfee0'0000, Access::read, 4), Reason::interrupt_range);
    CHECK(bench.translate(0xfee0'0000, Access::write, 8).fault == Reason::interrupt_range);
    CHECK(bench.translate(0xfedf'fffc, Access::write, 8).fault == Reason::interrupt_range);
}

TEST_CASE("a page that lies in the interrupt range cannot be reached", "[unit][iommu]") {
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0x5000, 0xfee0'0000);
    bench.map(tables, 0x4000'0000, 0xc000'0000, 30);
    bench.enable();

    check_fault(bench, bench.translate(0x5000, Access::write, 4), Reason::interrupt_range);
    CHECK(bench.translate(0x4000'0000 + 0x3ee0'0000, Access::write, 4).fault == Reason::interrupt_range);
    CHECK(bench.translate(0x4000'0000, Access::write, 4).is_ok());
}

// --- rights ---

TEST_CASE("every level must allow the access", "[unit][iommu]") {
    const auto level = GENERATE(1u, 2u, 3u, 4u);
    const bool is_read_taken = GENERATE(false, true);
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000, 0x5000);
    const auto at = bench.paging_entry(tables, 4, 0x4000, level);
    bench.put(at, bench.get<SecondStageEntry>(at).set<"r">(!is_read_taken).set<"w">(is_read_taken));
    bench.enable();

    const auto allowed = is_read_taken ? Access::write : Access::read;
    const auto refused = is_read_taken ? Access::read : Access::write;
    check_fault(bench, bench.translate(0x4000, refused), is_read_taken ? Reason::no_read : Reason::no_write);
    const auto result = bench.translate(0x4000, allowed);
    CHECK(result.address == 0x5000);
    CHECK(result.is_readable != is_read_taken);
    CHECK(result.is_writable == is_read_taken);
    CHECK(bench.translate(0x4000, allowed).reads == 0);
    CHECK_FALSE(bench.translate(0x4000, refused).is_ok());
    CHECK_FALSE(bench.translate(0x4000, Access::atomic).is_ok());
}

TEST_CASE("a right that is added needs no invalidation, since nothing is refused by what is cached", "[unit][iommu]") {
    const bool is_read_added = GENERATE(false, true);
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000, 0x5000, 12, !is_read_added, is_read_added);
    bench.enable();
    const auto first = is_read_added ? Access::write : Access::read;
    const auto second = is_read_added ? Access::read : Access::write;
    CHECK(bench.translate(0x4000, first).is_ok());
    CHECK_FALSE(bench.translate(0x4000, second).is_ok());

    const auto at = bench.paging_entry(tables, 4, 0x4000, 1);
    bench.put(at, bench.get<SecondStageEntry>(at).set<"r">(true).set<"w">(true));

    CHECK(bench.translate(0x4000, second).is_ok());
    CHECK(bench.translate(0x4000, Access::atomic).is_ok());
    CHECK(bench.translate(0x4000, first).reads == 0);
}

TEST_CASE("caching mode keeps that nothing is there, and never that a right is missing", "[unit][iommu]") {
    IommuBench bench({.caching_mode = true});
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000, 0x5000, 12, true, false);
    bench.enable();

    check_fault(bench, bench.translate(0x4000, Access::write), Reason::no_write);
    const auto read = bench.translate(0x4000, Access::read); // legal, and asked for after the refusal
    CHECK(read.is_ok());
    CHECK(read.address == 0x5000);

    CHECK(bench.translate(0x7000, Access::write).fault == Reason::no_write);
    bench.map(tables, 0x7000, 0x8000);
    CHECK(bench.translate(0x7000, Access::read).fault == Reason::no_read); // kept until it is invalidated
}

TEST_CASE("a zero-length read may go to a write-only page where the unit says so", "[unit][iommu]") {
    const bool has_zlr = GENERATE(false, true);
    IommuBench bench({.zero_length_read = has_zlr});
    bench.map(bench.attach(device), 0x4000, 0x5000, 12, false, true);
    bench.enable();

    for (int turn = 0; turn < 2; ++turn) { // walked, and cached
        CHECK(bench.translate(0x4000, Access::read, 0).is_ok() == has_zlr);
        CHECK(bench.translate(0x4000, Access::read, 1).fault == Reason::no_read);
        CHECK(bench.translate(0x4000, Access::write, 1).is_ok());
    }
}

TEST_CASE("memory begins right below and right above the interrupt range", "[unit][iommu]") {
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0xfedf'f000, 0x5000);
    bench.map(tables, 0xfef0'0000, 0x6000);
    bench.enable();
    const auto at = [&](std::uint64_t address) {
        return bench.translate({.requester = device, .address = address, .length = 64, .access = Access::read});
    };

    CHECK(at(0xfedf'ffc0).address == 0x5fc0);
    CHECK(at(0xfef0'0000).address == 0x6000);
    CHECK(at(0xfedf'ffc1).fault == Reason::interrupt_range);
    CHECK(at(0xfeef'ffff).fault == Reason::interrupt_range);
}
