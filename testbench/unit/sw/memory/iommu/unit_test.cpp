#include "testbench/unit/sw/memory/iommu/driven_unit.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using abi::iommu::FaultReason;
using model::iommu::Access;
using sw::memory::iommu::Unit;
using testbench::DrivenUnit;

TEST_CASE("behind a unit that was opened, a device without an address space reaches nothing", "[unit][iommu_driver]") {
    DrivenUnit bench;
    CHECK(bench.reach(0x1000) == 0x1000);
    bench.open();
    CHECK_FALSE(bench.reach(0x1000));
    REQUIRE(bench.unit->close());
    CHECK(bench.reach(0x1000) == 0x1000);
}

TEST_CASE("devices share an address space or have one each", "[unit][iommu_driver]") {
    DrivenUnit bench;
    auto& unit = bench.open();
    const auto first = bench.make_space(), second = bench.make_space();
    CHECK(first->domain() != second->domain());
    REQUIRE(first->map_at(0x1000, 0xa000, 0x1000));
    REQUIRE(second->map_at(0x1000, 0xb000, 0x1000));
    REQUIRE(unit.attach(DrivenUnit::device, *first));
    REQUIRE(unit.attach(DrivenUnit::other_device, *second));
    CHECK(bench.reach(0x1000) == 0xa000);
    CHECK(bench.reach(0x1000, Access::read, DrivenUnit::other_device) == 0xb000);

    REQUIRE(unit.detach(DrivenUnit::other_device));
    CHECK_FALSE(bench.reach(0x1000, Access::read, DrivenUnit::other_device));
    REQUIRE(unit.attach(DrivenUnit::other_device, *first));
    CHECK(bench.reach(0x1000, Access::read, DrivenUnit::other_device) == 0xa000);
}

TEST_CASE("attaching and detaching what cannot be is refused with its reason", "[unit][iommu_driver]") {
    DrivenUnit bench, other;
    auto& unit = bench.open();
    other.open();
    const auto space = bench.make_space(), foreign = other.make_space();
    REQUIRE(unit.attach(DrivenUnit::device, *space));

    CHECK(unit.attach(DrivenUnit::device, *space).error().code == EBUSY);
    CHECK(unit.attach(DrivenUnit::other_device, *foreign).error().code == EINVAL);
    CHECK(unit.attach(DrivenUnit::other_device, *space, true).error().code == ENOTSUP);
    CHECK(unit.detach(DrivenUnit::other_device).error().code == ENOENT);
    CHECK(unit.close().error().code == EBUSY);
}

TEST_CASE("faults are read once, in the order in which they came", "[unit][iommu_driver]") {
    DrivenUnit bench;
    auto& unit = bench.open();
    const auto space = bench.make_space();
    REQUIRE(unit.attach(DrivenUnit::device, *space));
    REQUIRE(space->map_at(0x1000, 0xa000, 0x1000, {.read = true, .write = false}));
    bench.reach(0x1ffc, Access::write);
    bench.reach(0x5000);
    bench.reach(0x6000, Access::read, DrivenUnit::other_device);

    const auto faults = unit.take_faults();

    REQUIRE(faults.size() == 3);
    CHECK(faults[0].requester == DrivenUnit::device);
    CHECK(faults[0].address == 0x1000);
    CHECK(faults[0].is_write);
    CHECK(faults[0].reason == FaultReason::no_write);
    CHECK(faults[1].address == 0x5000);
    CHECK_FALSE(faults[1].is_write);
    CHECK(faults[1].reason == FaultReason::no_read);
    CHECK(faults[2].requester == DrivenUnit::other_device);
    CHECK(faults[2].reason == FaultReason::root_not_present);
    CHECK(unit.take_faults().empty());
    CHECK(to_string(faults[0]) == "01:00.0 writes 0x1000: reason 0x05, LGN.2: a paging entry does not allow writes");
}

