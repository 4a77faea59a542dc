#include "model/iommu/invalidation_queue.h"
#include "testbench/harness/iommu_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace abi::iommu;
using model::iommu::Access;
using model::port::DmaStatus;
using testbench::IommuBench;
using Reason = FaultReason;

namespace {

constexpr auto device = IommuBench::device, other_device = IommuBench::other_device;

/// Two domains of one page each at 0x4000, both cached; then both tables change.
struct Stale {
    IommuBench bench;
    std::uint64_t first = bench.attach(device, 1), second = bench.attach(other_device, 2);

    Stale() {
        bench.map(first, 0x4000, 0x5000), bench.map(first, 0x7000, 0x8000);
        bench.map(second, 0x4000, 0x6000);
        bench.enable();
        CHECK(at(0x4000) == 0x5000);
        CHECK(at(0x7000) == 0x8000);
        CHECK(at(0x4000, other_device) == 0x6000);
        bench.map(first, 0x4000, 0xa000), bench.map(first, 0x7000, 0xb000);
        bench.map(second, 0x4000, 0xc000);
        bench.gone.clear();
    }
    std::uint64_t at(std::uint64_t address, std::uint16_t requester = device) {
        return bench.translate(address, Access::read, 64, requester).address;
    }
};

IotlbDescriptor iotlb(IotlbGranularity granularity, std::uint16_t domain = 0) {
    return IotlbDescriptor{}.set<"type">(2).set<"g">(granularity).set<"did">(domain);
}
ContextCacheDescriptor contexts(ContextGranularity granularity, std::uint16_t domain = 0, std::uint16_t source = 0,
                                unsigned mask = 0) {
    return ContextCacheDescriptor{}
        .set<"type">(1)
        .set<"g">(granularity)
        .set<"did">(domain)
        .set<"sid">(source)
        .set<"fm">(mask);
}

} // namespace

// --- stale entries ---

TEST_CASE("a driver that forgets an invalidation goes on reading the old page", "[unit][iommu]") {
    Stale s;

    CHECK(s.at(0x4000) == 0x5000);
    s.bench.unmap(s.first, 0x4000);
    CHECK(s.at(0x4000) == 0x5000);
    s.bench.put(s.bench.context_entry(device), ContextEntry{});
    s.bench.put(s.bench.root_entry(device), RootEntry{});
    CHECK(s.at(0x4000) == 0x5000);
    CHECK(s.bench.fault_status().value() == 0);

    s.bench.invalidate_pages();
    CHECK(s.bench.translate(0x4000).fault == Reason::no_read); // the context still stands
    s.bench.invalidate_contexts();
    CHECK(s.bench.translate(0x4000).fault == Reason::root_not_present);
}

TEST_CASE("rights that were taken away stay until they are invalidated", "[unit][iommu]") {
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000, 0x5000, 12, true, false);
    bench.enable();
    CHECK(bench.translate(0x4000, Access::read).is_ok());

    bench.map(tables, 0x4000, 0x5000, 12, false, true);
    CHECK(bench.translate(0x4000, Access::read).is_ok());
    bench.submit(IommuBench::page_descriptor(1, 0x4000));
    CHECK(bench.translate(0x4000, Access::read).fault == Reason::no_read);
    CHECK(bench.translate(0x4000, Access::write).is_ok());
}

TEST_CASE("a stale entry goes when others need its room", "[unit][iommu]") {
    IommuBench bench({.iotlb = {4, 4}});
    const auto tables = bench.attach(device);
    for (std::uint64_t page = 0; page < 5; ++page)
        bench.map(tables, page << 12, 0x10000 + (page << 12));
    bench.enable();
    bench.translate(0);
    bench.map(tables, 0, 0x20000);

    for (std::uint64_t page = 1; page < 4; ++page)
        bench.translate(page << 12);
    CHECK(bench.translate(0).address == 0x10000);
    for (std::uint64_t page = 1; page < 5; ++page)
        bench.translate(page << 12);
    CHECK(bench.translate(0).address == 0x20000);
}

