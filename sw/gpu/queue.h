// NVMe queue pairs for whoever owns them, written once: for the host, and for a thread of a GPU program that has its
// queues in VRAM and rings the drive's doorbells itself. How memory is reached is the policy's: each access is awaited,
// on the host at no cost. One owner a pair; nothing here allocates.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/completion.h"
#include "sw/gpu/fences.h"

#include <cstdint>
#include <span>

namespace sw::gpu {

/// A pair of rings as its owner addresses it. Addresses are the policy's: of the host, or of a GPU's virtual memory.
struct NvmeRings {
    std::uint64_t submissions = 0, completions = 0;
    std::uint64_t submission_doorbell = 0, completion_doorbell = 0;
    std::uint32_t entries = 2; ///< of each; 2 or more
};

/// What is left of a completion queue entry for the owner of the command.
struct NvmeResult {
    std::uint16_t cid = 0;
    abi::nvme::Status status{};
    bool is_final = false; ///< do not retry
    std::uint32_t dw0 = 0;

    bool is_ok() const { return status == abi::nvme::Status::success; }
};

/// Memory::Task<T> is what a function returns that awaits. Of the others each gives something to await:
///   poll(address)        a dword, in the way that finds what a device has written
///   read(address, into)  bytes behind an acquire
///   write(address, from) bytes of an entry
///   ring(address, value) a store to a register of a device, of 4 or 8 bytes
///   release(fence)       stores before it are in memory before those behind it; which fence it is (fences.h)
///   acquire(fence)       loads behind it find no older bytes than the load before it
///   pause()              between two looks
template <class M>
concept QueueMemory = requires(M memory, std::uint64_t address, std::uint32_t value, std::span<std::byte> into,
                               std::span<const std::byte> from, Fence fence) {
    typename M::template Task<int>;
    memory.poll(address);
    memory.read(address, into);
    memory.write(address, from);
    memory.ring(address, value);
    memory.release(fence);
    memory.acquire(fence);
    memory.pause();
};

template <QueueMemory Memory> class NvmeQueue {
public:
    template <class T = void> using Task = typename Memory::template Task<T>;
    using Command = abi::Block<abi::nvme::Command>;

    /// The rings are zeroed, and the controller has just created them.
    NvmeQueue(Memory memory, const NvmeRings& rings) : memory_(memory), rings_(rings) {}

    /// As many as entries - 1 are under way: a full queue has one entry free, or it would look empty (NVMe base 2.0
    /// "Full Queue").
    bool is_full() const { return next(tail_) == head_; }
    std::uint32_t under_way() const { return under_way_; }

    /// Writes a command into the next entry; there is room. The device hears of it by ring().
    Task<> push(const Command& command) {
        co_await memory_.write(rings_.submissions + std::uint64_t{tail_} * abi::nvme::command_bytes, command.bytes);
        tail_ = next(tail_);
        ++under_way_;
    }
    /// One doorbell for all that was pushed.
    Task<> ring() {
        co_await memory_.release(Fence::command_before_doorbell);
        co_await memory_.ring(rings_.submission_doorbell, tail_);
    }
    /// Looks once. Returns whether a command has ended; the entry is the queue's again.
    Task<bool> poll(NvmeResult& result) {
        using Completion = abi::nvme::Completion;
        const auto entry = rings_.completions + std::uint64_t{completion_head_} * Completion::size;
        abi::Block<Completion> cqe;
        // The dword with the phase has identifier and status, too; result and head are behind the acquire.
        const std::uint32_t last = co_await memory_.poll(entry + phase_offset);
        abi::store<std::uint32_t, abi::Endian::little>(&cqe.bytes[phase_offset], last);
        if (cqe.view().template get<"p">() != phase_)
            co_return false;
        co_await memory_.acquire(Fence::phase_before_entry);
        co_await memory_.read(entry, std::span{cqe.bytes}.first(phase_offset));
        const auto view = cqe.view();
        result = {.cid = view.template get<"cid">(),
                  .status = view.template get<"status">(),
                  .is_final = view.template get<"dnr">(),
                  .dw0 = view.template get<"dw0">()};
        head_ = view.template get<"sqhd">() % rings_.entries;
        --under_way_;
        completion_head_ = next(completion_head_);
        phase_ ^= completion_head_ == 0; // turns with each lap
        // Half a lap at a time: one register write for many entries, and the device never lacks room.
        if (++unreturned_ >= (rings_.entries + 1) / 2)
            co_await return_entries();
        co_return true;
    }
    /// Until a command ends. The policy's pause() decides how long that may take.
    Task<NvmeResult> wait() {
        NvmeResult result;
        for (;;) {
            const bool has_ended = co_await poll(result);
            if (has_ended)
                co_return result;
            co_await memory_.pause();
        }
    }
    /// push, ring, wait; nothing else is under way.
    Task<NvmeResult> execute(const Command& command) {
        co_await push(command);
        co_await ring();
        const NvmeResult result = co_await wait();
        co_return result;
    }
    /// Completion entries that were read go back to the device; poll() does it in time by itself.
    Task<> return_entries() {
        unreturned_ = 0;
        co_await memory_.ring(rings_.completion_doorbell, completion_head_);
    }

    /// Where frames of the functions above lie, for policies that say so.
    decltype(auto) frames()
        requires requires(Memory& memory) { memory.frames(); }
    {
        return memory_.frames();
    }
    Memory& memory() { return memory_; }

private:
    static constexpr std::size_t phase_offset = 12;
    std::uint32_t next(std::uint32_t index) const { return index + 1 == rings_.entries ? 0 : index + 1; }

    Memory memory_;
    NvmeRings rings_;
    std::uint32_t tail_ = 0, head_ = 0, completion_head_ = 0;
    std::uint32_t under_way_ = 0, unreturned_ = 0;
    bool phase_ = true;
};

} // namespace sw::gpu
