// As somebody else would write it: a memory behind a target socket of TLM-2.0's base protocol. Nothing of ours in it.
#pragma once

#include <tlm.h>

#include <cstring>
#include <vector>

namespace third_party {

class Memory : public sc_core::sc_module, tlm::tlm_fw_transport_if<> {
public:
    tlm::tlm_target_socket<32> socket{"socket"};
    std::vector<unsigned char> bytes;

    Memory(sc_core::sc_module_name, std::size_t size) : bytes(size) { socket.bind(*this); }

private:
    void b_transport(tlm::tlm_generic_payload& trans, sc_core::sc_time& delay) override {
        wait(delay + sc_core::sc_time(20, sc_core::SC_NS));
        delay = sc_core::SC_ZERO_TIME;
        if (trans.get_byte_enable_ptr() != nullptr)
            return trans.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
        if (trans.get_streaming_width() < trans.get_data_length())
            return trans.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
        const bool is_done = transport_dbg(trans) == trans.get_data_length();
        trans.set_response_status(is_done ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
    unsigned transport_dbg(tlm::tlm_generic_payload& trans) override {
        const auto at = trans.get_address();
        const auto length = trans.get_data_length();
        if (at >= bytes.size() || length > bytes.size() - at)
            return 0;
        if (trans.is_read())
            std::memcpy(trans.get_data_ptr(), &bytes[at], length);
        else if (trans.is_write())
            std::memcpy(&bytes[at], trans.get_data_ptr(), length);
        return length;
    }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi&) override { return false; }
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& trans, tlm::tlm_phase&, sc_core::sc_time&) override {
        trans.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE); // blocking transport only
        return tlm::TLM_COMPLETED;
    }
};

} // namespace third_party
