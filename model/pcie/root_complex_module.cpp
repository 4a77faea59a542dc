#include "model/pcie/root_complex_module.h"

#include "model/memory/copy.h"
#include "model/tlm/bridge_access.h"
#include "model/tlm/time.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

namespace model::pcie {

using abi::pcie::Bdf;
using port::DmaStatus;
using port::Time;
using tlm::RequestKind;
using To = RootComplex::Routing::To;

namespace {
constexpr Range everything{0, ~std::uint64_t{0}};

RootComplex::Config core_config(const RootComplexConfig& config) {
    auto core = config.core;
    core.has_iommu = config.iommu.has_value();
    return core;
}
} // namespace

RootComplexModule::RootComplexModule(sc_core::sc_module_name name, const RootComplexConfig& config,
                                     std::span<std::byte> dram)
    : sc_module(name), core_(core_config(config)), dram_(dram), dram_read_latency_(config.dram_read_latency),
      cache_(config.cache), is_timed_(std::ranges::any_of(config.core.links, &LinkConfig::timed)), processor_(*this) {
    assert(dram.size() == config.core.map.dram_bytes);
    processor_.set_requester(Bdf{0, 0, 0});
    processor_.set_processor();
    for (unsigned i = 0; i < core_.port_count(); ++i)
        ports_.push_back(std::make_unique<tlm::PciePort>(
            ("root" + std::to_string(i)).c_str(), static_cast<tlm::PcieComponent&>(*this), i, config.core.links[i]));
    if (config.iommu) {
        auto unit = *config.iommu;
        unit.read_latency = dram_read_latency_;
        iommu_ = std::make_unique<iommu::IommuModule>(
            unit, table_fabric_, [this] { receive_invalidate(~0u, everything); },
            [this] { return memory_writes_.landed_at(); },
            [this](tlm::Request& message, sc_core::sc_time& delay) { send_message(message, delay); });
    }
}

// --- memory requests ---

void RootComplexModule::receive(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                sc_core::sc_time& delay) {
    if (request.kind == RequestKind::page_request && iommu_ != nullptr && core_.is_master(port)) {
        if (const auto violation = core_.find_violation(port, {.requester = request.requester}))
            return refuse(port, violation, true, payload, request, delay);
        iommu_->request_page(payload, request, delay);
        return tlm::set_status(payload, DmaStatus::ok);
    }
    if (request.kind != RequestKind::memory) // devices do not configure (§7.3.3)
        return tlm::set_status(payload, DmaStatus::unsupported_request);
    const auto address = payload.get_address();
    const Origin origin{.requester = request.requester, .type = request.address_type};
    if (const auto violation = core_.find_violation(port, origin))
        return refuse(port, violation, true, payload, request, delay);
    if (request.address_type == tlm::AddressType::translation_request) {
        const bool is_answered = iommu_ != nullptr && core_.is_master(port);
        return tlm::set_status(payload, is_answered ? iommu_->complete_translation(payload, request, delay)
                                                    : DmaStatus::unsupported_request);
    }
    if (request.remapped) { // a direct path came through the unit, which gave this address
        payload.set_address(*std::exchange(request.remapped, std::nullopt));
    } else if (iommu_ != nullptr && core_.is_master(port)) {
        if (const auto status = iommu_->translate(payload, request, delay); status != DmaStatus::ok) {
            core_.port(port).note_refused(payload.is_write());
            return tlm::set_status(payload, status);
        }
    }
    const auto routing = core_.route_from_port(port, payload.get_address());
    if (routing.to == To::nowhere)
        refuse(port, routing.blocked, false, payload, request, delay);
    else
        forward(routing, payload, request, delay, Writes::posted);
    payload.set_address(address); // the requester's own address again
}

/// Without `why` nobody claims the address.
void RootComplexModule::refuse(unsigned port, std::optional<traces::BlockReason> why, bool is_violation,
                               ::tlm::tlm_generic_payload& payload, const tlm::Extension& request,
                               const sc_core::sc_time& delay) {
    const bool is_posted = !payload.is_read(); // a write or a message
    if (is_violation)
        core_.port(port).note_violation(is_posted);
    else
        core_.port(port).note_refused(is_posted);
    if (why && events_.is_on())
        events_.emit(tlm::kernel_now() + tlm::from_sc(delay),
                     traces::RequestBlocked{.requester = request.requester.value,
                                            .port = RootComplex::bdf_of(port).value,
                                            .address = payload.get_address(),
                                            .type = static_cast<std::uint8_t>(request.address_type),
                                            .reason = *why});
    tlm::set_status(payload, is_violation ? DmaStatus::completer_abort : DmaStatus::unsupported_request);
}

void RootComplexModule::set_events(traces::Events events) {
    events_ = events;
    if (iommu_ != nullptr)
        iommu_->set_events(events);
}

void RootComplexModule::enter(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay) {
    forward(core_.route_from_processor(payload.get_address()), payload, request, delay, Writes::at_once);
    if (payload.is_read())
        delay = std::max(delay, tlm::to_sc(request.behind - tlm::kernel_now()));
}

void RootComplexModule::forward(const RootComplex::Routing& routing, ::tlm::tlm_generic_payload& payload,
                                tlm::Extension& request, sc_core::sc_time& delay, Writes writes) {
    const auto data = tlm::bytes_of(payload);
    const auto now = tlm::kernel_now();
    switch (routing.to) {
    case To::port: return ports_[routing.port]->send(payload, request, delay);
    case To::dram:
        return tlm::set_status(payload, access_dram(routing.offset, routing.range.end - payload.get_address(), payload,
                                                    request, delay, writes));
    case To::interrupts:
        return tlm::set_status(payload, payload.is_write()
                                            ? complete_write(0, routing.offset, data, now + tlm::from_sc(delay))
                                            : DmaStatus::unsupported_request);
    case To::ecam: {
        const auto result =
            configure(payload.get_command(), Bdf{static_cast<std::uint16_t>(routing.offset >> 12)},
                      static_cast<std::uint16_t>(routing.offset & 0xfff), data, now + tlm::from_sc(delay));
        delay = tlm::to_sc(result.done - now);
        return tlm::set_status(payload, result.status);
    }
    case To::iommu: return tlm::set_status(payload, iommu_->access(routing.offset, payload, delay));
    case To::nowhere: return tlm::set_status(payload, DmaStatus::unsupported_request);
    }
}

DmaStatus RootComplexModule::access_dram(std::uint64_t offset, std::uint64_t room, ::tlm::tlm_generic_payload& payload,
                                         const tlm::Extension& request, sc_core::sc_time& delay, Writes writes) {
    const auto data = tlm::bytes_of(payload);
    if (data.size() > room)
        return DmaStatus::completer_abort;
    auto* memory = dram_.data() + offset;
    if (payload.is_write() && writes == Writes::posted && is_timed_ && request.order != nullptr) {
        const auto now = tlm::kernel_now();
        const auto late = cache_.write(payload.get_address(), data.size());
        const auto due = request.order->arrive(request.issued, now + tlm::from_sc(delay) + late);
        delay = tlm::to_sc(due - now);
        if (request.purpose == port::Purpose::control || request.order->held != 0) {
            memory_writes_.post(memory, data, due, *request.order);
            return DmaStatus::ok;
        }
    }
    if (payload.is_write()) {
        std::memcpy(memory, data.data(), data.size());
        memory_writes_.note();
    } else {
        if (data.empty() && request.order != nullptr) // a flush
            delay = std::max(delay, tlm::to_sc(request.order->all_there(request.issued) - tlm::kernel_now()));
        memory::copy(data.data(), memory, data.size());
        memory_writes_.show_to_device(memory, data);
        delay += tlm::to_sc(dram_read_latency_);
        if (request.order != nullptr && writes == Writes::posted) // a device
            delay += tlm::to_sc(cache_.read(payload.get_address(), data.size()));
    }
    return DmaStatus::ok;
}

DmaStatus RootComplexModule::complete_write(unsigned, std::uint64_t offset, std::span<const std::byte> from, Time at) {
    // An interrupt message is one aligned dword (§6.1.4); the chipset drops anything else.
    if (from.size() == 4 && offset % 4 == 0 && sink_ != nullptr)
        sink_->message(core_.map().interrupts.begin + offset,
                       abi::load<std::uint32_t, abi::Endian::little>(from.data()), at);
    return DmaStatus::ok;
}

// --- direct paths ---

bool RootComplexModule::receive_direct(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                       ::tlm::tlm_dmi& dmi) {
    const auto address = payload.get_address();
    if (core_.find_violation(port, {.requester = request.requester, .type = request.address_type}))
        return false;
    if (iommu_ != nullptr && iommu_->is_enabled() && core_.is_master(port)) {
        tlm::grant(dmi, request, everything); // the same for every address: the unit decides where each request goes
        if (!request.remapped) {
            request.remapper = iommu_.get();
            return false;
        }
        const auto remapped = std::exchange(request.remapped, std::nullopt);
        request.hops.before_remapper = request.hops.count;
        payload.set_address(*remapped);
        ::tlm::tlm_dmi behind;
        behind.init();
        if (find_from_port(port, payload, request, behind))
            request.answer.memory = reinterpret_cast<std::byte*>(behind.get_dmi_ptr());
        if (request.answer.memory != nullptr || request.answer.completer != nullptr)
            request.remapped_range = {behind.get_start_address(), behind.get_end_address() + 1};
        payload.set_address(address);
        request.remapped = remapped;
        return false;
    }
    return find_from_port(port, payload, request, dmi);
}

bool RootComplexModule::find_from_port(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                       ::tlm::tlm_dmi& dmi) {
    const bool is_memory = find_direct(core_.route_from_port(port, payload.get_address()), payload, request, dmi);
    if (request.answer.kind == TargetKind::peer)
        request.answer.kind = TargetKind::redirected_peer;
    return is_memory;
}

bool RootComplexModule::enter_direct(::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                     ::tlm::tlm_dmi& dmi) {
    return find_direct(core_.route_from_processor(payload.get_address()), payload, request, dmi);
}

bool RootComplexModule::find_direct(const RootComplex::Routing& routing, ::tlm::tlm_generic_payload& payload,
                                    tlm::Extension& request, ::tlm::tlm_dmi& dmi) {
    const auto address = payload.get_address();
    switch (routing.to) {
    case To::dram:
        request.answer = {.kind = TargetKind::host_memory,
                          .memory = dram_.data() + (routing.offset - (address - routing.range.begin)),
                          .posted = &memory_writes_,
                          .read_latency = dram_read_latency_,
                          .cache = cache_.is_on() ? &cache_ : nullptr};
        return tlm::grant(dmi, request, routing.range);
    case To::interrupts:
        request.answer = {.kind = TargetKind::interrupts, .completer = this};
        return tlm::grant(dmi, request, routing.range);
    case To::port: {
        const bool is_memory = ports_[routing.port]->send_direct(payload, request, dmi);
        if (is_memory || request.answer.completer != nullptr)
            tlm::narrow(dmi, request, routing.range);
        return is_memory;
    }
    case To::ecam:
    case To::iommu:
    case To::nowhere: break;
    }
    return false;
}

void RootComplexModule::receive_invalidate(unsigned port, Range range) {
    processor_.forget(range);
    for (unsigned i = 0; i < ports_.size(); ++i)
        if (i != port)
            ports_[i]->invalidate(range);
}

// --- configuration ---

RootComplexModule::ConfigResult RootComplexModule::config_read(Bdf target, std::uint16_t offset, unsigned bytes,
                                                               Time at) {
    std::array<std::byte, 4> data;
    data.fill(std::byte{0xff});
    if (bytes == 0 || bytes > data.size())
        return {.status = DmaStatus::unsupported_request, .done = at};
    auto result = configure(::tlm::TLM_READ_COMMAND, target, offset, std::span(data).first(bytes), at);
    result.value = abi::load<std::uint32_t, abi::Endian::little>(data.data()) & ~0u >> 8 * (data.size() - bytes);
    return result;
}

RootComplexModule::ConfigResult RootComplexModule::config_write(Bdf target, std::uint16_t offset, unsigned bytes,
                                                                std::uint32_t value, Time at) {
    std::array<std::byte, 4> data;
    abi::store<std::uint32_t, abi::Endian::little>(data.data(), value);
    if (bytes == 0 || bytes > data.size())
        return {.status = DmaStatus::unsupported_request, .done = at};
    return configure(::tlm::TLM_WRITE_COMMAND, target, offset, std::span(data).first(bytes), at);
}

RootComplexModule::ConfigResult RootComplexModule::configure(::tlm::tlm_command command, Bdf target,
                                                             std::uint16_t offset, std::span<std::byte> data, Time at) {
    const auto routing = core_.route_config(target);
    auto& request = config_request_.extension;
    auto& payload = config_request_.payload;
    config_request_.prepare(command, offset, data);
    request.target = target;
    const auto now = tlm::kernel_now();
    auto delay = tlm::to_sc(at - now);
    switch (routing.to) {
    case ConfigRouting::To::port_function: {
        const auto effect = tlm::access(core_.port(routing.port), payload);
        if (effect.is_routing_changed)
            receive_invalidate(~0u, everything);
        if (effect.is_reset) {
            tlm::Request reset;
            reset.prepare(::tlm::TLM_IGNORE_COMMAND, 0, {});
            reset.extension.kind = RequestKind::hot_reset;
            ports_[routing.port]->send(reset.payload, reset.extension, delay);
        }
        break;
    }
    case ConfigRouting::To::port_type0:
    case ConfigRouting::To::port_type1:
        request.kind =
            routing.to == ConfigRouting::To::port_type0 ? RequestKind::config_type0 : RequestKind::config_type1;
        ports_[routing.port]->send(payload, request, delay);
        delay = std::max(delay, tlm::to_sc(request.behind - now)); // its completion has pushed what was written
        break;
    case ConfigRouting::To::self:
    case ConfigRouting::To::nowhere: tlm::set_status(payload, DmaStatus::unsupported_request); break;
    }
    const auto status = tlm::status_of(payload);
    if (status != DmaStatus::ok && command == ::tlm::TLM_READ_COMMAND)
        std::ranges::fill(data, std::byte{0xff});
    return {.status = status, .done = std::max(at, now + tlm::from_sc(delay))};
}

/// Routes a message by the number of the function that it is meant for.
void RootComplexModule::send_message(tlm::Request& message, sc_core::sc_time& delay) {
    const auto routing = core_.route_config(message.extension.target);
    if (routing.to != ConfigRouting::To::port_type0 && routing.to != ConfigRouting::To::port_type1)
        return tlm::set_status(message.payload, DmaStatus::unsupported_request);
    ports_[routing.port]->send(message.payload, message.extension, delay);
}

} // namespace model::pcie
