// Registers of a function as a dma-buf.
#include "sw/memory/attachment.h"
#include "sw/memory/mmio_export.h"
#include "testbench/unit/sw/fake_transport.h"
#include "testbench/unit/sw/memory/dmabuf_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <memory>

using namespace sw::memory;
using testbench::check_refused;
using testbench::FakeTransport;

namespace {

constexpr std::uint64_t base = 0x38'0000'0000, bar_bytes = 0x4000;

struct Machine {
    FakeTransport drive, gpu;
    Machine() {
        drive.bars[0].resize(bar_bytes);
        drive.bar_addresses[0] = base;
        gpu.peer_offset = 0x1000'0000'0000;
    }
    MmioExport exported() {
        auto made = MmioExport::create(drive, 0, 0x1000, 0x2000);
        REQUIRE(made);
        return std::move(*made);
    }
};

} // namespace

TEST_CASE("only whole pages of a BAR that there is are exported", "[unit][dmabuf]") {
    Machine m;
    check_refused(MmioExport::create(m.drive, 1, 0, 4096), EINVAL, "region 1 is no BAR");
    check_refused(MmioExport::create(m.drive, 8, 0, 4096), EINVAL, "region 8 is no BAR");
    check_refused(MmioExport::create(m.drive, 0, 0, 0), EINVAL, "whole pages");
    check_refused(MmioExport::create(m.drive, 0, 8, 4096), EINVAL, "whole pages");
    check_refused(MmioExport::create(m.drive, 0, 0, 4100), EINVAL, "whole pages");
    check_refused(MmioExport::create(m.drive, 0, bar_bytes, 4096), EINVAL, "leaves BAR 0");
    check_refused(MmioExport::create(m.drive, 0, 4096, ~std::uint64_t{4095}), EINVAL, "leaves BAR 0");
    CHECK(MmioExport::create(m.drive, 0, 0, bar_bytes));
}

TEST_CASE("an importer reaches exported registers at the peer's address, and no system memory", "[unit][dmabuf]") {
    Machine m;
    const auto registers = m.exported();
    check_refused(registers.buffer()->attach(m.gpu, {.name = "old importer", .move_notify = [](const Lock&) {}}),
                  EINVAL, "");
    const auto importer =
        registers.buffer()->attach(m.gpu, {.name = "GPU", .allow_peer2peer = true, .move_notify = [](const Lock&) {}});
    REQUIRE(importer);
    const auto lock = registers.buffer()->reservation().lock(m.gpu);
    const auto list = (*importer)->map(*lock);
    REQUIRE(list);
    CHECK(**list == ScatterList{{base + 0x1000 + m.gpu.peer_offset, 0x2000}});
    REQUIRE((*importer)->unmap(*lock, *list));
    CHECK(m.gpu.mapped_peers.empty());
}

TEST_CASE("a remapping unit's driver gets the physical address of exported registers", "[unit][dmabuf]") {
    Machine m;
    const auto registers = m.exported();
    const auto importer = registers.buffer()->attach(m.gpu, {.name = "unit",
                                                             .allow_peer2peer = true,
                                                             .move_notify = [](const Lock&) {},
                                                             .accepts = {{MappingType::physical_list}}});
    REQUIRE(importer);
    const auto lock = registers.buffer()->reservation().lock(m.gpu);
    const auto list = (*importer)->map_physical(*lock);
    REQUIRE(list);
    CHECK(**list == PhysicalList{{base + 0x1000, 0x2000}});
    REQUIRE((*importer)->unmap_physical(*lock, *list));
}

TEST_CASE("registers that are taken back are reached by nobody, and their importers have been told", "[unit][dmabuf]") {
    Machine m;
    auto registers = m.exported();
    const auto buffer = registers.buffer();
    unsigned told = 0;
    std::unique_ptr<Attachment> importer;
    ScatterList* list = nullptr;
    auto attached =
        buffer->attach(m.gpu, {.name = "GPU", .allow_peer2peer = true, .move_notify = [&](const Lock& lock) {
                                   ++told;
                                   REQUIRE(importer->unmap(lock, list));
                               }});
    REQUIRE(attached);
    importer = std::move(*attached);
    {
        const auto lock = buffer->reservation().lock(m.gpu);
        list = *importer->map(*lock);
    }
    SECTION("by their owner") { REQUIRE(registers.revoke()); }
    SECTION("with their owner") { const auto gone = std::move(registers); }
    CHECK(told == 1);
    CHECK(m.gpu.mapped_peers.empty());
    CHECK(buffer->is_revoked());
    CHECK(registers.revoke());
    const auto lock = buffer->reservation().lock(m.gpu);
    check_refused(importer->map(*lock), ENODEV, "");
}
