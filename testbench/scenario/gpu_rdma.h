// A GPU that drives an HCA: rings and doorbell records in VRAM, which the HCA reaches by a dma-buf; the HCA's UAR
// mapped into the GPU's virtual memory; memory in VRAM registered for the peers. The processor sets this up, launches,
// and has nothing to do with any byte. Written against the drivers and what a wave sees of memory.
#pragma once

#include "model/gpu/gpu.h"
#include "model/gpu/wave/grid.h"
#include "sw/gpu/address_space.h"
#include "sw/memory/mmio_export.h"
#include "sw/mlx/verbs.h"
#include "testbench/harness/device_mapping.h"
#include "testbench/scenario/gpu_rdma_program.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace scenario {

/// What a node of the ring works with, all of one host.
struct GpuAndHca {
    std::string name; ///< of the GPU, for messages
    sw::transport::Transport &gpu, &hca;
    model::gpu::Gpu& device; ///< where waves run
    sw::mlx::Gid gid{};      ///< of the port, where that is a RoCE port
};

class GpuRdmaNode {
public:
    static sw::Result<std::unique_ptr<GpuRdmaNode>> open(const GpuAndHca& parts, const ArenaLayout& layout,
                                                         std::uint32_t depth);
    GpuRdmaNode(const GpuRdmaNode&) = delete;
    GpuRdmaNode& operator=(const GpuRdmaNode&) = delete;
    ~GpuRdmaNode();

    /// Our queue pairs to send by, and the next node's to receive by. Both ends are ready when it returns.
    sw::Result<void> connect(GpuRdmaNode& next, std::uint32_t mtu_bytes);
    sw::Result<void> close();

    /// The arena as it is in VRAM, past all caches.
    std::span<std::byte> arena() const;
    /// What lies on its way to VRAM is there.
    void settle() { space_->flush_host_path(); }
    RdmaPlan plan(unsigned number, const GpuRdmaNode& next, std::uint32_t message_bytes,
                  const testbench::GpuQueueRules& rules) const;
    const GpuAndHca& parts() const { return parts_; }
    unsigned vmid() const { return space_->vmid(); }

private:
    /// A buffer in VRAM that both reach, and nobody else.
    struct Shared {
        std::optional<sw::gpu::VramBuffer> buffer{};
        std::optional<harness::DeviceMapping> mapping{};
        std::uint64_t bus = 0, gpu = 0; ///< as the HCA, and as the GPU addresses it
    };
    struct Queue {
        std::unique_ptr<sw::mlx::CompletionQueue> cq;
        std::unique_ptr<sw::mlx::QueuePair> sender, receiver;
        sw::gpu::RdmaRings rings;
    };
    explicit GpuRdmaNode(const GpuAndHca& parts) : parts_(parts) {}
    sw::Result<void> bring_up(const ArenaLayout& layout, std::uint32_t depth);
    sw::Result<Shared> share(std::uint64_t bytes);
    sw::Result<void> make_queues();
    sw::Result<void> clear_rings();

    GpuAndHca parts_;
    ArenaLayout layout_{};
    std::uint32_t depth_ = 0;
    std::unique_ptr<sw::mlx::Context> context_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::unique_ptr<sw::gpu::AddressSpace> space_;
    std::optional<sw::memory::MmioExport> uar_;
    std::uint64_t uar_address_ = 0;
    abi::Pd pd_{};
    sw::mlx::AddressPath path_{};
    std::optional<sw::gpu::VramBuffer> arena_;
    std::optional<sw::mlx::MemoryRegion> region_;
    std::uint64_t arena_address_ = 0;
    Shared rings_;
    std::unique_ptr<sw::mlx::CompletionQueue> receive_cq_;
    std::vector<Queue> queues_; ///< by thread
};

} // namespace scenario
