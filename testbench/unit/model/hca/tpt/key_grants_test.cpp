// What a watch is told of the pages of memory keys.
#include "model/hca/tpt/key_grants.h"

#include <catch2/catch_test_macros.hpp>

#include <utility>
#include <vector>

using namespace model::hca::tpt;

namespace {

struct Watch final : model::port::GrantWatch {
    void use(model::port::Purpose, std::span<const model::port::Allowance>) override {}
    void give(std::uint64_t table, std::uint64_t address, std::uint64_t length) override {
        CHECK(table == 7);
        given.emplace_back(address, length);
    }
    void take(std::uint64_t table) override {
        CHECK(table == 7);
        ++taken;
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> given;
    unsigned taken = 0;
};
using Given = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

struct Bench {
    MkeyTable keys;
    Watch watch;
    KeyGrants grants{keys, watch, 1};

    Given map(bool entries_carry_rights, std::vector<std::uint64_t> mtt, std::uint64_t first, std::uint64_t count) {
        MkeyAttributes attributes;
        attributes.entries_carry_rights = entries_carry_rights;
        const Mkey mkey(7, attributes, std::move(mtt));
        watch.given.clear();
        grants.key_mapped(mkey, first, count);
        return watch.given;
    }
};

} // namespace

TEST_CASE("pages that lie behind each other are given as one, and the whole table takes what was before",
          "[unit][tpt]") {
    Bench bench;

    CHECK(bench.map(false, {0x1000, 0x2000, 0x5000}, 0, 3) == Given{{0x1000, 0x2000}, {0x5000, 0x1000}});
    CHECK(bench.watch.taken == 1);
    CHECK(bench.map(false, {0x1000, 0x2000, 0x5000}, 1, 1) == Given{{0x2000, 0x1000}});
    CHECK(bench.map(false, {0x1000, 0x2000, 0x5000}, 0, 2) == Given{{0x1000, 0x2000}});
    CHECK(bench.watch.taken == 1);
}

TEST_CASE("an entry without a right is no page of a key whose entries carry them", "[unit][tpt]") {
    Bench bench;

    CHECK(bench.map(true, {0x1003, 0x2000, 0x3001, 0x4002}, 0, 4) == Given{{0x1000, 0x1000}, {0x3000, 0x2000}});
    CHECK(bench.map(true, {0x1000, 0x2000}, 0, 2).empty());
    CHECK(bench.map(false, {0x1000, 0x2000}, 0, 2) == Given{{0x1000, 0x2000}});
}
