// Memory without caches for tests of waves: bytes, fixed latencies, a page that faults, and a book of what happened.
#pragma once

#include "model/gpu/memory/access.h"
#include "model/gpu/wave/grid.h"

#include <cstring>
#include <vector>

namespace testbench {

namespace gpu = model::gpu;
using model::port::Time;

class FlatMemory final : public gpu::memory::MemoryView {
public:
    static constexpr std::uint64_t bytes = 64 << 10; ///< beyond, accesses fault
    struct Store {
        std::uint64_t address, length, value;
        Time at;
        bool operator==(const Store&) const = default;
    };

    using Outcome = gpu::memory::Outcome;
    using Modifiers = gpu::memory::Modifiers;

    Outcome load(std::uint64_t address, std::span<std::byte> into, Modifiers, Time at) override {
        auto outcome = answer(address, into.size(), at + load_latency);
        if (outcome.is_ok())
            std::memcpy(into.data(), &memory[address], into.size());
        return outcome;
    }
    Outcome scalar_load(std::uint64_t address, std::span<std::byte> into, Modifiers modifiers, Time at) override {
        return load(address, into, modifiers, at);
    }
    Outcome store(std::uint64_t address, std::span<const std::byte> from, Modifiers, Time at) override {
        auto outcome = answer(address, from.size(), at + store_latency);
        if (outcome.is_ok()) {
            std::memcpy(&memory[address], from.data(), from.size());
            Store store{address, from.size(), 0, at};
            std::memcpy(&store.value, from.data(), std::min<std::size_t>(from.size(), 8));
            stores.push_back(store);
        }
        return outcome;
    }
    Outcome atomic(gpu::memory::AtomicOp op, std::uint64_t address, unsigned length, std::uint64_t operand,
                   std::uint64_t compare, std::uint64_t& old, Modifiers, Time at) override {
        using enum gpu::memory::AtomicOp;
        auto outcome = answer(address, length, at + load_latency);
        if (!outcome.is_ok())
            return outcome;
        old = 0;
        std::memcpy(&old, &memory[address], length);
        const auto next = op == add ? old + operand : op == compare_swap && old != compare ? old : operand;
        std::memcpy(&memory[address], &next, length);
        return outcome;
    }
    Time fence(gpu::memory::Order, gpu::memory::Scope, Time at) override { return at; }
    Time invalidate_gl0(Time at) override { return at; }
    Time invalidate_gl1(Time at) override { return at; }
    Time invalidate_scalar(Time at) override { return at; }
    Time begin_kernel(gpu::memory::Scope, Time at) override { return ++kernels_begun, at; }
    Time end_kernel(gpu::memory::Scope, Time at) override { return ++kernels_ended, at; }
    bool is_valid() const override { return !is_reset; }

    template <class T> T at(std::uint64_t address) const {
        T value;
        std::memcpy(&value, &memory[address], sizeof value);
        return value;
    }
    template <class T> void set(std::uint64_t address, T value) { std::memcpy(&memory[address], &value, sizeof value); }

    std::vector<std::byte> memory = std::vector<std::byte>(bytes);
    std::vector<Store> stores;
    Time load_latency = std::chrono::nanoseconds{100}, store_latency = std::chrono::nanoseconds{50};
    gpu::memory::Mtype mtype = gpu::memory::Mtype::uc;
    unsigned kernels_begun = 0, kernels_ended = 0;
    bool is_reset = false;

private:
    Outcome answer(std::uint64_t address, std::size_t length, Time done) const {
        using gpu::memory::Status;
        const bool is_there = address <= bytes && length <= bytes - address;
        return {.status = is_reset   ? Status::gpu_reset
                          : is_there ? Status::ok
                                     : Status::page_fault,
                .done = done,
                .level = gpu::memory::Level::vram,
                .mtype = mtype,
                .is_stale = false,
                .stale_level = gpu::memory::Level::none,
                .stale_address = 0,
                .filled = {},
                .overtaken_by = gpu::memory::Writer::nobody,
                .overtaken_at = {}};
    }
};

/// Runs a grid until it is over, or until nothing is due before `until`.
inline void run_all(gpu::wave::Grid& grid, Time until = Time::max()) {
    grid.launch(Time{});
    while (!grid.is_over() && grid.next_due() <= until)
        grid.run(grid.next_due());
}

} // namespace testbench
