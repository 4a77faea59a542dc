// What a watch of grants is told of memory keys: the pages that a key leads to, and by which key an access passes.
#include "model/hca/tpt/key_grants.h"
#include "testbench/unit/model/hca/tpt/bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <span>
#include <vector>

using namespace tpt_test;

namespace {

struct Watch final : model::port::GrantWatch {
    struct Given {
        std::uint64_t table, address, length;
        bool operator==(const Given&) const = default;
    };
    std::vector<Given> given;
    unsigned taken = 0;
    void use(model::port::Purpose, std::span<const model::port::Allowance>) override {}
    void give(std::uint64_t table, std::uint64_t address, std::uint64_t length) override {
        given.push_back({table, address, length});
    }
    void take(std::uint64_t) override { ++taken; }
};

struct Watched : Bench {
    Watch watch;
    KeyGrants grants{table, watch, 1};
    ~Watched() { table.set_watch(nullptr); }
};
using Given = std::vector<Watch::Given>;

} // namespace

TEST_CASE("a key gives its pages, those that touch as one", "[unit][tpt][grants]") {
    Watched bench;
    bench.create(Bench::attributes(0, 0x4000), {0x5000, 0x6000, 0x9000, 0x8000});

    CHECK(bench.watch.taken == 1);
    CHECK(bench.watch.given ==
          Given{{Bench::index, 0x5000, 0x2000}, {Bench::index, 0x9000, 0x1000}, {Bench::index, 0x8000, 0x1000}});
}

TEST_CASE("entries without a right give nothing, whatever address they have", "[unit][tpt][grants]") {
    Watched bench;
    auto a = Bench::attributes(0, 0x4000);
    a.entries_carry_rights = true;
    bench.create(a, {0x5003, 0x6000, 0x7001, 0});

    CHECK(bench.watch.given == Given{{Bench::index, 0x5000, 0x1000}, {Bench::index, 0x7000, 0x1000}});
}

TEST_CASE("a part of a table that is written anew takes nothing from the rest", "[unit][tpt][grants]") {
    Watched bench;
    bench.create(Bench::attributes(0, 0x3000), {0x5000, 0x6000, 0x7000});
    auto& mkey = *bench.table.find(Bench::index);
    mkey.mtt[1] = 0x9000;

    bench.table.note_mapped(mkey, 1, 1);

    CHECK(bench.watch.taken == 1);
    CHECK(bench.watch.given == Given{{Bench::index, 0x5000, 0x3000}, {Bench::index, 0x9000, 0x1000}});
}
