// A drive that is offered over the wire: its controller, an HCA, memory that both reach, and a target of NVMe over
// Fabrics on top. How users find it is the caller's.
#pragma once

#include "platform/topology/workload_config.h"
#include "sw/memory/mmio_export.h"
#include "sw/nvme/controller.h"
#include "sw/nvmf/target.h"
#include "testbench/harness/device_mapping.h"
#include "testbench/workload/drive_machine.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace workload {

/// Memory that drive and HCA of a machine both reach, of whichever kind.
class TargetMemory {
public:
    TargetMemory(const DriveMachine& machine, sw::nvme::Controller& drive, const DriveHca& hca)
        : machine_(machine), drive_(drive), hca_(hca) {}

    /// At least `least` bytes, and `bytes` where there are so many.
    sw::Result<sw::nvmf::PayloadMemory> make(platform::topology::StorageMemory kind, std::uint64_t least,
                                             std::uint64_t bytes);

private:
    sw::Result<sw::nvmf::PayloadMemory> make_vram(std::uint64_t bytes);
    sw::Result<sw::nvmf::PayloadMemory> make_drive(std::uint64_t least, std::uint64_t bytes);
    sw::Result<void> register_buffer(sw::memory::DmaBufHandle handle, std::uint64_t bytes);

    const DriveMachine& machine_;
    sw::nvme::Controller& drive_;
    const DriveHca& hca_;
    std::optional<sw::nvmf::HostPayload> host_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::optional<sw::gpu::VramBuffer> buffer_;
    std::optional<harness::DeviceMapping> for_drive_;
    std::optional<sw::memory::MmioExport> export_;
    std::optional<sw::mlx::MemoryRegion> region_;
};

struct DriveServerOptions {
    platform::topology::StorageMemory memory{}; ///< that data pass
    std::uint64_t command_bytes = 0;            ///< of a command, at most
    std::uint32_t queue_depth = 1;              ///< commands under way on a queue
    std::uint32_t queues = 1;                   ///< of all users together
    sw::mlx::ConnectOptions connection{};
};

class DriveServer {
public:
    /// The machine has a drive, and lives longer.
    static sw::Result<std::unique_ptr<DriveServer>> open(const DriveMachine& machine,
                                                         const DriveServerOptions& options);
    DriveServer(const DriveServer&) = delete;
    DriveServer& operator=(const DriveServer&) = delete;

    sw::nvmf::Target& target() { return *target_; }
    const sw::nvmf::Target& target() const { return *target_; }
    /// The target goes, and the drive is let go. EIO: a connection had ended that its user did not end.
    sw::Result<void> close();

private:
    explicit DriveServer(const DriveMachine& machine) : machine_(machine) {}

    const DriveMachine& machine_;
    std::optional<DriveHca> hca_;
    std::unique_ptr<sw::nvme::Controller> drive_;
    std::optional<TargetMemory> memory_;
    std::unique_ptr<sw::nvmf::Target> target_;
};

} // namespace workload
