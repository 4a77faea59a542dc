#include "testbench/workload/drive_machine.h"

#include "testbench/load/device.h"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <utility>

namespace workload {

using sw::failure;

sw::Result<DriveMachine> DriveMachine::open(platform::topology::Platform& platform, harness::HostFunctions& functions,
                                            const DriveParts& parts, std::string name) {
    DriveMachine made;
    made.name = std::move(name);
    made.gid = load::gid_of(platform.description(), parts.hca);
    const auto open = [&](const std::optional<platform::topology::PartAt>& part, auto& into) -> sw::Result<void> {
        if (!part)
            return {};
        auto function = functions.function(platform.card(*part).bdf());
        if (!function)
            return std::unexpected(function.error());
        into = std::move(*function);
        return {};
    };
    if (const auto done = open(parts.hca, made.hca); !done)
        return std::unexpected(done.error());
    if (const auto done = open(parts.gpu, made.gpu); !done)
        return std::unexpected(done.error());
    if (const auto done = open(parts.drive, made.drive); !done)
        return std::unexpected(done.error());
    if (parts.gpu) {
        auto& card = platform.card(*parts.gpu);
        made.vram = [&card](std::uint64_t at) { return card.vram().bytes().subspan(at); };
        made.filled = [&card](std::uint64_t at, std::uint64_t bytes) { card.filled(at, bytes); };
    }
    return made;
}

abi::prm::Mtu mtu_of(std::uint32_t bytes) { return static_cast<abi::prm::Mtu>(std::countr_zero(bytes) - 7); }

sw::Result<DriveHca> DriveHca::open(const DriveMachine& machine, const sw::mlx::ConnectOptions& options) {
    DriveHca opened;
    auto context = sw::mlx::Context::open(*machine.hca);
    if (!context)
        return std::unexpected(context.error());
    opened.context = std::move(*context);
    const auto pd = opened.context->alloc_pd();
    if (!pd)
        return std::unexpected(pd.error());
    const auto path = opened.context->open_port(machine.gid);
    if (!path)
        return std::unexpected(path.error());
    opened.port = {.context = opened.context.get(), .pd = *pd, .path = *path, .options = options};
    return opened;
}

sw::Result<UserMemory> UserMemory::make(const DriveMachine& machine, const DriveHca& hca, std::uint64_t bytes,
                                        bool is_vram) {
    UserMemory made(machine);
    if (!is_vram) {
        auto memory = hca.context->allocate(bytes);
        if (!memory)
            return std::unexpected(memory.error());
        made.host_ = std::move(*memory);
        auto region = hca.context->reg_mr(hca.port.pd, made.host_, sw::mlx::all_access);
        if (!region)
            return std::unexpected(region.error());
        made.region_.emplace(std::move(*region));
        return made;
    }
    if (!machine.gpu)
        return failure(ENODEV, machine.name + ": there is no GPU");
    auto gpu = sw::gpu::Gpu::open(*machine.gpu);
    if (!gpu)
        return std::unexpected(gpu.error());
    made.gpu_.emplace(std::move(*gpu));
    auto vram = made.gpu_->allocate(bytes);
    if (!vram)
        return std::unexpected(vram.error());
    made.vram_.emplace(std::move(*vram));
    if (made.vram_->ranges().size() != 1)
        return failure(ENOMEM, fmt::format("{}: VRAM is in pieces: none has {} bytes", machine.name, bytes));
    auto handle = made.gpu_->export_buffer(*made.vram_);
    if (!handle)
        return std::unexpected(handle.error());
    auto region = hca.context->reg_vram_mr(hca.port.pd, std::move(*handle), 0, bytes, {.access = sw::mlx::all_access});
    if (!region)
        return std::unexpected(region.error());
    made.region_.emplace(std::move(*region));
    return made;
}

} // namespace workload
