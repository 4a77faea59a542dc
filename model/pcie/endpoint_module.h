// A PCIe endpoint: the socket side of a Function. Answers configuration requests, decodes BARs, keeps MSI-X and gives
// the device its Dma and Interrupts. What the device does behind its BARs is the Function's. PCIe 6.0 §7.5, §6.1.4,
// §6.6.2.
#pragma once

#include "model/pcie/endpoint_space.h"
#include "model/pcie/function.h"
#include "model/pcie/gateway.h"
#include "model/pcie/msix.h"
#include "model/port/interrupt.h"
#include "model/tlm/initiator.h"
#include "model/tlm/pcie_port.h"
#include "traces/events.h"

#include <systemc>

namespace model::pcie {

class EndpointModule final : public sc_core::sc_module,
                             private tlm::PortOwner,
                             private tlm::Fabric,
                             private Completer,
                             private port::Interrupts {
public:
    /// `config` must be free of faults (find_fault).
    EndpointModule(sc_core::sc_module_name name, const FunctionConfig& config, Function& function);

    tlm::PciePort port;

    port::Dma& dma() { return initiator_; }
    port::Interrupts& interrupts() { return *this; }
    /// Where DmaRead, DmaWritten and InterruptRaised go.
    void set_events(traces::Events events);

    const EndpointSpace& space() const { return space_; }
    const Msix& msix() const { return msix_; }
    /// Bytes this function has moved as a requester, to targets of that kind.
    Volume volume(TargetKind kind) const { return initiator_.windows().volume(kind); }
    /// Direct paths known at the moment.
    std::size_t known_windows() const { return initiator_.windows().size(); }
    /// The memory file that a BAR is, for other processes; -1: it is registers.
    int bar_file(unsigned bar) const { return function_.file(bar); }
    /// As power off and on: everything at its reset values.
    void reset(port::Time at);
    /// The device's direct() ranges have changed: nobody may use old ones.
    void invalidate(unsigned bar);
    /// As software's write of an entry of the MSI-X table, for a bridge whose client keeps the table itself.
    void write_msix_entry(std::uint16_t vector, abi::ConstView<abi::pcie::MsixEntry> entry, port::Time at);

private:
    // PortOwner: requests of others
    void receive(unsigned, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                 sc_core::sc_time& delay) override;
    bool receive_direct(unsigned, ::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                        ::tlm::tlm_dmi& dmi) override;
    void receive_invalidate(unsigned, Range range) override { initiator_.forget(range); }
    void linked(unsigned, const LinkConfig& negotiated) override { space_.set_link(negotiated); }
    // Fabric: requests of this function
    void enter(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay) override {
        port.send(payload, request, delay);
    }
    bool enter_direct(::tlm::tlm_generic_payload& payload, tlm::Extension& request, ::tlm::tlm_dmi& dmi) override {
        return port.send_direct(payload, request, dmi);
    }
    void refused(port::DmaStatus status) override { space_.note_received(status); }
    // Completer: accesses to a BAR by a known path
    port::DmaResult complete_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into,
                                  port::Time at) override;
    port::DmaStatus complete_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from,
                                   port::Time at) override;
    // Interrupts
    void raise(std::uint16_t vector, port::Time at) override;

    enum class Part : std::uint8_t { function, table, pending };
    struct Slice {
        Part part;
        std::uint64_t offset, length;
    };
    Slice slice(unsigned bar, std::uint64_t offset, std::uint64_t length) const;
    void configure(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay);
    std::uint32_t read_register(std::uint16_t offset, unsigned bytes);
    void write_register(std::uint16_t offset, unsigned bytes, std::uint32_t value, port::Time at);
    void adopt(const EndpointSpace::Meaning& before);
    void send_pending(port::Time at);
    void send(const Msix::Message& message, port::Time at);

    Function& function_;
    Range msix_range_; ///< of the MSI-X BAR: from the first byte of table or pending bits to the last
    EndpointSpace space_;
    Msix msix_;
    Gateway gateway_;
    tlm::Initiator initiator_;
    traces::Events events_;
};

} // namespace model::pcie
