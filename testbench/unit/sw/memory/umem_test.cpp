#include "sw/memory/umem.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using abi::Iova;
using sw::memory::BusRange;
using sw::memory::Umem;
using sw::transport::DmaMemory;

namespace {

DmaMemory host(std::uint64_t bus, std::size_t size) { return {nullptr, bus, size}; }

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

TEST_CASE("inner boundaries of a region limit the page, its two ends do not", "[unit][memory]") {
    const auto umem = Umem::from_ranges({{0x1000'1000, 0xf000}, {0x2000'0000, 0x2'0000}, {0x3000'0000, 0x9000}});

    CHECK(umem.best_page_size(Iova{0x5000'1000}) == 16u);
    CHECK(umem.pages(16) == std::vector<std::uint64_t>{0x1000'0000, 0x2000'0000, 0x2001'0000, 0x3000'0000});
    CHECK(umem.length() == 0x3'8000);
}

TEST_CASE("touching ranges count as one", "[unit][memory]") {
    const auto umem = Umem::from_ranges({{0x1000'0000, 0x1'0000}, {0x1001'0000, 0x3'0000}});

    CHECK(umem.ranges() == std::vector{BusRange{0x1000'0000, 0x4'0000}});
    CHECK(umem.best_page_size(Iova{0}) == 18u);
}

TEST_CASE("the page size stays within what the table can hold", "[unit][memory]") {
    auto umem = Umem::from_host(host(0, 1u << 24), 0, 1u << 24);
    REQUIRE(umem);

    CHECK(umem->best_page_size(Iova{0}, {.log_min = 12, .log_max = 20}) == 20u);
    CHECK(umem->pages(20).size() == 16);
}

TEST_CASE("a region that leaves its memory or has no length is refused", "[unit][memory]") {
    CHECK_FALSE(Umem::from_host(host(0, 0x1000), 0xfff, 2));
    CHECK_FALSE(Umem::from_host(host(0, 0x1000), 0, 0));
    CHECK_FALSE(Umem::from_host(host(0, 0x1000), 1, ~std::uint64_t{0}));
}
