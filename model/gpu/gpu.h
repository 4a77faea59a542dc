// A GPU as a PCIe function whose caches hold what they hold: VRAM behind a BAR, registers, and a graphics block for
// waves. Where nobody asks about caches, Vram (vram.h) is the same memory without them, and faster.
#pragma once

#include "model/gpu/register_file.h"
#include "model/gpu/sdma/cached_memory.h"
#include "model/memory/sparse_memory.h"
#include "model/pcie/device.h"
#include "model/pcie/endpoint_space.h"
#include "model/pcie/setting.h"

#include <optional>
#include <string>
#include <vector>

namespace model::gpu {

struct GpuConfig {
    bool timed = true;
    std::uint64_t bytes = std::uint64_t{2} << 30; ///< of VRAM: a power of two, 1 MiB or more
    std::uint64_t bar_bytes = 0;                  ///< size of the VRAM BAR after reset; 0: all of it
    std::uint16_t vendor_id = 0x1002, device_id = 0x744c;
    std::uint32_t profile = 0;   ///< a memory::Profile, by its number
    std::uint32_t mechanism = 1; ///< of the first profile: m1, m2 or m3
    std::uint32_t seed = 1;
    port::Time hold_max = std::chrono::milliseconds{10};
    bool resets_on_control = true;
    port::Time invalidation{};
    std::optional<memory::MemoryConfig> memory; ///< all knobs, in place of the six above and the four below
    std::uint32_t vram_gbps = 7680;
    std::uint32_t gl2_channels = 32, gl2_channel_gbps = 1280, gl2_misses = 512;
    sdma::EngineConfig copy_engines{};

    /// The knobs that are in effect.
    memory::MemoryConfig knobs() const;
    std::vector<pcie::Setting> settings();
    bool operator==(const GpuConfig&) const = default;
};

class Gpu final : public pcie::Device, public port::Grantor {
public:
    static constexpr unsigned vram_bar = 0, doorbell_bar = 2, register_bar = 5;
    static constexpr std::uint64_t doorbell_bytes = 2 << 20, register_bytes = 1 << 20;
    /// In the register BAR, which vectors have nothing to do with on silicon: there they are in a ring in memory.
    static constexpr std::uint32_t msix_table = 0xe0000, msix_pending = 0xe8000;

    /// `name` is that of the memory file.
    Gpu(const std::string& name, const GpuConfig& config, const pcie::DevicePorts& ports);
    static pcie::FunctionConfig function_config(const GpuConfig& config);

    GraphicsBlock& block() { return block_; }
    const sdma::Engine& copy_engine(unsigned number) const { return copy_engines_.engine(number); }
    /// VRAM as it is, without what the caches hold: for whoever puts data in before anything runs, and for checks.
    std::span<std::byte> bytes() const { return vram_.bytes(); }

    // Device
    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) override;
    /// Nothing: an access through the BAR passes the host data path and, by profile, caches.
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    /// A function-level reset; VRAM keeps its content.
    void reset(port::Time at) override;
    void wake(port::Time now) override;
    void accounts(std::vector<time::Account>& rows) const override;
    bool is_quiet() const override {
        return block_.next_due() == port::never && copy_engines_.next_due() == port::never;
    }
    // Grantor
    void set_watch(port::GrantWatch* watch) override { block_.set_watch(watch); }

private:
    model::memory::SparseMemory vram_;
    GraphicsBlock block_;
    sdma::CachedMemory engine_memory_{block_};
    sdma::Engines copy_engines_;
    RegisterFile registers_;
};

} // namespace model::gpu
