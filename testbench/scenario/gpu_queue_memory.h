// The policy of sw/gpu/queue.h for a thread of a GPU program: accesses by GPU virtual address, with the modifiers and
// fences that a compiler would choose, or with some of them left out, for whoever asks what they are there for.
#pragma once

#include "model/gpu/wave/thread.h"
#include "sw/gpu/fences.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace testbench {

struct GpuQueueRules {
    model::gpu::memory::Modifiers poll = model::gpu::memory::volatile_load;
    model::gpu::memory::Modifiers read = model::gpu::memory::relaxed_atomic_load;
    model::gpu::memory::Modifiers write{}, ring = model::gpu::memory::volatile_store;
    sw::gpu::Fences omitted{}; ///< fences that are left out
    bool awaits_ring = true;   ///< a doorbell is acknowledged before the program goes on
    model::port::Time pause = std::chrono::nanoseconds{100};
};

class GpuQueueMemory {
public:
    template <class T = void> using Task = model::gpu::wave::Task<T>;

    explicit GpuQueueMemory(model::gpu::wave::Thread& thread, const GpuQueueRules& rules = {})
        : thread_(&thread), rules_(rules) {}

    auto poll(std::uint64_t address) { return thread_->load<std::uint32_t>(address, rules_.poll); }
    auto read(std::uint64_t address, std::span<std::byte> into) { return thread_->load(address, into, rules_.read); }
    auto write(std::uint64_t address, std::span<const std::byte> from) {
        return thread_->store(address, from, rules_.write);
    }
    template <class T> Task<> ring(std::uint64_t address, T value) {
        co_await thread_->store(address, value, rules_.ring);
        if (rules_.awaits_ring)
            co_await thread_->wait_stores();
    }
    Task<> release(sw::gpu::Fence fence) {
        if (!rules_.omitted.has(fence))
            co_await thread_->fence(model::gpu::memory::Order::release);
    }
    Task<> acquire(sw::gpu::Fence fence) {
        if (!rules_.omitted.has(fence))
            co_await thread_->fence(model::gpu::memory::Order::acquire);
    }
    auto pause() { return thread_->wait_for_change(rules_.pause); }
    model::gpu::wave::Frames& frames() { return thread_->frames(); }

private:
    model::gpu::wave::Thread* thread_;
    GpuQueueRules rules_;
};

} // namespace testbench
