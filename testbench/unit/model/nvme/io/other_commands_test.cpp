#include "testbench/unit/model/nvme/io_bench.h"

using namespace testbench;
using abi::nvme::CopyRange;
using abi::nvme::DsmRange;

namespace {

void poke_range(IoBench& bench, std::uint64_t at, std::uint64_t lba, std::uint32_t blocks) {
    abi::Block<DsmRange> range;
    range.view().set<"slba">(lba).set<"nlb">(blocks);
    bench.memory.poke(at, range.bytes);
}
void poke_source(IoBench& bench, std::uint64_t at, std::uint64_t lba, std::uint16_t blocks) {
    abi::Block<CopyRange> range;
    range.view().set<"slba">(lba).set<"nlb">(static_cast<std::uint16_t>(blocks - 1));
    bench.memory.poke(at, range.bytes);
}
Sqe deallocate(unsigned ranges, std::uint64_t at = 0x10000) {
    return Sqe(IoOpcode::dataset_management).set<"cdw10">(ranges - 1).set<"cdw11">(4u).prp(at);
}
Sqe copy_to(std::uint64_t lba, unsigned ranges) {
    return Sqe(IoOpcode::copy)
        .set_in<abi::nvme::Copy, "sdlba">(lba)
        .set_in<abi::nvme::Copy, "nr">(ranges - 1)
        .prp(0x10000);
}
std::vector<std::byte> zeroes(std::size_t length) { return std::vector<std::byte>(length); }

} // namespace

TEST_CASE("Write Zeroes leaves zeroes, and deallocates if asked to", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 4);
    CHECK(bench.space().allocated().count() == 4);

    REQUIRE(bench.status(Sqe(IoOpcode::write_zeroes).range(1, 1)) == Status::success);
    REQUIRE(bench.status(Sqe(IoOpcode::write_zeroes).range(2, 1).rw<"deac">(true)) == Status::success);

    CHECK(bench.space().allocated().count() == 3);
    const auto all = pattern(2048);
    CHECK(bench.stored(0, 512) == std::vector(all.begin(), all.begin() + 512));
    CHECK(bench.stored(1, 1024) == zeroes(1024));
    CHECK(bench.stored(3, 512) == std::vector(all.begin() + 1536, all.end()));
}

TEST_CASE("a deallocated block reads as zero, or is an error if the host wants that", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 4);
    poke_range(bench, 0x10000, 1, 2);
    REQUIRE(bench.status(deallocate(1)) == Status::success);
    CHECK(bench.stored(1, 1024) == zeroes(1024));
    const auto read = Sqe(IoOpcode::read).range(0, 4).prp(0x20000);
    CHECK(bench.status(read) == Status::success);

    bench.space().set_error_recovery(abi::nvme::reports_deallocated, false);
    const auto outcome = bench.run(read);
    CHECK(outcome.status == Status::deallocated_block);
    CHECK(outcome.lba == 1);
    CHECK(outcome.dnr);
    CHECK(bench.status(Sqe(IoOpcode::read).range(3, 1).prp(0x20000)) == Status::success);
    CHECK(bench.status(Sqe(IoOpcode::verify).range(0, 4)) == Status::deallocated_block);
    bench.fill(1, 2);
    CHECK(bench.status(read) == Status::success);
}

TEST_CASE("a list of ranges is refused as a whole", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 8);
    poke_range(bench, 0x10000, 0, 4);
    poke_range(bench, 0x10010, bench.space().blocks() - 1, 2);

    const auto outcome = bench.run(deallocate(2));
    CHECK(outcome.status == Status::lba_out_of_range);
    CHECK(outcome.dnr);
    CHECK(outcome.lba == bench.space().blocks() - 1);
    CHECK(bench.space().allocated().count() == 8);
    poke_range(bench, 0x10010, ~0ull, 1);
    CHECK(bench.status(deallocate(2)) == Status::lba_out_of_range);
    poke_range(bench, 0x10010, 7, 0);
    CHECK(bench.status(deallocate(2)) == Status::success);
    CHECK(bench.space().allocated().count() == 4);
}

TEST_CASE("without AD a dataset command is a hint", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 8);
    poke_range(bench, 0x10000, 0, 8);
    CHECK(bench.status(deallocate(1).set<"cdw11">(3u)) == Status::success);
    CHECK(bench.space().allocated().count() == 8);
}

TEST_CASE("ranges that cannot be fetched deallocate nothing", "[unit][nvme]") {
    IoBench bench;
    bench.memory.fail(0x10000, 0x11000, DmaStatus::unsupported_request);
    CHECK(bench.status(deallocate(1)) == Status::data_transfer_error);
    CHECK(bench.status(deallocate(1, 0x10001)) == Status::invalid_prp_offset);
    CHECK(bench.status(copy_to(0, 1)) == Status::data_transfer_error);
}

