// The driver as programs use it, in the shape of the verbs: open a device, make protection domains, regions and
// queues, connect, post, poll, wait for events (IBA 11; ibv_*). Adds nothing to the rooms behind it. Destructors
// undo what objects have made: queue pairs go before their completion queues, and all objects before the context.
#pragma once

#include "abi/prm/adapter.h"
#include "abi/prm/q_counter.h"
#include "abi/wire/infiniband.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/memory/descriptors.h"
#include "sw/mlx/completion/cq.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/memory/memory_region.h"
#include "sw/mlx/port/port.h"
#include "sw/mlx/queue/qp.h"
#include "sw/mlx/queue/work_request.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace sw::mlx {

/// How two queue pairs talk once connected; both ends should agree on the MTU.
struct ConnectOptions {
    abi::prm::Mtu path_mtu = abi::prm::Mtu::bytes_4096;
    Access access = all_access;      ///< what the peer may do; atomics are dropped where the device has none
    std::uint8_t reads = 16;         ///< READs and atomics under way, each way; at most what the device has
    std::uint8_t min_rnr_timer = 12; ///< 0.64 ms
    std::uint8_t ack_timeout = 14;   ///< 67 ms
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = abi::wire::rnr_retry_for_ever;
    std::uint8_t log_ack_request = 0;
    std::uint16_t pkey_index = 0;
};

using QCounters = abi::Block<abi::prm::QueryQCounterOut>;

class Context {
public:
    static Result<std::unique_ptr<Context>> open(transport::Transport& transport, DeviceOptions options = {});
    /// Takes the device down; everything made with it must be gone.
    Result<void> close() { return device_->close(); }

    Device& device() { return *device_; }
    transport::Transport& transport() { return device_->transport(); }

    Result<PortAttributes> query_port() { return mlx::query_port(*device_); }
    /// The way by which a peer reaches this port; a RoCE port is given its address first, as number 0.
    Result<AddressPath> open_port(const Gid& gid);
    Result<void> set_roce_address(std::uint16_t index, const RoceAddress& address) {
        return mlx::set_roce_address(*device_, index, address);
    }
    /// Keys that exist before any region (PRM "QUERY_SPECIAL_CONTEXTS").
    Result<abi::Block<abi::prm::QuerySpecialContextsOut>> query_special_contexts();

    /// For one thread, as QpOptions::uar; there as long as the context.
    Result<Uar*> alloc_uar() { return device_->add_uar(); }
    Result<abi::Pd> alloc_pd();
    Result<void> dealloc_pd(abi::Pd pd);
    Result<std::uint32_t> alloc_transport_domain();
    Result<void> dealloc_transport_domain(std::uint32_t domain);

    Result<memory::Buffer> allocate(std::size_t bytes, std::size_t alignment = 4096) {
        return memory::Buffer::allocate(transport(), bytes, alignment);
    }
    Result<MemoryRegion> reg_mr(abi::Pd pd, const memory::Buffer& buffer, Access access) {
        return MemoryRegion::from_host(*device_, pd, buffer.memory(), 0, buffer.size(), {.access = access});
    }
    Result<MemoryRegion> reg_mr(abi::Pd pd, const transport::DmaMemory& memory, std::uint64_t offset,
                                std::uint64_t length, const RegionOptions& options) {
        return MemoryRegion::from_host(*device_, pd, memory, offset, length, options);
    }
    /// Part of pageable memory, on demand (IBV_ACCESS_ON_DEMAND).
    Result<MemoryRegion> reg_mr(abi::Pd pd, memory::PageableMemory& memory, std::uint64_t offset, std::uint64_t length,
                                const RegionOptions& options) {
        return MemoryRegion::from_pageable(*device_, pd, memory, offset, length, options);
    }
    /// Part of a dma-buf, pinned, revocable or on demand as `options.mode` says; its rights can be changed later.
    Result<MemoryRegion> reg_dmabuf_mr(abi::Pd pd, memory::DmaBufHandle handle, std::uint64_t offset,
                                       std::uint64_t length, RegionOptions options) {
        options.takes_umr = true;
        return MemoryRegion::from_export(*device_, pd, std::move(handle), offset, length, options);
    }
    /// The same by a descriptor. EBADF when it is not open.
    Result<MemoryRegion> reg_dmabuf_mr(abi::Pd pd, const memory::Descriptors& descriptors, int descriptor,
                                       std::uint64_t offset, std::uint64_t length, const RegionOptions& options) {
        auto handle = descriptors.get(descriptor);
        if (!handle)
            return std::unexpected(std::move(handle.error()));
        return reg_dmabuf_mr(pd, std::move(*handle), offset, length, options);
    }
    /// Pinned for its life, with a key that no UMR changes.
    Result<MemoryRegion> reg_vram_mr(abi::Pd pd, memory::DmaBufHandle handle, std::uint64_t offset,
                                     std::uint64_t length, const RegionOptions& options) {
        return MemoryRegion::from_export(*device_, pd, std::move(handle), offset, length, options);
    }

    Result<std::unique_ptr<CompletionQueue>> create_cq(const CqOptions& options) {
        return CompletionQueue::create(*device_, options);
    }
    Result<std::unique_ptr<QueuePair>> create_qp(const QpOptions& options) {
        return QueuePair::create(*device_, options);
    }
    /// READs and atomics that a queue pair connected so answers at once: its peer must have no more under way.
    std::uint8_t reads_answered(const ConnectOptions& options = {}) const;
    /// Takes a queue pair in RST through INIT and RTR to RTS. `own_psn` is the PSN its first packet has.
    Result<void> connect(QueuePair& qp, const Peer& peer, abi::Psn own_psn, const ConnectOptions& options = {});

    /// The next completion queue that had an event; nullptr when none came in time. Ask again (request_notification)
    /// and poll after each event.
    CompletionQueue* get_cq_event(std::chrono::nanoseconds timeout, unsigned completion_eq = 0) {
        return device_->wait_completion_event(completion_eq, timeout);
    }
    std::optional<AsyncEvent> get_async_event(std::chrono::nanoseconds timeout) {
        return device_->wait_async_event(timeout);
    }

    Result<std::uint8_t> alloc_q_counter();
    Result<void> dealloc_q_counter(std::uint8_t set);
    /// All counters of a set by name: `counters->view().get<"out_of_sequence">()`.
    Result<QCounters> query_q_counter(std::uint8_t set, bool clear = false);

private:
    explicit Context(std::unique_ptr<Device> device) : device_(std::move(device)) {}

    std::unique_ptr<Device> device_;
};

} // namespace sw::mlx
