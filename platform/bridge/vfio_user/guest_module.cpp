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
    if (std::ranges::none_of(config_.links, &model::pcie::LinkConfig::timed))
        config_.memory_latency = {};
    for (unsigned i = 0; i < config_.links.size(); ++i)
        ports_.push_back(std::make_unique<model::tlm::PciePort>(
            ("slot" + std::to_string(i)).c_str(), static_cast<model::tlm::PcieComponent&>(*this), i, config_.links[i]));
}

void GuestModule::plug(const std::string& name, model::pcie::EndpointModule& card) {
    assert(next_port_ < ports_.size() && "a slot is free");
    auto& port = *ports_[next_port_];
    port.connect(card.port);
    for (unsigned i = 0; i < card.function_count(); ++i)
        functions_.push_back({std::make_unique<FunctionPort>(i == 0 ? name : name + ".f" + std::to_string(i),
                                                             card.function(i), port, files_),
                              next_port_});
    ++next_port_;
}

bool GuestModule::is_quiet() const {
    return std::ranges::none_of(functions_, [](const auto& plugged) { return plugged.function->is_waiting(); });
}

unsigned GuestModule::function_of(unsigned port, abi::pcie::Bdf requester) const {
    const auto first = std::ranges::find(functions_, port, &Plugged::port);
    return static_cast<unsigned>(first - functions_.begin()) + requester.function();
}

model::tlm::PciePort* GuestModule::find_peer(unsigned function, std::uint64_t address) {
    for (unsigned i = 0; i < functions_.size(); ++i)
        if (are_peers(i, function) && functions_[i].function->endpoint().space().decode(address))
            return ports_[functions_[i].port].get();
    return nullptr;
}

const GuestMemory::Range* GuestModule::find_memory(unsigned function, std::uint64_t address) {
    const auto* range = functions_[function].function->memory().find(address);
    if (range == nullptr || range->memory != nullptr)
        return range;
    // A hypervisor announces BARs that can be mapped, at their addresses, as memory without a file: as a whole, or the
    // areas that can be.
    // Behind an IOMMU the addresses are others, and the client is asked as for all memory without a file.
    for (unsigned i = 0; i < functions_.size(); ++i) {
        const auto& space = functions_[i].function->endpoint().space();
        const auto hit = are_peers(i, function) ? space.decode(range->bus.begin) : std::nullopt;
        if (!hit)
            continue;
        const auto length = range->bus.end - range->bus.begin;
        const auto is_it = [&](const Area& area) { return area.offset == hit->offset && area.size == length; };
        if (is_it({0, space.meaning().bars[hit->bar].size}) ||
            std::ranges::any_of(functions_[i].function->region_areas(hit->bar), is_it))
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
    const auto function = function_of(port, request.requester);
    if (functions_[function].function->is_resetting())
        return model::tlm::set_status(payload, DmaStatus::unsupported_request);
    const bool is_here = FunctionPort::interrupts.contains(address) || find_memory(function, address) != nullptr;
    if (!is_here)
        if (auto* peer = find_peer(function, address))
            return peer->send(payload, request, delay);
    const auto at = model::tlm::kernel_now() + model::tlm::from_sc(delay);
    if (payload.is_write())
        return model::tlm::set_status(payload, complete_write(function, address, data, at));
    const auto result = complete_read(function, address, data, at);
    delay = model::tlm::to_sc(result.done - model::tlm::kernel_now()); // which the client's answer may have taken on
    model::tlm::set_status(payload, result.status);
}

DmaResult GuestModule::complete_read(unsigned number, std::uint64_t address, std::span<std::byte> into, Time at) {
    auto& function = *functions_[number].function;
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

DmaStatus GuestModule::complete_write(unsigned number, std::uint64_t address, std::span<const std::byte> from, Time) {
    auto& function = *functions_[number].function;
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
    const auto function = function_of(port, request.requester);
    if (request.address_type != model::tlm::AddressType::untranslated || functions_[function].function->is_resetting())
        return false;
    if (FunctionPort::interrupts.contains(address)) {
        request.answer = {.kind = TargetKind::interrupts,
                          .completer = this,
                          .cookie = function,
                          .offset = FunctionPort::interrupts.begin};
        return model::tlm::grant(dmi, request, FunctionPort::interrupts);
    }
    if (const auto* range = find_memory(function, address)) {
        // A path is for both directions; what may only be read goes the long way and is judged there.
        if (!range->is_readable || !range->is_writable)
            return false;
        request.answer = {
            .kind = TargetKind::host_memory, .memory = range->memory, .read_latency = config_.memory_latency};
        if (range->memory == nullptr)
            request.answer.completer = this, request.answer.cookie = function, request.answer.offset = range->bus.begin;
        const bool is_memory = model::tlm::grant(dmi, request, range->bus);
        Range clear = range->bus;
        clear.narrow(address, FunctionPort::interrupts);
        model::tlm::narrow(dmi, request, clear);
        return is_memory;
    }
    auto* peer = find_peer(function, address);
    if (peer == nullptr)
        return false;
    const bool is_memory = peer->send_direct(payload, request, dmi);
    if (is_memory || request.answer.completer != nullptr) {
        const auto& memory = functions_[function].function->memory();
        const auto* announced = memory.find(address);
        auto clear = announced != nullptr ? announced->bus : memory.gap(address);
        clear.narrow(address, FunctionPort::interrupts);
        model::tlm::narrow(dmi, request, clear);
    }
    return is_memory;
}

void GuestModule::receive_invalidate(unsigned port, Range range) {
    for (const auto& plugged : functions_)
        if (plugged.port == port)
            plugged.function->forget(range);
    for (unsigned i = 0; i < next_port_; ++i)
        if (i != port)
            ports_[i]->invalidate(range);
}

} // namespace platform::bridge::vfio_user
