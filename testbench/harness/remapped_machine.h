// A machine with a remapping unit in its root complex, and the software that fills the unit's tables in host memory:
// for module tests of what devices reach through it.
#pragma once

#include "testbench/harness/iommu_bench.h"
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstring>
#include <map>

namespace testbench {

struct RemappedMachine {
    using Register = abi::iommu::Register;

    static constexpr std::uint64_t iova = 0x12'3456'7000;
    static constexpr model::port::Time miss = std::chrono::nanoseconds{130};

    PcieMachine machine;
    std::uint64_t root, tables, page, queue, words;
    std::uint64_t leaf = 0; ///< the entry of `iova`

    static platform::host::HostConfig with_unit(platform::host::HostConfig config,
                                                model::iommu::IommuModuleConfig unit = {.core = {},
                                                                                        .miss_latency = miss}) {
        config.iommu = unit;
        return config;
    }
    /// The first card sees one page of host memory at `iova`, once the unit is on.
    explicit RemappedMachine(bool timed = false, const platform::host::HostConfig& config = with_unit({}),
                             const model::pcie::AtsConfig& ats = {})
        : machine(timed, config, ats) {
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        machine.enable_master(1), machine.enable_master(2);
        root = allocate(), tables = allocate(), page = allocate(), queue = allocate(), words = allocate();
        attach(1, IommuBench::context(1, tables));
        leaf = map(iova, page);
    }

    std::uint64_t allocate() { return machine.host.memory().allocate(0x1000)->bus; }
    template <class E> void put(std::uint64_t bus, const E& entry) {
        const auto bytes = entry.bytes();
        std::memcpy(machine.host.memory().at(bus), bytes.data(), bytes.size());
    }
    template <class E> E get(std::uint64_t bus) {
        return E::from(std::span<const std::byte>(machine.host.memory().at(bus), E::size));
    }
    /// Both cards are on one bus number each, which share a context table here.
    void attach(std::uint16_t device, const abi::iommu::ContextEntry& entry) {
        const auto bdf = machine.found(device).bdf;
        auto& table = context_tables_[bdf.bus()];
        if (table == 0) {
            table = allocate();
            put(root + bdf.bus() * 16u, abi::iommu::RootEntry{}.set<"p">(true).set<"ctp">(table));
        }
        put(table + (bdf.value & 0xffu) * 16u, entry);
    }
    /// Maps 4 KiB (or 2 MiB with shift 21); returns where the entry stands.
    std::uint64_t map(std::uint64_t address, std::uint64_t to, unsigned shift = 12, bool r = true, bool w = true) {
        auto at = tables;
        for (unsigned level = 4;; --level) {
            const auto entry = at + (address >> model::iommu::shift_of(level) & 0x1ff) * 8;
            if (model::iommu::shift_of(level) == shift) {
                put(entry, IommuBench::leaf(to, r, w).set<"ps">(shift != 12));
                return entry;
            }
            if (get<abi::iommu::SecondStageEntry>(entry).value() == 0)
                put(entry, IommuBench::leaf(allocate()));
            at = get<abi::iommu::SecondStageEntry>(entry).get<"addr">();
        }
    }

    std::uint64_t base() { return machine.host.root_complex().core().map().iommu.begin; }
    void write(Register r, std::uint64_t value, unsigned bytes = 4) {
        write(static_cast<std::uint32_t>(r), value, bytes);
    }
    void write(std::uint32_t offset, std::uint64_t value, unsigned bytes = 4) {
        std::array<std::byte, 8> raw;
        abi::store<std::uint64_t, abi::Endian::little>(raw.data(), value);
        REQUIRE(machine.host.root_complex()
                    .processor()
                    .write(abi::BusAddress{base() + offset}, std::span(raw).first(bytes), {})
                    .is_ok());
    }
    std::uint64_t read(std::uint32_t offset, unsigned bytes = 4) {
        std::array<std::byte, 8> raw{};
        const auto into = std::span(raw).first(bytes);
        REQUIRE(machine.host.root_complex().processor().read(abi::BusAddress{base() + offset}, into, {}).is_ok());
        return abi::load<std::uint64_t, abi::Endian::little>(raw.data());
    }
    std::uint64_t read(Register r, unsigned bytes = 4) { return read(static_cast<std::uint32_t>(r), bytes); }
    void enable() {
        using abi::iommu::GlobalCommand;
        write(Register::rtaddr, root, 8);
        write(Register::iqa, queue, 8);
        write(Register::gcmd, GlobalCommand::mask<"srtp">);
        write(Register::gcmd, GlobalCommand::mask<"qie">);
        write(Register::gcmd, GlobalCommand::mask<"qie"> | GlobalCommand::mask<"te">);
    }
    template <class Descriptor> void submit(const Descriptor& descriptor) {
        put(queue + tail_, descriptor);
        tail_ = (tail_ + 16) % 0x1000;
        write(Register::iqt, tail_);
    }
    /// Whether the queue has come to its end.
    bool is_done() {
        submit(
            abi::iommu::WaitDescriptor{}.set<"type">(5).set<"sw">(true).set<"stdata">(++cookie_).set<"staddr">(words));
        std::uint32_t word = 0;
        std::memcpy(&word, machine.host.memory().at(words), sizeof word);
        return word == cookie_;
    }
    void invalidate(std::uint64_t address) { submit(IommuBench::page_descriptor(1, address)); }

    const model::iommu::CacheCounters& iotlb() {
        return machine.host.root_complex().iommu()->core().translator().iotlb_counters();
    }
    model::port::Dma& dma() { return machine.first.endpoint.dma(); }
    /// The status says what became of it, also where the card is not told.
    model::port::DmaResult send(std::uint64_t address, std::uint8_t value, std::size_t length = 1) {
        const std::vector<std::byte> bytes(length, std::byte{value});
        const auto result = dma().write(abi::BusAddress{address}, bytes, {}, model::port::Purpose::payload);
        return {machine.first.fate(result), result.done};
    }
    std::uint8_t at(std::uint64_t bus) { return std::to_integer<std::uint8_t>(*machine.host.memory().at(bus)); }

private:
    std::map<std::uint8_t, std::uint64_t> context_tables_;
    std::uint64_t tail_ = 0;
    std::uint32_t cookie_ = 0;
};

} // namespace testbench
