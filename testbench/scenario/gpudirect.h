// GPUDirect RDMA between two hosts: the payload goes from VRAM to VRAM by WRITE, back by READ, and once more by SEND,
// and is checked by SHA-256 where it arrived. Two programs, one a host, written against the driver stack alone: they
// run over any transport. Bytes get into VRAM and are hashed there by whoever owns the GPU, not by the HCA.
#pragma once

#include "sw/base/result.h"
#include "sw/gpu/vram.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/port/address.h"
#include "sw/transport/transport.h"
#include "testbench/scenario/out_of_band.h"
#include "testbench/scenario/payload_source.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace scenario {

/// One host as the program on it sees it.
struct Machine {
    std::string name;
    sw::mlx::Gid gid{}; ///< of its port, where that is a RoCE port: an IPv4 or an IPv6 address
    sw::transport::Transport& hca;
    sw::transport::Transport& gpu;
    OutOfBand& peer;
    /// The VRAM's bytes from an offset on: the GPU's own view of its memory. Without it the GPU's BAR is used.
    std::function<std::span<std::byte>(std::uint64_t offset)> vram{};
    /// Told of what was filled by that view.
    std::function<void(std::uint64_t offset, std::uint64_t length)> filled{};
    /// Starts a thread that brings pages for the HCA's driver (sw/mlx/memory/pager), which lives as long as what is
    /// returned. Without it no memory is registered on demand.
    std::function<std::shared_ptr<void>(sw::mlx::Device& device)> serve_pages{};
};

/// A part of the payload that is in VRAM at a time.
struct Piece {
    std::uint64_t offset = 0, bytes = 0;
};

struct GpuDirectOptions {
    PayloadSource payload;
    std::uint64_t message_bytes = 1 << 20;
    std::uint32_t mtu_bytes = 4096;
    std::uint32_t queue_depth = 64; ///< messages under way, a queue pair
    std::uint32_t queue_pairs = 1;
    /// A longer payload goes piece by piece through the three steps, so that no more than three pieces of it are in
    /// memory.
    std::uint64_t most_piece_bytes = default_piece_bytes;
    static constexpr std::uint64_t default_piece_bytes = 64 << 20;

    /// Whole messages, and one at least.
    std::uint64_t piece_bytes() const {
        return std::max<std::uint64_t>(most_piece_bytes / message_bytes, 1) * message_bytes;
    }
    std::uint64_t largest_piece_bytes() const { return std::min(piece_bytes(), payload.size()); }
    Piece piece_at(std::uint64_t offset) const { return {offset, std::min(piece_bytes(), payload.size() - offset)}; }
    /// Messages of the largest piece.
    std::uint64_t most_messages() const { return (largest_piece_bytes() + message_bytes - 1) / message_bytes; }
    bool is_last(const Piece& piece) const { return piece.offset + piece.bytes == payload.size(); }

    sw::gpu::VramLayout vram_layout{};
    /// Called now and then: the step ("WRITE", "READ", "SEND"), bytes done, bytes of the step.
    std::function<void(std::string_view step, std::uint64_t done, std::uint64_t all)> progress{};
    /// Called on the initiator when a piece of step `number` begins and when it is over, well or not.
    std::function<void(std::size_t number, bool is_over)> boundary{};
};

/// One of the three steps, as its initiator saw it.
struct StepReport {
    std::string_view name{};
    std::uint64_t messages = 0, bytes = 0;
    std::chrono::nanoseconds begin{}; ///< of its last piece, driver's clock
    std::chrono::nanoseconds took{};  ///< of all pieces that are over
    std::string sha256{};             ///< of the target, where it lies; empty: the step failed
    bool is_verified = false;
};

struct GpuDirectReport {
    std::string source_sha256{};
    std::array<StepReport, 3> steps{}; ///< without a name: it was not begun
    bool is_verified() const { return steps[0].is_verified && steps[1].is_verified && steps[2].is_verified; }
};

/// The program on the host that has the payload. Returns when both sides are done and have closed their devices, or at
/// the first failure; `report` then holds what was found so far.
sw::Result<void> initiate(const Machine& machine, const GpuDirectOptions& options, GpuDirectReport& report);
/// The program on the other host.
sw::Result<void> respond(const Machine& machine, const GpuDirectOptions& options);

} // namespace scenario