TEST_CASE("faults go on being read when their records have gone round, and lost ones are told",
          "[unit][iommu_driver]") {
    model::iommu::IommuConfig config;
    config.fault_records = 4;
    DrivenUnit bench(config);
    auto& unit = bench.open();
    for (std::uint64_t round = 0; round < 5; ++round) {
        for (std::uint64_t i = 0; i < 3; ++i)
            bench.reach((round * 3 + i + 1) << 12);
        const auto faults = unit.take_faults();
        REQUIRE(faults.size() == 3);
        CHECK(faults[0].address == (round * 3 + 1) << 12);
    }
    CHECK_FALSE(unit.take_overflow());
    for (std::uint64_t i = 0; i < 6; ++i)
        bench.reach(i << 12);
    CHECK(unit.take_faults().size() == 4);
    CHECK(unit.take_overflow());
    CHECK_FALSE(unit.take_overflow());
}

TEST_CASE("a device with a device-TLB is told of pages that went", "[unit][iommu_driver]") {
    model::iommu::IommuConfig config;
    config.device_tlb = true;
    DrivenUnit bench(config);
    auto& unit = bench.open();
    const auto space = bench.make_space();
    REQUIRE(unit.attach(DrivenUnit::device, *space, true));
    REQUIRE(unit.attach(DrivenUnit::other_device, *space));
    REQUIRE(space->map_at(0x1000, 0xa000, 0x2000));

    REQUIRE(space->unmap(0x1000, 0x2000));

    REQUIRE_FALSE(bench.device_invalidations.empty());
    for (const auto& told : bench.device_invalidations)
        CHECK(told.device == DrivenUnit::device);
}

TEST_CASE("a device that does not answer an invalidation is an error, and the next one goes through",
          "[unit][iommu_driver]") {
    model::iommu::IommuConfig config;
    config.device_tlb = true;
    DrivenUnit bench(config);
    auto& unit = bench.open();
    const auto space = bench.make_space();
    REQUIRE(unit.attach(DrivenUnit::device, *space, true));
    REQUIRE(space->map_at(0x1000, 0xa000, 0x1000));
    REQUIRE(space->map_at(0x2000, 0xb000, 0x1000));
    bench.device_answers = false;
    CHECK(space->unmap(0x1000, 0x1000).error().code == ETIMEDOUT);
    bench.device_answers = true;
    CHECK(space->unmap(0x2000, 0x1000));
}

TEST_CASE("no unit, or one that lacks what is asked for, is refused", "[unit][iommu_driver]") {
    testbench::FakeTransport nobody;
    CHECK(Unit::open(nobody).error().code == ENODEV);
    model::iommu::IommuConfig config;
    config.five_levels = false;
    DrivenUnit bench(config);
    CHECK(Unit::open(bench.machine, {.levels = 5}).error().code == EINVAL);
    CHECK(Unit::open(bench.machine, {.levels = 6}).error().code == EINVAL);
}

TEST_CASE("all domains can be taken, and one that is released is there again", "[unit][iommu_driver]") {
    model::iommu::IommuConfig config;
    config.domain_bits = 4;
    DrivenUnit bench(config);
    bench.open();
    std::vector<std::unique_ptr<sw::memory::iommu::AddressSpace>> spaces;
    for (unsigned i = 1; i < 16; ++i)
        spaces.push_back(bench.make_space());
    CHECK(sw::memory::iommu::AddressSpace::create(*bench.unit).error().code == ENOSPC);
    spaces.pop_back();
    CHECK(sw::memory::iommu::AddressSpace::create(*bench.unit));
}

TEST_CASE("a translation of a domain that went does not serve its number's next owner", "[unit][iommu_driver]") {
    DrivenUnit bench;
    auto& unit = bench.open();
    auto space = bench.make_space();
    REQUIRE(unit.attach(DrivenUnit::device, *space));
    REQUIRE(space->map_at(0x1000, 0xa000, 0x1000));
    REQUIRE(bench.reach(0x1000));
    REQUIRE(unit.detach(DrivenUnit::device));
    const auto number = space->domain();
    space = nullptr;

    space = bench.make_space();
    REQUIRE(space->domain() == number);
    REQUIRE(unit.attach(DrivenUnit::device, *space));
    CHECK_FALSE(bench.reach(0x1000));
}
