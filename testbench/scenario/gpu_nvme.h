// A drive that a GPU drives (after "AMD GPU-Initiated I/O"): queues and data in VRAM, which the drive reaches by a
// dma-buf in its address space; the drive's doorbells mapped into the GPU's virtual memory by a dma-buf of its BAR; and
// GPU programs that write commands, ring, and poll for completions through the caches of the GPU. Written against the
// drivers and what a wave sees of memory.
#pragma once

#include "model/gpu/gpu.h"
#include "sw/gpu/address_space.h"
#include "sw/memory/iommu/file_mapping.h"
#include "sw/memory/iommu/unit.h"
#include "sw/memory/mmio_export.h"
#include "sw/nvme/namespace.h"
#include "testbench/harness/device_mapping.h"
#include "testbench/scenario/gpu_kernel.h"
#include "testbench/scenario/gpu_nvme_flush.h"
#include "testbench/scenario/gpu_nvme_program.h"
#include "testbench/scenario/payload_source.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace scenario {

/// What the scenario works with, all of one host.
struct GpuAndDrive {
    sw::transport::Transport &gpu, &drive;
    sw::memory::iommu::Unit* unit = nullptr; ///< nullptr: there is no remapping unit, and no address space
    sw::memory::iommu::AddressSpace* drive_space = nullptr;
    model::gpu::Gpu& device; ///< where waves run
};

/// Whether the export of the queues to the drive makes them uncached, as the article's kernel does.
enum class Uncached : std::uint8_t {
    never,
    before_mapping, ///< the export comes first: pages are UC, whatever was asked for
    after_mapping,  ///< too late for pages that are mapped
};

/// How one experiment is set up.
struct IoSetup {
    abi::gpu::Mtype submissions = abi::gpu::Mtype::uc, completions = abi::gpu::Mtype::uc;
    /// Of the doorbells; nothing: as the profile imports a BAR.
    std::optional<abi::gpu::Mtype> doorbells = abi::gpu::Mtype::uc;
    bool on_host = false; ///< the queues lie in memory of the host
    Uncached uncached = Uncached::never;
    testbench::GpuQueueRules rules{.poll = model::gpu::memory::all_bits};
    Flush flush = Flush::heavy;
    /// The program itself looks at what it gets, through pages that GL2 keeps and that it has looked at before.
    bool looks_at_data = false;
    std::optional<bool> reorders_stores{}; ///< and does loads early (StoreOrder); nothing: as the profile does
};

enum class Verdict : std::uint8_t { correct, stuck, wrong_data, gpu_reset, page_fault };
std::string_view name(Verdict verdict);

struct IoReport {
    Verdict verdict = Verdict::correct;
    std::string explanation; ///< of any verdict but the first, for a person
    std::uint64_t commands = 0, errors = 0;
    std::string sha256; ///< of what was read back; empty when the program did not come to its end
    std::chrono::nanoseconds took{};
    Resistance met{};
    /// The types of the pages, as they have become.
    abi::gpu::Mtype submissions{}, completions{}, doorbells{};
};

struct IoSize {
    std::uint64_t command_bytes = 128 << 10;
    unsigned threads = 1, depth = 32;
};

class GpuNvme {
public:
    static sw::Result<std::unique_ptr<GpuNvme>> open(const GpuAndDrive& parts, unsigned queue_pairs);
    GpuNvme(const GpuNvme&) = delete;
    GpuNvme& operator=(const GpuNvme&) = delete;
    ~GpuNvme();

    /// The proof of concept: the processor submits Identify Controller to the admin queue, a GPU program rings, and the
    /// data are in VRAM. Returns them.
    sw::Result<std::vector<std::byte>> identify_by_gpu();
    /// The payload onto the drive and back, by one GPU program; `flusher` runs beside it.
    sw::Result<IoReport> move(const PayloadSource& payload, const IoSize& size, const IoSetup& setup, Flusher& flusher);

    const sw::nvme::Namespace& space() const { return *space_; }
    sw::nvme::Controller& controller() { return *controller_; }
    sw::gpu::Gpu& gpu() { return *gpu_; }
    model::gpu::Gpu& device() { return parts_.device; }
    const GpuAndDrive& parts() const { return parts_; }
    /// A buffer in VRAM, and the address at which the drive reaches it.
    struct Shared {
        sw::gpu::VramBuffer buffer;
        harness::DeviceMapping mapping;
        std::uint64_t bus() const { return mapping.bus(); }
        std::uint64_t offset() const { return buffer.ranges().front().offset; }
    };
    sw::Result<Shared> share(std::uint64_t bytes);
    sw::Result<Shared> share(sw::gpu::VramBuffer buffer, bool makes_uncached);
    sw::Result<std::unique_ptr<sw::gpu::AddressSpace>> make_address_space(bool accepts_foreign = true);
    const sw::memory::MmioExport& doorbells() const { return *doorbells_; }

private:
    explicit GpuNvme(const GpuAndDrive& parts) : parts_(parts) {}
    struct Rings;
    abi::gpu::Mtype next_import();
    sw::Result<void> begin(unsigned queue_pairs);
    sw::Result<Rings> make_rings(sw::gpu::AddressSpace& space, const IoSize& size, const IoSetup& setup);
    sw::Result<IoReport> carry_out(const PayloadSource& payload, IoPlan& plan, const IoSetup& setup, Flusher& flusher,
                                   sw::gpu::AddressSpace& space, const Shared& read_back);
    std::string explain(const model::gpu::wave::Grid& grid, const IoPlan& plan, const IoSetup& setup, Verdict verdict);
    sw::Result<void> recover(Verdict verdict);

    GpuAndDrive parts_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::unique_ptr<sw::nvme::Controller> controller_;
    std::optional<sw::nvme::Namespace> space_;
    std::optional<sw::memory::MmioExport> doorbells_;
    std::uint64_t imports_ = 0; ///< of the doorbells, as the profile imports a BAR
};

} // namespace scenario
