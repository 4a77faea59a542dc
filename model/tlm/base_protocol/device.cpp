#include "model/tlm/base_protocol/device.h"

#include "model/tlm/time.h"

#include <algorithm>

namespace model::tlm::base_protocol {

using port::DmaResult;
using port::DmaStatus;
using port::Time;

namespace {
/// A transaction of the base protocol: without extensions, byte enables or streaming.
struct Transaction {
    ::tlm::tlm_generic_payload payload;
    Transaction(::tlm::tlm_command command, std::uint64_t address, std::span<std::byte> data) {
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(reinterpret_cast<unsigned char*>(data.data()));
        payload.set_data_length(static_cast<unsigned>(data.size()));
        payload.set_streaming_width(static_cast<unsigned>(data.size()));
    }
};

std::span<std::byte> writable(std::span<const std::byte> data) { // TLM: one pointer for both ways
    return {const_cast<std::byte*>(data.data()), data.size()};
}
} // namespace

Device::Device(const sc_core::sc_module_name& name, const DeviceConfig& config)
    : sc_module(name), endpoint("pcie", config.function, *this), config_(config) {
    sc_core::sc_spawn_options options;
    options.set_stack_size(process_stack_bytes);
    sc_core::sc_spawn([this] { carry_writes(); }, sc_core::sc_gen_unique_name("writes"), &options);
}

void Device::invalidate() {
    for (unsigned bar = 0; bar < config_.function.bars.size(); ++bar)
        if (config_.function.bars[bar].size != 0)
            endpoint.invalidate(bar);
}

// --- accesses to the BARs ---

DmaResult Device::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) {
    auto* const there = target();
    if (there == nullptr)
        return {DmaStatus::unsupported_request, at};
    if (!is_in_thread()) // b_transport may wait: a method, or somebody outside of the kernel, cannot read
        return {DmaStatus::completer_abort, at};
    for (const auto before = posted_; carried_ < before;) // a read does not pass posted writes (PCIe 6.0 §2.4.1)
        sc_core::wait(write_carried_);
    Transaction read(::tlm::TLM_READ_COMMAND, address_of(bar, offset), into);
    auto delay = to_sc(at - kernel_now());
    there->b_transport(read.payload, delay);
    return {status_of(read.payload), std::max(at, kernel_now() + from_sc(delay))};
}

void Device::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, Time at) {
    if (target() == nullptr)
        return endpoint.note_failed_write(DmaStatus::unsupported_request);
    if (from.empty()) // the base protocol has no transfer of no bytes
        return;
    while (writes_.size() >= posted_limit && is_in_thread())
        sc_core::wait(write_carried_);
    writes_.push_back({address_of(bar, offset), {from.begin(), from.end()}, at});
    ++posted_;
    notify_now(write_posted_);
}

/// The thread of posted writes; their requesters do not wait.
void Device::carry_writes() {
    for (;;) {
        while (writes_.empty())
            sc_core::wait(write_posted_);
        auto& next = writes_.front();
        Transaction write(::tlm::TLM_WRITE_COMMAND, next.address, next.bytes);
        auto delay = to_sc(next.at - kernel_now());
        target()->b_transport(write.payload, delay);
        if (const auto status = status_of(write.payload); status != DmaStatus::ok)
            endpoint.note_failed_write(status);
        writes_.pop_front();
        ++carried_;
        write_carried_.notify();
    }
}

// --- direct use, debug access ---

std::span<std::byte> Device::direct(unsigned bar, std::uint64_t offset) {
    auto* const there = target();
    if (!config_.is_dmi_honoured || there == nullptr)
        return {};
    const auto address = address_of(bar, offset);
    Transaction question(::tlm::TLM_WRITE_COMMAND, address, {});
    ::tlm::tlm_dmi dmi;
    dmi.init();
    const bool is_granted = there->get_direct_mem_ptr(question.payload, dmi) && dmi.is_read_write_allowed();
    const auto begin = dmi.get_start_address(), last = dmi.get_end_address();
    if (!is_granted || address < begin || address > last)
        return {};
    // To the end of the BAR: a target may grant all addresses there are, which no number of bytes says.
    const auto left = std::min<std::uint64_t>(last - address, config_.function.bars[bar].size - 1 - offset) + 1;
    return {reinterpret_cast<std::byte*>(dmi.get_dmi_ptr()) + (address - begin), left};
}

std::size_t Device::peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
    Transaction read(::tlm::TLM_READ_COMMAND, address_of(bar, offset), into);
    auto* const there = target();
    return there != nullptr ? std::min<std::size_t>(there->transport_dbg(read.payload), into.size()) : 0;
}

std::size_t Device::poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
    Transaction write(::tlm::TLM_WRITE_COMMAND, address_of(bar, offset), writable(from));
    auto* const there = target();
    return there != nullptr ? std::min<std::size_t>(there->transport_dbg(write.payload), from.size()) : 0;
}

} // namespace model::tlm::base_protocol
