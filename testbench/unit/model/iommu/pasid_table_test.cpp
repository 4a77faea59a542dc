#include "model/iommu/pasid_table.h"
#include "testbench/harness/iommu_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

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
const IommuConfig scalable{.device_tlb = true, .scalable_mode = true, .first_stage = true, .page_requests = true};

/// A device whose PASIDs 0 and 70 have a page at 0x4000 each, in second-stage tables of domains 1 and 2.
struct Scalable {
    IommuBench bench;
    std::uint64_t tables = bench.new_page(), other_tables = bench.new_page();

    explicit Scalable(const IommuConfig& config = scalable) : bench(config) {
        bench.put(bench.pasid_entry(device, 0), IommuBench::second_stage(1, tables));
        bench.put(bench.pasid_entry(device, 70), IommuBench::second_stage(2, other_tables));
        bench.map(tables, 0x4000, 0x5000);
        bench.map(other_tables, 0x4000, 0x6000);
        bench.enable(TableMode::scalable);
    }
    model::iommu::Translation at(std::uint64_t address, std::uint32_t pasid = no_pasid, Access access = Access::read) {
        return bench.translate(
            {.requester = device, .pasid = pasid, .address = address, .length = 64, .access = access});
    }
    /// Flips a bit of the entry at `address`, asks, and flips it back.
    template <class Structure> Reason with_bit(std::uint64_t address, unsigned bit, std::uint32_t pasid = no_pasid) {
        auto entry = bench.get<Structure>(address);
        const auto good = entry;
        entry.words[bit / 64] ^= std::uint64_t{1} << bit % 64;
        bench.put(address, entry);
        const auto result = at(0x4000, pasid);
        bench.put(address, good);
        return result.fault;
    }
};
/// Nothing kept, so that each request sees the tables.
IommuConfig without_caches() {
    auto config = scalable;
    config.iotlb = config.contexts = config.pasids = config.structures = {};
    return config;
}

} // namespace

TEST_CASE("each PASID has an address space of its own", "[unit][iommu][pasid]") {
    Scalable s;

    CHECK(s.at(0x4000).address == 0x5000);
    CHECK(s.at(0x4000).reads == 0);
    CHECK(s.at(0x4000, 0).address == 0x5000); // the one of requests without
    const auto result = s.at(0x4000, 70);
    CHECK(result.address == 0x6000);
    CHECK(result.reads == 6); // directory, entry, four levels; the context is known
    CHECK(s.at(0x4000, 70).reads == 0);
    CHECK(s.bench.iommu.translator().pasid_counters().misses == 2);
    CHECK(s.bench.fault_status().value() == 0);
}

TEST_CASE("devices above 15 have their contexts in the upper table", "[unit][iommu][pasid]") {
    constexpr std::uint16_t upper = 0x01f9;
    Scalable s;
    const auto tables = s.bench.new_page();
    s.bench.put(s.bench.pasid_entry(upper, 0), IommuBench::second_stage(3, tables));
    s.bench.map(tables, 0x4000, 0x7000);

    CHECK(s.bench.translate(0x4000, Access::read, 64, upper).address == 0x7000);
    auto root = s.bench.get<ScalableRootEntry>(s.bench.root_entry(upper));
    s.bench.put(s.bench.root_entry(upper), root.set<"up">(false));
    s.bench.invalidate_contexts();
    CHECK(s.bench.translate(0x4000, Access::read, 64, upper).fault == Reason::sm_root_not_present);
    CHECK(s.at(0x4000).is_ok());
}

TEST_CASE("the context names the PASID of requests that have none", "[unit][iommu][pasid]") {
    Scalable s;
    const auto at = s.bench.sm_context_entry(device);
    s.bench.put(at, s.bench.get<ScalableContextEntry>(at).set<"rid_pasid">(70));

    CHECK(s.at(0x4000).address == 0x6000);
}

