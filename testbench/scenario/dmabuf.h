// A GPU's memory as a dma-buf, registered for RDMA in each way there is: host B exports a part of a buffer in its VRAM
// and registers it, host A writes to it and reads from it, and the exporter gets in the way. Two programs, one a host,
// written against the driver stack alone. Every byte is accounted for, step by step: of the part, of what lies around
// it, of A's memory.
#pragma once

#include "sw/base/result.h"
#include "sw/mlx/memory/memory_region.h"
#include "sw/mlx/queue/work_request.h"
#include "testbench/scenario/gpudirect.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scenario {

/// What the exporter does while the transfer is under way.
enum class Meanwhile : std::uint8_t {
    nothing,
    revoke, ///< it takes its memory back, which then is somebody else's
    move,   ///< it moves its memory: the bytes go on to the new place, the old one is somebody else's
};

struct DmaBufStep {
    std::string_view name;
    sw::mlx::SendOperation operation; ///< A's: write or read
    sw::mlx::DmaBufMode mode;
    Meanwhile meanwhile = Meanwhile::nothing;
    bool is_recovery = false; ///< the queue pairs are reset and connected again first
};
std::span<const DmaBufStep> dmabuf_steps();

struct DmaBufOptions {
    GpuDirectOptions endpoint;     ///< how queue pairs are made; its payload is not used
    std::uint64_t bytes = 1 << 20; ///< of each transfer
    /// Called by B while a transfer is under way: returns in the middle of it. False: there was none.
    std::function<bool()> wait_for_middle{};
    /// Called by B when step `number` begins, and when it is over.
    std::function<void(std::size_t number, bool is_over)> boundary{};
    /// What writes of the cards have been lost so far, in a few words.
    std::function<std::string()> describe_losses{};
};

struct DmaBufStepReport {
    std::string ended_with{};  ///< what A's program was told: "success"; of a registration that was refused: its error
    std::string owner_heard{}; ///< by B's driver: "work queue access error", "2 page faults"; empty: nothing
    std::uint64_t landed = 0;  ///< bytes that had arrived: at the end, or when the memory had been taken back
    std::string sha256_sent{}, sha256_arrived{}; ///< of all bytes of the target, at the same moment
    std::string finding{};                       ///< what is not as it must be, first of all; empty: verified
    std::chrono::nanoseconds took{};             ///< A's request, by its driver's clock
};

/// The reports of the steps that were begun, in order; the last one may have a finding.
using DmaBufReport = std::vector<DmaBufStepReport>;

/// The program on host B, which has the memory. Returns when both sides have closed their devices, or at the first
/// failure that is none of a step.
sw::Result<void> lend_memory(const Machine& machine, const DmaBufOptions& options, DmaBufReport& report);
/// The program on host A.
sw::Result<void> use_memory(const Machine& machine, const DmaBufOptions& options);

} // namespace scenario
