// The scenario `gpu_nvme` on a platform: the first GPU with caches and the first drive beside it, and a program on
// their host.
#pragma once

#include "sw/gpu/fences.h"
#include "testbench/scenario/context.h"
#include "testbench/scenario/gpu_nvme.h"

#include <array>
#include <cstdint>
#include <expected>
#include <string>

namespace scenario {

/// The fences that this program comes by, and can be run without.
inline constexpr std::array nvme_fences{sw::gpu::Fence::command_before_doorbell, sw::gpu::Fence::phase_before_entry};

/// A simulated host has a GPU of kind caching_gpu and a drive.
std::expected<void, std::string> gpu_nvme_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);
std::expected<Result, std::string> run_gpu_nvme(const Context& context);
/// The payload onto the drive and back, and nothing else, by a program that may leave something out. The error is what
/// kept it from being run.
std::expected<IoReport, std::string> run_gpu_nvme_program(const Context& context, const IoSetup& setup);

} // namespace scenario
