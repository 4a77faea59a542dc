#include "sw/nvmf/payload.h"

#include <utility>

namespace sw::nvmf {

Result<HostPayload> HostPayload::make(mlx::Context& context, abi::Pd pd, transport::Transport& drive,
                                      std::uint64_t bytes) {
    auto buffer = context.allocate(bytes);
    if (!buffer)
        return std::unexpected(buffer.error());
    auto region = context.reg_mr(pd, *buffer, mlx::Access::local_write);
    if (!region)
        return std::unexpected(region.error());
    const auto mapped = drive.map_memory(buffer->memory());
    if (!mapped)
        return std::unexpected(mapped.error());
    return HostPayload(drive, std::move(*buffer), std::move(*region), *mapped);
}

HostPayload::HostPayload(HostPayload&& other) noexcept
    : drive_(std::exchange(other.drive_, nullptr)), buffer_(std::move(other.buffer_)),
      region_(std::move(other.region_)), mapped_(other.mapped_) {}

HostPayload::~HostPayload() {
    if (drive_ != nullptr)
        drive_->unmap_memory(mapped_, buffer_.size());
}

} // namespace sw::nvmf
