// Writes of software to the registers of a remapping unit, bit by bit, against the access policies of their rows.
#include "testbench/harness/iommu_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>

using namespace abi::iommu;
using abi::AccessPolicy;
using testbench::IommuBench;

namespace {

/// Bits of a register whose rows have one of these policies.
template <class L> constexpr std::uint64_t bits_with(AccessPolicy one, AccessPolicy other) {
    std::uint64_t mask = 0;
    for (const auto& field : L::fields)
        for (auto bit = field.low; bit <= field.high; ++bit)
            if (field.access == one || field.access == other)
                mask |= std::uint64_t{1} << bit;
    return mask;
}

/// Writes ones and zeros to the register, as a whole and by dwords, and compares what changed with what its rows allow.
/// `starts` are bits that hardware takes back at once: what a write of them starts is over with the write.
template <class L> void check_register(std::uint32_t at, std::uint64_t starts = 0) {
    CAPTURE(at, L::name.view());
    const auto writable = bits_with<L>(AccessPolicy::rw, AccessPolicy::rws) & ~starts;
    constexpr unsigned bytes = L::size;
    for (unsigned step : {4u, 8u}) {
        if (step > bytes)
            continue;
        CAPTURE(step);
        IommuBench bench({.device_tlb = true, .scalable_mode = true, .page_requests = true});
        auto& unit = bench.iommu;
        const auto before = unit.read(at, bytes);
        const auto write = [&](std::uint64_t value) {
            for (unsigned i = 0; i < bytes; i += step)
                unit.write(at + i, step, step == 8 ? value : value >> 8 * i & 0xffff'ffff, {});
        };

        write(~std::uint64_t{0});
        CHECK(unit.read(at, bytes) == (before | writable));
        write(0);
        CHECK(unit.read(at, bytes) == (before & ~writable));
    }
}
template <class L> void check_register(Register at, std::uint64_t starts = 0) {
    check_register<L>(static_cast<std::uint32_t>(at), starts);
}

} // namespace

TEST_CASE("a write to a register of the unit changes exactly the bits that their rows let software change",
          "[unit][iommu][access]") {
    check_register<Version>(Register::ver);
    check_register<Capability>(Register::cap);
    check_register<ExtendedCapability>(Register::ecap);
    check_register<GlobalStatus>(Register::gsts);
    check_register<RootTableAddress>(Register::rtaddr);
    check_register<ContextCommand>(Register::ccmd, ContextCommand::mask<"icc">);
    check_register<FaultStatus>(Register::fsts);
    check_register<QueueHead>(Register::iqh);
    check_register<QueueTail>(Register::iqt);
    check_register<QueueAddress>(Register::iqa);
    check_register<CompletionStatus>(Register::ics);
    check_register<QueueErrorRecord>(Register::iqercd);
    check_register<PageQueueHead>(Register::pqh);
    check_register<PageQueueTail>(Register::pqt);
    check_register<PageQueueAddress>(Register::pqa);
    check_register<PageRequestStatus>(Register::prs);
    for (const auto control : {Register::fectl, Register::iectl, Register::pectl}) {
        const auto at = static_cast<std::uint32_t>(control);
        check_register<EventControl>(at);
        check_register<EventData>(at + 4);
        check_register<EventAddress>(at + 8);
        check_register<EventUpperAddress>(at + 12);
    }
    check_register<InvalidateAddress>(model::iommu::iotlb_offset);
    check_register<IotlbInvalidate>(model::iommu::iotlb_offset + 8, IotlbInvalidate::mask<"ivt">);
}

TEST_CASE("a fault is cleared by writing a one to its bit, and by nothing else", "[unit][iommu][access]") {
    constexpr auto record_high = model::iommu::fault_record_offset + 12, fault = 1u << 31;
    IommuBench bench({.fault_records = 1});
    bench.enable();
    for (const std::uint64_t page : {0x1000, 0x2000}) // the second finds no record free
        (void)bench.iommu.translate({.requester = 0x100, .address = page}, {});
    const auto status = bench.read(Register::fsts);
    REQUIRE(status == (FaultStatus::mask<"pfo"> | FaultStatus::mask<"ppf">));
    REQUIRE((bench.iommu.read(record_high, 4) & fault) != 0);
    const auto record = bench.iommu.read(record_high, 4);

    bench.iommu.write(record_high, 4, ~fault, {});
    CHECK(bench.iommu.read(record_high, 4) == record);
    bench.iommu.write(static_cast<std::uint32_t>(Register::fsts), 4, ~std::uint32_t{FaultStatus::mask<"pfo">}, {});
    CHECK(bench.read(Register::fsts) == status);

    bench.iommu.write(record_high, 4, fault, {});
    CHECK(bench.iommu.read(record_high, 4) == (record & ~fault));
    CHECK(bench.read(Register::fsts) == FaultStatus::mask<"pfo">);
    bench.iommu.write(static_cast<std::uint32_t>(Register::fsts), 4, FaultStatus::mask<"pfo">, {});
    CHECK(bench.read(Register::fsts) == 0);
}
