#include "testbench/workload/drive_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace workload {

using platform::topology::StorageMemory;
using sw::failure;
using sw::nvmf::PayloadMemory;

sw::Result<PayloadMemory> TargetMemory::make(StorageMemory kind, std::uint64_t least, std::uint64_t bytes) {
    switch (kind) {
    case StorageMemory::vram: return make_vram(bytes);
    case StorageMemory::drive: return make_drive(least, bytes);
    default: break;
    }
    auto made = sw::nvmf::HostPayload::make(*hca_.context, hca_.port.pd, *machine_.drive, bytes);
    if (!made)
        return std::unexpected(made.error());
    host_.emplace(std::move(*made));
    return host_->memory();
}

sw::Result<PayloadMemory> TargetMemory::make_vram(std::uint64_t bytes) {
    if (machine_.gpu == nullptr)
        return failure(ENODEV, machine_.name + ": there is no GPU");
    auto gpu = sw::gpu::Gpu::open(*machine_.gpu);
    if (!gpu)
        return std::unexpected(gpu.error());
    gpu_.emplace(std::move(*gpu));
    auto buffer = gpu_->allocate(bytes);
    if (!buffer)
        return std::unexpected(buffer.error());
    buffer_.emplace(std::move(*buffer));
    auto mapping = harness::DeviceMapping::make(*gpu_, *buffer_, *machine_.drive, nullptr, "NVMe driver");
    if (!mapping)
        return std::unexpected(mapping.error());
    for_drive_.emplace(std::move(*mapping));
    auto handle = gpu_->export_buffer(*buffer_);
    if (!handle)
        return std::unexpected(handle.error());
    if (auto done = register_buffer(std::move(*handle), bytes); !done)
        return std::unexpected(done.error());
    return PayloadMemory{for_drive_->bus(), region_->iova().value, region_->lkey(), bytes};
}

sw::Result<PayloadMemory> TargetMemory::make_drive(std::uint64_t least, std::uint64_t bytes) {
    const auto memory = drive_.enable_memory_buffer();
    if (!memory)
        return std::unexpected(memory.error());
    if (!memory->takes_data || memory->memory.size < least)
        return failure(ENOMEM, fmt::format("{}: the drive's own memory of {} bytes does not hold a command of {}",
                                           machine_.name, memory->memory.size, least));
    const auto size = std::min<std::uint64_t>(bytes, memory->memory.size / least * least);
    // The HCA has it as any memory of another device: as a dma-buf, which the drive's driver exports.
    auto exported = sw::memory::MmioExport::create(*machine_.drive, memory->memory.bar, memory->memory.offset, size);
    if (!exported)
        return std::unexpected(exported.error());
    export_.emplace(std::move(*exported));
    if (auto done = register_buffer(export_->buffer(), size); !done)
        return std::unexpected(done.error());
    return PayloadMemory{memory->memory.bus, region_->iova().value, region_->lkey(), size};
}

sw::Result<void> TargetMemory::register_buffer(sw::memory::DmaBufHandle handle, std::uint64_t bytes) {
    auto region =
        hca_.context->reg_dmabuf_mr(hca_.port.pd, std::move(handle), 0, bytes,
                                    {.access = sw::mlx::Access::local_write, .mode = sw::mlx::DmaBufMode::revocable});
    if (!region)
        return std::unexpected(region.error());
    region_.emplace(std::move(*region));
    return {};
}

sw::Result<std::unique_ptr<DriveServer>> DriveServer::open(const DriveMachine& machine,
                                                           const DriveServerOptions& options) {
    std::unique_ptr<DriveServer> made(new DriveServer(machine));
    auto hca = DriveHca::open(machine, options.connection);
    if (!hca)
        return std::unexpected(hca.error());
    made->hca_.emplace(std::move(*hca));
    // A queue pair for each queue of a user, and one of the target's own.
    auto drive =
        sw::nvme::Controller::open(*machine.drive, {.queue_pairs = options.queues + 1, .has_interrupts = false});
    if (!drive)
        return std::unexpected(drive.error());
    made->drive_ = std::move(*drive);
    const auto largest = std::bit_ceil(std::max<std::uint64_t>(options.command_bytes, sw::nvme::page_bytes));
    made->memory_.emplace(machine, *made->drive_, *made->hca_);
    const auto payload =
        made->memory_->make(options.memory, largest, largest * options.queue_depth * std::uint64_t{options.queues});
    if (!payload)
        return std::unexpected(payload.error());
    // Data in a capsule would be in memory of the host: that is for buffers that are there as well.
    const bool is_in_host = options.memory == StorageMemory::host;
    auto target =
        sw::nvmf::Target::open(*made->drive_, made->hca_->port, *payload,
                               {.entries = options.queue_depth + 1,
                                .largest_transfer = largest,
                                .in_capsule_bytes = is_in_host ? sw::nvmf::TargetOptions{}.in_capsule_bytes : 0});
    if (!target)
        return std::unexpected(target.error());
    made->target_ = std::move(*target);
    return made;
}

sw::Result<void> DriveServer::close() {
    const auto why = target_->last_end();
    target_.reset();
    if (auto done = drive_->close(); !done)
        return done;
    return why.empty() ? sw::Result<void>{} : failure(EIO, machine_.name + ": a connection of a user ended: " + why);
}

} // namespace workload
