#include "model/pcie/device_tlb.h"

#include "model/pcie/remapper.h"

#include <catch2/catch_test_macros.hpp>

using namespace model::pcie;

namespace {
constexpr std::uint64_t page = 0x7'0000'0000;

DeviceTlb::Entry entry(std::uint64_t address, std::uint8_t shift = 12, bool r = true, bool w = true) {
    return {.address = address, .shift = shift, .is_readable = r, .is_writable = w};
}
} // namespace

TEST_CASE("a device-TLB gives what was put in, for the accesses that it allows", "[unit][pcie][ats]") {
    DeviceTlb tlb({.entries = 8});
    tlb.insert(no_pasid, page, entry(0x1000, 12, true, false));

    REQUIRE(tlb.find(no_pasid, page + 0xfff, false));
    CHECK(tlb.find(no_pasid, page + 0xfff, false)->address == 0x1000);
    CHECK_FALSE(tlb.find(no_pasid, page, true));
    CHECK_FALSE(tlb.find(no_pasid, page + 0x1000, false));
    CHECK_FALSE(tlb.find(5, page, false));
}

TEST_CASE("a range of a size between two is kept as pages of the lower size", "[unit][pcie][ats]") {
    DeviceTlb tlb({.entries = 8});
    tlb.insert(no_pasid, page + 0x3123, entry(0x10'0000, 16)); // 64 KiB

    CHECK(tlb.find(no_pasid, page + 0x3000, false)->address == 0x10'3000);
    CHECK(tlb.find(no_pasid, page + 0x3000, false)->shift == 12);
    CHECK_FALSE(tlb.find(no_pasid, page + 0x4000, false));
    tlb.insert(no_pasid, page, entry(0x4000'0000, 39)); // pass-through: the largest page there is
    CHECK(tlb.find(no_pasid, page + 0x3fff'ffff, false)->shift == 30);
}

TEST_CASE("an invalidation drops what it touches, of its PASID or of all", "[unit][pcie][ats]") {
    DeviceTlb tlb({.entries = 32});
    const auto fill = [&] {
        for (const auto pasid : {no_pasid, 1u, 2u}) {
            tlb.insert(pasid, page, entry(0x1000));
            tlb.insert(pasid, page + 0x1000, entry(0x2000));
            tlb.insert(pasid, page + 0x20'0000, entry(0x4000'0000, 21));
        }
    };
    const auto has = [&](std::uint32_t pasid, std::uint64_t offset) {
        return tlb.find(pasid, page + offset, false).has_value();
    };

    fill();
    tlb.invalidate(1, false, page + 0x1000, 0x1000);
    CHECK((has(1, 0) && !has(1, 0x1000) && has(1, 0x20'0000)));
    CHECK((has(2, 0x1000) && has(no_pasid, 0x1000)));
    tlb.invalidate(2, false, page + 0x20'1000, 0x1000); // inside a large page
    CHECK((has(2, 0) && !has(2, 0x20'0000)));
    tlb.invalidate(no_pasid, false, 0, 0);
    CHECK((!has(no_pasid, 0) && !has(no_pasid, 0x20'0000) && has(1, 0) && has(2, 0)));
    fill();
    tlb.invalidate(7, true, page, 0x1000); // of all PASIDs
    CHECK((!has(1, 0) && !has(2, 0) && has(no_pasid, 0) && has(1, 0x1000)));
    tlb.clear();
    CHECK_FALSE(has(no_pasid, 0));
}
