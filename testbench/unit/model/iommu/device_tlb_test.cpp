// Translation requests, translated requests and invalidations of device-TLBs.
#include "model/iommu/iommu.h"
#include "testbench/harness/iommu_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace abi::iommu;
using model::iommu::Access;
using model::iommu::AddressType;
using model::iommu::IommuConfig;
using model::iommu::no_pasid;
using model::port::DmaStatus;
using testbench::IommuBench;
using Reason = FaultReason;

namespace {

constexpr auto device = IommuBench::device;

struct Ats {
    IommuBench bench;
    std::uint64_t tables = bench.new_page();

    explicit Ats(IommuConfig config = {}) : bench((config.device_tlb = true, config)) {
        bench.attach(device, IommuBench::context(1, tables).set<"tt">(TranslationType::with_device_tlb));
        bench.enable();
    }
    model::iommu::Translation ask(std::uint64_t address, Access access = Access::read) {
        return bench.translate({.requester = device,
                                .address = address,
                                .length = 0x1000,
                                .access = access,
                                .type = AddressType::translation_request});
    }
};

DeviceTlbDescriptor device_tlb(std::uint16_t source, std::uint64_t address, bool s = false) {
    return DeviceTlbDescriptor{}.set<"type">(3).set<"sid">(source).set<"addr">(address).set<"s">(s);
}

} // namespace

