// Host A's program: a target.
#include "testbench/scenario/remote_storage.h"

#include "sw/gpu/gpu.h"
#include "sw/memory/mmio_export.h"
#include "testbench/scenario/device_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <optional>

namespace scenario {

using sw::failure;
using sw::nvmf::PayloadMemory;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

/// Memory that A's drive and HCA both reach, of whichever kind.
class TargetMemory {
public:
    TargetMemory(const RemoteMachine& machine, sw::nvme::Controller& drive, const RemoteHca& hca)
        : machine_(machine), drive_(drive), hca_(hca) {}

    /// At least `least` bytes, and `bytes` where there are so many.
    sw::Result<PayloadMemory> make(TargetBuffers kind, std::uint64_t least, std::uint64_t bytes) {
        switch (kind) {
        case TargetBuffers::vram: return make_vram(bytes);
        case TargetBuffers::cmb: return make_cmb(least, bytes);
        default: break;
        }
        auto made = sw::nvmf::HostPayload::make(*hca_.context, hca_.port.pd, *machine_.drive, bytes);
        if (!made)
            return std::unexpected(made.error());
        host_.emplace(std::move(*made));
        return host_->memory();
    }

private:
    sw::Result<PayloadMemory> make_vram(std::uint64_t bytes) {
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
        auto mapping = DeviceMapping::make(*gpu_, *buffer_, *machine_.drive, nullptr, "NVMe driver");
        if (!mapping)
            return std::unexpected(mapping.error());
        for_drive_.emplace(std::move(*mapping));
        auto handle = gpu_->export_buffer(*buffer_);
        if (!handle)
            return std::unexpected(handle.error());
        TRY(register_buffer(std::move(*handle), bytes));
        return PayloadMemory{for_drive_->bus(), region_->iova().value, region_->lkey(), bytes};
    }
    sw::Result<PayloadMemory> make_cmb(std::uint64_t least, std::uint64_t bytes) {
        const auto memory = drive_.enable_memory_buffer();
        if (!memory)
            return std::unexpected(memory.error());
        if (!memory->takes_data || memory->memory.size < least)
            return failure(ENOMEM, fmt::format("{}: the drive's own memory of {} bytes does not hold a command of {}",
                                               machine_.name, memory->memory.size, least));
        const auto size = std::min<std::uint64_t>(bytes, memory->memory.size / least * least);
        // The HCA has it as any memory of another device: as a dma-buf, which the drive's driver exports.
        auto exported =
            sw::memory::MmioExport::create(*machine_.drive, memory->memory.bar, memory->memory.offset, size);
        if (!exported)
            return std::unexpected(exported.error());
        export_.emplace(std::move(*exported));
        TRY(register_buffer(export_->buffer(), size));
        return PayloadMemory{memory->memory.bus, region_->iova().value, region_->lkey(), size};
    }
    sw::Result<void> register_buffer(sw::memory::DmaBufHandle handle, std::uint64_t bytes) {
        auto region = hca_.context->reg_dmabuf_mr(
            hca_.port.pd, std::move(handle), 0, bytes,
            {.access = sw::mlx::Access::local_write, .mode = sw::mlx::DmaBufMode::revocable});
        if (!region)
            return std::unexpected(region.error());
        region_.emplace(std::move(*region));
        return {};
    }

    const RemoteMachine& machine_;
    sw::nvme::Controller& drive_;
    const RemoteHca& hca_;
    std::optional<sw::nvmf::HostPayload> host_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::optional<sw::gpu::VramBuffer> buffer_;
    std::optional<DeviceMapping> for_drive_;
    std::optional<sw::memory::MmioExport> export_;
    std::optional<sw::mlx::MemoryRegion> region_;
};

/// What B asks for by its messages. Returns whether it has gone.
sw::Result<bool> listen(OutOfBand& peer, sw::nvmf::Target& target) {
    if (!peer.has_something())
        return false;
    RemoteMessage message;
    if (!peer.receive_value(message))
        return true;
    if (message.kind == RemoteMessage::Kind::disconnect)
        target.disconnect(message.request.peer);
    else
        peer.send_value(target.accept(message.request));
    return false;
}

} // namespace

sw::Result<RemoteHca> RemoteHca::open(const RemoteMachine& machine, std::uint32_t mtu_bytes) {
    RemoteHca opened;
    auto context = sw::mlx::Context::open(machine.hca);
    if (!context)
        return std::unexpected(context.error());
    opened.context = std::move(*context);
    const auto pd = opened.context->alloc_pd();
    if (!pd)
        return std::unexpected(pd.error());
    const auto path = opened.context->open_port(machine.gid);
    if (!path)
        return std::unexpected(path.error());
    opened.port = {.context = opened.context.get(),
                   .pd = *pd,
                   .path = *path,
                   .options = {.path_mtu = static_cast<abi::prm::Mtu>(std::countr_zero(mtu_bytes) - 7)}};
    return opened;
}

sw::Result<void> serve_drive(const RemoteMachine& machine, const RemoteOptions& options, RemoteReport& report) {
    auto hca = RemoteHca::open(machine, options.mtu_bytes);
    if (!hca)
        return std::unexpected(hca.error());
    // A queue pair for each of B's queues, and one of the target's own.
    auto drive =
        sw::nvme::Controller::open(*machine.drive, {.queue_pairs = options.queues + 1, .has_interrupts = false});
    if (!drive)
        return std::unexpected(drive.error());
    const auto largest = std::bit_ceil(std::max<std::uint64_t>(options.command_bytes, sw::nvme::page_bytes));
    TargetMemory memory(machine, **drive, *hca);
    const auto payload =
        memory.make(options.buffers, largest, largest * options.queue_depth * std::uint64_t{options.queues});
    if (!payload)
        return std::unexpected(payload.error());
    // Data in a capsule would be in memory of the host: that is for buffers that are there as well.
    const bool is_in_host = options.buffers == TargetBuffers::host;
    auto target =
        sw::nvmf::Target::open(**drive, hca->port, *payload,
                               {.entries = options.queue_depth + 1,
                                .largest_transfer = largest,
                                .in_capsule_bytes = is_in_host ? sw::nvmf::TargetOptions{}.in_capsule_bytes : 0});
    if (!target)
        return std::unexpected(target.error());
    report.target = target->get();
    for (;;) {
        const auto has_gone = listen(machine.peer, **target);
        if (!has_gone)
            return std::unexpected(has_gone.error());
        if (*has_gone)
            break;
        (*target)->poll();
        machine.hca.relax();
    }
    report.target = nullptr;
    const auto why = (*target)->last_end();
    target->reset();
    TRY((*drive)->close());
    return why.empty() ? sw::Result<void>{} : failure(EIO, machine.name + ": a connection of B ended: " + why);
}

} // namespace scenario
