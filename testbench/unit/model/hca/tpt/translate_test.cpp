// From virtual ranges to bus addresses: page sizes, edges of the region, and ranges of many pages.
#include "testbench/unit/model/hca/tpt/bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace tpt_test;
using Pieces = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST_CASE("every page size from 4 KiB to 2 GiB translates its first, last and middle bytes", "[unit][tpt]") {
    for (unsigned shift = 12; shift <= 31; ++shift) {
        const auto page = std::uint64_t{1} << shift;
        const auto start = page * 5;
        Bench bench;
        bench.create(Bench::attributes(start, 3 * page, static_cast<std::uint8_t>(shift)),
                     {page * 40, page * 20, page * 30});
        INFO("page shift " << shift);

        CHECK(Bench::pieces(*bench.translate(start, 1)) == Pieces{{page * 40, 1}});
        CHECK(Bench::pieces(*bench.translate(start + 3 * page - 1, 1)) == Pieces{{page * 31 - 1, 1}});
        CHECK(Bench::pieces(*bench.translate(start + page - 3, 7)) == Pieces{{page * 41 - 3, 3}, {page * 20, 4}});
        CHECK(Bench::pieces(*bench.translate(start, 3 * page)) ==
              Pieces{{page * 40, page}, {page * 20, page}, {page * 30, page}});
        CHECK(Bench::pieces(*bench.translate(start + page, page)) == Pieces{{page * 20, page}});
        CHECK(bench.refusal(start - 1, 1) == Violation::out_of_bounds);
        CHECK(bench.refusal(start + 3 * page, 1) == Violation::out_of_bounds);
        CHECK(bench.refusal(start + 3 * page - 1, 2) == Violation::out_of_bounds);
        CHECK(bench.refusal(start, 3 * page + 1) == Violation::out_of_bounds);
    }
}

TEST_CASE("a region may start and end in the middle of a page, of any size", "[unit][tpt]") {
    for (unsigned shift = 12; shift <= 31; shift += 3) {
        const auto page = std::uint64_t{1} << shift;
        const auto start = page * 7 + page - 100;
        Bench bench;
        bench.create(Bench::attributes(start, 300, static_cast<std::uint8_t>(shift)), {page * 3, page * 9});
        INFO("page shift " << shift);

        CHECK(Bench::pieces(*bench.translate(start, 300)) == Pieces{{page * 4 - 100, 100}, {page * 9, 200}});
        CHECK(Bench::pieces(*bench.translate(start + 299, 1)) == Pieces{{page * 9 + 199, 1}});
        CHECK(bench.refusal(start - 1, 1) == Violation::out_of_bounds);
        CHECK(bench.refusal(start - 1, 2) == Violation::out_of_bounds);
        CHECK(bench.refusal(start + 299, 2) == Violation::out_of_bounds);
        CHECK(bench.refusal(start + 300, 1) == Violation::out_of_bounds);
    }
}

TEST_CASE("a zero-based region counts from its first byte", "[unit][tpt]") {
    Bench bench;
    bench.create(Bench::attributes(0, 0x1800), {0xa000, 0x5000});

    CHECK(Bench::pieces(*bench.translate(0, 0x1800)) == Pieces{{0xa000, 0x1000}, {0x5000, 0x800}});
    CHECK(bench.refusal(0x1800, 1) == Violation::out_of_bounds);
    CHECK(bench.refusal(~0ull, 1) == Violation::out_of_bounds);
}

TEST_CASE("lengths and addresses that wrap around 2^64 are out of bounds", "[unit][tpt]") {
    Bench bench;
    bench.create(Bench::attributes(0x1000, 0x2000), {0xa000, 0x5000});

    CHECK(bench.refusal(0x1000, ~0ull) == Violation::out_of_bounds);
    CHECK(bench.refusal(0x1001, ~0ull) == Violation::out_of_bounds);
    CHECK(bench.refusal(0x2000, ~0ull - 0x1fff) == Violation::out_of_bounds);
    CHECK(bench.refusal(~0ull, 2) == Violation::out_of_bounds);
    CHECK(bench.refusal(~0ull, 0x1003) == Violation::out_of_bounds);
    CHECK(bench.refusal(0, ~0ull) == Violation::out_of_bounds);
}

