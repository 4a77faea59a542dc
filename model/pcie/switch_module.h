// A PCIe switch: sockets around the routing of `switch.h`. Forwards requests, answers configuration requests to its
// ports, and tells everybody when a window moves.
#pragma once

#include "model/pcie/switch.h"
#include "model/tlm/pcie_port.h"
#include "traces/events.h"

#include <memory>
#include <systemc>
#include <vector>

namespace model::pcie {

class SwitchModule final : public sc_core::sc_module, private tlm::PcieComponent {
public:
    SwitchModule(sc_core::sc_module_name name, const Switch::Config& config);

    tlm::PciePort upstream;
    /// Connect a device with `down(n).connect(device.port)`.
    tlm::PciePort& down(unsigned port) { return *ports_[port]; }
    unsigned port_count() const { return static_cast<unsigned>(ports_.size()); }
    /// Where RequestBlocked goes.
    void set_events(traces::Events events) { events_ = events; }

private:
    static constexpr unsigned upstream_number = ~0u; ///< number of the upstream port; downstream ports count from 0

    void receive(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                 sc_core::sc_time& delay) override;
    bool receive_direct(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                        ::tlm::tlm_dmi& dmi) override;
    void receive_invalidate(unsigned port, Range range) override;
    void linked(unsigned port, const LinkConfig& negotiated) override;

    MemoryRouting route(unsigned port, std::uint64_t address, const tlm::Extension& request) const;
    void send_down(unsigned port, unsigned to, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                   sc_core::sc_time& delay);
    void refuse(unsigned port, const MemoryRouting& routing, ::tlm::tlm_generic_payload& payload,
                const tlm::Extension& request, const sc_core::sc_time& delay);
    void send_message(unsigned port, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                      sc_core::sc_time& delay);
    abi::pcie::Bdf bdf_of(unsigned port);
    BridgeSpace& space(unsigned port) { return port == upstream_number ? core_.upstream() : core_.port(port); }
    void configure(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay);
    void reset_below(unsigned port, sc_core::sc_time delay);
    void invalidate_all();

    Switch core_;
    traces::Events events_;
    std::vector<std::unique_ptr<tlm::PciePort>> ports_;
};

} // namespace model::pcie
