#include "model/pcie/endpoint_module.h"

#include "model/tlm/time.h"

#include <cassert>

namespace model::pcie {

using port::DmaStatus;

EndpointModule::EndpointModule(sc_core::sc_module_name name, std::span<const FunctionPart> functions)
    : sc_module(name), port("port", *this, 0, functions.front().config.link) {
    assert(functions.size() <= max_functions);
    for (unsigned number = 0; number < functions.size(); ++number) {
        auto config = functions[number].config;
        config.link = functions.front().config.link; // each function reports the same link (§7.5.3.6)
        functions_.emplace_back(number, config, functions.size() > 1, functions[number].function, port);
    }
}

void EndpointModule::receive(unsigned, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                             sc_core::sc_time& delay) {
    const auto at = tlm::kernel_now() + tlm::from_sc(delay);
    switch (request.kind) {
    case tlm::RequestKind::hot_reset: reset(at); return tlm::set_status(payload, DmaStatus::ok);
    case tlm::RequestKind::invalidation:
    case tlm::RequestKind::page_response:
        if (auto* function = target_of(request))
            return function->receive_message(payload, request, at);
        return tlm::set_status(payload, DmaStatus::unsupported_request);
    case tlm::RequestKind::config_type0:
        if (auto* function = target_of(request))
            return function->receive_config(payload, request, delay);
        return tlm::set_status(payload, DmaStatus::unsupported_request);
    case tlm::RequestKind::config_type1: // ends at a bridge; one that reaches an endpoint is not for it (§7.3.3)
    case tlm::RequestKind::page_request: return tlm::set_status(payload, DmaStatus::unsupported_request);
    case tlm::RequestKind::memory: return tlm::set_status(payload, receive_memory(payload, request, delay));
    }
}

EndpointFunction* EndpointModule::target_of(const tlm::Extension& request) {
    const auto number = request.target.function();
    return number < functions_.size() ? &functions_[number] : nullptr;
}

DmaStatus EndpointModule::receive_memory(::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                         sc_core::sc_time& delay) {
    // Nobody here translates for others.
    const bool is_access = request.address_type != tlm::AddressType::translation_request;
    for (auto& function : functions_)
        if (const auto hit = function.space().decode(payload.get_address()); hit && is_access)
            return function.receive_memory(*hit, payload, request, delay);
    // An error that is no function's is each one's (§6.2.4).
    for_each([&](auto& function) { function.note_refused(DmaStatus::unsupported_request, payload.is_write()); });
    return DmaStatus::unsupported_request;
}

bool EndpointModule::receive_direct(unsigned, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                    ::tlm::tlm_dmi& dmi) {
    const auto address = payload.get_address();
    for (auto& function : functions_) {
        const auto hit = function.space().decode(address);
        if (!hit)
            continue;
        const bool is_memory = function.receive_direct(*hit, payload, request, dmi);
        Range clear{0, ~std::uint64_t{0}}; // where BARs overlap, the function with the lowest number answers
        for (unsigned i = 0; i < function.number(); ++i)
            functions_[i].narrow(address, clear);
        tlm::narrow(dmi, request, clear);
        return is_memory;
    }
    return false;
}

void EndpointModule::accounts(std::vector<time::Account>& rows) const {
    const auto* link = port.link();
    if (link == nullptr || !link->config().timed)
        return;
    link->for_each_account([&](const time::Account& account) { rows.push_back(account); });
    rows.push_back(time::sum("tags", functions_));
}

} // namespace model::pcie
