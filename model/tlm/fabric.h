// The way into the fabric: a function's port, or the root complex for the processor.
#pragma once

#include "model/tlm/extension.h"

#include <systemc>
#include <tlm>

namespace model::tlm {

class Fabric {
public:
    virtual ~Fabric() = default;
    virtual void enter(::tlm::tlm_generic_payload& payload, Extension& request, sc_core::sc_time& delay) = 0;
    virtual bool enter_direct(::tlm::tlm_generic_payload& payload, Extension& request, ::tlm::tlm_dmi& dmi) = 0;
    /// A request of this requester was completed with an error.
    virtual void refused(port::DmaStatus status) = 0;
};

} // namespace model::tlm
