#include "model/iommu/iommu.h"
#include "testbench/harness/iommu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi::iommu;
using testbench::IommuBench;

TEST_CASE("the capability registers say what is configured", "[unit][iommu]") {
    const IommuBench all;
    const Capability cap{all.read64(Register::cap)};
    CHECK(cap.get<"nd">() == 6);
    CHECK(cap.get<"sagaw">() == 0b1100);
    CHECK(cap.get<"mgaw">() == 56);
    CHECK(cap.get<"sslps">() == 0b11);
    CHECK(cap.get<"fro">() * 16 == model::iommu::fault_record_offset);
    CHECK(cap.get<"nfr">() == 7);
    CHECK(cap.get<"psi">());
    CHECK(cap.get<"mamv">() == 18);
    CHECK_FALSE(cap.get<"cm">());
    CHECK_FALSE(cap.get<"plmr">()); // protected memory regions are not built
    CHECK_FALSE(cap.get<"phmr">());
    CHECK_FALSE(cap.get<"rwbf">());
    const ExtendedCapability ecap{all.read64(Register::ecap)};
    CHECK(ecap.get<"qi">());
    CHECK(ecap.get<"pt">());
    CHECK_FALSE(ecap.get<"ir">());
    CHECK(all.read(Register::ver) == 0x60);

    const IommuBench few({.five_levels = false,
                          .domain_bits = 8,
                          .caching_mode = true,
                          .pass_through = false,
                          .zero_length_read = false,
                          .fault_records = 1});
    const Capability less{few.read64(Register::cap)};
    CHECK(less.get<"nd">() == 2);
    CHECK(less.get<"sagaw">() == 0b0100);
    CHECK(less.get<"cm">());
    CHECK_FALSE(less.get<"zlr">());
    CHECK(less.get<"nfr">() == 0);
    CHECK_FALSE(ExtendedCapability{few.read64(Register::ecap)}.get<"pt">());
}

TEST_CASE("scalable mode and device-TLBs are advertised when they are configured", "[unit][iommu]") {
    const auto ecap = [](const model::iommu::IommuConfig& config) {
        return ExtendedCapability{IommuBench(config).read64(Register::ecap)};
    };
    const auto none = ecap({.first_stage = true, .page_requests = true}); // nothing without scalable mode
    CHECK_FALSE(none.get<"smts">());
    CHECK_FALSE(none.get<"fsts">());
    CHECK_FALSE(none.get<"prs">());
    const auto all = ecap({.device_tlb = true, .scalable_mode = true, .first_stage = true, .page_requests = true});
    for (const bool is_set :
         {all.get<"dt">(), all.get<"smts">(), all.get<"ssts">(), all.get<"fsts">(), all.get<"prs">(), all.get<"pds">(),
          all.get<"pasid">(), all.get<"rps">(), all.get<"srs">()})
        CHECK(is_set);
    CHECK(all.get<"pss">() == 19);
    for (const bool is_set : {all.get<"nest">(), all.get<"ers">(), all.get<"eafs">(), all.get<"ssads">()})
        CHECK_FALSE(is_set);
    CHECK_FALSE(ecap({.scalable_mode = true, .page_requests = true}).get<"prs">()); // they come through device-TLBs
}

TEST_CASE("after reset everything is off and events are masked", "[unit][iommu]") {
    const IommuBench bench;

    CHECK(bench.read(Register::gsts) == 0);
    CHECK(bench.read(Register::fsts) == 0);
    for (const auto r : {Register::fectl, Register::iectl})
        CHECK(bench.read(r) == EventControl::mask<"im">);
    CHECK(bench.read64(Register::rtaddr) == 0);
    CHECK(bench.read64(Register::iqa) == 0);
}

TEST_CASE("commands show in the status register", "[unit][iommu]") {
    IommuBench bench;

    bench.command({.srtp = true});
    CHECK(bench.read(Register::gsts) == GlobalStatus::mask<"rtps">);
    bench.command({.qie = true});
    CHECK(bench.read(Register::gsts) == (GlobalStatus::mask<"rtps"> | GlobalStatus::mask<"qies">));
    bench.command({.qie = true, .te = true});
    CHECK(bench.read(Register::gsts) ==
          (GlobalStatus::mask<"rtps"> | GlobalStatus::mask<"qies"> | GlobalStatus::mask<"tes">));
    bench.command({});
    CHECK(bench.read(Register::gsts) == GlobalStatus::mask<"rtps">);
    bench.write(Register::gcmd, GlobalCommand::mask<"ire"> | GlobalCommand::mask<"eafl">); // not advertised
    CHECK(bench.read(Register::gsts) == GlobalStatus::mask<"rtps">);
}

TEST_CASE("register-based invalidation ends at once and says that it did nothing", "[unit][iommu]") {
    IommuBench bench;
    bench.map(bench.attach(IommuBench::device), 0x4000, 0x5000);
    bench.enable();
    bench.translate(0x4000);

    bench.write64(Register::ccmd, ContextCommand{}.set<"icc">(true).set<"cirg">(1).value());
    bench.iommu.write(model::iommu::iotlb_offset + 8, 8, IotlbInvalidate{}.set<"ivt">(true).set<"iirg">(1).value(), {});

    CHECK_FALSE(ContextCommand{bench.read64(Register::ccmd)}.get<"icc">());
    CHECK(ContextCommand{bench.read64(Register::ccmd)}.get<"caig">() == 0);
    const IotlbInvalidate iotlb{bench.iommu.read(model::iommu::iotlb_offset + 8, 8)};
    CHECK_FALSE(iotlb.get<"ivt">());
    CHECK(iotlb.get<"iaig">() == 0);
    CHECK(bench.translate(0x4000).reads == 0);
}

TEST_CASE("registers of 64 bits take two dwords, and what is read-only stays", "[unit][iommu]") {
    IommuBench bench;
    const auto at = IommuBench::offset(Register::iqa);
    bench.iommu.write(at, 4, 0x0123'4fff, {});
    bench.iommu.write(at + 4, 4, 0x77, {});
    CHECK(bench.read64(Register::iqa) == 0x77'0123'4807); // reserved bits read as zero
    CHECK(bench.iommu.read(at + 4, 4) == 0x77);

    const auto cap = bench.read64(Register::cap);
    for (const auto r : {Register::ver, Register::cap, Register::ecap, Register::gsts, Register::iqh, Register::iqercd})
        bench.write64(r == Register::gsts ? Register::gcmd : r, r == Register::gsts ? ~0ull << 32 : ~0ull);
    CHECK(bench.read64(Register::cap) == cap);
    CHECK(bench.read(Register::ver) == 0x60);
    CHECK(bench.read64(Register::iqh) == 0);
    CHECK(bench.read(Register::gsts) == 0);
}

TEST_CASE("odd accesses read zero and change nothing", "[unit][iommu]") {
    IommuBench bench;

    CHECK(bench.iommu.read(0x9, 4) == 0);
    CHECK(bench.iommu.read(0xc, 8) == 0);
    CHECK(bench.iommu.read(0x8, 2) == 0);
    CHECK(bench.iommu.read(0x1000, 4) == 0);
    CHECK(bench.iommu.read(0x400, 8) == 0);
    bench.iommu.write(IommuBench::offset(Register::gcmd), 1, 0xff, {});
    bench.iommu.write(0xffc, 8, ~0ull, {});
    bench.iommu.write(0xffff'fff8, 8, ~0ull, {});
    CHECK(bench.read(Register::gsts) == 0);
}