TEST_CASE("what is not present is kept in caching mode only", "[unit][iommu]") {
    const bool caching = GENERATE(false, true);
    IommuBench bench({.caching_mode = caching});
    const auto tables = bench.new_page();
    bench.context_entry(device);
    bench.enable();
    CHECK(bench.translate(0x4000).fault == Reason::context_not_present);
    bench.attach(device, IommuBench::context(3, tables));
    CHECK((bench.translate(0x4000).fault == Reason::context_not_present) == caching);
    bench.submit(contexts(ContextGranularity::device, 3, device));
    CHECK((bench.translate(0x4000).fault == Reason::context_not_present) == caching); // it belongs to domain 0
    bench.submit(contexts(ContextGranularity::device, 0, device));
    CHECK(bench.translate(0x4000).fault == Reason::no_read);

    bench.map(tables, 0x4000, 0x5000);
    CHECK(bench.translate(0x4000).is_ok() != caching);
    bench.submit(IommuBench::page_descriptor(3, 0x4000));
    CHECK(bench.translate(0x4000).address == 0x5000);
    CHECK((bench.read64(Register::cap) >> 7 & 1) == caching);
}

// --- granularities ---

TEST_CASE("a global IOTLB invalidation drops every domain", "[unit][iommu]") {
    Stale s;

    s.bench.submit(iotlb(IotlbGranularity::global));

    CHECK(s.at(0x4000) == 0xa000);
    CHECK(s.at(0x4000, other_device) == 0xc000);
    REQUIRE(s.bench.gone.size() == 1);
    CHECK_FALSE(s.bench.gone[0].domain);
}

TEST_CASE("a domain-selective IOTLB invalidation drops that domain", "[unit][iommu]") {
    Stale s;

    s.bench.submit(iotlb(IotlbGranularity::domain, 1));

    CHECK(s.at(0x4000) == 0xa000);
    CHECK(s.at(0x7000) == 0xb000);
    CHECK(s.at(0x4000, other_device) == 0x6000);
    REQUIRE(s.bench.gone.size() == 1);
    CHECK(s.bench.gone[0].domain == 1);
    CHECK(s.bench.gone[0].last == ~std::uint64_t{0});
}

TEST_CASE("a page-selective IOTLB invalidation drops that page of that domain", "[unit][iommu]") {
    Stale s;

    s.bench.submit(IommuBench::page_descriptor(1, 0x4000));

    CHECK(s.at(0x4000) == 0xa000);
    CHECK(s.at(0x7000) == 0x8000);
    CHECK(s.at(0x4000, other_device) == 0x6000);
    REQUIRE(s.bench.gone.size() == 1);
    CHECK(s.bench.gone[0].domain == 1);
    CHECK(s.bench.gone[0].begin == 0x4000);
    CHECK(s.bench.gone[0].last == 0x4fff);
}

TEST_CASE("an address mask widens the range, whose low bits do not count", "[unit][iommu]") {
    Stale s;

    s.bench.submit(IommuBench::page_descriptor(1, 0x5000, 1)); // 0x4000 to 0x5fff
    CHECK(s.at(0x4000) == 0xa000);
    CHECK(s.at(0x7000) == 0x8000);
    s.bench.submit(IommuBench::page_descriptor(1, 0x4000, 2)); // 0x4000 to 0x7fff
    CHECK(s.at(0x7000) == 0xb000);
}

