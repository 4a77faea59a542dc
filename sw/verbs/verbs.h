// The verbs as a program uses them, whatever HCA is behind them: open a device, make protection domains, regions and
// queues, connect, post and poll (IBA 11; ibv_*). Each driver implements this face (sw/mlx, sw/simple); a program that
// takes it runs on all of them. What an HCA cannot do, its capabilities say, and its driver refuses with EOPNOTSUPP.
// Objects undo themselves: queue pairs go before their completion queues, and all objects before their context.
#pragma once

#include "abi/types.h"
#include "abi/wire/infiniband.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/memory/dmabuf.h"
#include "sw/transport/transport.h"
#include "sw/verbs/access.h"
#include "sw/verbs/address.h"
#include "sw/verbs/work_request.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace sw::verbs {

/// What an HCA and its driver can do. Sizes are those of the device at hand.
struct Capabilities {
    std::string_view model; ///< of the architecture: "connectx"
    bool has_atomics = false;
    bool has_inline = false;     ///< send_flag::inline_data
    bool has_blue_flame = false; ///< work requests that go with their doorbells (alloc_doorbell_page)
    bool has_dmabuf = false;     ///< regions of memory of other devices
    std::uint64_t max_message = 0;
};

/// A doorbell page for one thread. What it is, its driver knows.
class DoorbellPage {
protected:
    DoorbellPage() = default;
    ~DoorbellPage() = default;
};

struct RegionOptions {
    Access access = Access::local_write;
    unsigned log_page_size = 12; ///< no larger than this
};

/// Memory that the device may reach by key, until this object goes.
class MemoryRegion {
public:
    virtual ~MemoryRegion() = default;
    MemoryRegion(const MemoryRegion&) = delete;
    MemoryRegion& operator=(const MemoryRegion&) = delete;

    std::uint32_t lkey() const { return lkey_; }
    std::uint32_t rkey() const { return rkey_; }
    abi::Iova iova() const { return iova_; } ///< where it begins in work requests

protected:
    MemoryRegion(std::uint32_t lkey, std::uint32_t rkey, abi::Iova iova) : lkey_(lkey), rkey_(rkey), iova_(iova) {}

private:
    std::uint32_t lkey_, rkey_;
    abi::Iova iova_;
};

class CompletionQueue {
public:
    virtual ~CompletionQueue() = default;
    /// Takes up to `into.size()` completions, oldest first, and returns how many there were.
    virtual std::size_t poll(std::span<Completion> into) = 0;
};

struct QpOptions {
    abi::Pd pd{};
    CompletionQueue* send_cq = nullptr; ///< of the same context, as the other one
    CompletionQueue* receive_cq = nullptr;
    std::uint32_t max_send = 128; ///< work requests in flight
    std::uint32_t max_receive = 128;
    std::uint32_t max_inline = 0;          ///< bytes
    DoorbellPage* doorbell_page = nullptr; ///< work requests go with their doorbells; nullptr: they do not
};

class QueuePair {
public:
    virtual ~QueuePair() = default;
    virtual abi::Qpn number() const = 0;
    /// Posts a list in order and rings once. On a refusal those before it are posted and `bad` names it.
    virtual Result<void> post_send(const SendRequest* list, const SendRequest** bad = nullptr) = 0;
    virtual Result<void> post_receive(const ReceiveRequest* list, const ReceiveRequest** bad = nullptr) = 0;

    Result<void> post_send(const SendRequest& single) {
        auto one = single;
        one.next = nullptr;
        return post_send(&one);
    }
    Result<void> post_receive(const ReceiveRequest& single) {
        auto one = single;
        one.next = nullptr;
        return post_receive(&one);
    }
};

/// How two queue pairs talk once connected; both ends should agree on the MTU.
struct ConnectOptions {
    std::uint32_t mtu_bytes = 4096;  ///< 256 to 4096, a power of two
    Access access = all_access;      ///< what the peer may do; atomics are dropped where the device has none
    std::uint8_t reads = 16;         ///< READs and atomics under way, each way; at most what the device has
    std::uint8_t min_rnr_timer = 12; ///< 0.64 ms (IBA 9.7.5.2.8, table 45)
    std::uint8_t ack_timeout = 14;   ///< 4.096 us << n, here 67 ms; 0: never
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = abi::wire::rnr_retry_for_ever;
};

/// An open device. One thread at a time uses a context and everything made with it.
class Context {
public:
    virtual ~Context() = default;
    virtual const Capabilities& capabilities() const = 0;
    virtual transport::Transport& transport() = 0;

    /// The way by which a peer reaches this port; a RoCE port is given its address first.
    virtual Result<AddressPath> open_port(const Gid& gid) = 0;
    virtual Result<abi::Pd> alloc_pd() = 0;
    Result<memory::Buffer> allocate(std::size_t bytes, std::size_t alignment = 4096) {
        return memory::Buffer::allocate(transport(), bytes, alignment);
    }
    virtual Result<std::unique_ptr<MemoryRegion>> reg_mr(abi::Pd pd, const transport::DmaMemory& memory,
                                                         std::uint64_t offset, std::uint64_t length,
                                                         const RegionOptions& options) = 0;
    /// Of another device's memory, pinned for its life.
    virtual Result<std::unique_ptr<MemoryRegion>> reg_dmabuf_mr(abi::Pd pd, memory::DmaBufHandle handle,
                                                                std::uint64_t offset, std::uint64_t length,
                                                                const RegionOptions& options) = 0;
    virtual Result<DoorbellPage*> alloc_doorbell_page() = 0;
    virtual Result<std::unique_ptr<CompletionQueue>> create_cq(std::uint32_t entries) = 0;
    virtual Result<std::unique_ptr<QueuePair>> create_qp(const QpOptions& options) = 0;
    /// READs and atomics that a queue pair connected so answers at once: its peer must have no more under way.
    virtual std::uint8_t reads_answered(const ConnectOptions& options) const = 0;
    /// Makes a new queue pair of this context ready to send. `own_psn` is the PSN its first packet has.
    virtual Result<void> connect(QueuePair& qp, const Peer& peer, abi::Psn own_psn, const ConnectOptions& options) = 0;
};

} // namespace sw::verbs
