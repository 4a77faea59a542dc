// A remapping unit in the root complex of a machine: what devices reach through it, and how software sees it.
#include "model/iommu/iommu_module.h"
#include "testbench/harness/iommu_bench.h"
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstring>

using namespace abi::iommu;
using abi::BusAddress;
using model::port::DmaStatus;
using model::port::Purpose;
using model::port::Time;
using testbench::IommuBench;

namespace {

constexpr std::uint64_t iova = 0x12'3456'7000;

/// A machine whose first card sees one page of host memory at `iova`, once the unit is on.
struct Remapped {
    testbench::PcieMachine machine;
    std::uint64_t root, contexts, tables, page, queue, words;

    explicit Remapped(bool timed = false)
        : machine(timed, {.iommu = model::iommu::IommuModuleConfig{.core = {},
                                                                   .miss_latency = std::chrono::nanoseconds{130}}}) {
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        machine.enable_master(1), machine.enable_master(2);
        const auto allocate = [&] { return machine.host.memory().allocate(0x1000)->bus; };
        root = allocate(), contexts = allocate(), tables = allocate(), page = allocate(), queue = allocate();
        words = allocate();
        const auto bdf = machine.found(1).bdf;
        put(root + bdf.bus() * 16u, RootEntry{}.set<"p">(true).set<"ctp">(contexts));
        put(contexts + (bdf.value & 0xffu) * 16u, IommuBench::context(1, tables));
        auto at = tables;
        for (unsigned level = 4; level > 1; --level) {
            const auto next = allocate();
            put(entry_at(at, level), IommuBench::leaf(next));
            at = next;
        }
        leaf = entry_at(at, 1);
        put(leaf, IommuBench::leaf(page));
    }
    std::uint64_t leaf = 0;

    static std::uint64_t entry_at(std::uint64_t table, unsigned level) {
        return table + (iova >> model::iommu::shift_of(level) & 0x1ff) * 8;
    }
    template <class E> void put(std::uint64_t bus, const E& entry) {
        const auto bytes = entry.bytes();
        std::memcpy(machine.host.memory().at(bus), bytes.data(), bytes.size());
    }
    std::uint64_t base() { return machine.host.root_complex().core().map().iommu.begin; }
    void write(Register r, std::uint64_t value, unsigned bytes = 4) {
        std::array<std::byte, 8> raw;
        abi::store<std::uint64_t, abi::Endian::little>(raw.data(), value);
        const auto at = base() + static_cast<std::uint32_t>(r);
        REQUIRE(machine.host.root_complex().processor().write(BusAddress{at}, std::span(raw).first(bytes), {}).is_ok());
    }
    std::uint64_t read(std::uint32_t offset, unsigned bytes = 4) {
        std::array<std::byte, 8> raw{};
        const auto into = std::span(raw).first(bytes);
        REQUIRE(machine.host.root_complex().processor().read(BusAddress{base() + offset}, into, {}).is_ok());
        return abi::load<std::uint64_t, abi::Endian::little>(raw.data());
    }
    std::uint64_t read(Register r, unsigned bytes = 4) { return read(static_cast<std::uint32_t>(r), bytes); }
    void enable() {
        write(Register::rtaddr, root, 8);
        write(Register::iqa, queue, 8);
        write(Register::gcmd, GlobalCommand::mask<"srtp">);
        write(Register::gcmd, GlobalCommand::mask<"qie">);
        write(Register::gcmd, GlobalCommand::mask<"qie"> | GlobalCommand::mask<"te">);
    }
    model::port::Dma& dma() { return machine.first.endpoint.dma(); }
    model::port::DmaResult send(std::uint64_t address, std::uint8_t value, std::size_t length = 1) {
        const std::vector<std::byte> bytes(length, std::byte{value});
        return dma().write(BusAddress{address}, bytes, {}, Purpose::payload);
    }
    std::uint8_t at(std::uint64_t bus) { return std::to_integer<std::uint8_t>(*machine.host.memory().at(bus)); }
};

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
    CHECK(r.dma().lend(BusAddress{iova}, 64, {}).data == nullptr); // each request is looked up
    CHECK(r.send(r.page, 0x22).status == DmaStatus::unsupported_request);
    CHECK(r.at(r.page) == 0x11);

    r.write(Register::gcmd, 0);
    CHECK(r.send(r.page, 0x33).is_ok());
    CHECK(r.at(r.page) == 0x33);
}

TEST_CASE("a transfer over two pages stops at the one that is not mapped", "[module][iommu]") {
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
    CHECK(r.machine.second.endpoint.dma().write(BusAddress{iova}, byte, {}).status == DmaStatus::unsupported_request);

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
    r.put(r.queue, IommuBench::page_descriptor(1, iova));
    r.put(r.queue + 16, WaitDescriptor{}.set<"type">(5).set<"sw">(true).set<"stdata">(0x77).set<"staddr">(r.words));
    r.write(Register::iqt, 32);
    CHECK(r.at(r.words) == 0x77);
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
