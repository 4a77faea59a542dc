// The connection of one queue: a reliable queue pair, its completions, and memory for the capsules that come. Both ends
// have one. It knows what a capsule is no more than that it is one message; what ends in error is for its owner.
#pragma once

#include "abi/nvme/fabrics.h"
#include "sw/base/result.h"
#include "sw/mlx/verbs.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace sw::nvmf {

/// The HCA that queues are made on, and how they are connected. The context outlives what is made with it.
struct RdmaPort {
    mlx::Context* context = nullptr;
    abi::Pd pd{};
    mlx::AddressPath path{}; ///< by which peers reach it
    mlx::ConnectOptions options{};
};

/// Whether both are the same queue pair: its number alone is its HCA's own, and other HCAs have the same ones.
bool is_same_end(const mlx::Peer& one, const mlx::Peer& other);

/// What a host sends to connect one queue, by whatever way the two know each other, and the answer: in place of the
/// connection manager's messages, with the private data that these have.
struct ConnectionRequest {
    mlx::Peer peer{};
    abi::Block<abi::nvme::RdmaRequest> data{};
};
struct ConnectionReply {
    bool is_accepted = false;
    mlx::Peer peer{};
    abi::Block<abi::nvme::RdmaAccept> accepted{};
    abi::Block<abi::nvme::RdmaReject> rejected{};
};

class Channel {
public:
    struct Options {
        std::uint32_t sends = 0;    ///< work requests under way
        std::uint32_t receives = 0; ///< capsules that can come
        std::uint32_t capsule_bytes = 0;
        std::uint32_t sent_bytes = 0; ///< memory of our own to send from, registered with it
        std::uint32_t max_inline = 0, send_elements = 1;
    };
    /// What a work request was for; its `wr_id` has that and a number.
    enum class Purpose : std::uint8_t { receive, send, fetch };
    struct Ended {
        Purpose purpose{};
        std::uint32_t number = 0;
        mlx::CompletionStatus status{};
        std::uint32_t bytes = 0;
        bool is_ok() const { return status == mlx::CompletionStatus::success; }
    };

    static Result<std::unique_ptr<Channel>> make(const RdmaPort& port, const Options& options);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// What the peer must know of this end.
    mlx::Peer self() const;
    /// Takes the queue pair to RTS, with all receives posted before the peer can send.
    Result<void> connect(const mlx::Peer& peer);
    /// Capsule `number` may come again.
    Result<void> expect(std::uint32_t number);
    /// Posts a list and rings once. `count` is its length, and at most room().
    Result<void> post(const mlx::SendRequest& first, std::uint32_t count);
    /// A signalled request ended, and with it `count` in all.
    void ended(std::uint32_t count) { under_way_ -= count; }
    std::uint32_t room() const { return options_.sends - under_way_; }
    static std::uint64_t tag(Purpose purpose, std::uint32_t number) {
        return std::uint64_t{static_cast<std::uint8_t>(purpose)} << 32 | number;
    }
    /// Completions that have come; how many.
    std::size_t poll(std::span<Ended> into);

    std::span<std::byte> capsule(std::uint32_t number) const {
        return memory_.bytes().subspan(capsule_offset(number), options_.capsule_bytes);
    }
    std::uint64_t capsule_offset(std::uint32_t number) const { return std::uint64_t{number} * options_.capsule_bytes; }
    const transport::DmaMemory& memory() const { return memory_.memory(); }
    /// The device reaches nothing of it any more; the memory stays.
    void close() { qp_.reset(); }
    std::span<std::byte> sent() const { return memory_.bytes().subspan(received_bytes(), options_.sent_bytes); }
    /// Of `bytes` of our own memory, from `offset` on.
    mlx::Sge sent_element(std::uint32_t offset, std::uint32_t bytes) const {
        return {region_->iova().value + received_bytes() + offset, bytes, region_->lkey()};
    }
    mlx::QueuePair& queue_pair() { return *qp_; }
    transport::Transport& transport() { return port_.context->transport(); }

private:
    Channel(const RdmaPort& port, const Options& options) : port_(port), options_(options) {}
    std::size_t received_bytes() const { return std::size_t{options_.receives} * options_.capsule_bytes; }

    RdmaPort port_;
    Options options_;
    std::uint32_t under_way_ = 0;
    // The queue pair goes first: nothing is touched by the device when memory and key go.
    memory::Buffer memory_;
    std::optional<mlx::MemoryRegion> region_;
    std::unique_ptr<mlx::CompletionQueue> cq_;
    std::unique_ptr<mlx::QueuePair> qp_;
};

} // namespace sw::nvmf
