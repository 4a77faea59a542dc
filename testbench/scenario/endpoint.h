// What both programs of a GPUDirect scenario set up: device, queue pairs, a buffer of VRAM registered for RDMA, and the
// connection to the peer; and moving bytes with many messages under way.
#pragma once

#include "sw/gpu/gpu.h"
#include "sw/mlx/verbs.h"
#include "testbench/scenario/gpudirect.h"
#include "testbench/scenario/sha256.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace scenario {

/// VRAM that the HCA may reach.
struct RegisteredVram {
    sw::gpu::VramBuffer buffer;
    sw::mlx::MemoryRegion region;
};

/// What one side tells the other at the start.
struct Hello {
    sw::mlx::AddressPath path{};
    std::uint64_t address = 0, length = 0; ///< of its VRAM
    std::uint32_t rkey = 0;
    std::uint8_t reads = 1;        ///< that a queue pair answers at once
    std::uint32_t queue_pairs = 0; ///< that many numbers follow in a message of their own
};

class Endpoint {
public:
    /// Brings the device up and makes `options.queue_pairs` queue pairs.
    static sw::Result<std::unique_ptr<Endpoint>> open(const Machine& machine, const GpuDirectOptions& options);

    /// What the queues have to hold: as much as may be under way, and no more than there is to move.
    struct Needed {
        std::uint32_t depth = 0;       ///< of each send and receive queue
        std::uint64_t completions = 0; ///< entries of each completion queue
    };
    static Needed needed(const GpuDirectOptions& options);

    /// `bytes` of VRAM, exported and registered.
    sw::Result<RegisteredVram> make_vram(std::uint64_t bytes);
    /// Tells the peer about `vram`, is told of the peer's, connects all queue pairs.
    sw::Result<void> connect(const RegisteredVram& vram);
    /// The same without a word about memory.
    sw::Result<void> connect() { return connect(Hello{}); }
    /// All queue pairs back to their first state, from any: connect() may follow. What was under way is forgotten.
    sw::Result<void> reset();
    const Hello& remote() const { return remote_; }

    /// Moves a piece between `local` and the peer's VRAM (or its receives), messages spread over the queue pairs. The
    /// first message is waited for by interrupt, the rest are polled.
    sw::Result<std::uint64_t> move(sw::mlx::SendOperation operation, const RegisteredVram& local, std::string_view step,
                                   const Piece& piece);
    /// Receives a piece into `local`; `ready` is called once the first receives are posted.
    sw::Result<void> receive(const RegisteredVram& local, const Piece& piece, const std::function<void()>& ready);

    /// Posts one signalled request on the first queue pair and sleeps until its completion is there; none: it did not
    /// come in time.
    sw::Result<std::optional<sw::mlx::Completion>> carry_out(const sw::mlx::SendRequest& request,
                                                             std::chrono::nanoseconds timeout);
    /// Lets the devices go on for so long.
    void let(std::chrono::nanoseconds time);

    // What lies in VRAM, by the GPU's own view of it or else through its BAR.
    sw::Result<void> fill(const RegisteredVram& vram, const PayloadSource& source, const Piece& piece);
    void clear(const RegisteredVram& vram);
    void hash(const RegisteredVram& vram, std::uint64_t bytes, Sha256& into);
    sw::Result<void> close();
    std::chrono::nanoseconds now() { return machine_.hca.now(); }

    const Machine& machine() const { return machine_; }
    sw::mlx::Context& context() { return *context_; }
    sw::gpu::Gpu& gpu() { return *gpu_; }
    abi::Pd pd() const { return pd_; }
    sw::mlx::QueuePair& queue_pair() { return *qps_.front(); }

private:
    Endpoint(const Machine& machine, const GpuDirectOptions& options) : machine_(machine), options_(options) {}
    sw::Result<void> bring_up();
    sw::Result<void> connect(Hello hello);
    sw::Result<void> wait_first();
    sw::Result<void> rest();
    std::uint64_t messages(const Piece& piece) const {
        return (piece.bytes + options_.message_bytes - 1) / options_.message_bytes;
    }
    /// Offset and length of message `i` of a piece, within it.
    std::pair<std::uint64_t, std::uint32_t> extent(const Piece& piece, std::uint64_t i) const;
    sw::Result<void> post(sw::mlx::SendOperation operation, const RegisteredVram& local, const Piece& piece,
                          std::uint64_t first, std::uint32_t count);
    template <class F> void each_own_piece(const RegisteredVram& vram, std::uint64_t bytes, bool is_filled, F&& f);
    template <class F> void each_bar_piece(std::uint64_t bytes, F&& f);

    const Machine& machine_;
    const GpuDirectOptions& options_;
    std::unique_ptr<sw::mlx::Context> context_;
    std::shared_ptr<void> page_service_; ///< a thread, where pages come on demand
    std::unique_ptr<sw::gpu::Gpu> gpu_;
    abi::Pd pd_{};
    std::unique_ptr<sw::mlx::CompletionQueue> send_cq_, receive_cq_;
    std::vector<std::unique_ptr<sw::mlx::QueuePair>> qps_;
    sw::mlx::AddressPath own_path_;
    Hello remote_{};
};

} // namespace scenario
