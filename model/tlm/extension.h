// What a PCIe request carries beyond a generic payload: who asks, what kind of packet it is, and, while a direct path
// is being looked for, the links crossed and what the target says of itself. One extension lives with each reused
// payload.
#pragma once

#include "abi/pcie/config_space.h"
#include "abi/pcie/tlp.h"
#include "model/pcie/window_cache.h"

#include <cstdint>
#include <optional>
#include <tlm>

namespace model::tlm {

/// The last three are messages (PCIe 6.0 §10.3, §10.4): an invalidation of a device's TLB with its completion, a
/// request of a device for a page, and what software answers.
enum class RequestKind : std::uint8_t {
    memory,
    config_type0,
    config_type1,
    hot_reset,
    invalidation,
    page_request,
    page_response
};
using abi::pcie::AddressType;

/// What a translation request brings back (§10.2.3).
struct TranslationCompletion {
    std::uint64_t address = 0; ///< of the page
    std::uint8_t shift = 12;   ///< the page has 2^shift bytes
    bool is_readable = false, is_writable = false;
    bool is_untranslated_only = false; ///< the address is to be used as it is
};

/// What an invalidation, a page request or a page response says; the address is the payload's.
struct AtsMessage {
    std::uint64_t bytes = 0; ///< of an invalidation; 0: everything
    bool is_global = false;  ///< of an invalidation: of all PASIDs
    std::uint16_t group = 0; ///< page request group index
    bool is_last = false, is_read = false, is_write = false;
    std::uint8_t code = 0; ///< of a page response
};

class Extension final : public ::tlm::tlm_extension<Extension> {
public:
    RequestKind kind = RequestKind::memory;
    AddressType address_type = AddressType::untranslated;
    port::Purpose purpose = port::Purpose::control;
    bool relaxed_ordering = false;
    std::uint32_t pasid = pcie::no_pasid;
    abi::pcie::Bdf requester;
    abi::pcie::Bdf target; ///< of a configuration request (the payload's address is the register offset), of a message
    pcie::TlpSizes sizes;  ///< of the requester
    pcie::WriteOrder* order = nullptr;   ///< of the requester's writes
    port::Time issued{};                 ///< its place in that order
    port::Time behind{};                 ///< of an answer to the processor: the target's writes before it are there
    const void* redirected_by = nullptr; ///< the switch that sent a peer request up; it will come down again
    bool is_answer_straight =
        false; ///< its completion has taken the short way: links that it did not cross do not count it
    TranslationCompletion translation; ///< of a translation request that was successful
    AtsMessage message;
    pcie::HopList hops;  ///< get_direct_mem_ptr: links crossed so far
    pcie::Target answer; ///< get_direct_mem_ptr: who stands at the end
    /// A remapping unit on the way: get_direct_mem_ptr finds it and ends there. A request that has `remapped`, the
    /// address that the unit gave, goes on from the unit without asking it again, and get_direct_mem_ptr says in
    /// `remapped_range` which of the unit's addresses go the same way.
    pcie::Remapper* remapper = nullptr;
    std::optional<std::uint64_t> remapped;
    pcie::Range remapped_range;

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

/// Shrinks what a target has granted to `range`, and adjusts the pointer or offset of the begin.
inline void narrow(::tlm::tlm_dmi& dmi, Extension& request, pcie::Range range) {
    if (range.begin > dmi.get_start_address() && request.remapped) {
        dmi.set_start_address(range.begin); // the answer is about addresses that the remapping unit gave
    } else if (range.begin > dmi.get_start_address()) {
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
        extension.redirected_by = nullptr;
        extension.is_answer_straight = false;
        extension.behind = {};
        extension.remapped.reset();
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
