// The scenario `gpu_rdma` on a platform: the first GPU with caches and the first HCA of each host, in a ring.
#pragma once

#include "sw/gpu/fences.h"
#include "testbench/scenario/gpu_nvme.h"
#include "testbench/scenario/registry.h"

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace scenario {

/// The fences that these programs come by, and can be run without. That of error completions is none of them: there are
/// no such completions.
inline constexpr std::array rdma_fences{sw::gpu::Fence::request_before_record, sw::gpu::Fence::record_before_doorbell,
                                        sw::gpu::Fence::flag_before_data};

/// Two simulated hosts or more have a GPU of kind caching_gpu and an HCA each.
std::expected<void, std::string> gpu_rdma_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);
std::expected<Result, std::string> run_gpu_rdma(const Context& context);

/// How its programs run, and what becomes of them.
struct RdmaRun {
    testbench::GpuQueueRules rules{.poll = model::gpu::memory::all_bits};
    Flush flush = Flush::heavy;
    std::optional<bool> reorders_stores{}; ///< and does loads early (StoreOrder); nothing: as the profile does
    Verdict verdict = Verdict::correct;
    std::uint64_t errors = 0; ///< completions
    Resistance met{};
};
/// The same with programs that leave something out, or have more against them.
std::expected<Result, std::string> run_gpu_rdma(const Context& context, RdmaRun& run);

} // namespace scenario
