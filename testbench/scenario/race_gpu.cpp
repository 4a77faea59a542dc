#include "testbench/scenario/race_gpu.h"

#include "sw/transport/mmio.h"
#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <array>

namespace scenario::race {

using harness::must;
using model::gpu::wave::End;
using sw::gpu::AddressSpace;

namespace {

const GpuPlant stale_entry{"stale_entry", AddressSpace::Step::entries},
    missing_host_flush{"missing_host_flush", AddressSpace::Step::host_path},
    missing_invalidation{"missing_invalidation", AddressSpace::Step::invalidation},
    unawaited_invalidation{"unawaited_invalidation", AddressSpace::Step::acknowledgement},
    missing_rinse{"missing_rinse", AddressSpace::Step::rinse};

} // namespace

std::span<const Plant* const> gpu_plants() {
    static const std::array<const Plant*, 5> all{&stale_entry, &missing_host_flush, &missing_invalidation,
                                                 &unawaited_invalidation, &missing_rinse};
    return all;
}

std::span<const Axis> gpu_axes() {
    static const std::array<Axis, 3> all{
        Axis{{"as observed", {"A.gpu0.profile=0"}},
             {"coherent", {"A.gpu0.profile=1"}},
             {"the worst", {"A.gpu0.profile=2"}}},
        Axis{{"invalidated at once", {"A.gpu0.invalidate_ns=0"}},
             {"20 us an invalidation", {"A.gpu0.invalidate_ns=20000"}}},
        Axis{{"physical", {"iommu.present=false"}}, {"remapping", {"iommu.present=true"}}}};
    return all;
}

GpuSide::GpuSide(platform::topology::Machine& machine)
    : card_(machine.cards.front()), functions_(must(harness::HostFunctions::open(*machine.host))),
      function_(must(functions_->function(card_.bdf()))) {
    gpu_.emplace(must(sw::gpu::Gpu::open(*function_, model::gpu::Gpu::vram_bar)));
    space_ =
        must(AddressSpace::create(*gpu_, {.register_bar = model::gpu::Gpu::register_bar, .accepts_foreign = true}));
}

model::gpu::wave::GridConfig GpuSide::grid(unsigned threads) {
    const auto& config = device().block().config();
    return {.threads = threads, .wave_size = 1, .seed = config.seed, .stuck_after = 2 * config.hold_max};
}

void GpuSide::plant(const Plant* plant) {
    if (plant != nullptr)
        space_->plant_omission(static_cast<const GpuPlant&>(*plant).step);
}

std::optional<std::uint64_t> GpuSide::faulting_page() {
    using abi::gpu::Register;
    const auto read = [&](Register which) {
        return std::uint64_t{sw::transport::read32<abi::Endian::little>(*function_, model::gpu::Gpu::register_bar,
                                                                        static_cast<std::uint32_t>(which))};
    };
    if (read(Register::fault_status) == 0)
        return std::nullopt;
    return (read(Register::fault_address_low) | read(Register::fault_address_high) << 32) << abi::gpu::page_shift;
}

std::string GpuSide::check_record(bool has_faulted, std::uint64_t begin, std::uint64_t bytes) {
    const auto at = faulting_page();
    if (at.has_value() != has_faulted)
        return has_faulted ? "no fault is on record" : "a fault is on record, and nobody has one";
    return at && *at - begin >= bytes ? fmt::format("the fault on record is at {:#x}", *at) : std::string{};
}

void GpuSide::own_bar(std::uint64_t bus, std::uint64_t bytes, std::string_view who) {
    if (auto* listener = function_->ownership_listener())
        listener->own(bus, bytes, who);
}

void GpuSide::own_memory(const sw::transport::DmaMemory& memory, std::string_view who) {
    if (auto* listener = function_->ownership_listener())
        listener->own_memory(memory.data, memory.size, who);
}

std::string find_fault(const model::gpu::wave::Record& record, bool may_fault, bool is_write, std::uint64_t begin,
                       std::uint64_t bytes) {
    if (record.end == End::returned)
        return {};
    if (record.end != End::page_fault)
        return "has not come to an end";
    if (!may_fault)
        return fmt::format("has a page fault at {:#x}", record.address);
    if (record.address - begin >= bytes || record.is_write != is_write)
        return fmt::format("has a page fault at {:#x}, {}, which is not what was taken away", record.address,
                           record.is_write ? "writing" : "reading");
    return {};
}

} // namespace scenario::race
