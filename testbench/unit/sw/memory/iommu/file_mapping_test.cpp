#include "sw/memory/iommu/file_mapping.h"

#include "testbench/unit/sw/memory/dmabuf_bench.h"
#include "testbench/unit/sw/memory/iommu/driven_unit.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using sw::memory::MappingType;
using sw::memory::iommu::FileMapping;
using testbench::check_refused;
using testbench::DrivenUnit;
using testbench::ScriptedExporter;

namespace {

struct Bench : DrivenUnit {
    Bench() {
        open();
        space = make_space();
        REQUIRE(unit->attach(device, *space));
        exporter.offers = {{MappingType::physical_list}};
    }
    ~Bench() { (void)unit->detach(device); }
    auto map(std::uint64_t offset, std::uint64_t bytes, const FileMapping::Options& options = {}) {
        return FileMapping::create(*space, exporter.buffer, offset, bytes, options);
    }
    ScriptedExporter exporter;
    std::unique_ptr<sw::memory::iommu::AddressSpace> space;
};

} // namespace

TEST_CASE("devices reach a dma-buf in pieces by addresses in one piece", "[unit][iommu_driver][dmabuf]") {
    Bench bench;
    const auto mapping = bench.map(0x3000, 0xa000);
    REQUIRE(mapping);
    const auto iova = (*mapping)->iova();

    CHECK(bench.reach(iova) == 0x1000'3000);
    CHECK(bench.reach(iova + 0xffc) == 0x1000'3ffc);
    CHECK(bench.reach(iova + 0x1000) == 0x2000'0000); // the next piece
    CHECK(bench.reach(iova + 0x8ffc) == 0x2000'7ffc);
    CHECK(bench.reach(iova + 0x9ffc) == 0x3000'0ffc);
    CHECK_FALSE(bench.reach(iova + 0xa000));
    CHECK_FALSE(bench.reach(iova - 4));
    CHECK(bench.exporter.pins == 1);
    CHECK(bench.space->area_count() == 1);
}

TEST_CASE("the end of a mapping gives everything back", "[unit][iommu_driver][dmabuf]") {
    Bench bench;
    auto mapping = bench.map(0, 0x10000, {.iova = 0x40'0000, .rights = {.read = true, .write = false}});
    REQUIRE(mapping);
    CHECK((*mapping)->iova() == 0x40'0000);
    CHECK(bench.reach(0x40'0000));
    CHECK_FALSE(bench.reach(0x40'0000, model::iommu::Access::write));

    mapping->reset();
    CHECK_FALSE(bench.reach(0x40'0000));
    CHECK(bench.exporter.pins == 0);
    CHECK(bench.exporter.attached == 0);
    CHECK(bench.exporter.unmapped == testbench::given_once);
    CHECK(bench.space->area_count() == 0);
    CHECK(bench.map(0, 0x10000, {.iova = 0x40'0000}));
}

TEST_CASE("a buffer that is taken back is reached no more when the revocation returns",
          "[unit][iommu_driver][dmabuf]") {
    Bench bench;
    const auto mapping = bench.map(0, 0x10000);
    REQUIRE(mapping);
    REQUIRE(bench.reach((*mapping)->iova()));

    REQUIRE(bench.exporter.buffer->revoke(bench.machine));
    CHECK((*mapping)->is_revoked());
    CHECK_FALSE(bench.reach((*mapping)->iova()));
    CHECK(bench.exporter.pins == 0);
    check_refused(bench.map(0, 0x1000), ENODEV, "");
}

TEST_CASE("what cannot be mapped is refused, and nothing is left of it", "[unit][iommu_driver][dmabuf]") {
    Bench bench;
    check_refused(bench.map(0, 0), EINVAL, "4 KiB");
    check_refused(bench.map(0x10, 0x1000), EINVAL, "4 KiB");
    check_refused(bench.map(0, 0x1010), EINVAL, "4 KiB");
    check_refused(bench.map(0x10000, 0x1000), EOVERFLOW, "leaves a buffer");
    check_refused(bench.map(0x1000, ~std::uint64_t{0xfff}), EOVERFLOW, "leaves a buffer");
    check_refused(bench.map(0, 0x1000, {.iova = 0xfee0'0000}), EADDRINUSE, "interrupt");
    check_refused(FileMapping::create(*bench.space, {}, 0, 0x1000, {}), EBADF, "no buffer");
    bench.exporter.refuse_pin = EIO;
    check_refused(bench.map(0, 0x1000), EIO, "scripted");
    bench.exporter.refuse_pin = 0;
    bench.exporter.offers = {{MappingType::scatter_list}};
    check_refused(bench.map(0, 0x1000), EINVAL, "");
    CHECK(bench.exporter.pins == 0);
    CHECK(bench.exporter.attached == 0);
    CHECK(bench.space->area_count() == 0);
}

TEST_CASE("areas made of pieces keep out of each other's way", "[unit][iommu_driver]") {
    Bench bench;
    const std::vector<sw::memory::BusRange> pieces{{0x7000, 0x1000}, {0x9000, 0x2000}};
    const auto first = bench.space->map_list(pieces), second = bench.space->map_list(pieces);
    REQUIRE(first);
    REQUIRE(second);
    CHECK((*second >= *first + 0x3000 || *first >= *second + 0x3000));
    check_refused(bench.space->map_list(pieces, *first + 0x2000), EADDRINUSE, "touches");
    check_refused(bench.space->unmap(*first, 0x1000), ENOENT, "inside");
    REQUIRE(bench.space->unmap(*first, 0x3000));
    CHECK_FALSE(bench.reach(*first));
    CHECK(bench.reach(*second + 0x1000) == 0x9000);
    const std::vector<sw::memory::BusRange> crooked{{0x7000, 0x1000}, {0x9100, 0x1000}};
    check_refused(bench.space->map_list(crooked), EINVAL, "whole pages");
}
