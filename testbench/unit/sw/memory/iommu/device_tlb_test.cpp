#include "sw/memory/iommu/device_tlb.h"

#include "abi/iommu/invalidation.h"
#include "abi/layout.h"
#include "abi/pcie/translation_services.h"
#include "sw/memory/iommu/invalidation.h"
#include "testbench/harness/seed.h"
#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <random>
#include <set>

using namespace sw::memory::iommu;

namespace {

using abi::pcie::AddressTranslation;
using abi::pcie::ExtendedCapabilityHeader;
using abi::pcie::ExtendedCapabilityId;

/// A function with two extended capabilities, the second of which is address translation.
struct Function : testbench::FakeTransport {
    static constexpr std::size_t first = 0x100, ats = 0x148;
    bool is_stubborn = false;

    Function() {
        abi::View<ExtendedCapabilityHeader>(std::span(config).subspan(first, ExtendedCapabilityHeader::size))
            .set<"id">(ExtendedCapabilityId::resizable_bar)
            .set<"next">(std::uint16_t{ats});
        control().set<"id">(ExtendedCapabilityId::address_translation);
    }
    abi::View<AddressTranslation> control() {
        return abi::View<AddressTranslation>(std::span(config).subspan(ats, AddressTranslation::size));
    }
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
        if (!is_stubborn)
            FakeTransport::config_write(offset, bytes, value);
    }
};

} // namespace

TEST_CASE("a function's own TLB is found, turned on and turned off", "[unit][iommu_driver][ats]") {
    Function function;
    REQUIRE(has_device_tlb(function));
    CHECK_FALSE(is_device_tlb_on(function));

    REQUIRE(enable_device_tlb(function));
    CHECK(function.control().get<"enable">());
    CHECK(is_device_tlb_on(function));

    disable_device_tlb(function);
    CHECK_FALSE(function.control().get<"enable">());
    CHECK(function.control().get<"id">() == ExtendedCapabilityId::address_translation);
}

TEST_CASE("a function without a TLB of its own, or one that does not take the setting, is refused",
          "[unit][iommu_driver][ats]") {
    testbench::FakeTransport none;
    CHECK_FALSE(has_device_tlb(none));
    CHECK(enable_device_tlb(none).error().code == ENODEV);
    none.config.fill(std::byte{0xff}); // nobody answers
    CHECK_FALSE(has_device_tlb(none));
    Function stubborn;
    stubborn.is_stubborn = true;
    CHECK(enable_device_tlb(stubborn).error().code == EIO);
}

TEST_CASE("a list of extended capabilities that is a loop has an end", "[unit][iommu_driver][ats]") {
    Function function;
    function.control().set<"id">(ExtendedCapabilityId::pasid).set<"next">(std::uint16_t{Function::first});
    CHECK_FALSE(has_device_tlb(function));
}

TEST_CASE("invalidations of a device-TLB cover the range, each page once, with few descriptors",
          "[unit][iommu_driver][ats]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937 random(seed);
    for (unsigned round = 0; round < 200; ++round) {
        const auto begin = std::uint64_t{random() % 5000}, count = std::uint64_t{1 + random() % 3000};
        const auto all = device_tlb_descriptors(0x0100, begin << 12, count << 12);
        std::set<std::uint64_t> pages;
        for (const auto& bytes : all) {
            const auto descriptor = abi::iommu::DeviceTlbDescriptor::from(bytes);
            CHECK(descriptor.get<"sid">() == 0x0100);
            const auto range = abi::iommu::invalidation_range(descriptor.get<"addr">(), descriptor.get<"s">());
            for (std::uint64_t at = 0; at < range.bytes; at += 4096)
                CHECK(pages.insert((range.begin + at) >> 12).second);
        }
        CHECK(pages.size() == count);
        CHECK(*pages.begin() == begin);
        CHECK(*pages.rbegin() == begin + count - 1);
        CHECK(all.size() <= 24);
    }
}
