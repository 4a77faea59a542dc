// A payload on a drive and back: a program on the drive's host writes it with commands of the size and at the depth
// that it is told, flushes, reads it back, and reads and compares 4 KiB from places all over it. Written against the
// driver stack alone.
#pragma once

#include "sw/base/result.h"
#include "sw/nvme/controller.h"
#include "testbench/scenario/payload_source.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace scenario {

struct NvmeOptions {
    PayloadSource payload;
    std::uint64_t command_bytes = 128 << 10; ///< of a write or read; less where the drive takes less
    std::uint32_t queue_depth = 64;          ///< commands under way, a queue pair
    std::uint32_t queue_pairs = 1;
    std::uint32_t random_reads = 2000;
    /// What is going on, and how many bytes of how many are done. May be empty.
    std::function<void(std::string_view step, std::uint64_t done, std::uint64_t total)> progress{};
    /// Called when step `number` begins, and when it is over. May be empty.
    std::function<void(std::size_t number, bool is_over)> boundary{};
};

struct NvmeStep {
    std::string_view name{};
    std::uint64_t commands = 0, bytes = 0;
    std::uint64_t errors = 0;
    std::string sha256{}; ///< of what was read or written
    bool is_verified = false;
    std::chrono::nanoseconds took{}; ///< by the driver's clock
};

struct NvmeReport {
    std::string source_sha256{};
    std::array<NvmeStep, 4> steps{{{"write"}, {"flush"}, {"read"}, {"4 KiB reads"}}};
    std::uint64_t register_writes = 0; ///< of doorbells
};

/// Returns when the controller is closed, or at the first failure. A payload larger than the first namespace is one.
sw::Result<void> use_drive(sw::transport::Transport& function, const NvmeOptions& options, NvmeReport& report);

} // namespace scenario
