// A send queue of an mlx5 queue pair with the completion queue that is its own, for whoever owns them, written once:
// for the host, and for a thread of a GPU program that has its rings in VRAM and rings the HCA itself (PRM "WQE
// format", "Doorbell record", "UAR"). How memory is reached is the policy's (sw/gpu/queue.h). One owner; nothing here
// allocates.
#pragma once

#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/wqe.h"
#include "sw/gpu/queue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace sw::gpu {

/// The rings as their owner addresses them; sizes are powers of two. A work request is one basic block here.
struct RdmaRings {
    std::uint64_t sends = 0, completions = 0;
    std::uint64_t send_record = 0, completion_record = 0; ///< doorbell records, 8 bytes each
    std::uint64_t doorbell = 0;                           ///< a BlueFlame register of the queue pair's UAR
    std::uint32_t blocks = 2, entries = 2;                ///< completions: as many as blocks, or more
    std::uint32_t qpn = 0;
};

/// Bytes by key: the queue's own, or the peer's.
struct RdmaPlace {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
};

/// What is left of a completion for the owner of the request.
struct RdmaResult {
    std::uint16_t counter = 0; ///< of the request's block
    bool is_ok = true;
    abi::prm::CqeSyndrome syndrome{}; ///< of an error
};

template <class M>
concept RdmaMemory = QueueMemory<M> && requires(M memory, std::uint64_t wide) { memory.ring(wide, wide); };

template <RdmaMemory Memory> class RdmaQueue {
public:
    template <class T = void> using Task = typename Memory::template Task<T>;

    /// All entries of the completion queue are invalid, and the queue pair has just come to RTS.
    RdmaQueue(Memory memory, const RdmaRings& rings)
        : memory_(memory), rings_(rings), log_entries_(static_cast<unsigned>(std::countr_zero(rings.entries))) {}

    bool is_full() const { return head_ - tail_ == rings_.blocks; }
    std::uint32_t under_way() const { return head_ - tail_; }

    /// A WRITE of `bytes` into the next block; there is room. The HCA hears of it by ring().
    Task<> write(const RdmaPlace& from, const RdmaPlace& to, std::uint32_t bytes) {
        using namespace abi::prm;
        abi::Block<WqeCtrl> control;
        control.view()
            .template set<"opcode">(WqeOpcode::rdma_write)
            .template set<"wqe_index">(head_ & 0xffff)
            .template set<"qpn">(rings_.qpn)
            .template set<"ds">(segments)
            .template set<"ce">(CompletionEvent::always);
        abi::Block<WqeRaddr> remote;
        remote.view().template set<"raddr">(to.address).template set<"rkey">(to.key);
        abi::Block<WqeData> data;
        data.view().template set<"byte_count">(bytes).template set<"lkey">(from.key).template set<"addr">(from.address);
        std::array<std::byte, segments * wqe_ds_bytes> wqe;
        auto at = std::ranges::copy(control.bytes, wqe.begin()).out;
        at = std::ranges::copy(remote.bytes, at).out;
        std::ranges::copy(data.bytes, at);
        std::ranges::copy_n(wqe.begin(), static_cast<std::ptrdiff_t>(last_.size()), last_.begin());
        const auto block = rings_.sends + std::uint64_t{head_ & (rings_.blocks - 1)} * wqe_bb_bytes;
        ++head_;
        co_await memory_.write(block, wqe);
    }
    /// One doorbell for all that was written. The HCA fetches as soon as it sees the ring, and as far as the record
    /// says: requests before record, and record before ring.
    Task<> ring() {
        co_await memory_.release(Fence::request_before_record);
        std::array<std::byte, 4> counter;
        abi::store<std::uint32_t, abi::Endian::big>(counter.data(), head_ & 0xffff);
        co_await memory_.write(rings_.send_record + 4, counter);
        co_await memory_.release(Fence::record_before_doorbell);
        co_await memory_.ring(rings_.doorbell, abi::load<std::uint64_t, abi::Endian::little>(last_.data()));
    }
    /// Looks once. Returns whether a request has ended, and those before it.
    Task<bool> poll(RdmaResult& result) {
        using namespace abi::prm;
        const auto entry = rings_.completions + std::uint64_t{consumer_ & (rings_.entries - 1)} * Cqe64::size;
        // The last dword has the owner, the opcode and the counter.
        const std::uint32_t last = co_await memory_.poll(entry + last_dword);
        const auto opcode = static_cast<CqeOpcode>(last >> 28);
        if (opcode == CqeOpcode::invalid || (last >> 24 & 1) != (consumer_ >> log_entries_ & 1))
            co_return false;
        result = {.counter = static_cast<std::uint16_t>((last & 0xff) << 8 | (last >> 8 & 0xff)),
                  .is_ok = opcode == CqeOpcode::req};
        if (!result.is_ok) {
            co_await memory_.acquire(Fence::owner_before_syndrome);
            std::array<std::byte, ErrCqe::size> bytes{};
            co_await memory_.read(entry, bytes);
            result.syndrome = abi::ConstView<ErrCqe>(bytes).template get<"syndrome">();
        }
        tail_ += static_cast<std::uint16_t>(result.counter + 1 - tail_);
        ++consumer_;
        std::array<std::byte, 4> index;
        abi::store<std::uint32_t, abi::Endian::big>(index.data(), consumer_ & queue_index_mask);
        co_await memory_.write(rings_.completion_record, index);
        co_return true;
    }
    /// Until a request ends. The policy's pause() decides how long that may take.
    Task<RdmaResult> wait() {
        RdmaResult result;
        for (;;) {
            const bool has_ended = co_await poll(result);
            if (has_ended)
                co_return result;
            co_await memory_.pause();
        }
    }

    decltype(auto) frames()
        requires requires(Memory& memory) { memory.frames(); }
    {
        return memory_.frames();
    }
    Memory& memory() { return memory_; }

private:
    static constexpr unsigned segments = 3;
    static constexpr std::size_t last_dword = 60;

    Memory memory_;
    RdmaRings rings_;
    unsigned log_entries_;
    std::uint32_t head_ = 0, tail_ = 0, consumer_ = 0;
    std::array<std::byte, 8> last_{}; ///< of the last request, which is what the doorbell is told
};

} // namespace sw::gpu
