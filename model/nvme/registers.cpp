// What lies in the BARs of the controller: registers and doorbells in BAR 0, its memory in BAR 2. NVMe base 2.0
// "Controller Properties".
#include "abi/write_masks.h"
#include "model/nvme/controller.h"

#include <algorithm>
#include <bit>

namespace model::nvme {

using abi::nvme::Register;
using abi::nvme::Registers;
using port::Time;

namespace {
std::uint64_t doorbell_bytes(const NvmeConfig& config) {
    const auto bytes = abi::nvme::doorbell_offset(config.queue_pairs + 1, false, config.doorbell_stride);
    return (bytes + 4095) / 4096 * 4096;
}
std::uint64_t table_offset(const NvmeConfig& config) { return abi::nvme::doorbells_offset + doorbell_bytes(config); }
std::uint64_t pending_offset(const NvmeConfig& config) {
    return table_offset(config) + (config.vectors * 16ull + 4095) / 4096 * 4096;
}
constexpr std::uint64_t offset_of(Register which) { return static_cast<std::uint64_t>(which); }
} // namespace

pcie::FunctionConfig Controller::function_config(const NvmeConfig& config) {
    pcie::FunctionConfig function;
    function.identity = {.vendor_id = config.vendor_id,
                         .device_id = config.device_id,
                         .subsystem_vendor_id = config.vendor_id,
                         .subsystem_id = config.device_id,
                         .class_code = 0x010802};
    function.bars[0] = {.size = std::bit_ceil(pending_offset(config) + 4096)};
    if (config.memory_buffer != 0)
        function.bars[2] = {.size = std::bit_ceil(config.memory_buffer)};
    function.msix_vectors = static_cast<std::uint16_t>(config.vectors);
    function.msix_table_offset = table_offset(config);
    function.msix_pending_offset = pending_offset(config);
    return function;
}

void Controller::set_capabilities() {
    registers()
        .set<"mqes">(static_cast<std::uint16_t>(config_.queue_entries - 1))
        .set<"cqr">(true)
        .set<"ams">(config_.has_weighted_round_robin ? 1 : 0)
        .set<"to">(config_.ready_timeout)
        .set<"dstrd">(config_.doorbell_stride)
        .set<"css">(1)
        .set<"mpsmax">(4)
        .set<"cmbs">(config_.memory_buffer != 0)
        .set<"crwms">(true)
        .set<"vs">(abi::nvme::version_2_0)
        .set<"crwmt">(config_.ready_timeout);
}

port::DmaResult Controller::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) {
    std::ranges::fill(into, std::byte{});
    const auto source = bar == 2 ? dma_.bytes() : std::span(registers_.bytes); // doorbells read as zero
    if ((bar == 0 || bar == 2) && offset < source.size())
        std::ranges::copy(source.subspan(offset, std::min<std::uint64_t>(into.size(), source.size() - offset)),
                          into.begin());
    // A host that finds RDY gone takes its memory back: what was issued before the reset is out by then.
    return {port::DmaStatus::ok, state_ == State::disabled ? std::max(at, ports_.dma.all_issued()) : at};
}

std::span<std::byte> Controller::direct(unsigned bar, std::uint64_t offset) {
    if (bar != 2 || offset >= dma_.bytes().size())
        return {};
    return dma_.bytes().subspan(offset);
}

/// Whole dwords; anything else is undefined by the specification, and here without effect.
void Controller::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, Time at) {
    if (bar == 2) {
        const auto memory = dma_.bytes();
        if (offset < memory.size())
            std::ranges::copy(from.first(std::min<std::uint64_t>(from.size(), memory.size() - offset)),
                              memory.begin() + static_cast<std::ptrdiff_t>(offset));
        return;
    }
    if (bar != 0 || offset % 4 != 0 || from.size() % 4 != 0)
        return;
    const traces::Cause cause(events_, traces::Access::mmio_write);
    if (offset >= abi::nvme::doorbells_offset) {
        if (offset >= table_offset(config_) || state_ != State::running)
            return;
        // A host writes one; what a cache held back may come as several that are neighbours (a write of the link has as
        // many dwords as it has), and each of them is a register.
        for (std::size_t i = 0; i < from.size() && offset + i < table_offset(config_); i += 4)
            queues_.ring(offset + i - abi::nvme::doorbells_offset,
                         abi::load<std::uint32_t, abi::Endian::little>(from.data() + i), at);
        report_events(at);
        if (config_.fetch_latency == Time{})
            run(at);
        else
            wake_at(run_at_, at + config_.fetch_latency);
        return schedule();
    }
    for (std::size_t i = 0; i < from.size(); i += 4)
        write_dword(offset + i, abi::load<std::uint32_t, abi::Endian::little>(from.data() + i), at);
    schedule();
}

void Controller::write_dword(std::uint64_t offset, std::uint32_t value, Time at) {
    if (offset + 4 > Registers::size)
        return;
    if (offset == offset_of(Register::cc))
        return configure(value, at);
    if (offset == offset_of(Register::intms) || offset == offset_of(Register::intmc))
        return; // of pins and MSI, which this function has not
    abi::write_dword(registers(), offset, value);
    if (offset == offset_of(Register::cmbmsc) || offset == offset_of(Register::cmbmsc) + 4)
        show_memory();
}

/// The buffer is seen by software from CRE on, and by the controller at CBA from CMSE on, if it has room there.
void Controller::show_memory() {
    using abi::nvme::MemoryUse;
    const auto r = registers();
    const bool is_shown = config_.memory_buffer != 0 && r.get<"cre">();
    const auto has = [&](MemoryUse use) { return is_shown && dma_.is_for(use); };
    r.set<"bir">(is_shown ? 2 : 0).set<"cqda">(is_shown).set<"cdpcils">(is_shown);
    r.set<"sqs">(has(MemoryUse::submission_queues)).set<"cqs">(has(MemoryUse::completion_queues));
    r.set<"lists">(has(MemoryUse::lists));
    r.set<"rds">(has(MemoryUse::data_to_host)).set<"wds">(has(MemoryUse::data_from_host));
    r.set<"sz">(is_shown ? static_cast<std::uint32_t>(config_.memory_buffer / abi::nvme::memory_buffer_unit) : 0);
    const auto base = std::uint64_t{r.get<"cba_high">()} << 32 | std::uint64_t{r.get<"cba_low">()} << 12;
    const bool is_wanted = is_shown && r.get<"cmse">(), has_room = base + config_.memory_buffer > base;
    r.set<"cbai">(is_wanted && !has_room);
    if (is_wanted && has_room)
        dma_.map(base);
    else
        dma_.unmap();
}

} // namespace model::nvme
