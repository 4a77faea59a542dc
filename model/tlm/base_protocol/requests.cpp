#include "model/tlm/base_protocol/requests.h"

#include "model/tlm/base_protocol/runs.h"
#include "model/tlm/time.h"

#include <algorithm>
#include <optional>

namespace model::tlm::base_protocol {

using port::DmaStatus;

void Requests::transport(::tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_dmi_allowed(false);
    const auto fault = find_fault(payload);
    if (fault != ::tlm::TLM_OK_RESPONSE || payload.get_command() == ::tlm::TLM_IGNORE_COMMAND)
        return payload.set_response_status(fault);

    const bool is_write = payload.is_write();
    const auto at = kernel_now() + from_sc(delay);
    std::optional<Turn::Hold> turn;
    if (is_write && is_in_thread())
        turn.emplace(writes_);
    const auto lost_before = initiator_.losses();
    auto status = DmaStatus::ok;
    auto done = at;
    for_each_run(payload, [&](std::uint64_t address, std::span<std::byte> bytes) {
        const auto result = is_write ? initiator_.write(abi::BusAddress{address}, bytes, at)
                                     : initiator_.read(abi::BusAddress{address}, bytes, at);
        done = std::max(done, result.done);
        status = result.status;
        return result.is_ok();
    });
    if (is_write && initiator_.losses() != lost_before)
        status = DmaStatus::unsupported_request;
    set_status(payload, status);
    delay = to_sc(done - kernel_now()); // some of it may have passed already: a target may wait
}

unsigned Requests::debug(::tlm::tlm_generic_payload& payload) {
    const auto data = bytes_of(payload);
    if (data.data() == nullptr)
        return 0;
    if (payload.is_read())
        return static_cast<unsigned>(initiator_.peek(payload.get_address(), data));
    if (payload.is_write())
        return static_cast<unsigned>(initiator_.poke(payload.get_address(), data));
    return 0;
}

} // namespace model::tlm::base_protocol
