// The scenario `gpu_rdma` on a platform: the first GPU with caches and the first HCA of each host, in a ring.
#pragma once

#include "testbench/scenario/gpu_nvme.h"
#include "testbench/scenario/context.h"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace scenario {

std::expected<Result, std::string> run_gpu_rdma(const Context& context);

/// How its programs run, and what becomes of them.
struct RdmaRun {
    testbench::GpuQueueRules rules{.poll = model::gpu::memory::all_bits};
    Flush flush = Flush::heavy;
    std::optional<bool> reorders_stores{}; ///< and does loads early (StoreOrder); nothing: as the profile does
    /// Others on its CUs, whose loads keep old lines there; nothing: where memory is adversarial.
    std::optional<bool> has_bystanders{};
    Verdict verdict = Verdict::correct;
    std::uint64_t errors = 0; ///< completions
    Resistance met{};
};
/// The same with programs that leave something out, or have more against them.
std::expected<Result, std::string> run_gpu_rdma(const Context& context, RdmaRun& run);

} // namespace scenario
