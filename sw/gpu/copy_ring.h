// A ring of one of a GPU's copy engines, as its driver has it: copies by physical addresses, each batch with a fence in
// memory of the host (Linux amdgpu, sdma_v6_0.c). Knows which GPUs have engines. The ring lies in VRAM, in bytes that
// its owner keeps free for it.
#pragma once

#include "abi/gpu/page_table.h"
#include "abi/gpu/sdma.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/transport/transport.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

namespace sw::gpu {

/// Where a GPU has its copy engines.
struct CopyEngineBars {
    unsigned register_bar = 0, doorbell_bar = 0;
};
/// Nothing: the function is none that is known to have any.
std::optional<CopyEngineBars> find_copy_engine(transport::Transport& transport);

class CopyRing {
public:
    static constexpr std::uint64_t ring_bytes = 64 * 1024;

    /// An offset in VRAM, or an address of the bus as the GPU has it.
    struct End {
        bool is_system = false;
        std::uint64_t address = 0;
    };
    struct Piece {
        End from, to;
        std::uint64_t bytes = 0;
    };

    /// `ring`: offset in VRAM of ring_bytes. The transport outlives it.
    static Result<std::unique_ptr<CopyRing>> open(transport::Transport& transport, unsigned vram_bar,
                                                  const CopyEngineBars& bars, std::uint64_t ring);
    CopyRing(const CopyRing&) = delete;
    CopyRing& operator=(const CopyRing&) = delete;
    /// The engine takes nothing from it any more.
    ~CopyRing();

    /// Hands these over, and a fence behind them. Returns the fence's number; nothing: the ring has no room now.
    std::optional<std::uint32_t> submit(std::span<const Piece> pieces);
    /// Whether the engine has passed the fence. EIO: the engine has halted, and what is in the ring will not be done.
    Result<bool> has_passed(std::uint32_t fence);

    std::uint64_t bytes_submitted() const { return bytes_; }

private:
    CopyRing(transport::Transport& transport, unsigned vram_bar, const CopyEngineBars& bars, std::uint64_t ring)
        : transport_(transport), vram_bar_(vram_bar), bars_(bars), ring_(ring) {}
    void set_up();
    void put(std::span<const std::byte> packets);
    void set(abi::gpu::sdma::QueueRegister which, std::uint32_t value);
    std::uint32_t passed() const;
    void retire();

    transport::Transport& transport_;
    unsigned vram_bar_;
    CopyEngineBars bars_;
    std::uint64_t ring_; ///< in VRAM
    memory::Buffer fence_;
    std::uint64_t written_ = 0, retired_ = 0; ///< bytes of packets, and how many of them the engine has passed
    std::uint32_t last_ = 0;                  ///< number of the last fence
    struct Batch {
        std::uint32_t fence;
        std::uint64_t end;
    };
    std::deque<Batch> under_way_;
    std::chrono::nanoseconds looked_{};
    std::uint64_t bytes_ = 0;
};

} // namespace sw::gpu
