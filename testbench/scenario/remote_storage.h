// Remote storage: host A offers its drive over RDMA (NVMe over Fabrics), host B writes a file onto it, reads it back
// and compares. Data pass through memory of A that drive and HCA both reach: VRAM, the drive's own memory, or memory of
// the host. Two programs, one a host, written against the driver stack alone.
#pragma once

#include "platform/topology/workload_config.h"
#include "sw/nvmf/target.h"
#include "testbench/scenario/latency_count.h"
#include "testbench/scenario/out_of_band.h"
#include "testbench/scenario/payload_source.h"
#include "testbench/workload/drive_machine.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace scenario {

using TargetBuffers = platform::topology::StorageMemory; ///< whose memory data pass at the target

/// One host as the program on it has it.
struct RemoteMachine {
    workload::DriveMachine cards;
    OutOfBand& peer;
};

/// What is measured: the file goes onto the drive, and comes back.
enum class RemotePhase : std::uint8_t { write, read };
inline constexpr std::size_t remote_phases = 2;

struct RemoteOptions {
    PayloadSource payload;
    std::uint64_t command_bytes = 128 << 10; ///< whole pages
    std::uint32_t queue_depth = 32;          ///< commands on their way, a queue
    std::uint32_t queues = 1;
    std::uint32_t mtu_bytes = 4096;
    TargetBuffers buffers = TargetBuffers::host;
    /// Called by B when a phase begins, and when it is over.
    std::function<void(RemotePhase phase, bool is_over)> boundary{};
    std::function<void(std::string_view step, std::uint64_t done, std::uint64_t total)> progress{};
};

struct RemoteReport {
    TargetBuffers buffers = TargetBuffers::host;       ///< where they were
    const sw::nvmf::Target* target = nullptr;          ///< as long as A serves
    std::array<sw::nvmf::Stage, remote_phases> used{}; ///< from B's first command to its last answer
    std::array<LatencyCount, remote_phases> latency{}; ///< of commands, from submitted to answered
    /// Bytes of capsules that came into memory of A, and of B, or left it there, but for data: until now.
    std::uint64_t capsule_bytes_a = 0, capsule_bytes_b = 0;
    std::string source_sha256{}, target_sha256{};
    bool is_equal() const { return !source_sha256.empty() && source_sha256 == target_sha256; }
};

/// A's program: serves until B has gone.
sw::Result<void> serve_drive(const RemoteMachine& machine, const RemoteOptions& options, RemoteReport& report);
/// B's program.
sw::Result<void> use_remote_drive(const RemoteMachine& machine, const RemoteOptions& options, RemoteReport& report);

/// What B sends to A beside RDMA.
struct RemoteMessage {
    enum class Kind : std::uint8_t { connect, disconnect };
    Kind kind{};
    sw::nvmf::ConnectionRequest request{}; ///< disconnect: of B's end, and nothing else
};

} // namespace scenario