TEST_CASE("a region may end at the last byte of the address space", "[unit][tpt]") {
    Bench bench;
    bench.create(Bench::attributes(~0ull - 0xfff, 0x1000), {0xa000});

    CHECK(Bench::pieces(*bench.translate(~0ull, 1)) == Pieces{{0xafff, 1}});
    CHECK(Bench::pieces(*bench.translate(~0ull - 0xfff, 0x1000)) == Pieces{{0xa000, 0x1000}});
    CHECK(bench.refusal(~0ull, 2) == Violation::out_of_bounds);
}

TEST_CASE("a physical key passes addresses through, within its bounds", "[unit][tpt]") {
    Bench bench;
    auto a = Bench::attributes(0x5000, 0x100000);
    a.mode = abi::prm::AccessMode::pa;
    bench.create(a, {});

    CHECK(Bench::pieces(*bench.translate(0x5123, 0xfe000)) == Pieces{{0x5123, 0xfe000}});
    CHECK(bench.refusal(0x4fff, 1) == Violation::out_of_bounds);
    CHECK(bench.refusal(0x105000, 1) == Violation::out_of_bounds);
}

TEST_CASE("a key of 64-bit length covers everything and wraps nowhere", "[unit][tpt]") {
    Bench bench;
    auto a = Bench::attributes(0, 0);
    a.mode = abi::prm::AccessMode::pa;
    a.length64 = true;
    bench.create(a, {});

    CHECK(Bench::pieces(*bench.translate(0, 1)) == Pieces{{0, 1}});
    CHECK(Bench::pieces(*bench.translate(0x1234567812345678, 0x10000)) == Pieces{{0x1234567812345678, 0x10000}});
    CHECK(Bench::pieces(*bench.translate(~0ull, 1)) == Pieces{{~0ull, 1}});
    CHECK(bench.refusal(~0ull, 2) == Violation::out_of_bounds);
    CHECK(bench.refusal(1, ~0ull).value_or(Violation{}) != Violation::out_of_bounds);
    CHECK(bench.refusal(2, ~0ull) == Violation::out_of_bounds);
}

TEST_CASE("pages of a 64-bit key count from the page where it begins, and end with its table", "[unit][tpt]") {
    Bench bench;
    auto a = Bench::attributes(0x123456, 0);
    a.length64 = true;
    bench.create(a, {0xa000, 0x5000});

    CHECK(Bench::pieces(*bench.translate(0x124004, 4)) == Pieces{{0x5004, 4}});
    CHECK(bench.refusal(0x125000, 1) == Violation::page_not_present);
    CHECK(bench.refusal(0x124fff, 2) == Violation::page_not_present);
    CHECK(bench.refusal(0x1000, 4) == Violation::page_not_present);
    CHECK(bench.refusal(~0ull, 1) == Violation::page_not_present);
}

TEST_CASE("touching pages become one piece", "[unit][tpt]") {
    Bench bench;
    bench.create(Bench::attributes(0, 0x6000), {0x10000, 0x11000, 0x12000, 0x20000, 0x21000, 0x13000});

    CHECK(Bench::pieces(*bench.translate(0x800, 0x5000)) ==
          Pieces{{0x10800, 0x2800}, {0x20000, 0x2000}, {0x13000, 0x800}});
}

TEST_CASE("pages that run backwards are not merged", "[unit][tpt]") {
    Bench bench;
    bench.create(Bench::attributes(0, 0x3000), {0x12000, 0x11000, 0x10000});

    CHECK(Bench::pieces(*bench.translate(0, 0x3000)) ==
          Pieces{{0x12000, 0x1000}, {0x11000, 0x1000}, {0x10000, 0x1000}});
}

