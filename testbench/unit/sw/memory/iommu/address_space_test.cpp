#include "testbench/harness/seed.h"
#include "testbench/unit/sw/memory/iommu/driven_unit.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <random>

using model::iommu::Access;
using sw::memory::iommu::AddressSpace;
using testbench::DrivenUnit;

namespace {
constexpr std::uint64_t KiB4 = 0x1000, MiB2 = 2 << 20, GiB = 1 << 30;
}

TEST_CASE("a device reaches what is mapped, and nothing beside it", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));

    REQUIRE(space->map_at(0x10'0000, 0x7'2000, 2 * KiB4));

    CHECK(bench.reach(0x10'0000) == 0x7'2000);
    CHECK(bench.reach(0x10'1ffc) == 0x7'3ffc);
    CHECK_FALSE(bench.reach(0x10'2000));
    CHECK_FALSE(bench.reach(0xf'f000));
    CHECK_FALSE(bench.reach(0x10'0000, Access::read, DrivenUnit::other_device));
    REQUIRE(bench.unit->detach(DrivenUnit::device));
}

TEST_CASE("rights of an area hold", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));
    REQUIRE(space->map_at(0x1000, 0xa000, KiB4, {.read = true, .write = false}));
    REQUIRE(space->map_at(0x2000, 0xb000, KiB4, {.read = false, .write = true}));

    CHECK(bench.reach(0x1000));
    CHECK_FALSE(bench.reach(0x1000, Access::write));
    CHECK(bench.reach(0x2000, Access::write));
    CHECK_FALSE(bench.reach(0x2000));
}

TEST_CASE("an unmapped area is reached no more, though its translation was cached", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));
    REQUIRE(space->map_at(0x1000, 0xa000, KiB4));
    REQUIRE(bench.reach(0x1000));

    REQUIRE(space->unmap(0x1000, KiB4));

    CHECK_FALSE(bench.reach(0x1000));
    CHECK(space->area_count() == 0);
}

TEST_CASE("an invalidation that is left out leaves the old translation in force", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open().plant_missing_invalidations(1);
    const auto space = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));
    REQUIRE(space->map_at(0x1000, 0xa000, KiB4));
    REQUIRE(bench.reach(0x1000));

    REQUIRE(space->unmap(0x1000, KiB4));

    CHECK(bench.reach(0x1000) == 0xa000);
}

TEST_CASE("large pages are used where addresses and length allow", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    // 4 KiB pages up to 2 MiB, 2 MiB pages up to 1 GiB, one of 1 GiB, and the same on the other side.
    const auto iova = GiB - MiB2 - KiB4, physical = 7 * GiB - MiB2 - KiB4;
    const auto bytes = KiB4 + MiB2 + GiB + MiB2 + KiB4;
    REQUIRE(space->map_at(iova, physical, bytes));

    CHECK(space->find(iova)->bytes == KiB4);
    CHECK(space->find(iova + KiB4)->bytes == MiB2);
    CHECK(space->find(GiB + 5)->bytes == GiB);
    CHECK(space->find(GiB + 5)->physical == 7 * GiB + 5);
    CHECK(space->find(2 * GiB)->bytes == MiB2);
    CHECK(space->find(2 * GiB + MiB2)->bytes == KiB4);
    CHECK_FALSE(space->find(iova + bytes));

    REQUIRE(space->unmap(iova, bytes));
    CHECK(space->table_count() == 1);
}

TEST_CASE("units without large pages get small ones", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open({.pages_2m = false, .pages_1g = false});
    const auto space = bench.make_space();
    REQUIRE(space->map_at(MiB2, MiB2, MiB2));
    CHECK(space->find(MiB2)->bytes == KiB4);
}

TEST_CASE("a place of our choice agrees with the physical address as far as large pages need", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();

    const auto small = space->map(0x5000, KiB4), aligned = space->map(0x4'0000, KiB4, 0x4'0000),
               large = space->map(3 * MiB2 + KiB4, 2 * MiB2);
    REQUIRE((small && aligned && large));

    CHECK(aligned->value % 0x4'0000 == 0);
    CHECK(large->value % MiB2 == KiB4);
    CHECK(space->find(large->value + MiB2)->bytes == MiB2);
    for (const auto place : {*small, *aligned, *large})
        CHECK((place.value >= AddressSpace::automatic.begin && place.value < AddressSpace::automatic.end));
}

TEST_CASE("a place that somebody named is not chosen for another", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    const auto begin = AddressSpace::automatic.begin;
    REQUIRE(space->map_at(begin - KiB4, 0x5000, 2 * KiB4));

    CHECK(space->map(0x9000, KiB4)->value == begin + KiB4);

    REQUIRE(space->unmap(begin - KiB4, 2 * KiB4));
    CHECK(space->map(0x9000, KiB4)->value == begin);
}

TEST_CASE("what cannot be mapped is refused with its reason, and changes nothing", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    REQUIRE(space->map_at(0x10'0000, 0x5000, 4 * KiB4));
    const auto refusal = [&](std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) {
        const auto mapped = space->map_at(iova, physical, bytes);
        return mapped ? 0 : mapped.error().code;
    };

    CHECK(refusal(0x1001, 0x1000, KiB4) == EINVAL);
    CHECK(refusal(0x1000, 0x1001, KiB4) == EINVAL);
    CHECK(refusal(0x1000, 0x1000, KiB4 + 1) == EINVAL);
    CHECK(refusal(0x1000, 0x1000, 0) == EINVAL);
    CHECK(refusal(~std::uint64_t{0} << 12, 0x1000, 2 * KiB4) == EOVERFLOW);
    CHECK(refusal(0x1000, ~std::uint64_t{0} << 12, 2 * KiB4) == EOVERFLOW);
    CHECK(refusal(std::uint64_t{1} << 48, 0x1000, KiB4) == EOVERFLOW);
    CHECK(refusal(0xfedf'f000, 0x1000, 2 * KiB4) == EADDRINUSE);
    CHECK(refusal(0x10'3000, 0x1000, KiB4) == EADDRINUSE);
    CHECK(refusal(0xf'f000, 0x1000, 2 * KiB4) == EADDRINUSE);
    CHECK(refusal(0xf'f000, 0x1000, 8 * KiB4) == EADDRINUSE);
    CHECK(space->area_count() == 1);
    CHECK(space->find(0x10'3000)->physical == 0x8000);
}

TEST_CASE("areas are unmapped whole, several at once, and only if they are there", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    for (const std::uint64_t iova : {0x1000, 0x4000, 0x6000})
        REQUIRE(space->map_at(iova, iova, 2 * KiB4));
    const auto refusal = [&](std::uint64_t iova, std::uint64_t bytes) {
        const auto unmapped = space->unmap(iova, bytes);
        return unmapped ? 0 : unmapped.error().code;
    };

    CHECK(refusal(0x3000, KiB4) == ENOENT);
    CHECK(refusal(0x1000, KiB4) == ENOENT);
    CHECK(refusal(0x2000, KiB4) == ENOENT);
    CHECK(refusal(0x3000, 2 * KiB4) == ENOENT);
    CHECK(refusal(0x2000, 4 * KiB4) == ENOENT);
    CHECK(space->area_count() == 3);
    CHECK(refusal(0x3000, 5 * KiB4) == 0);
    CHECK(space->area_count() == 1);
    CHECK(refusal(0, ~std::uint64_t{0}) == 0);
    CHECK(space->table_count() == 1);
}

TEST_CASE("when memory for tables runs out, nothing is mapped and nothing is lost", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    const auto before = bench.machine.live_allocations();
    bench.machine.memory_limit = bench.machine.allocated_bytes + 4 * KiB4; // for one branch, and a table of the next

    const auto mapped = space->map_at(GiB - KiB4, 0x5000, 2 * KiB4);

    REQUIRE_FALSE(mapped);
    CHECK(mapped.error().code == ENOMEM);
    CHECK(space->area_count() == 0);
    CHECK_FALSE(space->find(GiB - KiB4));
    CHECK(bench.machine.live_allocations() == before);
    bench.machine.memory_limit = SIZE_MAX;
    CHECK(space->map_at(GiB - KiB4, 0x5000, 2 * KiB4));
    CHECK(space->unmap(GiB - KiB4, 2 * KiB4));
    CHECK(bench.machine.live_allocations() == before);
}

TEST_CASE("what the unit finds is what was mapped, whatever was mapped and unmapped before", "[unit][iommu_driver]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937_64 random(seed);
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> areas; // iova: physical, bytes
    for (unsigned step = 0; step < 2000; ++step) {
        const auto iova = (random() % 0x4000) * KiB4,
                   bytes = (1 + (random() % 4 == 0 ? random() % 0x800 : random() % 8)) * KiB4;
        const auto physical = (random() % 2 == 0 ? iova & (MiB2 - 1) : random() % 0x1000 * KiB4) + 64 * GiB;
        const bool is_free = std::ranges::none_of(areas, [&](const auto& area) {
            return area.first < iova + bytes && iova < area.first + area.second.second;
        });
        if (random() % 2 == 0) {
            CHECK(space->map_at(iova, physical, bytes).has_value() == is_free);
            if (is_free)
                areas[iova] = {physical, bytes};
        } else if (!areas.empty()) {
            const auto gone = std::next(areas.begin(), static_cast<std::ptrdiff_t>(random() % areas.size()));
            CHECK(space->unmap(gone->first, gone->second.second));
            areas.erase(gone);
        }
        for (unsigned probe = 0; probe < 4; ++probe) {
            const auto address = random() % (0x4800 * KiB4) & ~std::uint64_t{3};
            const auto next = areas.upper_bound(address);
            std::optional<std::uint64_t> wanted;
            if (next != areas.begin())
                if (const auto& [begin, area] = *std::prev(next); address - begin < area.second)
                    wanted = area.first + (address - begin);
            REQUIRE(bench.reach(address) == wanted);
        }
    }
}