TEST_CASE("a page-selective invalidation within a large page drops the large page", "[unit][iommu]") {
    const auto shift = GENERATE(21u, 30u);
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0, 0x4000'0000, shift);
    bench.enable();
    CHECK(bench.translate(0x3000).address == 0x4000'3000);
    bench.map(tables, 0, 0x8000'0000, shift);

    CHECK(bench.translate(0x3000).address == 0x4000'3000);
    bench.submit(IommuBench::page_descriptor(1, 0x1000));
    CHECK(bench.translate(0x3000).address == 0x8000'3000);
}

TEST_CASE("a unit without page-selective invalidation drops the domain instead", "[unit][iommu]") {
    IommuBench bench({.page_selective = false});
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000, 0x5000);
    bench.enable();
    bench.translate(0x4000);
    bench.map(tables, 0x4000, 0x6000);

    bench.submit(IommuBench::page_descriptor(1, 0x7'0000'0000));

    CHECK(bench.translate(0x4000).address == 0x6000);
}

TEST_CASE("upper levels stay cached when the hint says that only leaves changed", "[unit][iommu]") {
    const bool hint = GENERATE(false, true);
    IommuBench bench;
    const auto tables = bench.attach(device);
    bench.map(tables, 0x4000, 0x5000);
    bench.enable();
    bench.translate(0x4000);
    // A new last level, with another page.
    const auto other = bench.new_page();
    bench.put(other + 4 * 8, IommuBench::leaf(0x6000));
    bench.put(bench.paging_entry(tables, 4, 0x4000, 2), IommuBench::leaf(other));

    bench.submit(IommuBench::page_descriptor(1, 0x4000, 0, hint));

    CHECK(bench.translate(0x4000).address == (hint ? 0x5000 : 0x6000));
}

TEST_CASE("context-cache invalidations drop what they name", "[unit][iommu]") {
    struct Case {
        ContextCacheDescriptor descriptor;
        bool first, second; ///< dropped
    };

    const auto c = GENERATE(Case{contexts(ContextGranularity::global), true, true},                //
                            Case{contexts(ContextGranularity::domain, 1), true, false},            //
                            Case{contexts(ContextGranularity::device, 1, 0x0100), true, false},    //
                            Case{contexts(ContextGranularity::device, 2, 0x0100), false, false},   // not of that domain
                            Case{contexts(ContextGranularity::device, 1, 0x0101), false, false},   //
                            Case{contexts(ContextGranularity::device, 1, 0x0104, 1), true, false}, // bit 2 left out
                            Case{contexts(ContextGranularity::device, 1, 0x0106, 2), true, false}, // bits 2 and 1
                            Case{contexts(ContextGranularity::device, 1, 0x0107, 2), false, false},
                            Case{contexts(ContextGranularity::device, 1, 0x0107, 3), true, false}, // the function
                            Case{contexts(ContextGranularity::device, 1, 0x0108, 3), false, false});
    Stale s;
    s.bench.attach(device, IommuBench::context(3, s.second));
    s.bench.attach(other_device, IommuBench::context(4, s.first));

    s.bench.submit(c.descriptor);

    CHECK(s.at(0x4000) == (c.first ? 0xc000 : 0x5000));
    CHECK(s.at(0x4000, other_device) == (c.second ? 0xa000 : 0x6000));
    CHECK(s.bench.fault_status().value() == 0);
}

TEST_CASE("turning translation off and setting the root tells holders of paths that everything is gone",
          "[unit][iommu]") {
    IommuBench bench;
    bench.enable();
    CHECK(bench.gone.size() == 2);
    bench.command({.qie = true});
    CHECK(bench.gone.size() == 3);
    CHECK(bench.gone[2].begin == 0);
    CHECK(bench.gone[2].last == ~std::uint64_t{0});
}

TEST_CASE("the root table is the one of the last command, and what is cached outlives it", "[unit][iommu]") {
    IommuBench bench;
    bench.map(bench.attach(device), 0x4000, 0x5000);
    bench.enable();
    CHECK(bench.translate(0x4000).address == 0x5000);

    bench.write64(Register::rtaddr, bench.new_page());
    bench.command({.srtp = true, .qie = true, .te = true});

    CHECK((bench.read(Register::gsts) & GlobalStatus::mask<"rtps">) != 0);
    CHECK(bench.translate(0x4000).address == 0x5000);
    bench.invalidate_contexts();
    CHECK(bench.translate(0x4000).fault == Reason::root_not_present);
}

// --- wait ---

TEST_CASE("a wait writes its status when everything before it is done", "[unit][iommu]") {
    IommuBench bench;
    bench.enable();

    CHECK(bench.is_done());
    bench.invalidate_pages();
    CHECK(bench.is_done());
    CHECK(bench.read64(Register::iqh) == 0x30);
    CHECK(bench.read64(Register::iqt) == 0x30);
    CHECK(bench.dword(IommuBench::completion_message) == 0); // no interrupt was asked for
}

TEST_CASE("a wait with the interrupt flag sends one message until it is acknowledged", "[unit][iommu]") {
    const auto wait = WaitDescriptor{}.set<"type">(5).set<"if">(true);
    IommuBench bench;
    bench.enable();
    const auto sent = [&] {
        const bool is_sent = bench.dword(IommuBench::completion_message) == 0x42;
        bench.memory.poke(IommuBench::completion_message, std::array<std::byte, 4>{});
        return is_sent;
    };

    bench.submit(wait);
    CHECK(sent());
    CHECK(bench.read(Register::ics) == 1);
    bench.submit(wait);
    CHECK_FALSE(sent());
    bench.write(Register::ics, 1);
    CHECK(bench.read(Register::ics) == 0);

    bench.write(Register::iectl, 1u << 31);
    bench.submit(wait);
    CHECK_FALSE(sent());
    CHECK(bench.read(Register::iectl) == 3u << 30); // pending
    bench.write(Register::iectl, 0);
    CHECK(sent());
    CHECK(bench.read(Register::iectl) == 0);

    bench.write(Register::ics, 1);
    bench.write(Register::iectl, 1u << 31);
    bench.submit(wait);
    bench.write(Register::ics, 1); // served before it was unmasked
    bench.write(Register::iectl, 0);
    CHECK_FALSE(sent());
}

// --- errors ---

TEST_CASE("a malformed descriptor stops the queue at it until software has repaired it", "[unit][iommu]") {
    struct Case {
        std::uint64_t low, high;
        QueueError error;
    };
    const auto c =
        GENERATE(Case{0, 0, QueueError::invalid_type}, Case{0xf, 0, QueueError::invalid_type},
                 Case{0x202, 0, QueueError::invalid_type},                                   // type 0x12
                 Case{4, 0, QueueError::invalid_type}, Case{3, 0, QueueError::invalid_type}, // not advertised
                 Case{6, 0, QueueError::invalid_type}, Case{7, 0, QueueError::invalid_type},
                 Case{8, 0, QueueError::invalid_type}, Case{9, 0, QueueError::invalid_type},
                 Case{0x01, 0, QueueError::reserved_field}, Case{0x02, 0, QueueError::reserved_field}, // no granularity
                 Case{0x12 | 1 << 8, 0, QueueError::reserved_field}, Case{0x12, 1 << 7, QueueError::reserved_field},
                 Case{0x32, 19, QueueError::reserved_field}, // AM beyond MAMV
                 Case{0x11, 1, QueueError::reserved_field}, Case{0x11 | 1ull << 50, 0, QueueError::reserved_field},
                 Case{0x25, 1, QueueError::reserved_field}, Case{0x25 | 1 << 12, 0, QueueError::reserved_field});
    CAPTURE(c.low, c.high);
    IommuBench bench;
    bench.enable();
    CHECK(bench.is_done());

    bench.submit(AnyDescriptor({c.low, c.high}));
    CHECK_FALSE(bench.is_done());

    CHECK(bench.fault_status().get<"iqe">());
    CHECK(bench.read64(Register::iqercd) == static_cast<std::uint64_t>(c.error));
    CHECK(bench.read64(Register::iqh) == 0x10);
    CHECK(bench.dword(IommuBench::fault_message) == 0x41);

    bench.put((bench.read64(Register::iqa) & ~0xfffull) + 0x10, iotlb(IotlbGranularity::global));
    bench.write(Register::fsts, FaultStatus::mask<"iqe">);
    CHECK(bench.fault_status().value() == 0);
    CHECK(bench.read64(Register::iqh) == 0x30);
    CHECK(bench.is_done());
}

TEST_CASE("a tail outside the queue, a queue that cannot be read and a wrong width stop it", "[unit][iommu]") {
    IommuBench bench;
    bench.enable();

    SECTION("tail") {
        bench.write(Register::iqt, 0x1000);
        CHECK(bench.read64(Register::iqercd) == 1);
    }
    SECTION("memory") {
        bench.memory.fail(0, ~0ull, DmaStatus::completer_abort);
        bench.write(Register::iqt, 0x10);
        CHECK(bench.read64(Register::iqercd) == 2);
    }
    SECTION("width") {
        bench.write64(Register::iqa, bench.read64(Register::iqa) | QueueAddress::mask<"dw">);
        bench.write(Register::iqt, 0x20);
        CHECK(bench.read64(Register::iqercd) == 5);
    }
    CHECK(bench.fault_status().get<"iqe">());
    CHECK(bench.read64(Register::iqh) == 0);
}

TEST_CASE("the queue wraps, does nothing while it is off, and begins at its head when it is turned on",
          "[unit][iommu]") {
    IommuBench bench;
    bench.enable();
    for (int i = 0; i < 300; ++i)
        REQUIRE(bench.is_done());
    CHECK(bench.read64(Register::iqh) == 300 * 16 % 0x1000);

    bench.command({.te = true});
    CHECK((bench.read(Register::gsts) & GlobalStatus::mask<"qies">) == 0);
    CHECK(bench.read64(Register::iqh) == 0);
    CHECK_FALSE(bench.is_done());
}

TEST_CASE("a wait behind any invalidation of pages completes when what was let through is in memory", "[unit][iommu]") {
    const auto what = GENERATE(0, 1, 2, 3);
    const bool is_scalable = what != 0;
    IommuBench bench({.device_tlb = true, .scalable_mode = is_scalable, .first_stage = is_scalable});
    bench.enable(is_scalable ? TableMode::scalable : TableMode::legacy);
    constexpr model::port::Time late = std::chrono::microseconds{7};
    const auto wait = [&] {
        bench.submit(WaitDescriptor{}.set<"type">(5).set<"sw">(true).set<"stdata">(1).set<"staddr">(0x9000));
        return bench.memory.log().back().at;
    };
    CHECK(wait() == model::port::Time{});
    bench.landed = late;
    CHECK(wait() == model::port::Time{}); // nothing was invalidated
    switch (what) {
    case 0:
    case 1: bench.invalidate_pages(); break;
    case 2:
        bench.submit(
            PasidIotlbDescriptor{}.set<"type">(6).set<"g">(PasidIotlbGranularity::pasid).set<"did">(1).set<"pasid">(5));
        break;
    case 3: bench.submit(DeviceTlbDescriptor{}.set<"type">(3).set<"sid">(device).set<"addr">(0x4000)); break;
    }

    CHECK(wait() == late);
}

TEST_CASE("what is kept of a large page goes with its domain, and with everything", "[unit][iommu]") {
    const auto granularity = GENERATE(IotlbGranularity::global, IotlbGranularity::domain);
    IommuBench bench;
    const auto tables = bench.attach(device, 5);
    bench.map(tables, 0x20'0000, 0x4000'0000, 21);
    bench.enable();
    const auto at = [&] {
        return bench.translate({.requester = device, .address = 0x20'1000, .length = 64, .access = Access::read})
            .address;
    };
    CHECK(at() == 0x4000'1000);
    bench.map(tables, 0x20'0000, 0x8000'0000, 21);
    CHECK(at() == 0x4000'1000);

    bench.submit(iotlb(IotlbGranularity::domain, 4));
    CHECK(at() == 0x4000'1000);
    bench.submit(iotlb(granularity, 5));

    CHECK(at() == 0x8000'1000);
}