TEST_CASE("a PASID may be passed through, and reaches host addresses only", "[unit][iommu][pasid]") {
    Scalable s;
    s.bench.put(s.bench.pasid_entry(device, 0),
                PasidEntry{}.set<"p">(true).set<"pgtt">(PasidTranslation::pass_through).set<"did">(1));

    CHECK(s.at(0x1234'5000).address == 0x1234'5000);
    CHECK(s.at(std::uint64_t{1} << 46).fault == Reason::beyond_host_width);
    CHECK(s.at(0xfee0'0000).fault == Reason::sm_interrupt_range);
}

TEST_CASE("every entry on the way to a PASID can be the fault", "[unit][iommu][pasid]") {
    Scalable s(without_caches());
    const auto root = s.bench.root_entry(device), context = s.bench.sm_context_entry(device);
    const auto directory = s.bench.directory_entry(device, 70), entry = s.bench.pasid_entry(device, 70);
    const auto fails = [&](std::uint64_t at) {
        s.bench.memory.fail(at, at + 8, DmaStatus::completer_abort);
        const auto result = s.at(0x4000, 70);
        s.bench.memory.clear_faults();
        return result.fault;
    };

    CHECK(fails(root) == Reason::sm_root_access);
    CHECK(s.with_bit<ScalableRootEntry>(root, 0) == Reason::sm_root_not_present);
    for (const unsigned bit : {1, 11, 46, 63})
        CHECK(s.with_bit<ScalableRootEntry>(root, bit) == Reason::sm_root_reserved);
    CHECK(s.with_bit<ScalableRootEntry>(root, 65) == Reason::none); // the other half

    CHECK(fails(context) == Reason::sm_context_access);
    CHECK(s.with_bit<ScalableContextEntry>(context, 0) == Reason::sm_context_not_present);
    for (const unsigned bit : {5, 8, 46, 85, 128, 255})
        CHECK(s.with_bit<ScalableContextEntry>(context, bit) == Reason::sm_context_reserved);
    CHECK(s.with_bit<ScalableContextEntry>(context, 3, 70) == Reason::pasid_disabled);
    CHECK(s.at(0x4000, 128 * 64).fault == Reason::pasid_too_large);
    CHECK(s.at(0x4000, 128 * 64 - 1).fault == Reason::pasid_directory_not_present);
    CHECK(s.with_bit<ScalableContextEntry>(context, 64 + 13) == Reason::rid_pasid_too_large);
    CHECK(s.with_bit<ScalableContextEntry>(context, 84) == Reason::supervisor_disabled); // RID_PRIV without SRE

    CHECK(fails(directory) == Reason::pasid_directory_access);
    CHECK(s.with_bit<PasidDirectoryEntry>(directory, 0, 70) == Reason::pasid_directory_not_present);
    for (const unsigned bit : {2, 11, 46, 63})
        CHECK(s.with_bit<PasidDirectoryEntry>(directory, bit, 70) == Reason::pasid_directory_reserved);

    CHECK(fails(entry) == Reason::pasid_access);
    CHECK(s.with_bit<PasidEntry>(entry, 0, 70) == Reason::pasid_not_present);
    for (const unsigned bit : {5, 9, 10, 46, 80, 86, 129, 135, 136, 192, 511})
        CHECK(s.with_bit<PasidEntry>(entry, bit, 70) == Reason::pasid_reserved);
    for (const unsigned bit : {2, 3, 4, 6, 7, 8}) // widths and types that are not there
        if (bit != 2 && bit != 6)
            CHECK(s.with_bit<PasidEntry>(entry, bit, 70) == Reason::pasid_invalid);
    CHECK(s.with_bit<PasidEntry>(entry, 6, 70) == Reason::pasid_invalid); // nested
    CHECK(s.at(0x4000, 70).is_ok());
}

TEST_CASE("paging faults of scalable mode have reasons of their own", "[unit][iommu][pasid]") {
    Scalable s(without_caches());
    const auto leaf = s.bench.paging_entry(s.tables, 4, 0x4000, 1);

    CHECK(s.at(0x8000).fault == Reason::second_stage_no_right);
    CHECK(s.at(0x8000, no_pasid, Access::write).fault == Reason::second_stage_no_right);
    CHECK(s.with_bit<SecondStageEntry>(leaf, 50) == Reason::second_stage_reserved);
    CHECK(s.at(std::uint64_t{1} << 48).fault == Reason::sm_beyond_width);
    s.bench.memory.fail(leaf, leaf + 8, DmaStatus::timeout);
    CHECK(s.at(0x4000).fault == Reason::second_stage_access);
    s.bench.map(s.tables, 0x9000, 0xfee0'0000);
    CHECK(s.at(0x9000).fault == Reason::sm_interrupt_range);
}

TEST_CASE("FPD of any entry on the way silences what comes after it", "[unit][iommu][pasid]") {
    const auto which = GENERATE(0, 1, 2, 3);
    Scalable s;
    const auto context = s.bench.sm_context_entry(device), directory = s.bench.directory_entry(device, 70);
    const auto entry = s.bench.pasid_entry(device, 70);
    if (which == 0)
        s.bench.put(context, s.bench.get<ScalableContextEntry>(context).set<"fpd">(true));
    if (which == 1)
        s.bench.put(directory, s.bench.get<PasidDirectoryEntry>(directory).set<"fpd">(true));
    if (which == 2)
        s.bench.put(entry, s.bench.get<PasidEntry>(entry).set<"fpd">(true));

    CHECK(s.at(0x8000, 70).fault == Reason::second_stage_no_right);
    CHECK(s.bench.fault_status().get<"ppf">() == (which == 3));
    if (which == 3)
        CHECK(s.bench.record(0).get<"pv">() == 70);
}

TEST_CASE("supervisor and execute requests need what allows them", "[unit][iommu][pasid]") {
    Scalable s;
    const auto ask = [&](bool privileged, bool execute) {
        return s.bench
            .translate({.requester = device,
                        .pasid = 70,
                        .address = 0x4000,
                        .length = 8,
                        .is_privileged = privileged,
                        .is_execute = execute})
            .fault;
    };
    CHECK(ask(true, false) == Reason::supervisor_disabled);
    CHECK(ask(false, true) == Reason::execute_disabled);
    const auto at = s.bench.pasid_entry(device, 70);
    s.bench.put(at, s.bench.get<PasidEntry>(at).set<"sre">(true));
    s.bench.submit(PasidCacheDescriptor{}.set<"type">(7).set<"g">(PasidCacheGranularity::global));
    CHECK(ask(true, false) == Reason::none);
}

TEST_CASE("the PASID cache is stale until its own invalidation", "[unit][iommu][pasid]") {
    using enum PasidCacheGranularity;
    struct Case {
        PasidCacheGranularity granularity;
        unsigned domain, pasid;
        bool is_gone;
    };
    const auto c = GENERATE(Case{global, 0, 0, true}, Case{domain, 2, 0, true}, Case{domain, 1, 0, false},
                            Case{pasid, 2, 70, true}, Case{pasid, 2, 71, false}, Case{pasid, 1, 70, false});
    Scalable s;
    CHECK(s.at(0x4000, 70).address == 0x6000);
    s.bench.put(s.bench.pasid_entry(device, 70), PasidEntry{});

    s.bench.invalidate_contexts();
    s.bench.invalidate_pages();
    CHECK(s.at(0x4000, 70).address == 0x6000);
    s.bench.submit(
        PasidCacheDescriptor{}.set<"type">(7).set<"g">(c.granularity).set<"did">(c.domain).set<"pasid">(c.pasid));
    CHECK((s.at(0x4000, 70).fault == Reason::pasid_not_present) == c.is_gone);
    CHECK(s.bench.is_done());
}

TEST_CASE("scalable mode needs descriptors of 256 bits, whose second half is reserved", "[unit][iommu][pasid]") {
    Scalable s;
    CHECK(s.bench.is_done());
    CHECK(s.bench.read64(Register::iqh) == 0x20);

    SECTION("narrow") {
        s.bench.write64(Register::iqa, s.bench.read64(Register::iqa) & ~QueueAddress::mask<"dw">);
        s.bench.write(Register::iqt, 0x30);
        CHECK(s.bench.read64(Register::iqercd) == static_cast<unsigned>(QueueError::invalid_descriptor_width));
    }
    SECTION("misaligned") {
        s.bench.write(Register::iqt, 0x30);
        CHECK(s.bench.read64(Register::iqercd) == static_cast<unsigned>(QueueError::misaligned_tail));
    }
    SECTION("second half") {
        s.bench.put((s.bench.read64(Register::iqa) & ~0xfffull) + 0x20,
                    PageRequestDescriptor({WaitDescriptor{}.set<"type">(5).words[0], 0, 0, 1}));
        s.bench.write(Register::iqt, 0x40);
        CHECK(s.bench.read64(Register::iqercd) == static_cast<unsigned>(QueueError::reserved_field));
    }
    CHECK(s.bench.fault_status().get<"iqe">());
}

// --- first stage ---

namespace {
struct FirstStage : Scalable {
    std::uint64_t processor;
    explicit FirstStage(unsigned levels = 4, bool sre = false, bool wpe = false) : processor(bench.new_page()) {
        bench.put(bench.pasid_entry(device, 5),
                  IommuBench::first_stage(3, processor, levels).set<"sre">(sre).set<"wpe">(wpe));
    }
    model::iommu::Translation ask(std::uint64_t address, Access access = Access::read, bool privileged = false) {
        return bench.translate({.requester = device,
                                .pasid = 5,
                                .address = address,
                                .length = 64,
                                .access = access,
                                .is_privileged = privileged});
    }
};
} // namespace

TEST_CASE("first-stage tables translate pages of each size, of four and five levels", "[unit][iommu][pasid]") {
    const auto levels = GENERATE(4u, 5u);
    const auto shift = GENERATE(12u, 21u, 30u);
    FirstStage f(levels);
    const auto size = std::uint64_t{1} << shift;
    const auto address = ~std::uint64_t{0} << (levels == 5 ? 56 : 47) | 3 * size; // the upper half
    f.bench.map_first(f.processor, address, 7 * size, shift, true, true, levels);

    for (int turn = 0; turn < 2; ++turn) {
        CHECK(f.ask(address + 0x40).address == 7 * size + 0x40);
        CHECK(f.ask(address + 0x40, Access::write).is_ok());
    }
    CHECK(f.ask(std::uint64_t{1} << (levels == 5 ? 57 : 48)).fault == Reason::not_canonical);
    CHECK(f.ask(std::uint64_t{1} << (levels == 5 ? 56 : 47)).fault == Reason::not_canonical);
    CHECK(f.ask(0x1000).fault == Reason::first_stage_not_present);
}

TEST_CASE("a first-stage page is marked accessed, and dirty at its first write", "[unit][iommu][pasid]") {
    FirstStage f;
    f.bench.map_first(f.processor, 0x4000, 0x5000);
    const auto entry = [&](unsigned level) {
        return f.bench.get<FirstStageEntry>(f.bench.first_stage_entry(f.processor, 4, 0x4000, level));
    };

    CHECK(f.ask(0x4000).is_ok());
    for (unsigned level = 1; level <= 4; ++level)
        CHECK(entry(level).get<"a">());
    CHECK_FALSE(entry(1).get<"d">());
    CHECK(f.ask(0x4000, Access::write).reads == 1); // cached, but clean
    CHECK(entry(1).get<"d">());
    CHECK_FALSE(entry(2).get<"d">());
    CHECK(f.ask(0x4000, Access::write).reads == 0);
}

TEST_CASE("first-stage rights depend on who asks", "[unit][iommu][pasid]") {
    const bool wpe = GENERATE(false, true);
    FirstStage f(4, true, wpe);
    f.bench.map_first(f.processor, 0x4000, 0x5000, 12, false, true);
    f.bench.map_first(f.processor, 0x6000, 0x7000, 12, true, false);

    for (int turn = 0; turn < 2; ++turn) {
        CHECK(f.ask(0x4000).is_ok());
        CHECK(f.ask(0x4000, Access::write).fault == Reason::sm_no_write);
        CHECK(f.ask(0x4000, Access::write, true).fault == (wpe ? Reason::sm_no_write : Reason::none));
        CHECK(f.ask(0x6000).fault == Reason::no_user);
        CHECK(f.ask(0x6000, Access::write, true).is_ok());
        CHECK(f.ask(0x6000).fault == Reason::no_user);
    }
}

TEST_CASE("a right that is added to a first-stage page needs no invalidation", "[unit][iommu][pasid]") {
    FirstStage f(4, true, true);
    const auto map_dirty = [&](bool rw) { // a clean one is walked at its first write in any case
        f.bench.map_first(f.processor, 0x4000, 0x5000, 12, rw, true);
        const auto leaf = f.bench.first_stage_entry(f.processor, 4, 0x4000, 1);
        f.bench.put(leaf, f.bench.get<FirstStageEntry>(leaf).set<"a">(true).set<"d">(true));
    };
    map_dirty(false);
    f.bench.map_first(f.processor, 0x6000, 0x7000, 12, true, false);
    CHECK(f.ask(0x4000, Access::read, true).is_ok());
    CHECK(f.ask(0x4000, Access::write, true).fault == Reason::sm_no_write);
    CHECK(f.ask(0x6000, Access::read, true).is_ok());
    CHECK(f.ask(0x6000).fault == Reason::no_user);

    map_dirty(true);
    f.bench.map_first(f.processor, 0x6000, 0x7000, 12, true, true);

    CHECK(f.ask(0x4000, Access::write, true).is_ok());
    CHECK(f.ask(0x6000).is_ok());
}

TEST_CASE("a supervisor who may write what is protected finds the page in the cache", "[unit][iommu][pasid]") {
    FirstStage f(4, true, false);
    f.bench.map_first(f.processor, 0x4000, 0x5000, 12, false, true);

    CHECK(f.ask(0x4000, Access::write, true).is_ok());
    CHECK(f.ask(0x4000, Access::write, true).reads == 0);
}

TEST_CASE("a first-stage entry with a reserved bit or out of reach is a fault", "[unit][iommu][pasid]") {
    FirstStage f;
    f.bench.map_first(f.processor, 0x4000, 0x5000);
    f.bench.map_first(f.processor, 0x4000'0000, 0x4000'0000, 30);
    const auto leaf = f.bench.first_stage_entry(f.processor, 4, 0x4000, 1);
    const auto top = f.bench.first_stage_entry(f.processor, 4, 0x4000, 4);
    const auto large = f.bench.first_stage_entry(f.processor, 4, 0x4000'0000, 3);
    const auto with = [&](std::uint64_t at, unsigned bit, std::uint64_t address) {
        const auto good = f.bench.get<FirstStageEntry>(at);
        f.bench.put(at, FirstStageEntry{good.value() ^ std::uint64_t{1} << bit});
        f.bench.invalidate_pages();
        const auto reason = f.ask(address).fault;
        f.bench.put(at, good);
        return reason;
    };

    CHECK(with(leaf, 47, 0x4000) == Reason::first_stage_reserved);
    CHECK(with(leaf, 0, 0x4000) == Reason::first_stage_not_present);
    CHECK(with(leaf, 7, 0x4000) == Reason::none); // PAT
    CHECK(with(top, 7, 0x4000) == Reason::first_stage_reserved);
    CHECK(with(large, 13, 0x4000'0000) == Reason::first_stage_reserved);
    CHECK(with(large, 12, 0x4000'0000) == Reason::none); // PAT of a large page
    f.bench.invalidate_pages();
    f.bench.memory.fail(leaf, leaf + 8, DmaStatus::completer_abort);
    CHECK(f.ask(0x4000).fault == Reason::first_stage_access);
}

TEST_CASE("a PASID-based IOTLB invalidation drops that PASID's translations", "[unit][iommu][pasid]") {
    struct Case {
        unsigned domain, pasid;
        bool is_page;
        std::uint64_t address;
        unsigned mask;
        bool is_gone;
    };
    const auto c = GENERATE(Case{3, 5, false, 0, 0, true}, Case{3, 6, false, 0, 0, false},
                            Case{2, 5, false, 0, 0, false}, Case{3, 5, true, 0x4000, 0, true},
                            Case{3, 5, true, 0x5000, 0, false}, Case{3, 5, true, 0x5000, 1, true});
    FirstStage f;
    f.bench.map_first(f.processor, 0x4000, 0x5000);
    CHECK(f.ask(0x4000).address == 0x5000);
    CHECK(f.at(0x4000).address == 0x5000);
    f.bench.map_first(f.processor, 0x4000, 0x8000);
    f.bench.map(f.tables, 0x4000, 0x9000);

    f.bench.submit(PasidIotlbDescriptor{}
                       .set<"type">(6)
                       .set<"g">(c.is_page ? PasidIotlbGranularity::page : PasidIotlbGranularity::pasid)
                       .set<"did">(c.domain)
                       .set<"pasid">(c.pasid)
                       .set<"addr">(c.address)
                       .set<"am">(c.mask));

    CHECK(f.ask(0x4000).address == (c.is_gone ? 0x8000 : 0x5000));
    CHECK(f.at(0x4000).address == 0x5000); // second stage: not its business
    f.bench.submit(IotlbDescriptor{}.set<"type">(2).set<"g">(IotlbGranularity::domain).set<"did">(3));
    CHECK(f.ask(0x4000).address == 0x8000);
}

TEST_CASE("a PASID-based IOTLB invalidation drops large pages as well", "[unit][iommu][pasid]") {
    FirstStage f;
    f.bench.map_first(f.processor, 0x20'0000, 0x40'0000, 21);
    CHECK(f.ask(0x20'0000).address == 0x40'0000);
    f.bench.map_first(f.processor, 0x20'0000, 0x60'0000, 21);

    auto all = PasidIotlbDescriptor{}.set<"type">(6).set<"g">(PasidIotlbGranularity::pasid);
    f.bench.submit(all.set<"did">(3).set<"pasid">(5));

    CHECK(f.ask(0x20'0000).address == 0x60'0000);
}

TEST_CASE("a context of scalable mode stays until an invalidation names its device", "[unit][iommu][pasid]") {
    struct Case {
        ContextGranularity granularity;
        std::uint16_t requester;
        bool is_gone;
    };
    const auto c = GENERATE(Case{ContextGranularity::global, 0, true}, Case{ContextGranularity::device, device, true},
                            Case{ContextGranularity::device, IommuBench::other_device, false});
    Scalable s;
    CHECK(s.at(0x4000, 70).address == 0x6000);
    const auto entry = s.bench.sm_context_entry(device);
    s.bench.put(entry, s.bench.get<ScalableContextEntry>(entry).set<"p">(false));
    CHECK(s.at(0x4000, 70).address == 0x6000);

    s.bench.submit(ContextCacheDescriptor{}.set<"type">(1).set<"g">(c.granularity).set<"sid">(c.requester));

    CHECK((s.at(0x4000, 70).fault == Reason::sm_context_not_present) == c.is_gone);
}

TEST_CASE("a context may name a device-TLB or page requests only where the unit has them", "[unit][iommu][pasid]") {
    const bool has_device_tlb = GENERATE(true, false), has_page_requests = GENERATE(true, false);
    auto config = without_caches();
    config.device_tlb = has_device_tlb;
    config.page_requests = has_page_requests;
    Scalable s(config);
    const auto entry = s.bench.sm_context_entry(device);
    const auto plain = [&] { return s.bench.get<ScalableContextEntry>(entry); };

    s.bench.put(entry, plain().set<"dte">(true));
    CHECK((s.at(0x4000).fault == Reason::none) == has_device_tlb);
    s.bench.put(entry, plain().set<"dte">(false).set<"pre">(true)); // what asks for pages asks for translations first
    CHECK((s.at(0x4000).fault == Reason::sm_context_reserved) == !(has_device_tlb && has_page_requests));
}
