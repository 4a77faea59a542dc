// What races have in common in which waves or copy engines of a GPU use memory, while its driver takes pages out of
// their address space: the GPU with its driver, the steps of it that can be left out, and what a fault leaves behind.
#pragma once

#include "model/gpu/gpu.h"
#include "model/gpu/wave/grid.h"
#include "sw/gpu/address_space.h"
#include "testbench/harness/host_functions.h"
#include "testbench/scenario/race_platform.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace scenario::race {

/// The driver leaves one of its steps out.
struct GpuPlant final : Plant {
    GpuPlant(std::string_view name, sw::gpu::AddressSpace::Step what) : Plant(name), step(what) {}
    const sw::gpu::AddressSpace::Step step;
};
std::span<const Plant* const> gpu_plants();

/// What a GPU's caches do, how long an invalidation takes, and whether a remapping unit is there.
std::span<const Axis> gpu_axes();

/// The GPU of a host: the first of its cards.
class GpuSide {
public:
    explicit GpuSide(platform::topology::Machine& machine);
    GpuSide(const GpuSide&) = delete;
    GpuSide& operator=(const GpuSide&) = delete;

    platform::topology::PlacedCard& card() const { return card_; }
    model::gpu::Gpu& device() { return card_.module->as<model::gpu::Gpu>(); }
    harness::HostFunctions& functions() { return *functions_; }
    sw::transport::Transport& function() { return *function_; }
    sw::gpu::Gpu& gpu() { return *gpu_; }
    sw::gpu::AddressSpace& space() { return *space_; }
    /// Threads in waves of their own, which fault alone.
    model::gpu::wave::GridConfig grid(unsigned threads);

    /// The driver leaves out what the plant says; nullptr: nothing.
    void plant(const Plant* plant);
    /// What is wrong with the fault on record: it has to be in [begin, +bytes), or none is there; empty: nothing.
    std::string check_record(bool has_faulted, std::uint64_t begin, std::uint64_t bytes);
    /// Who has this memory from now on, for the detector: addresses of a BAR, or memory of the host.
    void own_bar(std::uint64_t bus, std::uint64_t bytes, std::string_view who);
    void own_memory(const sw::transport::DmaMemory& memory, std::string_view who);

private:
    /// The page of the first fault since the record was cleared; nothing: there is none.
    std::optional<std::uint64_t> faulting_page();

    platform::topology::PlacedCard& card_;
    std::unique_ptr<harness::HostFunctions> functions_;
    std::unique_ptr<sw::transport::Transport> function_;
    std::optional<sw::gpu::Gpu> gpu_;
    std::unique_ptr<sw::gpu::AddressSpace> space_;
};

/// What is wrong with the end of a thread that may have faulted at [begin, +bytes), or not at all; empty: nothing.
std::string find_fault(const model::gpu::wave::Record& record, bool may_fault, bool is_write, std::uint64_t begin,
                       std::uint64_t bytes);

} // namespace scenario::race
