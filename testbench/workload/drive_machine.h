// A host that offers a drive over the wire, or uses one that is elsewhere (NVMe over Fabrics): its functions as drivers
// have them, its HCA ready for queues, and memory of a user that data of commands are in.
#pragma once

#include "platform/topology/platform_module.h"
#include "sw/gpu/gpu.h"
#include "sw/mlx/verbs.h"
#include "sw/nvmf/host_queue.h"
#include "testbench/harness/host_functions.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace workload {

struct DriveParts {
    platform::topology::PartAt hca{};
    std::optional<platform::topology::PartAt> gpu{}, drive{};
};

/// One host as the program on it has it.
struct DriveMachine {
    std::string name{}; ///< for a person
    sw::verbs::Gid gid{};
    std::unique_ptr<sw::transport::Transport> hca{}, gpu{}, drive{}; ///< nullptr: there is none
    /// VRAM from an offset on, by the GPU's own view of it.
    std::function<std::span<std::byte>(std::uint64_t offset)> vram{};
    /// Told of what was filled by that view.
    std::function<void(std::uint64_t offset, std::uint64_t bytes)> filled{};

    /// `functions` are those of the host, and live longer.
    static sw::Result<DriveMachine> open(platform::topology::Platform& platform, harness::HostFunctions& functions,
                                         const DriveParts& parts, std::string name);
};

/// The HCA of a machine, ready for queues.
struct DriveHca {
    std::unique_ptr<sw::mlx::Context> context;
    sw::nvmf::RdmaPort port;
    static sw::Result<DriveHca> open(const DriveMachine& machine, const sw::mlx::ConnectOptions& options);
};
/// Of packets of so many bytes, 256 to 4096.
abi::prm::Mtu mtu_of(std::uint32_t bytes);

/// Memory of a user that targets reach: of its GPU, or of its host.
class UserMemory {
public:
    /// In VRAM where `is_vram`; ENODEV: there is no GPU. The machine lives longer.
    static sw::Result<UserMemory> make(const DriveMachine& machine, const DriveHca& hca, std::uint64_t bytes,
                                       bool is_vram);

    std::span<std::byte> bytes(std::uint64_t offset, std::uint64_t count) const {
        return vram_ ? machine_->vram(vram_->ranges().front().offset + offset).first(count)
                     : host_.bytes().subspan(offset, count);
    }
    /// We have written there, which a recording has to know of VRAM.
    void note_filled(std::uint64_t offset, std::uint64_t count) const {
        if (vram_ && machine_->filled)
            machine_->filled(vram_->ranges().front().offset + offset, count);
    }
    sw::nvmf::HostData data(std::uint64_t offset, std::uint32_t count) const {
        return {region_->iova().value + offset, count, region_->lkey(), region_->rkey()};
    }

private:
    explicit UserMemory(const DriveMachine& machine) : machine_(&machine) {}

    const DriveMachine* machine_;
    std::optional<sw::gpu::Gpu> gpu_{};
    std::optional<sw::gpu::VramBuffer> vram_{};
    sw::memory::Buffer host_{};
    std::optional<sw::mlx::MemoryRegion> region_{};
};

} // namespace workload
