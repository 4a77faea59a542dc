// The GPU programs of the scenario `gpu_rdma`, the same on each GPU of a ring: every thread has a queue pair to the
// next GPU and a part of the tensor of its own, writes into the next one's VRAM, and is told by flags that the one
// before writes into its own. A flag follows its data on the same queue pair, so that it arrives behind them (IBA 9.5).
#pragma once

#include "model/gpu/wave/thread.h"
#include "sw/gpu/rdma_queue.h"
#include "testbench/scenario/gpu_queue_memory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace scenario {

/// Flags stand a cache line apart, so that none is old because another one was looked at.
inline constexpr std::uint64_t flag_bytes = 128;
/// A thread's parts are whole pieces of what one load takes.
inline constexpr std::uint64_t load_bytes = model::gpu::wave::Thread::max_bytes;

/// What lies in VRAM, the same on each GPU, by offsets from the begin.
struct ArenaLayout {
    std::uint64_t tensor = 0, tensor_bytes = 0;
    std::uint64_t received = 0;          ///< the neighbour's tensor
    std::uint64_t staging = 0;           ///< what is to be added, a slot for each step and thread
    std::uint64_t flags = 0, source = 0; ///< of each thread and step; where flags are written from
    std::uint64_t bytes = 0;
    unsigned nodes = 0, threads = 0;

    static ArenaLayout of(std::uint64_t tensor_bytes, unsigned nodes, unsigned threads);
    std::uint64_t part_bytes() const { return tensor_bytes / threads; }
    std::uint64_t chunk_bytes() const { return part_bytes() / nodes; }
    std::uint64_t chunk(unsigned thread, unsigned number) const {
        return tensor + thread * part_bytes() + number * chunk_bytes();
    }
    std::uint64_t slot(unsigned thread, unsigned step) const {
        return staging + (std::uint64_t{thread} * (nodes - 1) + step) * chunk_bytes();
    }
    unsigned steps() const { return 2 * (nodes - 1); } ///< of an all-reduce
    std::uint64_t flag(unsigned thread, unsigned step) const {
        return flags + (std::uint64_t{thread} * (steps() + 1) + step) * flag_bytes;
    }
};

struct RdmaTally {
    std::uint64_t requests = 0, errors = 0;
    std::uint64_t exchanged = 0;      ///< of the requests, those of the exchange
    model::port::Time exchanged_at{}; ///< what the GPU before has sent is there
    sw::gpu::RdmaResult first_error{};
};

/// One GPU's part.
struct RdmaPlan {
    ArenaLayout layout;
    unsigned node = 0;               ///< in the ring
    std::uint64_t arena = 0;         ///< GPU virtual address
    sw::gpu::RdmaPlace local, next;  ///< the same arena by our key, and that of the next GPU by its key
    std::uint32_t message_bytes = 0; ///< of a request, at most
    testbench::GpuQueueRules rules{};
    std::vector<sw::gpu::RdmaRings> rings; ///< by thread
    std::vector<RdmaTally> tallies;
    unsigned at_work = 0; ///< threads that have not come to their end
};

template <class Queue> model::gpu::wave::Task<> wait_for_one(Queue& queue, RdmaTally& tally) {
    const sw::gpu::RdmaResult result = co_await queue.wait();
    if (!result.is_ok && tally.errors++ == 0)
        tally.first_error = result;
}

/// Bytes at `from` of our arena to `to` of the next one's, in as many requests as it takes, and then its flag.
template <class Queue>
model::gpu::wave::Task<> send(Queue& queue, const RdmaPlan& plan, std::uint64_t from, std::uint64_t to,
                              std::uint64_t bytes, std::uint64_t flag, RdmaTally& tally) {
    const auto at = [](const sw::gpu::RdmaPlace& place, std::uint64_t offset) {
        return sw::gpu::RdmaPlace{place.address + offset, place.key};
    };
    for (std::uint64_t done = 0; done < bytes; done += plan.message_bytes) {
        while (queue.is_full() && tally.errors == 0) {
            co_await queue.ring();
            co_await wait_for_one(queue, tally);
        }
        if (tally.errors != 0)
            co_return;
        const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(plan.message_bytes, bytes - done));
        co_await queue.write(at(plan.local, from + done), at(plan.next, to + done), length);
        ++tally.requests;
    }
    while (queue.is_full() && tally.errors == 0) {
        co_await queue.ring();
        co_await wait_for_one(queue, tally);
    }
    co_await queue.write(at(plan.local, plan.layout.source), at(plan.next, flag), sizeof(std::uint64_t));
    ++tally.requests;
    co_await queue.ring();
}

/// Until the GPU before has written our flag.
template <class Memory>
model::gpu::wave::Task<> wait_for_flag(Memory& memory, const RdmaPlan& plan, std::uint64_t flag) {
    for (;;) {
        const std::uint32_t value = co_await memory.poll(plan.arena + flag);
        if (value != 0)
            break;
        co_await memory.pause();
    }
    co_await memory.acquire(sw::gpu::Fence::flag_before_data);
}

