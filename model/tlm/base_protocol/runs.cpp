#include "model/tlm/base_protocol/runs.h"

#include <bit>

namespace model::tlm::base_protocol {

// The data array holds words of the host; PCIe counts bytes from the lowest address. On this host both are the same.
static_assert(std::endian::native == std::endian::little);

namespace {
bool has_fault(const unsigned char* enables, unsigned count) {
    return count == 0 || !std::all_of(enables, enables + count, [](unsigned char value) {
               return value == TLM_BYTE_ENABLED || value == TLM_BYTE_DISABLED;
           });
}
} // namespace

::tlm::tlm_response_status find_fault(const ::tlm::tlm_generic_payload& payload) {
    if (payload.get_command() == ::tlm::TLM_IGNORE_COMMAND)
        return ::tlm::TLM_OK_RESPONSE;
    if (!payload.is_read() && !payload.is_write())
        return ::tlm::TLM_COMMAND_ERROR_RESPONSE;
    const auto length = payload.get_data_length(), width = payload.get_streaming_width();
    if (length == 0 || width == 0)
        return ::tlm::TLM_BURST_ERROR_RESPONSE;
    if (payload.get_data_ptr() == nullptr)
        return ::tlm::TLM_GENERIC_ERROR_RESPONSE;
    if (std::min(length, width) - 1 > ~payload.get_address()) // runs over the end of all addresses
        return ::tlm::TLM_ADDRESS_ERROR_RESPONSE;
    if (const auto* enables = payload.get_byte_enable_ptr();
        enables != nullptr && has_fault(enables, payload.get_byte_enable_length()))
        return ::tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
    return ::tlm::TLM_OK_RESPONSE;
}

std::size_t find_enabled(const ::tlm::tlm_generic_payload& payload, std::size_t begin, std::size_t end,
                         bool is_enabled) {
    const auto* enables = payload.get_byte_enable_ptr();
    if (enables == nullptr)
        return is_enabled ? begin : end;
    const auto count = payload.get_byte_enable_length(); // repeated where it is shorter than the data
    while (begin < end && (enables[begin % count] == TLM_BYTE_ENABLED) != is_enabled)
        ++begin;
    return begin;
}

} // namespace model::tlm::base_protocol