TEST_CASE("limits of Dataset Management are kept", "[unit][nvme]") {
    model::nvme::IoConfig config;
    config.max_ranges = 2, config.max_range_blocks = 8, config.max_deallocated_blocks = 12;
    IoBench bench(IoBench::space_of({IoBench::of(0)}), config);
    poke_range(bench, 0x10000, 0, 8), poke_range(bench, 0x10010, 8, 5);
    CHECK(bench.status(deallocate(2)) == Status::size_limit_exceeded);
    poke_range(bench, 0x10010, 8, 4);
    CHECK(bench.status(deallocate(2)) == Status::success);
    CHECK(bench.status(deallocate(3)) == Status::size_limit_exceeded); // the third has no blocks, but is one
    CHECK(bench.status(deallocate(1)) == Status::success);
    poke_range(bench, 0x10000, 0, 9);
    CHECK(bench.status(deallocate(1)) == Status::size_limit_exceeded);
}

TEST_CASE("a block marked as uncorrectable cannot be read until it is written", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 4);
    REQUIRE(bench.status(Sqe(IoOpcode::write_uncorrectable).range(2, 1)) == Status::success);
    for (const auto opcode : {IoOpcode::read, IoOpcode::verify, IoOpcode::compare}) {
        const auto outcome = bench.run(Sqe(opcode).range(0, 4).prp(0x800000));
        CHECK(outcome.status == Status::unrecovered_read_error);
        CHECK(outcome.dnr);
        CHECK(outcome.lba == 2);
    }
    SECTION("by Write") { bench.fill(2, 1); }
    SECTION("by Write Zeroes") { REQUIRE(bench.status(Sqe(IoOpcode::write_zeroes).range(2, 1)) == Status::success); }
    SECTION("or deallocated") {
        poke_range(bench, 0x10000, 2, 1);
        REQUIRE(bench.status(deallocate(1)) == Status::success);
    }
    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 4).prp(0x20000)) == Status::success);
}

TEST_CASE("Compare finds the first block that differs", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 4);
    auto data = pattern(2048);
    bench.memory.poke(0x20000, data);
    const auto compare = Sqe(IoOpcode::compare).range(0, 4).prp(0x20000);
    CHECK(bench.status(compare) == Status::success);
    data[3 * 512 - 1] ^= std::byte{1};
    bench.memory.poke(0x20000, data);
    const auto outcome = bench.run(compare);
    CHECK(outcome.status == Status::compare_failure);
    CHECK(outcome.dnr);
    CHECK(outcome.lba == 2);
}

TEST_CASE("Compare and Write fused writes only what is as expected", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 2);
    bench.memory.poke(0x20000, pattern(1024));
    bench.memory.poke(0x30000, pattern(1024, 77));
    const auto compare = Sqe(IoOpcode::compare).range(0, 2).prp(0x20000).set<"fuse">(1u);
    const auto write = Sqe(IoOpcode::write).range(0, 2).prp(0x30000).set<"fuse">(2u);

    auto [first, second] = bench.io.execute_fused(compare, write, {});
    CHECK(first.is_ok());
    CHECK(second.is_ok());
    CHECK(bench.stored(0, 1024) == pattern(1024, 77));

    std::tie(first, second) = bench.io.execute_fused(compare, write, {});
    CHECK(first.status == Status::compare_failure);
    CHECK(second.status == Status::aborted_failed_fused);
    CHECK(bench.stored(0, 1024) == pattern(1024, 77));
}

TEST_CASE("half of a fused pair, and two that do not fit, are refused", "[unit][nvme]") {
    IoBench bench;
    const auto compare = Sqe(IoOpcode::compare).range(0, 2).prp(0x20000).set<"fuse">(1u);
    const auto write = Sqe(IoOpcode::write).range(0, 2).prp(0x30000).set<"fuse">(2u);
    CHECK(bench.status(compare) == Status::aborted_missing_fused);
    CHECK(bench.status(write) == Status::aborted_missing_fused);
    CHECK(bench.run(Sqe(IoOpcode::write).range(0, 2).set<"fuse">(3u)).parameter == 1);
    CHECK(bench.status(Sqe(IoOpcode::write).range(0, 2).set<"fuse">(3u)) == Status::invalid_field);
    const auto both = [&](const Sqe& a, const Sqe& b) {
        const auto [first, second] = bench.io.execute_fused(a, b, {});
        CHECK(first.status == second.status);
        return second.status;
    };
    CHECK(both(write, compare) == Status::invalid_field);
    CHECK(both(Sqe(compare).set<"fuse">(0u), write) == Status::invalid_field);
    CHECK(both(Sqe(write).set<"fuse">(1u), write) == Status::invalid_field);
    CHECK(both(compare, Sqe(write).range(1, 2)) == Status::invalid_field);
    CHECK(both(compare, Sqe(write).range(0, 1)) == Status::invalid_field);
    CHECK(both(compare, Sqe(write).set<"nsid">(2u)) == Status::invalid_field);
    CHECK(both(compare, Sqe(write).set<"fuse">(0u)) == Status::invalid_field);
    CHECK(bench.space().allocated().count() == 0);
}

