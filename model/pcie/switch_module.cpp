#include "model/pcie/switch_module.h"

#include "model/tlm/bridge_access.h"

#include <string>

namespace model::pcie {

using port::DmaStatus;
using tlm::RequestKind;

SwitchModule::SwitchModule(sc_core::sc_module_name name, const Switch::Config& config)
    : sc_module(name), upstream("up", *this, upstream_number, config.upstream_link), core_(config) {
    for (unsigned i = 0; i < core_.port_count(); ++i)
        ports_.push_back(std::make_unique<tlm::PciePort>(
            ("down" + std::to_string(i)).c_str(), static_cast<tlm::PortOwner&>(*this), i, config.downstream_links[i]));
}

MemoryRouting SwitchModule::route(unsigned port, std::uint64_t address) const {
    return port == upstream_number ? core_.route_from_upstream(address) : core_.route_from_port(port, address);
}

void SwitchModule::receive(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                           sc_core::sc_time& delay) {
    if (request.kind == RequestKind::hot_reset) {
        invalidate_all();
        core_.reset();
        for (unsigned i = 0; i < ports_.size(); ++i)
            reset_below(i, delay);
        return tlm::set_status(payload, DmaStatus::ok);
    }
    if (request.kind != RequestKind::memory) {
        if (port != upstream_number) // configuration requests come from above only (§7.3.3)
            return tlm::set_status(payload, DmaStatus::unsupported_request);
        return configure(payload, request, delay);
    }
    const auto routing = route(port, payload.get_address());
    switch (routing.to) {
    case MemoryRouting::To::port: return ports_[routing.port]->send(payload, request, delay);
    case MemoryRouting::To::upstream: return upstream.send(payload, request, delay);
    case MemoryRouting::To::nowhere: break;
    }
    space(port).note_refused(payload.is_write());
    tlm::set_status(payload, DmaStatus::unsupported_request);
}

bool SwitchModule::receive_direct(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                  ::tlm::tlm_dmi& dmi) {
    const auto routing = route(port, payload.get_address());
    if (routing.to == MemoryRouting::To::nowhere)
        return false;
    auto& out = routing.to == MemoryRouting::To::port ? *ports_[routing.port] : upstream;
    const bool is_memory = out.send_direct(payload, request, dmi);
    if (request.answer.completer != nullptr || is_memory)
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
