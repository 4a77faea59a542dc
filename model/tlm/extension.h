// What a PCIe request carries beyond a generic payload: who asks, what kind of packet it is, and, while a direct path
// is being looked for, the links crossed and what the target says of itself. One extension lives with each reused
// payload.
#pragma once

#include "abi/pcie/config_space.h"
#include "model/pcie/window_cache.h"

#include <cstdint>
#include <tlm>

namespace model::tlm {

enum class RequestKind : std::uint8_t { memory, config_type0, config_type1, hot_reset };
/// AT field of a memory request (PCIe 6.0 §2.2.4.1).
enum class AddressType : std::uint8_t { untranslated = 0, translation_request = 1, translated = 2 };

class Extension final : public ::tlm::tlm_extension<Extension> {
public:
    static constexpr std::uint32_t no_pasid = ~0u;

    RequestKind kind = RequestKind::memory;
    AddressType address_type = AddressType::untranslated;
    bool relaxed_ordering = false, no_snoop = false;
    std::uint32_t pasid = no_pasid;
    abi::pcie::Bdf requester;
    abi::pcie::Bdf target; ///< of a configuration request; the payload's address is the register offset
    pcie::TlpSizes sizes;  ///< of the requester
    pcie::HopList hops;    ///< get_direct_mem_ptr: links crossed so far
    pcie::Target answer;   ///< get_direct_mem_ptr: who stands at the end

    ::tlm::tlm_extension_base* clone() const override { return new Extension(*this); }
    void copy_from(const ::tlm::tlm_extension_base& other) override { *this = static_cast<const Extension&>(other); }
};

/// Completion status in a payload: Unsupported Request is an address error, Completer Abort a generic error.
inline void set_status(::tlm::tlm_generic_payload& payload, port::DmaStatus status) {
    payload.set_response_status(status == port::DmaStatus::ok                    ? ::tlm::TLM_OK_RESPONSE
                                : status == port::DmaStatus::unsupported_request ? ::tlm::TLM_ADDRESS_ERROR_RESPONSE
                                                                                 : ::tlm::TLM_GENERIC_ERROR_RESPONSE);
}
inline port::DmaStatus status_of(const ::tlm::tlm_generic_payload& payload) {
    switch (payload.get_response_status()) {
    case ::tlm::TLM_OK_RESPONSE: return port::DmaStatus::ok;
    case ::tlm::TLM_ADDRESS_ERROR_RESPONSE: return port::DmaStatus::unsupported_request;
    case ::tlm::TLM_INCOMPLETE_RESPONSE: return port::DmaStatus::timeout;
    default: return port::DmaStatus::completer_abort;
    }
}

inline std::span<std::byte> bytes_of(::tlm::tlm_generic_payload& payload) {
    return {reinterpret_cast<std::byte*>(payload.get_data_ptr()), payload.get_data_length()};
}

/// Shrinks what a target granted to `range`; what stands for the begin moves along.
inline void narrow(::tlm::tlm_dmi& dmi, Extension& request, pcie::Range range) {
    if (range.begin > dmi.get_start_address()) {
        const auto skipped = range.begin - dmi.get_start_address();
        if (dmi.get_dmi_ptr() != nullptr)
            dmi.set_dmi_ptr(dmi.get_dmi_ptr() + skipped);
        request.answer.offset += skipped;
        dmi.set_start_address(range.begin);
    }
    if (range.end - 1 < dmi.get_end_address())
        dmi.set_end_address(range.end - 1);
}
/// Describes a range that `request.answer` stands behind: its memory, or a completer.
inline bool grant(::tlm::tlm_dmi& dmi, Extension& request, pcie::Range range) {
    dmi.set_start_address(range.begin);
    dmi.set_end_address(range.end - 1);
    dmi.set_dmi_ptr(reinterpret_cast<unsigned char*>(request.answer.memory));
    dmi.allow_read_write();
    return request.answer.memory != nullptr;
}

/// A payload with its extension, made once and used for one request after the other.
class Request {
public:
    Request() { payload.set_extension(&extension); }
    ~Request() { payload.clear_extension<Extension>(); }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    void prepare(::tlm::tlm_command command, std::uint64_t address, std::span<std::byte> data) {
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(reinterpret_cast<unsigned char*>(data.data()));
        payload.set_data_length(static_cast<unsigned>(data.size()));
        payload.set_streaming_width(static_cast<unsigned>(data.size()));
        payload.set_byte_enable_ptr(nullptr);
        payload.set_dmi_allowed(false);
        payload.set_response_status(::tlm::TLM_INCOMPLETE_RESPONSE);
    }

    ::tlm::tlm_generic_payload payload;
    Extension extension;
};

} // namespace model::tlm
