// Requests that the tables refuse, and tables that are not right.
#include "model/iommu/translator.h"
#include "testbench/harness/iommu_bench.h"
#include "testbench/unit/model/iommu/refusal.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace model::iommu;
using testbench::check_fault;
using testbench::IommuBench;
using Reason = abi::iommu::FaultReason;
using abi::iommu::SecondStageEntry;
using model::port::DmaStatus;

namespace {
constexpr auto device = IommuBench::device, other_device = IommuBench::other_device;
} // namespace

TEST_CASE("a level that is not present ends the walk", "[unit][iommu]") {
    const auto level = GENERATE(1u, 2u, 3u, 4u);
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000, 0x5000);
    bench.put(bench.paging_entry(tables, 4, 0x4000, level), SecondStageEntry{});
    bench.enable();

    check_fault(bench, bench.translate(0x4000), Reason::no_read);
    CHECK(bench.translate(0x4000, Access::write).fault == Reason::no_write);
}

TEST_CASE("a reserved bit of a paging entry is a fault, if the entry is present", "[unit][iommu]") {
    struct Case {
        unsigned shift, level, bit;
        bool is_reserved;
    };
    const auto c =
        GENERATE(Case{12, 1, 46, true}, Case{12, 1, 51, true}, Case{12, 1, 62, true},   // beyond the host; transient
                 Case{12, 1, 7, false}, Case{12, 1, 11, false}, Case{12, 1, 52, false}, // ignored; snoop
                 Case{12, 1, 61, false}, Case{12, 1, 63, false}, Case{12, 1, 2, false}, //
                 Case{12, 2, 11, true}, Case{12, 3, 11, true}, Case{12, 4, 11, true},   // no snoop of a table
                 Case{12, 4, 7, true}, Case{12, 2, 46, true}, Case{12, 3, 62, true},    // no page of 512 GiB
                 Case{21, 2, 12, true}, Case{21, 2, 20, true}, Case{21, 2, 11, false},  // not at its size
                 Case{30, 3, 12, true}, Case{30, 3, 29, true}, Case{30, 3, 50, true}, Case{30, 3, 11, false});
    CAPTURE(c.shift, c.level, c.bit);
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000'0000, 0x4000'0000, c.shift);
    const auto at = bench.paging_entry(tables, 4, 0x4000'0000, c.level);
    auto entry = bench.get<SecondStageEntry>(at);
    entry.words[0] |= std::uint64_t{1} << c.bit;
    bench.put(at, entry);
    bench.enable();

    const auto result = bench.translate(0x4000'0000);
    if (!c.is_reserved) {
        CHECK(result.is_ok());
        return;
    }
    check_fault(bench, result, Reason::paging_reserved);
    bench.put(at, entry.set<"r">(false).set<"w">(false));
    CHECK(bench.translate(0x4000'0000).fault == Reason::no_read);
}

TEST_CASE("sizes of pages that the unit does not have are reserved bits", "[unit][iommu]") {
    IommuBench bench({.pages_2m = false, .pages_1g = false, .snoop_control = false});
    const auto tables = bench.attach(device);
    bench.map(tables, 0, 0, 21);
    bench.map(tables, 1 << 30, 0, 30);
    bench.map(tables, 2ull << 30, 0);
    const auto at = bench.paging_entry(tables, 4, 2ull << 30, 1);
    bench.put(at, bench.get<SecondStageEntry>(at).set<"snp">(true));
    bench.enable();

    CHECK(bench.translate(0).fault == Reason::paging_reserved);
    CHECK(bench.translate(1 << 30).fault == Reason::paging_reserved);
    CHECK(bench.translate(2ull << 30).fault == Reason::paging_reserved);
    CHECK((bench.read64(IommuBench::Register::cap) >> 34 & 0xf) == 0);
}

TEST_CASE("tables that point at themselves end with their last level", "[unit][iommu]") {
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.put(tables, IommuBench::leaf(tables));
    bench.enable();

    const auto result = bench.translate(0x10);
    CHECK(result.address == tables + 0x10);
    CHECK(result.reads == 6);
}

TEST_CASE("a table that cannot be read is a fault of its level", "[unit][iommu]") {
    IommuBench bench({.iotlb = {}, .contexts = {}, .structures = {}});
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000, 0x5000);
    bench.enable();
    const auto fails = [&](std::uint64_t at) {
        bench.memory.fail(at, at + 8, DmaStatus::unsupported_request);
        const auto result = bench.translate(0x4000);
        bench.memory.clear_faults();
        return result.fault;
    };

    CHECK(fails(bench.root_entry(device)) == Reason::root_access);
    CHECK(fails(bench.context_entry(device)) == Reason::context_access);
    for (unsigned level = 1; level <= 4; ++level)
        CHECK(fails(bench.paging_entry(tables, 4, 0x4000, level)) == Reason::paging_access);
    CHECK(bench.translate(0x4000).is_ok());
}

TEST_CASE("a root entry that is not present or has a reserved bit is a fault, which is always recorded",
          "[unit][iommu]") {
    struct Case {
        unsigned bit;
        Reason reason;
    };
    const auto c =
        GENERATE(Case{0, Reason::root_not_present}, Case{1, Reason::root_reserved}, Case{11, Reason::root_reserved},
                 Case{46, Reason::root_reserved}, Case{64, Reason::root_reserved}, Case{127, Reason::root_reserved});
    CAPTURE(c.bit);
    IommuBench bench;
    bench.map(bench.attach(device), 0x4000, 0x5000);
    auto entry = bench.get<abi::iommu::RootEntry>(bench.root_entry(device));
    entry.words[c.bit / 64] ^= std::uint64_t{1} << c.bit % 64;
    bench.put(bench.root_entry(device), entry);
    bench.enable();

    check_fault(bench, bench.translate(0x4000), c.reason);
}

TEST_CASE("a context entry that is not present, reserved or invalid is a fault, recorded unless FPD is set",
          "[unit][iommu]") {
    struct Case {
        unsigned bit;
        Reason reason;
    };
    const auto c = GENERATE(Case{0, Reason::context_not_present}, Case{4, Reason::context_reserved},
                            Case{11, Reason::context_reserved}, Case{46, Reason::context_reserved},
                            Case{71, Reason::context_reserved}, Case{88, Reason::context_reserved},
                            Case{127, Reason::context_reserved},
                            Case{2, Reason::context_invalid},  // a device-TLB that the unit does not have
                            Case{64, Reason::context_invalid}, // AW 2 becomes 3: five levels are off here
                            Case{65, Reason::context_invalid}, Case{66, Reason::context_invalid}, // two levels; eight
                            Case{67, Reason::none}, Case{70, Reason::none});                      // ignored
    const bool is_disabled = GENERATE(false, true);
    CAPTURE(c.bit, is_disabled);
    IommuBench bench({.five_levels = false});
    bench.map(bench.attach(device), 0x4000, 0x5000);
    auto entry = bench.get<abi::iommu::ContextEntry>(bench.context_entry(device));
    entry.words[c.bit / 64] ^= std::uint64_t{1} << c.bit % 64;
    bench.put(bench.context_entry(device), entry.set<"fpd">(is_disabled));
    bench.enable();

    const auto result = bench.translate(0x4000);
    CHECK(result.fault == c.reason);
    CHECK(result.is_ok() == (c.reason == Reason::none));
    CHECK(bench.fault_status().get<"ppf">() == (c.reason != Reason::none && !is_disabled));
}

TEST_CASE("FPD silences faults of the walk, too, but not the refusal", "[unit][iommu]") {
    IommuBench bench;
    const auto tables = bench.new_page();
    bench.attach(device, IommuBench::context(1, tables).set<"fpd">(true));
    bench.enable();

    CHECK(bench.translate(0x4000).fault == Reason::no_read);
    CHECK(bench.translate(std::uint64_t{1} << 50).fault == Reason::beyond_width);
    CHECK(bench.fault_status().value() == 0);
}

TEST_CASE("translation types that the unit does not have or the encoding reserves are invalid", "[unit][iommu]") {
    IommuBench bench({.pass_through = false});
    const auto with = [&](unsigned type) {
        bench.attach(device, IommuBench::context(1, bench.root).set<"tt">(abi::iommu::TranslationType(type)));
        return bench.translate(0).fault;
    };
    bench.enable();

    CHECK(with(1) == Reason::context_invalid);
    CHECK(with(2) == Reason::context_invalid);
    CHECK(with(3) == Reason::context_invalid);
}

TEST_CASE("a domain id wider than the unit supports is a reserved field", "[unit][iommu]") {
    IommuBench bench({.domain_bits = 8});
    bench.attach(device, 0x100);
    bench.enable();

    check_fault(bench, bench.translate(0), Reason::context_reserved);
}

TEST_CASE("an address beyond the tables or beyond the unit is a fault", "[unit][iommu]") {
    struct Case {
        unsigned levels, guest_bits, width;
    };
    const auto c = GENERATE(Case{3, 57, 39}, Case{4, 57, 48}, Case{5, 57, 57}, Case{5, 52, 52}, Case{4, 39, 39});
    IommuBench bench({.guest_address_bits = c.guest_bits, .three_levels = true});
    const auto tables = bench.attach(device, 1, c.levels);
    const auto last = (std::uint64_t{1} << c.width) - 0x1000;
    bench.map(tables, last, 0x5000, 12, true, true, c.levels);
    bench.enable();

    CHECK(bench.translate(last).address == 0x5000);
    check_fault(bench, bench.translate(last + 0x1000), Reason::beyond_width);
    CHECK(bench.translate(~std::uint64_t{0} - 63).fault == Reason::beyond_width);
}

TEST_CASE("translated requests and translation requests are blocked without a device-TLB", "[unit][iommu]") {
    const auto type = GENERATE(AddressType::translation_request, AddressType::translated);
    IommuBench bench;
    bench.map(bench.attach(device), 0x4000, 0x5000);
    bench.enable();

    check_fault(bench, bench.translate({.requester = device, .address = 0x4000, .length = 8, .type = type}),
                Reason::blocked);
    CHECK(bench.record(0).get<"at">() == static_cast<unsigned>(type));
}

TEST_CASE("a PASID in legacy mode and a reserved table mode are faults", "[unit][iommu]") {
    using abi::iommu::TableMode;
    IommuBench bench;
    bench.map(bench.attach(device), 0x4000, 0x5000);
    bench.enable();
    check_fault(bench, bench.translate({.requester = device, .pasid = 5, .address = 0x4000, .length = 8}),
                Reason::pasid_in_legacy_mode);
    CHECK(bench.record(0).get<"pp">());
    CHECK(bench.record(0).get<"pv">() == 5);

    for (const auto mode : {TableMode::reserved, TableMode::abort}) {
        bench.enable(mode);
        CHECK(bench.translate(0x4000).fault == Reason::table_mode_invalid);
    }
}

TEST_CASE("a unit without scalable mode refuses its root table", "[unit][iommu][pasid]") {
    IommuBench bench;
    bench.enable(abi::iommu::TableMode::scalable);

    CHECK(bench.translate(0x4000).fault == Reason::table_mode_invalid);
    CHECK_FALSE(abi::iommu::ExtendedCapability{bench.read64(IommuBench::Register::ecap)}.get<"smts">());
}
