#include "sw/memory/umem.h"
#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <vector>

using abi::Iova;
using sw::memory::BusRange;
using sw::memory::DmaBuf;
using sw::memory::Umem;
using sw::transport::DmaMemory;

namespace {

DmaMemory host(std::uint64_t bus, std::size_t size) { return {nullptr, bus, size}; }

Umem from_ranges(testbench::FakeTransport& importer, std::vector<BusRange> ranges, std::uint64_t offset,
                 std::uint64_t length) {
    auto umem = Umem::from_export(importer, std::make_shared<const DmaBuf>(std::move(ranges), nullptr), offset, length);
    REQUIRE(umem);
    return std::move(*umem);
}

} // namespace

TEST_CASE("contiguous memory whose iova agrees with its bus address fits one page", "[unit][memory]") {
    auto umem = Umem::from_host(host(0x4020'0000, 0x20'0000), 0, 0x20'0000);
    REQUIRE(umem);

    CHECK(umem->best_page_size(Iova{0x7f00'0020'0000}) == 21u);
    CHECK(umem->pages(21) == std::vector<std::uint64_t>{0x4020'0000});
}

TEST_CASE("the page is no larger than the lowest bit in which iova and bus address differ", "[unit][memory]") {
    auto umem = Umem::from_host(host(0x4020'0000, 0x20'0000), 0, 0x20'0000);
    REQUIRE(umem);

    CHECK(umem->best_page_size(Iova{0x7f00'0021'0000}) == 16u);
    CHECK(umem->pages(16).size() == 32);
    CHECK(umem->best_page_size(Iova{0x7f00'0020'1000}) == 12u);
}

TEST_CASE("memory and iova that disagree within 4 KiB have no page size", "[unit][memory]") {
    auto umem = Umem::from_host(host(0x4020'0000, 0x2000), 0x10, 0x100);
    REQUIRE(umem);

    CHECK_FALSE(umem->best_page_size(Iova{0}));
    CHECK(umem->best_page_size(Iova{0x7010}) == 12u);
}

TEST_CASE("a region that begins and ends inside pages lists both of them", "[unit][memory]") {
    auto umem = Umem::from_host(host(0x4000'0000, 0x10000), 0xff0, 0x1020);
    REQUIRE(umem);

    CHECK(umem->pages(12) == std::vector<std::uint64_t>{0x4000'0000, 0x4000'1000, 0x4000'2000});
}

TEST_CASE("inner boundaries of an export limit the page, its two ends do not", "[unit][memory]") {
    testbench::FakeTransport importer;
    auto umem = from_ranges(importer, {{0x1000'0000, 0x1'0000}, {0x2000'0000, 0x2'0000}, {0x3000'0000, 0x1'0000}},
                            0x1000, 0x3'8000);

    CHECK(umem.best_page_size(Iova{0x5000'1000}) == 16u);
    CHECK(umem.pages(16) == std::vector<std::uint64_t>{0x1000'0000, 0x2000'0000, 0x2001'0000, 0x3000'0000});
    CHECK(umem.length() == 0x3'8000);
}

TEST_CASE("touching ranges of an export count as one", "[unit][memory]") {
    testbench::FakeTransport importer;
    auto umem = from_ranges(importer, {{0x1000'0000, 0x1'0000}, {0x1001'0000, 0x3'0000}}, 0, 0x4'0000);

    CHECK(umem.ranges() == std::vector{BusRange{0x1000'0000, 0x4'0000}});
    CHECK(umem.best_page_size(Iova{0}) == 18u);
}

TEST_CASE("the page size stays within what the table can hold", "[unit][memory]") {
    auto umem = Umem::from_host(host(0, 1u << 24), 0, 1u << 24);
    REQUIRE(umem);

    CHECK(umem->best_page_size(Iova{0}, {.log_min = 12, .log_max = 20}) == 20u);
    CHECK(umem->pages(20).size() == 16);
}

TEST_CASE("exported memory is mapped for the importer by its own address and unmapped with the registration",
          "[unit][memory]") {
    testbench::FakeTransport importer;
    importer.peer_offset = 0x10'0000'0000;
    {
        auto umem = from_ranges(importer, {{0x1000'0000, 0x1'0000}, {0x2000'0000, 0x1'0000}}, 0x8000, 0x1'0000);

        CHECK(umem.ranges() == std::vector{BusRange{0x10'1000'8000, 0x8000}, BusRange{0x10'2000'0000, 0x8000}});
        CHECK(importer.mapped_peers.size() == 2);
    }
    CHECK(importer.mapped_peers.empty());
}

TEST_CASE("a registration that leaves its memory, or that no path leads to, is refused with the reason",
          "[unit][memory]") {
    testbench::FakeTransport importer;
    const auto handle = std::make_shared<const DmaBuf>(std::vector{BusRange{0x1000'0000, 0x1'0000}}, nullptr);

    CHECK_FALSE(Umem::from_host(host(0, 0x1000), 0xfff, 2));
    CHECK_FALSE(Umem::from_host(host(0, 0x1000), 0, 0));
    CHECK_FALSE(Umem::from_export(importer, handle, 0x1'0000, 1));
    CHECK_FALSE(Umem::from_export(importer, nullptr, 0, 1));
    importer.refuse_peers = true;
    const auto refused = Umem::from_export(importer, handle, 0, 1);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == EREMOTEIO);
    CHECK(refused.error().what.find("0x10000000") != std::string::npos);
}