/// The tensor to the next GPU, and that of the one before to us.
template <class Queue>
model::gpu::wave::Task<> exchange(Queue& queue, const RdmaPlan& plan, unsigned own, RdmaTally& tally) {
    const auto& layout = plan.layout;
    const auto part = own * layout.part_bytes(), flag = layout.flag(own, layout.steps());
    co_await send(queue, plan, layout.tensor + part, layout.received + part, layout.part_bytes(), flag, tally);
    while (queue.under_way() != 0 && tally.errors == 0)
        co_await wait_for_one(queue, tally);
    if (tally.errors == 0)
        co_await wait_for_flag(queue.memory(), plan, flag);
}

/// Adds what has come to a chunk of the tensor, as 32-bit numbers.
inline model::gpu::wave::Task<> add(model::gpu::wave::Thread& thread, const RdmaPlan& plan, std::uint64_t from,
                                    std::uint64_t to) {
    for (std::uint64_t done = 0; done < plan.layout.chunk_bytes(); done += load_bytes) {
        std::array<std::byte, load_bytes> one{}, other{};
        co_await thread.issue_load(plan.arena + from + done, one, plan.rules.read);
        co_await thread.issue_load(plan.arena + to + done, other, plan.rules.read);
        co_await thread.wait_loads();
        for (std::size_t i = 0; i < load_bytes; i += sizeof(std::uint32_t)) {
            const auto sum = abi::load<std::uint32_t, abi::Endian::little>(&one[i]) +
                             abi::load<std::uint32_t, abi::Endian::little>(&other[i]);
            abi::store<std::uint32_t, abi::Endian::little>(&other[i], sum);
        }
        co_await thread.store(plan.arena + to + done, std::span<const std::byte>(other), plan.rules.write);
    }
}

/// The sum of all tensors, everywhere: each chunk goes round once and is added to at each GPU, and once more to be
/// kept.
template <class Queue>
model::gpu::wave::Task<> all_reduce(model::gpu::wave::Thread& thread, Queue& queue, const RdmaPlan& plan,
                                    RdmaTally& tally) {
    const auto own = thread.index();
    const auto& layout = plan.layout;
    const auto nodes = layout.nodes;
    const auto behind = [&](unsigned step) { return (plan.node + 2 * nodes - step) % nodes; };
    for (unsigned step = 0; step < layout.steps() && tally.errors == 0; ++step) {
        const auto adds = step < nodes - 1;
        const auto round = adds ? step : step - (nodes - 1);
        const auto from = layout.chunk(own, adds ? behind(round) : behind(round + nodes - 1));
        const auto to = adds ? layout.slot(own, round) : from;
        co_await send(queue, plan, from, to, layout.chunk_bytes(), layout.flag(own, step), tally);
        while (queue.under_way() != 0 && tally.errors == 0)
            co_await wait_for_one(queue, tally);
        if (tally.errors != 0)
            co_return;
        co_await wait_for_flag(queue.memory(), plan, layout.flag(own, step));
        if (adds)
            co_await add(thread, plan, layout.slot(own, round), layout.chunk(own, behind(round + 1)));
    }
}

/// A thread that has nothing to do with it, on the same CU: it looks at what is to come, and its cache keeps that.
/// While nothing changes it looks ever less often.
inline model::gpu::wave::Task<> look_around(model::gpu::wave::Thread& thread, const RdmaPlan& plan) {
    constexpr unsigned longest = 64; // pauses
    const auto& layout = plan.layout;
    std::uint64_t before = 0;
    for (unsigned pauses = 1; plan.at_work != 0; pauses = std::min(2 * pauses, longest)) {
        std::uint64_t sum = 0;
        for (unsigned other = 0; other < layout.threads; ++other)
            for (unsigned step = 0; step + 1 < layout.nodes; ++step) {
                const auto found = co_await thread.load<std::uint64_t>(plan.arena + layout.slot(other, step));
                sum += found;
            }
        if (std::exchange(before, sum) != sum)
            pauses = 1;
        co_await thread.sleep(pauses * plan.rules.pause);
    }
}

inline model::gpu::wave::Task<> exchange_and_reduce(model::gpu::wave::Thread& thread, RdmaPlan& plan) {
    if (thread.index() >= plan.layout.threads) {
        co_await look_around(thread, plan);
        co_return;
    }
    auto& tally = plan.tallies[thread.index()];
    sw::gpu::RdmaQueue queue(testbench::GpuQueueMemory(thread, plan.rules), plan.rings[thread.index()]);
    co_await exchange(queue, plan, thread.index(), tally);
    tally.exchanged = tally.requests;
    tally.exchanged_at = thread.now();
    if (tally.errors == 0)
        co_await all_reduce(thread, queue, plan, tally);
    --plan.at_work;
}

} // namespace scenario
