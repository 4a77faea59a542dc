// One end of a PCIe link: an initiator and a target socket of a port, and the link between it and its partner. Requests
// going out are counted and charged here, once for each link. Decides nothing about where a request goes.
#pragma once

#include "model/pcie/link.h"
#include "model/tlm/extension.h"
#include "model/tlm/pcie_protocol.h"

#include <memory>
#include <systemc>
#include <tlm>

namespace model::tlm {

/// What stands behind a port: an endpoint, a switch, a root complex. `port` is the number given to PciePort.
class PcieComponent {
public:
    virtual ~PcieComponent() = default;
    virtual void receive(unsigned port, ::tlm::tlm_generic_payload& payload, Extension& request,
                         sc_core::sc_time& delay) = 0;
    /// As get_direct_mem_ptr; `request.answer` names a completer where there is no plain memory.
    virtual bool receive_direct(unsigned port, ::tlm::tlm_generic_payload& payload, Extension& request,
                                ::tlm::tlm_dmi& dmi) = 0;
    virtual void receive_invalidate(unsigned port, pcie::Range range) = 0;
    virtual void linked(unsigned port, const pcie::LinkConfig& negotiated) = 0;
};

class PciePort final : private PcieForward, private PcieBackward {
public:
    PciePort(const char* name, PcieComponent& component, unsigned number, const pcie::LinkConfig& capability);

    /// Called on the port that faces down, with the port of the device. Speed, width and MPS become the lower of both.
    void connect(PciePort& device);
    bool is_connected() const { return link_ != nullptr; }
    pcie::Link* link() const { return link_; }

    /// Sends a request over the link; it ends with Unsupported Request when nothing is plugged in.
    void send(::tlm::tlm_generic_payload& payload, Extension& request, sc_core::sc_time& delay);
    bool send_direct(::tlm::tlm_generic_payload& payload, Extension& request, ::tlm::tlm_dmi& dmi);
    /// Charges a completion that goes up here and comes down again.
    void detour(const ::tlm::tlm_generic_payload& payload, const Extension& request, sc_core::sc_time& delay);
    void detour(pcie::HopList& hops) const;
    /// Tells the partner that paths it has found through here may be wrong now.
    void invalidate(pcie::Range range);

private:
    void b_transport(::tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
    bool get_direct_mem_ptr(::tlm::tlm_generic_payload& payload, ::tlm::tlm_dmi& dmi) override;
    unsigned transport_dbg(::tlm::tlm_generic_payload&) override { return 0; }
    ::tlm::tlm_sync_enum nb_transport_fw(::tlm::tlm_generic_payload& payload, ::tlm::tlm_phase&,
                                         sc_core::sc_time& delay) override;
    ::tlm::tlm_sync_enum nb_transport_bw(::tlm::tlm_generic_payload&, ::tlm::tlm_phase&, sc_core::sc_time&) override {
        return ::tlm::TLM_COMPLETED;
    }
    void invalidate_direct_mem_ptr(sc_dt::uint64 begin, sc_dt::uint64 end) override;
    void charge(pcie::Direction direction, const pcie::Traffic& traffic, sc_core::sc_time& delay);

    PcieInitiatorSocket out_;
    PcieTargetSocket in_;
    PcieComponent& component_;
    unsigned number_;
    pcie::LinkConfig capability_;
    std::unique_ptr<pcie::Link> owned_; ///< on the side that faces down
    pcie::Link* link_ = nullptr;
    pcie::Direction outwards_ = pcie::Direction::downstream;
};

} // namespace model::tlm
