#include "sw/memory/iommu/translated_transport.h"

#include "testbench/unit/sw/memory/iommu/driven_unit.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using sw::memory::iommu::TranslatedTransport;
using testbench::DrivenUnit;

TEST_CASE("memory of a translated function has addresses that only its device understands", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));
    testbench::FakeTransport function;
    TranslatedTransport transport(function, *space);
    const auto other = function.allocate(4096, 4096); // so that the addresses are not the same by chance

    const auto memory = transport.allocate(5000, 0x1'0000);
    REQUIRE(memory);
    CHECK(memory->bus % 0x1'0000 == 0);
    const auto physical = bench.reach(memory->bus);
    REQUIRE(physical);
    CHECK(*physical != memory->bus);
    CHECK(function.at(*physical, 5000).data() == memory->data);

    transport.release(*memory);
    CHECK_FALSE(bench.reach(memory->bus));
    CHECK(function.live_allocations() == 1);
    CHECK(space->area_count() == 0);
    function.release(*other);
}

TEST_CASE("a peer's range is mapped with the pages it lies in, and goes again", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));
    testbench::FakeTransport function;
    TranslatedTransport transport(function, *space);

    const auto address = transport.map_peer(0x100'0000'0100, 0x1000);
    REQUIRE(address);
    CHECK(bench.reach(*address) == 0x100'0000'0100);
    CHECK(bench.reach(*address + 0xffc) == 0x100'0000'10fc);

    transport.unmap_peer(*address, 0x1000);
    CHECK_FALSE(bench.reach(*address));
    CHECK(function.mapped_peers.empty());
}

TEST_CASE("what the function cannot have is not mapped", "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    testbench::FakeTransport function;
    function.memory_limit = 0;
    function.refuse_peers = true;
    TranslatedTransport transport(function, *space);

    CHECK(transport.allocate(4096).error().code == ENOMEM);
    CHECK(transport.map_peer(0x1000, 0x1000).error().code == EREMOTEIO);
    CHECK(space->area_count() == 0);
}

TEST_CASE("a peer that is reached straight keeps its address, one that is not reached is refused",
          "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    testbench::FakeTransport function;
    auto route = sw::memory::PeerRoute::direct;
    TranslatedTransport transport(function, *space, [&](std::uint64_t bus) {
        CHECK(bus == 0x100'0000'0000);
        return route;
    });

    CHECK(*transport.map_peer(0x100'0000'0000, 0x1000) == 0x100'0000'0000);
    CHECK(space->area_count() == 0);
    transport.unmap_peer(0x100'0000'0000, 0x1000);
    CHECK(function.mapped_peers.empty());

    route = sw::memory::PeerRoute::none;
    CHECK(transport.map_peer(0x100'0000'0000, 0x1000).error().code == EREMOTEIO);
    CHECK(function.mapped_peers.empty());
}

TEST_CASE("memory of another function is mapped for this one, by the physical address that it has",
          "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space(), others = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));
    testbench::FakeTransport function;
    TranslatedTransport transport(function, *space), other(function, *others);
    const auto memory = other.allocate(3 * 4096);
    REQUIRE(memory);
    REQUIRE_FALSE(bench.reach(memory->bus));

    const auto address = transport.map_memory(*memory);

    REQUIRE(address);
    const auto physical = bench.reach(*address + 2 * 4096);
    REQUIRE(physical);
    CHECK(function.at(*physical, 4).data() == memory->data + 2 * 4096);
    transport.unmap_memory(*address, memory->size);
    CHECK_FALSE(bench.reach(*address));
    other.release(*memory);
    CHECK(transport.map_memory(*memory).error().code == EINVAL);
    CHECK(space->area_count() + others->area_count() == 0);
}

TEST_CASE("a peer of a function that translates addresses itself is mapped, though it is reached straight",
          "[unit][iommu_driver]") {
    DrivenUnit bench;
    bench.open();
    const auto space = bench.make_space();
    REQUIRE(bench.unit->attach(DrivenUnit::device, *space));
    testbench::FakeTransport function;
    TranslatedTransport transport(function, *space, [](std::uint64_t) { return sw::memory::PeerRoute::translated; });

    const auto address = transport.map_peer(0x100'0000'0000, 0x1000);

    REQUIRE(address);
    CHECK(bench.reach(*address) == 0x100'0000'0000);
    transport.unmap_peer(*address, 0x1000);
    CHECK(space->area_count() == 0);
}
