#include "model/pcie/switch_module.h"

#include "model/tlm/bridge_access.h"
#include "model/tlm/time.h"

#include <string>

namespace model::pcie {

using port::DmaStatus;
using tlm::RequestKind;

SwitchModule::SwitchModule(sc_core::sc_module_name name, const Switch::Config& config)
    : sc_module(name), upstream("up", *this, upstream_number, config.upstream_link), core_(config) {
    for (unsigned i = 0; i < core_.port_count(); ++i)
        ports_.push_back(std::make_unique<tlm::PciePort>(("down" + std::to_string(i)).c_str(),
                                                         static_cast<tlm::PcieComponent&>(*this), i,
                                                         config.downstream_links[i]));
}

MemoryRouting SwitchModule::route(unsigned port, std::uint64_t address, const tlm::Extension& request) const {
    return port == upstream_number
               ? core_.route_from_upstream(address)
               : core_.route_from_port(port, address, {.requester = request.requester, .type = request.address_type});
}

void SwitchModule::receive(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                           sc_core::sc_time& delay) {
    switch (request.kind) {
    case RequestKind::hot_reset:
        invalidate_all();
        core_.reset();
        for (unsigned i = 0; i < ports_.size(); ++i)
            reset_below(i, delay);
        return tlm::set_status(payload, DmaStatus::ok);
    case RequestKind::config_type0:
    case RequestKind::config_type1:
        if (port != upstream_number) // configuration requests come from above only (§7.3.3)
            return tlm::set_status(payload, DmaStatus::unsupported_request);
        return configure(payload, request, delay);
    case RequestKind::invalidation:
    case RequestKind::page_request:
    case RequestKind::page_response: return send_message(port, payload, request, delay);
    case RequestKind::memory: break;
    }
    const auto routing = route(port, payload.get_address(), request);
    switch (routing.to) {
    case MemoryRouting::To::port: return send_down(port, routing.port, payload, request, delay);
    case MemoryRouting::To::upstream: {
        const auto* before = request.redirected_by;
        if (routing.is_redirected)
            request.redirected_by = this;
        upstream.send(payload, request, delay);
        if (routing.is_redirected)
            request.redirected_by = before, request.is_answer_straight = false;
        return;
    }
    case MemoryRouting::To::nowhere: break;
    }
    refuse(port, routing, payload, request, delay);
}

void SwitchModule::send_down(unsigned port, unsigned to, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                             sc_core::sc_time& delay) {
    ports_[to]->send(payload, request, delay);
    if (!payload.is_read())
        return;
    const bool goes_up = core_.redirects_completion(to, request.relaxed_ordering);
    if (port != upstream_number && goes_up)
        upstream.detour(payload, request, delay);
    if (port == upstream_number && request.redirected_by == this && !goes_up)
        request.is_answer_straight = true;
}

void SwitchModule::refuse(unsigned port, const MemoryRouting& routing, ::tlm::tlm_generic_payload& payload,
                          const tlm::Extension& request, const sc_core::sc_time& delay) {
    const bool is_posted = !payload.is_read(); // a write or a message
    if (routing.is_violation)
        space(port).note_violation(is_posted);
    else
        space(port).note_refused(is_posted);
    if (routing.blocked && events_.is_on())
        events_.emit(tlm::kernel_now() + tlm::from_sc(delay),
                     traces::RequestBlocked{.requester = request.requester.value,
                                            .port = bdf_of(port).value,
                                            .address = payload.get_address(),
                                            .type = static_cast<std::uint8_t>(request.address_type),
                                            .reason = *routing.blocked});
    tlm::set_status(payload, routing.is_violation ? DmaStatus::completer_abort : DmaStatus::unsupported_request);
}

/// Messages go to the root complex, or by the number of the function they are meant for.
void SwitchModule::send_message(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                sc_core::sc_time& delay) {
    if (port != upstream_number) {
        if (const auto violation = space(port).meaning().find_violation({.requester = request.requester}))
            return refuse(port, {.is_violation = true, .blocked = violation}, payload, request, delay);
        return upstream.send(payload, request, delay);
    }
    const auto routing = core_.route_config(true, request.target);
    if (routing.to != ConfigRouting::To::port_type0 && routing.to != ConfigRouting::To::port_type1)
        return tlm::set_status(payload, DmaStatus::unsupported_request);
    ports_[routing.port]->send(payload, request, delay);
}

abi::pcie::Bdf SwitchModule::bdf_of(unsigned port) {
    const auto& above = core_.upstream().meaning();
    return port == upstream_number ? abi::pcie::Bdf{above.primary, 0, 0} : abi::pcie::Bdf{above.secondary, port, 0};
}

bool SwitchModule::receive_direct(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                  ::tlm::tlm_dmi& dmi) {
    const auto routing = route(port, payload.get_address(), request);
    if (routing.to == MemoryRouting::To::nowhere)
        return false;
    auto& hops = request.hops;
    const auto* before = request.redirected_by;
    const bool is_down = routing.to == MemoryRouting::To::port;
    const bool goes_up = is_down && core_.redirects_completion(routing.port, request.relaxed_ordering);
    if (routing.is_redirected) {
        request.redirected_by = this;
        hops.redirect = hops.count;
    } else if (is_down && port != upstream_number && goes_up) {
        upstream.detour(hops);
    } else if (is_down && port == upstream_number && request.redirected_by == this && !goes_up) {
        for (auto i = hops.redirect; i < hops.count; ++i)
            hops.hops[i].has_answers = false;
    }
    auto& out = is_down ? *ports_[routing.port] : upstream;
    const bool is_memory = out.send_direct(payload, request, dmi);
    request.redirected_by = before;
    if (request.answer.completer != nullptr || request.remapper != nullptr || is_memory)
        tlm::narrow(dmi, request, routing.range);
    return is_memory;
}

void SwitchModule::receive_invalidate(unsigned port, Range range) {
    if (port != upstream_number)
        upstream.invalidate(range);
    for (unsigned i = 0; i < ports_.size(); ++i)
        if (i != port)
            ports_[i]->invalidate(range);
}

void SwitchModule::linked(unsigned port, const LinkConfig& negotiated) { space(port).set_link(negotiated); }

void SwitchModule::configure(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay) {
    const auto routing = core_.route_config(request.kind == RequestKind::config_type1, request.target);
    switch (routing.to) {
    case ConfigRouting::To::self:
    case ConfigRouting::To::port_function: {
        const auto port = routing.to == ConfigRouting::To::self ? upstream_number : routing.port;
        const auto effect = tlm::access(space(port), payload);
        if (effect.is_routing_changed)
            invalidate_all();
        if (effect.is_reset && port == upstream_number)
            for (unsigned i = 0; i < ports_.size(); ++i)
                core_.port(i).reset(), reset_below(i, delay);
        else if (effect.is_reset)
            reset_below(port, delay);
        return;
    }
    case ConfigRouting::To::port_type0:
        request.kind = RequestKind::config_type0;
        return ports_[routing.port]->send(payload, request, delay);
    case ConfigRouting::To::port_type1: return ports_[routing.port]->send(payload, request, delay);
    case ConfigRouting::To::nowhere: break;
    }
    tlm::set_status(payload, DmaStatus::unsupported_request);
}

void SwitchModule::reset_below(unsigned port, sc_core::sc_time delay) {
    tlm::Request reset;
    reset.prepare(::tlm::TLM_IGNORE_COMMAND, 0, {});
    reset.extension.kind = RequestKind::hot_reset;
    ports_[port]->send(reset.payload, reset.extension, delay);
}

void SwitchModule::invalidate_all() {
    constexpr Range everything{0, ~std::uint64_t{0}};
    upstream.invalidate(everything);
    for (auto& port : ports_)
        port->invalidate(everything);
}

} // namespace model::pcie
