// A remapping unit in the root complex of a machine: what devices reach through it, and how software sees it.
#include "model/iommu/iommu_module.h"
#include "model/tlm/time.h"
#include "testbench/harness/remapped_machine.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <random>
#include <vector>

using namespace abi::iommu;
using abi::BusAddress;
using model::port::DmaStatus;
using model::port::Purpose;
using model::port::Time;
using testbench::IommuBench;

namespace {
using Remapped = testbench::RemappedMachine;
constexpr auto iova = Remapped::iova;
} // namespace

TEST_CASE("a unit that is off lets devices reach host memory as without one", "[module][iommu]") {
    Remapped r;

    CHECK(r.send(r.page + 5, 0x5a).is_ok());
    CHECK(r.at(r.page + 5) == 0x5a);
    CHECK(r.dma().lend(BusAddress{r.page}, 64, {}).data != nullptr);
    CHECK(r.read(Register::ver) == 0x60);
    CHECK(Capability{r.read(Register::cap, 8)}.get<"sagaw">() == 0b1100);
}

TEST_CASE("a unit that is on translates what devices write and read, and paths found before are gone",
          "[module][iommu]") {
    Remapped r;
    CHECK(r.send(r.page, 0x11).is_ok()); // a direct path by host address

    r.enable();

    CHECK(r.send(iova + 0x123, 0xa5, 8).is_ok());
    CHECK(r.at(r.page + 0x122) == 0);
    CHECK(r.at(r.page + 0x123) == 0xa5);
    CHECK(r.at(r.page + 0x12b) == 0);
    std::array<std::byte, 8> back{};
    CHECK(r.dma().read(BusAddress{iova + 0x123}, back, {}).is_ok());
    CHECK(back[7] == std::byte{0xa5});
    CHECK(r.dma().lend(BusAddress{iova}, 64, {}).data == r.machine.host.memory().at(r.page));
    CHECK(r.dma().lend(BusAddress{iova + 0xfff}, 2, {}).data == nullptr); // two pages are two requests
    CHECK(r.send(r.page, 0x22).status == DmaStatus::unsupported_request);
    CHECK(r.at(r.page) == 0x11);

    r.write(Register::gcmd, 0);
    CHECK(r.send(r.page, 0x33).is_ok());
    CHECK(r.at(r.page) == 0x33);
}