TEST_CASE("a missing page of a 64-bit key is looked for from the page where it begins", "[unit][tpt]") {
    auto config = Bench::untimed();
    config.on_demand_paging = true;
    Bench bench(config);
    auto a = Bench::attributes(0x90000000, 0);
    a.length64 = true;
    a.entries_carry_rights = true;
    bench.create(a, {0xa003, 0});
    const auto lacks = [&](std::uint64_t address, std::uint64_t length) {
        auto request = bench.request(address, length);
        request.may_wait = true;
        return bench.translator.lacks_page(request);
    };

    CHECK_FALSE(lacks(0x90000000, 0x1000));
    CHECK(lacks(0x90000fff, 2));
    CHECK_FALSE(lacks(0x1000, 4)); // before its begin nothing will ever be
}

TEST_CASE("a range of more pieces than fit is taken in steps", "[unit][tpt]") {
    Bench bench;
    std::vector<std::uint64_t> mtt;
    for (std::uint64_t i = 0; i < 10; ++i)
        mtt.push_back(0x100000 - i * 0x3000);
    bench.create(Bench::attributes(0x40000, 0xa000), mtt);

    Pieces all;
    for (std::uint64_t done = 0x10; done < 0xa000;) {
        const auto result = bench.translate(0x40000 + done, 0xa000 - done);
        REQUIRE(result);
        CHECK(result->count <= Segments::capacity);
        std::uint64_t sum = 0;
        for (const auto& piece : Bench::pieces(*result)) {
            all.push_back(piece);
            sum += piece.second;
        }
        REQUIRE(sum == result->covered);
        REQUIRE(sum != 0);
        done += sum;
    }

    REQUIRE(all.size() == 10);
    for (std::uint64_t i = 0; i < 10; ++i)
        CHECK(all[i] == Pieces::value_type{mtt[i] + (i == 0 ? 0x10 : 0), i == 0 ? 0xff0 : 0x1000});
}

TEST_CASE("every page of a range is checked, also beyond the pieces that fit", "[unit][tpt]") {
    Bench bench;
    auto a = Bench::attributes(0, 0x8000);
    bench.create(a, {0x10000, 0x20000, 0x30000, 0x40000, 0x50000, 0x60000, 0x70000});
    CHECK(bench.translate(0, 0x7000));
    CHECK(bench.refusal(0, 0x7001) == Violation::page_not_present);

    a.entries_carry_rights = true;
    bench.create(a, {0x10003, 0x20003, 0x30003, 0x40003, 0x50003, 0x60000, 0x70003, 0x80003});
    CHECK(bench.translate(0, 0x5000));
    CHECK(bench.refusal(0, 0x8000) == Violation::page_not_present);
}

TEST_CASE("entries that carry rights grant reading with bit 0 and writing with bit 1", "[unit][tpt]") {
    for (std::uint64_t bits = 0; bits < 4; ++bits) {
        Bench bench;
        auto a = Bench::attributes(0, 0x2000);
        a.entries_carry_rights = true;
        bench.create(a, {0xa000 | bits, 0xc003});
        INFO("bits " << bits);
        for (const auto access : all_accesses) {
            const bool reads = access == Access::local_read || access == Access::remote_read;
            const bool granted = (bits & (reads ? 1 : 2)) != 0;
            CHECK(bench.refusal(0x10, 8, access).has_value() != granted);
            if (access != Access::remote_atomic) // it has eight bytes, in one place
                CHECK(bench.refusal(0xff8, 0x10, access).has_value() != granted);
            CHECK(bench.refusal(0x1000, 8, access) == std::nullopt);
        }
    }
}

TEST_CASE("the low bits of an entry are never address, whether or not they carry rights", "[unit][tpt]") {
    for (const bool carry : {false, true}) {
        Bench bench;
        auto a = Bench::attributes(0, 0x2000);
        a.entries_carry_rights = carry;
        bench.create(a, {0xafff, 0xbfff});

        CHECK(Bench::pieces(*bench.translate(0x10, 0x1ff0)) == Pieces{{0xa010, 0x1ff0}});
        CHECK(Bench::pieces(*bench.translate(0x1004, 4)) == Pieces{{0xb004, 4}});
    }
}
