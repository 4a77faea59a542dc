// As somebody else would write it: a copying engine with a socket of TLM-2.0's base protocol. Nothing of ours in it.
#pragma once

#include <tlm.h>

#include <algorithm>
#include <vector>

namespace third_party {

/// Each time `start` is notified: copies `length` bytes from address `from` to address `to`.
class Copier : public sc_core::sc_module, tlm::tlm_bw_transport_if<> {
public:
    tlm::tlm_initiator_socket<32> socket{"socket"};
    sc_core::sc_event start;
    sc_dt::uint64 from = 0, to = 0;
    unsigned length = 0, errors = 0;

    explicit Copier(sc_core::sc_module_name) {
        socket.bind(*this);
        SC_HAS_PROCESS(Copier);
        SC_THREAD(run);
    }

private:
    void run() {
        for (wait(start);; wait(start))
            for (unsigned done = 0, part = 0; done < length; done += part) {
                unsigned char buffer[48];
                part = std::min<unsigned>(sizeof buffer, length - done);
                access(tlm::TLM_READ_COMMAND, from + done, buffer, part);
                access(tlm::TLM_WRITE_COMMAND, to + done, buffer, part);
            }
    }
    void access(tlm::tlm_command command, sc_dt::uint64 address, unsigned char* data, unsigned bytes) {
        tlm::tlm_generic_payload trans;
        trans.set_command(command), trans.set_address(address);
        trans.set_data_ptr(data), trans.set_data_length(bytes), trans.set_streaming_width(bytes);
        sc_core::sc_time delay;
        socket->b_transport(trans, delay);
        wait(delay);
        errors += trans.is_response_ok() ? 0 : 1;
    }
    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override {
        return tlm::TLM_COMPLETED;
    }
    void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
};

} // namespace third_party
