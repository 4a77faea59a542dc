#include "platform/bridge/vfio_user/guest_module.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace platform::bridge::vfio_user {

using model::pcie::Range;
using model::pcie::TargetKind;
using model::port::DmaResult;
using model::port::DmaStatus;
using model::port::Time;

GuestModule::GuestModule(sc_core::sc_module_name name, const GuestConfig& config, FileMappings& files)
    : sc_module(name), config_(config), files_(files) {
    if (!config_.link.timed)
        config_.memory_latency = {};
    for (unsigned i = 0; i < config_.slots; ++i)
        ports_.push_back(std::make_unique<model::tlm::PciePort>(
            ("slot" + std::to_string(i)).c_str(), static_cast<model::tlm::PcieComponent&>(*this), i, config_.link));
}

void GuestModule::plug(const std::string& name, model::pcie::EndpointModule& card) {
    assert(functions_.size() < ports_.size() && "a slot is free");
    auto& port = *ports_[functions_.size()];
    port.connect(card.port);
    functions_.push_back(std::make_unique<FunctionPort>(name, card, port, files_));
}

bool GuestModule::is_quiet() const {
    return std::ranges::none_of(functions_, [](const auto& function) { return function->is_waiting(); });
}

model::tlm::PciePort* GuestModule::find_peer(unsigned port, std::uint64_t address) {
    for (unsigned i = 0; i < functions_.size(); ++i)
        if (i != port && functions_[i]->endpoint().space().decode(address))
            return ports_[i].get();
    return nullptr;
}

const GuestMemory::Range* GuestModule::find_memory(unsigned port, std::uint64_t address) {
    const auto* range = functions_[port]->memory().find(address);
    if (range == nullptr || range->memory != nullptr)
        return range;
    // A hypervisor announces BARs that can be mapped, at their addresses and as a whole, as memory without a file.
    // Behind an IOMMU the addresses are others, and the client is asked as for all memory without a file.
    for (unsigned i = 0; i < functions_.size(); ++i) {
        const auto& space = functions_[i]->endpoint().space();
        const auto hit = i != port ? space.decode(range->bus.begin) : std::nullopt;
        if (hit && hit->offset == 0 && space.meaning().bars[hit->bar].size == range->bus.end - range->bus.begin)
            return nullptr;
    }
    return range;
}

// --- requests ---

void GuestModule::receive(unsigned port, ::tlm::tlm_generic_payload& payload, model::tlm::Extension& request,
                          sc_core::sc_time& delay) {
    // Nobody here translates, so that nothing is translated: a request for it is no read of eight bytes (§10.2.2).
    if (request.kind != model::tlm::RequestKind::memory ||
        request.address_type != model::tlm::AddressType::untranslated)
        return model::tlm::set_status(payload, DmaStatus::unsupported_request);
    const auto address = payload.get_address();
    const auto data = model::tlm::bytes_of(payload);
    const bool is_here = FunctionPort::interrupts.contains(address) || find_memory(port, address) != nullptr;
    if (!is_here)
        if (auto* peer = find_peer(port, address))
            return peer->send(payload, request, delay);
    const auto at = model::tlm::kernel_now() + model::tlm::from_sc(delay);
    if (payload.is_write())
        return model::tlm::set_status(payload, complete_write(port, address, data, at));
    const auto result = complete_read(port, address, data, at);
    delay = model::tlm::to_sc(result.done - model::tlm::kernel_now()); // which the client's answer may have taken on
    model::tlm::set_status(payload, result.status);
}

DmaResult GuestModule::complete_read(unsigned port, std::uint64_t address, std::span<std::byte> into, Time at) {
    auto& function = *functions_[port];
    const auto* range = function.memory().find(address);
    if (range == nullptr || !range->is_readable || into.size() > range->bus.end - address)
        return {DmaStatus::unsupported_request, at};
    at += config_.memory_latency;
    if (into.empty()) // a flush: a write by messages ends with its reply, so that all writes ahead are there
        return {DmaStatus::ok, at};
    if (range->memory != nullptr)
        std::memcpy(into.data(), range->memory + (address - range->bus.begin), into.size());
    else
        return {function.read_by_messages(address, into), std::max(at, model::tlm::kernel_now())};
    return {DmaStatus::ok, at};
}

DmaStatus GuestModule::complete_write(unsigned port, std::uint64_t address, std::span<const std::byte> from, Time) {
    auto& function = *functions_[port];
    if (FunctionPort::interrupts.contains(address)) {
        if (from.size() == sizeof(std::uint32_t) && address % sizeof(std::uint32_t) == 0)
            function.signal(abi::load<std::uint32_t, abi::Endian::little>(from.data()));
        return DmaStatus::ok; // as a chipset drops what is no message
    }
    const auto* range = function.memory().find(address);
    if (range == nullptr || !range->is_writable || from.size() > range->bus.end - address)
        return DmaStatus::unsupported_request;
    if (range->memory == nullptr)
        return function.write_by_messages(address, from);
    std::memcpy(range->memory + (address - range->bus.begin), from.data(), from.size());
    return DmaStatus::ok;
}

// --- direct paths ---

bool GuestModule::receive_direct(unsigned port, ::tlm::tlm_generic_payload& payload, model::tlm::Extension& request,
                                 ::tlm::tlm_dmi& dmi) {
    const auto address = payload.get_address();
    if (request.address_type != model::tlm::AddressType::untranslated)
        return false;
    if (FunctionPort::interrupts.contains(address)) {
        request.answer = {.kind = TargetKind::interrupts,
                          .completer = this,
                          .cookie = port,
                          .offset = FunctionPort::interrupts.begin};
        return model::tlm::grant(dmi, request, FunctionPort::interrupts);
    }
    if (const auto* range = find_memory(port, address)) {
        // A path is for both directions; what may only be read goes the long way and is judged there.
        if (!range->is_readable || !range->is_writable)
            return false;
        request.answer = {
            .kind = TargetKind::host_memory, .memory = range->memory, .read_latency = config_.memory_latency};
        if (range->memory == nullptr)
            request.answer.completer = this, request.answer.cookie = port, request.answer.offset = range->bus.begin;
        const bool is_memory = model::tlm::grant(dmi, request, range->bus);
        Range clear = range->bus;
        clear.narrow(address, FunctionPort::interrupts);
        model::tlm::narrow(dmi, request, clear);
        return is_memory;
    }
    auto* peer = find_peer(port, address);
    if (peer == nullptr)
        return false;
    const bool is_memory = peer->send_direct(payload, request, dmi);
    if (is_memory || request.answer.completer != nullptr) {
        const auto& memory = functions_[port]->memory();
        const auto* announced = memory.find(address);
        auto clear = announced != nullptr ? announced->bus : memory.gap(address);
        clear.narrow(address, FunctionPort::interrupts);
        model::tlm::narrow(dmi, request, clear);
    }
    return is_memory;
}

void GuestModule::receive_invalidate(unsigned port, Range range) {
    functions_[port]->forget(range);
    for (unsigned i = 0; i < functions_.size(); ++i)
        if (i != port)
            ports_[i]->invalidate(range);
}

} // namespace platform::bridge::vfio_user
