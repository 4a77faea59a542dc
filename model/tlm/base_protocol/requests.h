// Requests of somebody else's initiator: what it asks for by the rules of the base protocol is checked, cut into runs,
// sent into the fabric by a requester of ours, and answered as TLM-2.0 "Response status attribute" has it. `Requester`
// is the socket for it. No direct memory interface: its initiator would see posted writes before their time, and no
// link would count it.
#pragma once

#include "model/tlm/initiator.h"
#include "model/tlm/process.h"

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_target_socket.h>

namespace model::tlm::base_protocol {

class Requests {
public:
    explicit Requests(Initiator& initiator) : initiator_(initiator) {}

    /// A refusal within this machine, Unsupported Request, is an address error; any other is a generic error. Of a
    /// write that was lost on its way a function is told nothing; here it is an address error, since TLM_OK_RESPONSE
    /// says that the target has executed it.
    void transport(::tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
    unsigned debug(::tlm::tlm_generic_payload& payload);

private:
    Initiator& initiator_;
    Turn writes_{Calls::may_wait}; ///< one at a time: which of them was lost is seen by counting
};

/// A target socket of the base protocol, blocking and non-blocking, with debug transport and without DMI. For a bus of
/// `width` bits.
template <unsigned width = 32> class Requester final : public sc_core::sc_module {
public:
    tlm_utils::simple_target_socket_optional<Requester, width> socket{"socket"};

    Requester(sc_core::sc_module_name name, Initiator& initiator) : sc_module(name), requests_(initiator) {
        socket.register_b_transport(this, &Requester::b_transport);
        socket.register_transport_dbg(this, &Requester::transport_dbg);
    }

private:
    void b_transport(::tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
        requests_.transport(payload, delay);
    }
    unsigned transport_dbg(::tlm::tlm_generic_payload& payload) { return requests_.debug(payload); }

    Requests requests_;
};

} // namespace model::tlm::base_protocol
