// A GPU core with memory behind its ports, and page tables written as its driver writes them: the memory type of a page
// is latched when its entry is written.
#pragma once

#include "model/gpu/gpu.h"
#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <array>
#include <cstring>
#include <memory>

namespace harness {

/// Puts page tables into VRAM, from `begin` on, and answers with the root as a directory entry.
class GpuTables {
public:
    GpuTables(std::span<std::byte> vram, std::uint64_t begin) : vram_(vram), next_(begin), root_(take()) {}

    std::uint64_t root() const { return abi::gpu::Pde{}.set<"valid">(true).set<"base">(root_).value(); }

    /// Writes the entry of `address`, `level` directories above the last table, and what leads to it.
    void set(std::uint64_t address, abi::gpu::Pte entry, unsigned level = 0) {
        auto table = root_;
        for (auto at = abi::gpu::max_depth; at > level; --at) {
            const auto where = table + abi::gpu::index(address, at) * 8;
            auto directory = abi::gpu::Pde::from(vram_.subspan(where, 8));
            if (!directory.get<"valid">()) {
                directory = abi::gpu::Pde{}.set<"valid">(true).set<"base">(take());
                directory.to(vram_.subspan(where, 8));
            }
            table = directory.get<"base">();
        }
        entry.to(vram_.subspan(table + abi::gpu::index(address, level) * 8, 8));
    }
    static abi::gpu::Pte entry(std::uint64_t page, bool is_system, model::gpu::memory::Mtype mtype) {
        return abi::gpu::Pte{}
            .set<"valid">(true)
            .set<"system">(is_system)
            .set<"readable">(true)
            .set<"writeable">(true)
            .set<"page">(page)
            .set<"mtype">(static_cast<abi::gpu::Mtype>(mtype));
    }
    void map(std::uint64_t address, std::uint64_t physical, std::uint64_t length, bool is_system,
             model::gpu::memory::Mtype mtype) {
        for (std::uint64_t i = 0; i < length; i += 4096)
            set(address + i, entry(physical + i, is_system, mtype));
    }

private:
    std::uint64_t take() {
        const auto table = next_;
        std::ranges::fill(vram_.subspan(table, 4096), std::byte{});
        next_ += 4096;
        return table;
    }
    std::span<std::byte> vram_;
    std::uint64_t next_, root_;
};

struct GpuBench {
    using Mtype = model::gpu::memory::Mtype;
    static constexpr std::uint64_t vram_bytes = 4 << 20, tables_at = 3 << 20;
    static constexpr unsigned vmid = 8;
    // Virtual addresses: VRAM twice, by two memory types, and the bus twice.
    static constexpr std::uint64_t vram_nc = 0x7000'0000'0000, vram_uc = 0x7000'1000'0000, bus_nc = 0x7000'2000'0000,
                                   bus_uc = 0x7000'3000'0000;
    static constexpr std::uint64_t mapped = 1 << 20, bus_base = 0x20'0000'0000;

    model::port::MemoryDma bus;
    TestClock clock;
    InterruptLog interrupts;
    model::gpu::Gpu gpu;
    GpuTables tables;

    explicit GpuBench(model::gpu::memory::MemoryConfig config)
        : gpu("gpu_bench", {.bytes = vram_bytes, .memory = small(config)}, {bus, clock, interrupts}),
          tables(gpu.bytes(), tables_at) {
        tables.map(vram_nc, 0, mapped, false, Mtype::nc);
        tables.map(vram_uc, 0, mapped, false, Mtype::uc);
        tables.map(bus_nc, bus_base, mapped, true, Mtype::nc);
        tables.map(bus_uc, bus_base, mapped, true, Mtype::uc);
        attach();
    }
    /// What the driver does with a context.
    void attach() {
        gpu.block().spaces().context(vmid) = {
            .control = static_cast<std::uint32_t>(
                abi::gpu::ContextControl{}.set<"enable_context">(true).set<"page_table_depth">(3).value()),
            .base = tables.root(),
            .first_page = 0,
            .last_page = (std::uint64_t{1} << 36) - 1};
    }
    /// Caches that hold more than any test touches, and are made quickly.
    static model::gpu::memory::MemoryConfig small(model::gpu::memory::MemoryConfig config) {
        config.arrays = 2, config.units_per_array = 4;
        config.mall.bytes = 2 << 20;
        return config;
    }

    std::unique_ptr<model::gpu::memory::MemoryView> wave(unsigned unit = 0) {
        return gpu.block().make_view(unit, vmid);
    }
    /// Time passes, and what is due happens.
    void pass(Time time) {
        const auto until = clock.now() + time;
        while (clock.next() <= until) {
            clock.set(clock.next());
            gpu.wake(clock.now());
        }
        clock.set(until);
        gpu.wake(until);
    }
    Time now() const { return clock.now(); }

    // By PCIe:
    void write(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> bytes{};
        std::memcpy(bytes.data(), &value, sizeof value);
        gpu.bar_write(model::gpu::Gpu::vram_bar, offset, bytes, now());
    }
    std::uint32_t read(std::uint64_t offset) {
        std::array<std::byte, 4> bytes{};
        gpu.bar_read(model::gpu::Gpu::vram_bar, offset, bytes, now());
        return value_of(bytes);
    }
    void poke(std::uint32_t offset, std::uint32_t value) {
        std::array<std::byte, 4> bytes{};
        std::memcpy(bytes.data(), &value, sizeof value);
        gpu.bar_write(model::gpu::Gpu::register_bar, offset, bytes, now());
    }
    std::uint32_t peek(std::uint32_t offset) {
        std::array<std::byte, 4> bytes{};
        gpu.bar_read(model::gpu::Gpu::register_bar, offset, bytes, now());
        return value_of(bytes);
    }
    static std::uint32_t value_of(std::span<const std::byte> bytes) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
        return value;
    }
    /// What is on the bus, past all ports.
    std::uint32_t on_bus(std::uint64_t offset) { return value_of(bus.peek(bus_base + offset, 4)); }
    void set_on_bus(std::uint64_t offset, std::uint32_t value) {
        bus.poke(bus_base + offset, std::as_bytes(std::span(&value, 1)));
    }
    /// What VRAM holds, past all caches.
    std::uint32_t in_vram(std::uint64_t offset) { return value_of(gpu.bytes().subspan(offset, 4)); }
};

/// A dword loaded or stored by a wave.
inline std::uint32_t load(model::gpu::memory::MemoryView& wave, std::uint64_t address,
                          model::gpu::memory::Modifiers modifiers, Time at = {},
                          model::gpu::memory::Outcome* outcome = nullptr) {
    std::array<std::byte, 4> bytes{};
    const auto result = wave.load(address, bytes, modifiers, at);
    if (outcome != nullptr)
        *outcome = result;
    return GpuBench::value_of(bytes);
}
inline model::gpu::memory::Outcome store(model::gpu::memory::MemoryView& wave, std::uint64_t address,
                                         std::uint32_t value, model::gpu::memory::Modifiers modifiers = {},
                                         Time at = {}) {
    return wave.store(address, std::as_bytes(std::span(&value, 1)), modifiers, at);
}

} // namespace harness
