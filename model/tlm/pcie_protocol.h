// The protocol of PCIe sockets. They carry generic payloads, but not by the rules of the base protocol: a payload is a
// request only together with its Extension, byte enables and the streaming width mean nothing, and get_direct_mem_ptr
// collects the links on the way. Traits of their own keep the compiler from binding a socket of the base protocol to
// one of them; `base_protocol` has sockets for those.
#pragma once

#include <systemc>
#include <tlm>

namespace model::tlm {

struct PcieProtocolTypes {
    using tlm_payload_type = ::tlm::tlm_generic_payload;
    using tlm_phase_type = ::tlm::tlm_phase;
};

using PcieForward = ::tlm::tlm_fw_transport_if<PcieProtocolTypes>;
using PcieBackward = ::tlm::tlm_bw_transport_if<PcieProtocolTypes>;

/// A port with nothing plugged in is bound to nothing.
inline constexpr unsigned pcie_bus_width = 32;
using PcieInitiatorSocket =
    ::tlm::tlm_initiator_socket<pcie_bus_width, PcieProtocolTypes, 1, sc_core::SC_ZERO_OR_MORE_BOUND>;
using PcieTargetSocket = ::tlm::tlm_target_socket<pcie_bus_width, PcieProtocolTypes, 1, sc_core::SC_ZERO_OR_MORE_BOUND>;

} // namespace model::tlm