TEST_CASE("Copy joins ranges, also those that its target overlaps", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 2, 1), bench.fill(8, 2, 2);
    poke_source(bench, 0x10000, 0, 2), poke_source(bench, 0x10020, 8, 2);

    const auto outcome = bench.run(copy_to(1, 2));

    CHECK(outcome.is_ok());
    CHECK(bench.stored(1, 1024) == pattern(1024, 1));
    CHECK(bench.stored(3, 1024) == pattern(1024, 2));
}

TEST_CASE("limits of Copy are kept, and what is wrong with it copies nothing", "[unit][nvme]") {
    auto space = IoBench::space_of({IoBench::of(0)});
    space.copy_range_blocks = 4, space.copy_blocks = 6, space.copy_ranges = 2;
    IoBench bench(space);
    bench.fill(0, 8);
    const auto refused = [&](const Sqe& sqe, Status status) {
        const auto outcome = bench.run(sqe);
        CHECK(outcome.status == status);
        CHECK(outcome.dnr);
        CHECK(outcome.dw0 == 0);
        CHECK(bench.space().allocated().count() == 8);
    };
    poke_source(bench, 0x10000, 0, 4), poke_source(bench, 0x10020, 4, 3), poke_source(bench, 0x10040, 4, 1);
    refused(copy_to(100, 2), Status::size_limit_exceeded);
    for (const std::uint64_t at : {0x10000, 0x10020, 0x10040})
        poke_source(bench, at, 0, 1);
    refused(copy_to(100, 3), Status::size_limit_exceeded);
    poke_source(bench, 0x10000, 0, 4);
    refused(copy_to(bench.space().blocks() - 3, 1), Status::lba_out_of_range);
    poke_source(bench, 0x10000, 0, 5);
    refused(copy_to(100, 1), Status::size_limit_exceeded);
    poke_source(bench, 0x10000, bench.space().blocks() - 1, 2);
    refused(copy_to(100, 1), Status::lba_out_of_range);
    refused(copy_to(100, 1).set_in<abi::nvme::Copy, "format">(1u), Status::invalid_format);
    refused(copy_to(100, 1).set_in<abi::nvme::Copy, "format">(2u), Status::invalid_field);
    REQUIRE(bench.status(Sqe(IoOpcode::write_uncorrectable).range(3, 1)) == Status::success);
    poke_source(bench, 0x10000, 0, 4);
    refused(copy_to(100, 1), Status::unrecovered_read_error);
}

TEST_CASE("what was completed is lost with the power unless it was flushed or forced", "[unit][nvme]") {
    IoBench bench;
    bench.memory.poke(0x10000, pattern(512));
    const auto write = Sqe(IoOpcode::write).range(0, 1).prp(0x10000);

    REQUIRE(bench.status(write) == Status::success);
    CHECK(bench.medium().unsafe_units() == 1);
    REQUIRE(bench.status(Sqe(IoOpcode::flush, 2)) == Status::success); // of another namespace
    CHECK(bench.medium().unsafe_units() == 1);
    REQUIRE(bench.status(Sqe(IoOpcode::flush)) == Status::success);
    CHECK(bench.medium().unsafe_units() == 0);

    REQUIRE(bench.status(Sqe(write).range(1, 1)) == Status::success);
    REQUIRE(bench.status(Sqe(IoOpcode::flush, 0xffffffff)) == Status::success);
    CHECK(bench.medium().unsafe_units() == 0);

    REQUIRE(bench.status(Sqe(write).range(2, 1).rw<"fua">(true)) == Status::success);
    CHECK(bench.medium().unsafe_units() == 0);

    Time at{};
    REQUIRE(bench.status(write) == Status::success);
    REQUIRE(bench.io.set_cache(false, at).is_ok());
    CHECK(bench.medium().unsafe_units() == 0);
    REQUIRE(bench.status(write) == Status::success);
    CHECK(bench.medium().unsafe_units() == 0);
    for (std::uint64_t lba = 0; lba < 3; ++lba) {
        bench.medium().lose_power();
        CHECK(bench.stored(lba, 512) == pattern(512));
    }
}

TEST_CASE("a flush that fails says so, and the cache stays on", "[unit][nvme]") {
    IoBench bench;
    bench.medium().fail_flushes();
    CHECK(bench.status(Sqe(IoOpcode::flush)) == Status::write_fault);
    CHECK(bench.status(Sqe(IoOpcode::flush, 0xffffffff)) == Status::write_fault);
    CHECK(bench.status(Sqe(IoOpcode::flush, 2)) == Status::success);
    CHECK(bench.status(Sqe(IoOpcode::flush, 0)) == Status::invalid_namespace);
    CHECK(bench.status(Sqe(IoOpcode::flush, 3)) == Status::invalid_field);
    Time at{};
    CHECK(bench.io.set_cache(false, at).status == Status::write_fault);
    CHECK(bench.io.has_cache());
}
