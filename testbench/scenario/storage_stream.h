// From drive to drive without a processor's memory: host A's drive reads into VRAM, A's HCA writes from there into the
// VRAM of host B, and B's drive writes it to its blocks; several chunks are on their way at a time, each in a slot of
// its own at both ends. Two programs, one a host, written against the driver stack alone.
#pragma once

#include "sw/gpu/gpu.h"
#include "sw/mlx/verbs.h"
#include "sw/nvme/namespace.h"
#include "testbench/harness/device_mapping.h"
#include "testbench/scenario/out_of_band.h"
#include "testbench/scenario/payload_source.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scenario {

/// One host as the program on it has it.
struct StreamMachine {
    std::string name;
    sw::mlx::Gid gid{};
    sw::transport::Transport &hca, &gpu, &drive;
    OutOfBand& peer;
    /// VRAM from an offset on, by the GPU's own view of it.
    std::function<std::span<std::byte>(std::uint64_t offset)> vram;
    /// Told of what was filled by that view.
    std::function<void(std::uint64_t offset, std::uint64_t bytes)> filled{};
};

struct StreamOptions {
    PayloadSource payload;
    std::uint64_t chunk_bytes = 128 << 10; ///< whole pages; of a command and of a WRITE
    std::uint32_t slots = 32;              ///< chunks on their way
    std::uint32_t mtu_bytes = 4096;
    /// Called when the stream begins, and when its last byte is on the other drive.
    std::function<void(bool is_over)> boundary{};
    std::function<void(std::string_view step, std::uint64_t done, std::uint64_t total)> progress{};
};

/// When a stage had its first chunk, and was done with its last one.
struct StreamStage {
    std::uint64_t chunks = 0, bytes = 0;
    std::optional<std::chrono::nanoseconds> begin{};
    std::chrono::nanoseconds end{};
    void starts(std::chrono::nanoseconds now) { begin = begin.value_or(now); }
    void ends(std::uint64_t moved, std::chrono::nanoseconds now) {
        ++chunks;
        bytes += moved;
        end = now;
    }
    std::chrono::nanoseconds took() const { return begin ? end - *begin : std::chrono::nanoseconds{}; }
};

struct StreamReport {
    StreamStage read, wire, write;
    std::string source_sha256{}, target_sha256{}; ///< of what was written to the first drive, and read from the second
};

/// The host whose drive has the payload: writes it there first.
sw::Result<void> stream_from(const StreamMachine& machine, const StreamOptions& options, StreamReport& report);
/// The other one: reads it again when all of it is there.
sw::Result<void> stream_to(const StreamMachine& machine, const StreamOptions& options, StreamReport& report);

} // namespace scenario
