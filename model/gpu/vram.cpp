#include "model/gpu/vram.h"

#include <algorithm>
#include <cstring>

namespace model::gpu {

Vram::Vram(const std::string& name, const VramConfig& config)
    : read_latency_(config.timed ? config.read_latency : port::Time{}), memory_(name, config.bytes),
      is_all_memory_(config.bar_bytes <= config.bytes) {}

pcie::FunctionConfig Vram::function_config(const VramConfig& config) {
    pcie::FunctionConfig function;
    function.identity = {.vendor_id = config.vendor_id,
                         .device_id = config.device_id,
                         .subsystem_vendor_id = config.vendor_id,
                         .subsystem_id = config.device_id,
                         .class_code = abi::pcie::class_display_3d};
    function.bars[register_bar] = {.size = register_bytes};
    function.bars[vram_bar] = {.size = config.bar_bytes != 0 ? config.bar_bytes : config.bytes,
                               .is_64bit = true,
                               .is_prefetchable = true,
                               .resizable_sizes = gpu::resizable_sizes(config.bytes)};
    function.memory_latency = config.timed ? config.read_latency : port::Time{};
    return function;
}

port::DmaResult Vram::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) {
    std::ranges::fill(into, std::byte{}); // registers: none that mean anything yet, all read as zero
    if (bar == vram_bar && offset < memory_.size())
        std::memcpy(into.data(), memory_.bytes().data() + offset,
                    std::min<std::uint64_t>(into.size(), memory_.size() - offset));
    return {port::DmaStatus::ok, at + read_latency_};
}

void Vram::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time) {
    if (bar == vram_bar && offset < memory_.size())
        std::memcpy(memory_.bytes().data() + offset, from.data(),
                    std::min<std::uint64_t>(from.size(), memory_.size() - offset));
}

std::span<std::byte> Vram::direct(unsigned bar, std::uint64_t offset) {
    return bar == vram_bar && offset < memory_.size() ? memory_.bytes().subspan(offset) : std::span<std::byte>{};
}

} // namespace model::gpu