TEST_CASE("a translation request learns the page, its size and its rights", "[unit][iommu][ats]") {
    Ats a;
    a.bench.map(a.tables, 0x4000, 0x5000, 12, true, false);
    a.bench.map(a.tables, 0x40'0000, 0x80'0000, 21, false, true);

    const auto small = a.ask(0x4000, Access::write); // asks for write, gets what there is
    CHECK(small.is_ok());
    CHECK(small.address == 0x5000);
    CHECK(small.shift == 12);
    CHECK(small.is_readable);
    CHECK_FALSE(small.is_writable);
    const auto large = a.ask(0x41'2000);
    CHECK(large.address == 0x81'2000);
    CHECK(large.shift == 21);
    CHECK_FALSE(large.is_readable);
    CHECK(large.is_writable);
    CHECK(a.bench.fault_status().value() == 0);
}

TEST_CASE("a page that is not there is an answer to a translation request, not a fault", "[unit][iommu][ats]") {
    Ats a;

    for (const auto address : {std::uint64_t{0x4000}, std::uint64_t{1} << 50}) {
        const auto result = a.ask(address);
        CHECK(result.is_ok());
        CHECK_FALSE(result.is_readable);
        CHECK_FALSE(result.is_writable);
    }
    CHECK(a.bench.fault_status().value() == 0);
    // The same as an ordinary request is one.
    CHECK(a.bench.translate(0x4000).fault == Reason::no_read);
    CHECK(a.bench.fault_status().get<"ppf">());
}

TEST_CASE("tables that are not set up or are broken end a translation request with an error", "[unit][iommu][ats]") {
    Ats a;
    a.bench.map(a.tables, 0x4000, 0x5000);
    const auto leaf = a.bench.paging_entry(a.tables, 4, 0x4000, 1);
    a.bench.put(leaf, SecondStageEntry{a.bench.get<SecondStageEntry>(leaf).value() | 1ull << 50});

    CHECK(a.ask(0x4000).status == DmaStatus::completer_abort);
    CHECK(a.bench.record(0).get<"at">() == 1);
    a.bench.attach(device, ContextEntry{});
    a.bench.invalidate_contexts();
    CHECK(a.ask(0x4000).status == DmaStatus::unsupported_request);
    a.bench.attach(device, IommuBench::context(1, a.tables));
    CHECK(a.ask(0x4000).fault == Reason::blocked);
    CHECK(a.ask(0x4000).status == DmaStatus::unsupported_request);
}

TEST_CASE("the interrupt range is answered as untranslated only", "[unit][iommu][ats]") {
    Ats a;

    const auto result = a.ask(0xfee0'0000);
    CHECK(result.is_ok());
    CHECK(result.is_untranslated_only);
    CHECK_FALSE(result.is_readable);
    const auto for_dword = a.bench.translate({.requester = IommuBench::device,
                                              .address = 0xfee0'0000,
                                              .length = 4,
                                              .access = Access::write,
                                              .type = AddressType::translation_request});
    CHECK(for_dword.is_untranslated_only);
    CHECK_FALSE(for_dword.is_interrupt); // who asks for a translation writes nothing yet
}

TEST_CASE("a translated request goes to the host address it names", "[unit][iommu][ats]") {
    Ats a;
    const auto ask = [&](std::uint64_t address, std::uint32_t length = 64) {
        return a.bench.translate({.requester = device,
                                  .address = address,
                                  .length = length,
                                  .access = Access::write,
                                  .type = AddressType::translated});
    };

    CHECK(ask(0x1234'5000).address == 0x1234'5000);
    CHECK(ask(0xfee0'0000, 4).fault == Reason::interrupt_range); // no message either
    CHECK(ask(0xfee0'0000).fault == Reason::interrupt_range);
    CHECK(ask(std::uint64_t{1} << 46).fault == Reason::beyond_width);
}

TEST_CASE("an invalidation of a device-TLB goes to the device, with its range", "[unit][iommu][ats]") {
    struct Case {
        std::uint64_t address;
        bool s;
        std::uint64_t begin, bytes;
    };
    const auto c = GENERATE(Case{0x7000, false, 0x7000, 0x1000}, Case{0x6000, true, 0x6000, 0x2000},
                            Case{0x5000, true, 0x4000, 0x4000}, Case{0x3000, true, 0, 0x8000},
                            Case{0x7fff'ffff'ffff'f000, true, 0, 0}, // bit 63 clear: everything
                            Case{0xffff'ffff'ffff'f000, true, 0, 0});
    Ats a;

    a.bench.submit(device_tlb(device, c.address, c.s));

    REQUIRE(a.bench.invalidations.size() == 1);
    CHECK(a.bench.invalidations[0].device == device);
    CHECK(a.bench.invalidations[0].pasid == no_pasid);
    CHECK(a.bench.invalidations[0].begin == c.begin);
    CHECK(a.bench.invalidations[0].bytes == c.bytes);
    CHECK(a.bench.is_done());
}

TEST_CASE("a wait ends when the devices have completed", "[unit][iommu][ats]") {
    Ats a;
    a.bench.device_done = std::chrono::microseconds{7};
    a.bench.memory.set_latency(std::chrono::nanoseconds{10});
    a.bench.submit(device_tlb(device, 0));
    a.bench.memory.clear_log();
    CHECK(a.bench.is_done());
    CHECK(a.bench.iommu.queue().devices_done() == std::chrono::microseconds{7});
    const auto is_status = [](const auto& access) { return access.address == IommuBench::status_word; };
    const auto status = std::ranges::find_if(a.bench.memory.log(), is_status);
    REQUIRE(status != a.bench.memory.log().end());
    CHECK(status->at == std::chrono::microseconds{7});
}

TEST_CASE("a device that does not answer aborts the wait and stops the queue", "[unit][iommu][ats]") {
    Ats a;
    a.bench.device_done.reset();
    a.bench.submit(device_tlb(device, 0x4000));
    CHECK(a.bench.fault_status().get<"ite">()); // nobody waits, and it shows
    CHECK(a.bench.read64(Register::iqercd) >> 32 == device);

    a.bench.device_done = model::port::Time{};
    CHECK_FALSE(a.bench.is_done()); // stopped
    a.bench.write(Register::fsts, FaultStatus::mask<"ite">);
    CHECK(a.bench.is_done());
}

TEST_CASE("a wait behind a silent device writes no status", "[unit][iommu][ats]") {
    Ats a;
    a.bench.device_done.reset();
    const auto queue = a.bench.read64(Register::iqa);
    a.bench.put(queue, device_tlb(device, 0x4000));
    a.bench.put(queue + 16, WaitDescriptor{}.set<"type">(5).set<"sw">(true).set<"stdata">(0x77).set<"staddr">(
                                IommuBench::status_word));
    a.bench.put(queue + 32, WaitDescriptor{}.set<"type">(5).set<"sw">(true).set<"stdata">(0x78).set<"staddr">(
                                IommuBench::status_word + 4));
    a.bench.write(Register::iqt, 48);

    CHECK(a.bench.fault_status().get<"ite">());
    CHECK(a.bench.dword(IommuBench::status_word) == 0);
    CHECK(a.bench.read64(Register::iqh) == 32); // behind the wait that was aborted
    a.bench.write(Register::fsts, FaultStatus::mask<"ite">);
    CHECK(a.bench.dword(IommuBench::status_word) == 0);
    CHECK(a.bench.dword(IommuBench::status_word + 4) == 0x78);
}

TEST_CASE("invalidations of device-TLBs by PASID name the PASID", "[unit][iommu][ats]") {
    IommuBench bench({.device_tlb = true, .scalable_mode = true});
    bench.enable(TableMode::scalable);

    bench.submit(
        PasidDeviceTlbDescriptor{}.set<"type">(8).set<"sid">(device).set<"pasid">(9).set<"addr">(0x6000).set<"s">(
            true));
    bench.submit(PasidDeviceTlbDescriptor{}.set<"type">(8).set<"sid">(device).set<"g">(true));

    REQUIRE(bench.invalidations.size() == 2);
    CHECK(bench.invalidations[0].pasid == 9);
    CHECK(bench.invalidations[0].bytes == 0x2000);
    CHECK_FALSE(bench.invalidations[0].is_global);
    CHECK(bench.invalidations[1].is_global);
}

TEST_CASE("in scalable mode the context says whether a device-TLB is there", "[unit][iommu][ats]") {
    IommuBench bench({.device_tlb = true, .scalable_mode = true, .first_stage = true});
    const auto tables = bench.new_page();
    bench.put(bench.pasid_entry(device, 0), IommuBench::first_stage(1, tables));
    bench.map_first(tables, 0x4000, 0x5000);
    bench.enable(TableMode::scalable);
    const auto ask = [&](Access access) {
        return bench.translate({.requester = device,
                                .address = 0x4000,
                                .length = 0x1000,
                                .access = access,
                                .type = AddressType::translation_request});
    };
    CHECK(ask(Access::read).fault == Reason::device_tlb_disabled);

    const auto at = bench.sm_context_entry(device);
    bench.put(at, bench.get<ScalableContextEntry>(at).set<"dte">(true));
    bench.invalidate_contexts();
    bench.submit(PasidCacheDescriptor{}.set<"type">(7).set<"g">(PasidCacheGranularity::global));
    CHECK_FALSE(ask(Access::read).is_writable); // it promised not to write: the page stays clean
    const auto leaf = bench.first_stage_entry(tables, 4, 0x4000, 1);
    CHECK_FALSE(bench.get<FirstStageEntry>(leaf).get<"d">());
    CHECK(ask(Access::write).is_writable);
    CHECK(bench.get<FirstStageEntry>(leaf).get<"d">());
}