TEST_CASE("a write that the unit lets pass to where nobody is is lost, under the address that the card gave",
          "[module][iommu]") {
    Remapped r;
    r.map(iova + 0x1000, 0xd000'0000);
    r.enable();
    const std::array<std::byte, 8> bytes{};

    CHECK(r.dma().write(BusAddress{iova + 0x1010}, bytes, {}).is_ok());

    REQUIRE(r.machine.first.lost.size() == 1);
    CHECK(r.machine.first.lost[0].requester == r.machine.found(1).bdf.value);
    CHECK(r.machine.first.lost[0].address == iova + 0x1010);
    CHECK(r.machine.first.lost[0].length == 8);
    CHECK(r.machine.first.lost[0].status == static_cast<std::uint8_t>(DmaStatus::unsupported_request));
}

TEST_CASE("of a transfer over two pages that part is lost which is not mapped", "[module][iommu]") {
    Remapped r;
    r.enable();

    CHECK(r.send(iova + 0xffc, 0x77, 8).status == DmaStatus::unsupported_request);

    CHECK(r.at(r.page + 0xffc) == 0x77); // the first request was one of its own
    CHECK(r.at(r.page + 0x1000) == 0);
    const FaultRecord record{
        {r.read(model::iommu::fault_record_offset, 8), r.read(model::iommu::fault_record_offset + 8, 8)}};
    CHECK(record.get<"fi">() == iova + 0x1000);
    CHECK(record.get<"fr">() == static_cast<unsigned>(FaultReason::no_write));
    CHECK(record.get<"sid">() == r.machine.found(1).bdf.value);
}

TEST_CASE("a device that has no context is blocked, and its fault is an interrupt", "[module][iommu]") {
    Remapped r;
    const auto vector = r.machine.host.interrupts().allocate();
    REQUIRE(vector);
    r.write(Register::fedata, *vector);
    r.write(Register::feaddr, platform::host::Interrupts::message_address);
    r.write(Register::fectl, 0);
    r.enable();

    const std::array byte{std::byte{1}};
    const auto result = r.machine.second.endpoint.dma().write(BusAddress{iova}, byte, {});
    CHECK(result.is_ok()); // posted: the card does not hear of it
    CHECK(r.machine.second.fate(result) == DmaStatus::unsupported_request);

    CHECK(r.at(r.page) == 0);
    CHECK(r.machine.host.interrupts().take(*vector, Time{}));
    CHECK(FaultStatus{r.read(Register::fsts)}.get<"ppf">());
}

TEST_CASE("interrupt messages and traffic below the switch do not need a translation", "[module][iommu]") {
    Remapped r;
    const auto vector = r.machine.host.interrupts().allocate();
    r.enable();
    std::array<std::byte, 4> message;
    abi::store<std::uint32_t, abi::Endian::little>(message.data(), *vector);

    CHECK(r.dma().write(BusAddress{platform::host::Interrupts::message_address}, message, {}).is_ok());
    CHECK(r.machine.host.interrupts().take(*vector, Time{}));
    CHECK(r.send(r.machine.bar(2, 2) + 7, 0x5a).is_ok());
    CHECK(r.machine.second.function.memory[7] == std::byte{0x5a});
}

TEST_CASE("a page that was unmapped is reached until the driver invalidates it", "[module][iommu]") {
    Remapped r;
    r.enable();
    CHECK(r.send(iova, 1).is_ok());
    r.put(r.leaf, SecondStageEntry{});

    CHECK(r.send(iova, 2).is_ok());
    CHECK(r.at(r.page) == 2);
    r.invalidate(iova);
    CHECK(r.is_done());
    CHECK(r.send(iova, 3).status == DmaStatus::unsupported_request);
    CHECK(r.at(r.page) == 2);
}

TEST_CASE("a miss costs its table reads and its own time, a hit nothing", "[module][iommu]") {
    Remapped r(true);
    Time at{};
    const auto time = [&](std::uint64_t address) {
        std::array<std::byte, 8> bytes{};
        at += std::chrono::microseconds{100}; // links are free again
        const auto result = r.dma().read(BusAddress{address}, bytes, at);
        REQUIRE(result.is_ok());
        return result.done - at;
    };
    r.enable();

    const auto walk = time(iova), hit = time(iova);
    CHECK(walk - hit == std::chrono::nanoseconds{130 + 6 * 90});
    CHECK(time(iova + 0x800) == hit);
}

TEST_CASE("the unit's own accesses reach memory only", "[module][iommu]") {
    Remapped r;
    r.write(Register::rtaddr, r.machine.bar(2, 2) & ~0xfffull, 8); // a root table in a device
    r.write(Register::iqa, r.base(), 8);                           // a queue in its own registers
    r.write(Register::gcmd, GlobalCommand::mask<"srtp">);
    r.write(Register::gcmd, GlobalCommand::mask<"qie">);
    r.write(Register::gcmd, GlobalCommand::mask<"qie"> | GlobalCommand::mask<"te">);

    CHECK(r.send(iova, 1).status == DmaStatus::unsupported_request);
    const FaultRecord record{{0, r.read(model::iommu::fault_record_offset + 8, 8)}};
    CHECK(record.get<"fr">() == static_cast<unsigned>(FaultReason::root_access));
    r.write(Register::iqt, 16);
    CHECK(r.read(Register::iqercd) == static_cast<unsigned>(QueueError::fetch_error));
    // And devices do not reach its registers.
    r.write(Register::gcmd, 0);
    CHECK(r.send(r.base(), 1, 4).status == DmaStatus::unsupported_request);
}

TEST_CASE("a machine without a unit has nothing at its registers", "[module][iommu]") {
    testbench::PcieMachine machine;
    std::array<std::byte, 4> bytes{};
    CHECK_FALSE(machine.host.root_complex().processor().read(BusAddress{0xfed9'0000}, bytes, {}).is_ok());
    CHECK(machine.host.root_complex().iommu() == nullptr);
}

TEST_CASE("a path through the unit is one for all pages, and each request on it is looked up", "[module][iommu]") {
    Remapped r;
    r.map(iova + 0x1000, r.allocate());
    r.enable();
    const auto before = r.iotlb();

    for (unsigned i = 0; i < 10; ++i)
        CHECK(r.send(iova + 0x800 * (i % 4), 1, 64).is_ok());
    CHECK(r.machine.first.endpoint.known_windows() == 2); // to the unit, and from there to memory

    CHECK(r.iotlb().misses - before.misses == 2);
    CHECK(r.iotlb().hits - before.hits == 8);
    // A longer access is as many look-ups as packets: 2 KiB at an MPS of 256 bytes.
    CHECK(r.send(iova, 1, 2048).is_ok());
    CHECK(r.iotlb().hits - before.hits == 16);
    CHECK(r.machine.first.endpoint.volume(model::pcie::TargetKind::host_memory).payload() == 10 * 64 + 2048);
}

TEST_CASE("an entry that makes room for others is stale no longer, also on a direct path", "[module][iommu]") {
    Remapped r(false, Remapped::with_unit({}, {.core = {.iotlb = {.entries = 1}}}));
    const auto moved = r.allocate();
    r.map(iova + 0x1000, r.allocate());
    r.enable();
    CHECK(r.send(iova, 1).is_ok());
    r.map(iova, moved); // and no invalidation

    CHECK(r.send(iova, 2).is_ok());
    CHECK(r.at(r.page) == 2);
    CHECK(r.at(moved) == 0);
    CHECK(r.send(iova + 0x1000, 3).is_ok()); // takes the place
    CHECK(r.send(iova, 4).is_ok());
    CHECK(r.at(r.page) == 2);
    CHECK(r.at(moved) == 4);
}

TEST_CASE("a memory that was lent is what the tables said at that time", "[module][iommu]") {
    Remapped r;
    const auto moved = r.allocate();
    r.enable();
    CHECK(r.dma().lend(BusAddress{iova}, 64, {}).data == r.machine.host.memory().at(r.page));
    r.map(iova, moved);

    CHECK(r.dma().lend(BusAddress{iova}, 64, {}).data == r.machine.host.memory().at(r.page)); // stale
    r.invalidate(iova);
    CHECK(r.dma().lend(BusAddress{iova}, 64, {}).data == r.machine.host.memory().at(moved));
    r.put(r.leaf, SecondStageEntry{});
    r.invalidate(iova);
    const auto refused = r.dma().lend(BusAddress{iova}, 64, {});
    CHECK(refused.data == nullptr);
    CHECK(refused.result.status == DmaStatus::unsupported_request);
}

TEST_CASE("control writes through the unit show at their time, payload at once", "[module][iommu]") {
    Remapped r(true);
    r.enable();
    const std::array byte{std::byte{7}};
    const auto written = [&](std::uint64_t offset, Purpose purpose) {
        return r.dma().write(BusAddress{iova + offset}, byte, model::tlm::kernel_now(), purpose).done;
    };

    for (const std::uint64_t offset : {0, 8}) { // one by one at first, then on a direct path
        const auto done = written(offset, Purpose::control);
        CHECK(done > Time{});
        CHECK(r.at(r.page + offset) == 0);
        std::array<std::byte, 1> back{};
        CHECK(r.dma().read(BusAddress{iova + offset}, back, done).is_ok()); // a device sees it
        CHECK(back[0] == std::byte{7});
    }
    const auto done = written(16, Purpose::control);
    CHECK(r.at(r.page + 16) == 0);
    sc_core::sc_start(sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(done.count()) + 1));
    CHECK(r.at(r.page + 16) == 0); // it has left the function
    sc_core::sc_start(sc_core::sc_time(2, sc_core::SC_US));
    CHECK(r.at(r.page + 16) == 7);
    written(24, Purpose::payload);
    CHECK(r.at(r.page + 24) == 7);
}

TEST_CASE("walkers bound how fast misses are served", "[module][iommu]") {
    constexpr unsigned pages = 256;
    const auto time_of = [](Remapped& r, unsigned among, Time begin) { // everything is asked for at once
        std::minstd_rand random(7);
        std::array<std::byte, 64> bytes{};
        Time done{};
        for (unsigned i = 0; i < 4 * pages; ++i) {
            const auto address = iova + std::uint64_t{random() % among} * 0x1000;
            done = std::max(done, r.dma().read(BusAddress{address}, bytes, begin, Purpose::payload).done);
        }
        return done - begin;
    };
    Remapped r(true, Remapped::with_unit({}, {.core = {.iotlb = {.entries = 64, .ways = 64}},
                                              .miss_latency = std::chrono::nanoseconds{145},
                                              .walkers = 5}));
    for (unsigned i = 1; i < pages; ++i)
        r.map(iova + i * 0x1000ull, r.allocate());
    r.enable();
    time_of(r, 64, {});
    auto before = r.iotlb();

    const auto inside = time_of(r, 64, std::chrono::seconds{1});
    CHECK(r.iotlb().misses == before.misses);
    CHECK(r.iotlb().hits - before.hits == 4 * pages);
    before = r.iotlb();
    const auto outside = time_of(r, pages, std::chrono::seconds{2});

    const auto misses = static_cast<double>(r.iotlb().misses - before.misses);
    CHECK(misses > 4 * pages * 0.7); // 64 of 256 pages fit
    CHECK(inside < outside / 4);
    // One table read of 90 ns and 145 ns beside it, five at a time.
    CHECK(static_cast<double>(outside.count()) > misses * 235e3 / 5 * 0.95);
    CHECK(static_cast<double>(outside.count()) < misses * 235e3 / 5 * 1.25);
}

TEST_CASE("a walk that is booked ahead leaves its walker to walks before it, and the unit says how busy walkers were",
          "[module][iommu]") {
    using namespace std::chrono_literals;
    Remapped r(true, Remapped::with_unit({}, {.core = {.iotlb = {.entries = 0}}, .miss_latency = 1us, .walkers = 1}));
    r.enable();
    std::array<std::byte, 64> bytes{};
    const auto read = [&](Time at) { return r.dma().read(BusAddress{iova}, bytes, at, Purpose::payload).done - at; };
    read(1s); // contexts and upper tables are cached from here on
    const auto alone = read(1s + 100us);
    std::vector<model::time::Account> before, after;
    const auto* unit = r.machine.host.root_complex().iommu();
    unit->for_each_account([&](const auto& account) { before.push_back(account); });

    CHECK(read(2s + 100us) == alone);
    CHECK(read(2s) == alone);

    unit->for_each_account([&](const auto& account) { after.push_back(account); });
    REQUIRE(before.size() == 1);
    CHECK(after[0].units == 1);
    CHECK(after[0].usage.uses == before[0].usage.uses + 2);
    CHECK(after[0].usage.busy - before[0].usage.busy > 2us);
    CHECK(after[0].usage.waited == before[0].usage.waited);
}
