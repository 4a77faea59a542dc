// The memory of a GPU as PCIe sees it: a function with a small register BAR and a resizable, prefetchable 64-bit BAR
// over sparse VRAM. Holds bytes; schedules nothing and translates nothing.
#pragma once

#include "model/memory/sparse_memory.h"
#include "model/pcie/device.h"
#include "model/pcie/endpoint_space.h"

#include <bit>
#include <cstdint>
#include <string>

namespace model::gpu {

/// Sizes that a resizable BAR of a GPU with so much VRAM may have, a bit each from 1 MiB on (PCIe 6.0 §7.8.6.2).
constexpr std::uint64_t resizable_sizes(std::uint64_t vram_bytes) {
    return std::bit_floor(vram_bytes) / (std::uint64_t{1} << 20) * 2 - 1;
}

struct VramConfig {
    bool timed = true;
    std::uint64_t bytes = std::uint64_t{2} << 30; ///< a power of two, 1 MiB or more
    std::uint64_t bar_bytes = 0;                  ///< size of the VRAM BAR after reset; 0: all of it
    std::uint16_t vendor_id = 0x10de, device_id = 0x20b0;
    port::Time read_latency = std::chrono::nanoseconds{400}; ///< of VRAM, for reads through the BAR

    bool operator==(const VramConfig&) const = default;
};

class Vram final : public pcie::Device {
public:
    static constexpr unsigned register_bar = 0, vram_bar = 1;
    static constexpr std::uint64_t register_bytes = 16 << 20;

    Vram(const std::string& name, const VramConfig& config);
    /// What the function tells the bus of itself, apart from what its slot decides.
    static pcie::FunctionConfig function_config(const VramConfig& config);

    std::span<std::byte> bytes() const { return memory_.bytes(); }
    const model::memory::SparseMemory& memory() const { return memory_; }

    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) override;
    std::span<std::byte> direct(unsigned bar, std::uint64_t offset) override;
    bool shows_at_arrival(unsigned bar) const override { return bar == vram_bar; }
    int file(unsigned bar) const override { return bar == vram_bar && is_all_memory_ ? memory_.file() : -1; }
    void reset(port::Time) override {} // VRAM keeps its content over a reset of the function

private:
    port::Time read_latency_;
    model::memory::SparseMemory memory_;
    bool is_all_memory_; ///< the BAR shows no more than there is
};

} // namespace model::gpu
