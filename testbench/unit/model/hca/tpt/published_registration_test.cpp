// The published registration: mkey 0xdd5d, two pages, translated byte by byte (traces/golden/published).
#include "testbench/harness/golden.h"
#include "testbench/unit/model/hca/tpt/bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace tpt_test;
using testbench::golden_values;

namespace {

struct Registered : Bench {
    Registered() : golden(golden_values("registration.txt")) {
        // IB_ACCESS: 1 local write, 2 remote write, 4 remote read, 8 remote atomic; local reads are always allowed.
        const auto flags = golden["access_flags"][0];
        auto a =
            attributes(golden["virt_addr"][0], golden["length"][0], static_cast<std::uint8_t>(golden["page_shift"][0]));
        a.rights = {true, (flags & 1) != 0, (flags & 4) != 0, (flags & 2) != 0, (flags & 8) != 0};
        a.entries_carry_rights = true;
        a.variant = published().variant();
        table.create(published().index(), a, golden["pas"]);
    }
    abi::Key published() { return abi::Key{static_cast<std::uint32_t>(golden["mkey"][0])}; }
    std::map<std::string, std::vector<std::uint64_t>> golden;
};

} // namespace

TEST_CASE("every byte of the published registration has the printed bus address", "[unit][tpt][golden]") {
    Registered bench;
    REQUIRE(bench.published() == abi::Key{0xdd, 0x5d});
    REQUIRE(bench.golden["pas"] == std::vector<std::uint64_t>{0x3e07a92003, 0x3e106a6003});

    for (std::uint64_t address = 0xdb1000; address <= 0xdb2fff; ++address) {
        const auto bus = address < 0xdb2000 ? 0x3e07a92000 + (address - 0xdb1000) : 0x3e106a6000 + (address - 0xdb2000);
        for (const auto access : {Access::local_read, Access::local_write, Access::remote_read, Access::remote_write}) {
            const auto result = bench.translate(address, 1, access);
            REQUIRE(result);
            REQUIRE(Bench::pieces(*result) == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{bus, 1}});
        }
    }
}

TEST_CASE("one byte before and behind the published registration is refused", "[unit][tpt][golden]") {
    Registered bench;
    for (const auto access : {Access::local_read, Access::local_write, Access::remote_read, Access::remote_write}) {
        CHECK(bench.refusal(0xdb0fff, 1, access) == Violation::out_of_bounds);
        CHECK(bench.refusal(0xdb3000, 1, access) == Violation::out_of_bounds);
        CHECK(bench.refusal(0xdb0fff, 2, access) == Violation::out_of_bounds);
        CHECK(bench.refusal(0xdb2fff, 2, access) == Violation::out_of_bounds);
    }
}

TEST_CASE("the whole published registration is two pieces", "[unit][tpt][golden]") {
    Registered bench;
    CHECK(Bench::pieces(*bench.translate(0xdb1000, 0x2000, Access::remote_write)) ==
          std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0x3e07a92000, 0x1000}, {0x3e106a6000, 0x1000}});
}

TEST_CASE("the published registration allows no atomics, no other variant and no other protection domain",
          "[unit][tpt][golden]") {
    Registered bench;
    CHECK(bench.refusal(0xdb1000, 8, Access::remote_atomic) == Violation::no_right);
    auto request = bench.request(0xdb1000, 8);
    request.key = abi::Key{0xdd, 0x5c};
    CHECK(bench.refusal(request) == Violation::wrong_variant);
    request = bench.request(0xdb1000, 8);
    request.pd = abi::Pd{Bench::pd.value + 1};
    CHECK(bench.refusal(request) == Violation::wrong_pd);
}
