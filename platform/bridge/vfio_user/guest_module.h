// A machine whose processor and memory belong to vfio-user clients: instead of a root complex it has a port for each
// card, and behind the port the card's client. Routes what the cards ask for: memory of the card's client, interrupt
// messages, BARs of the other cards of the machine by the addresses their clients gave them; everything else ends with
// Unsupported Request. Knows no sockets.
#pragma once

#include "model/pcie/completer.h"
#include "model/pcie/endpoint_module.h"
#include "model/tlm/pcie_port.h"
#include "platform/bridge/vfio_user/function_port.h"
#include "platform/bridge/vfio_user/guest_memory.h"

#include <memory>
#include <span>
#include <string>
#include <systemc>
#include <vector>

namespace platform::bridge::vfio_user {

struct GuestConfig {
    std::vector<model::pcie::LinkConfig> links = std::vector<model::pcie::LinkConfig>(2); ///< of each slot
    model::port::Time memory_latency = std::chrono::nanoseconds{90};
};

class GuestModule final : public sc_core::sc_module, private model::tlm::PcieComponent, private model::pcie::Completer {
public:
    /// `files` is shared by all guests of the process.
    GuestModule(sc_core::sc_module_name name, const GuestConfig& config, FileMappings& files);

    /// Puts a card into the next slot, before the simulation starts. `name` is what people call its function 0; others
    /// have their number behind it, as in "hostA.hca.f1".
    void plug(const std::string& name, model::pcie::EndpointModule& card);

    std::size_t function_count() const { return functions_.size(); }
    FileMappings& files() { return files_; }
    FunctionPort& function(std::size_t number) { return *functions_[number].function; }
    /// Nobody waits for a client's memory.
    bool is_quiet() const;

private:
    // PcieComponent
    void receive(unsigned port, ::tlm::tlm_generic_payload& payload, model::tlm::Extension& request,
                 sc_core::sc_time& delay) override;
    bool receive_direct(unsigned port, ::tlm::tlm_generic_payload& payload, model::tlm::Extension& request,
                        ::tlm::tlm_dmi& dmi) override;
    void receive_invalidate(unsigned port, model::pcie::Range range) override;
    void linked(unsigned, const model::pcie::LinkConfig&) override {}
    // Completer: interrupt messages and memory without a direct path; the cookie is the function, the offset the
    // address
    model::port::DmaResult complete_read(unsigned number, std::uint64_t address, std::span<std::byte> into,
                                         model::port::Time at) override;
    model::port::DmaStatus complete_write(unsigned number, std::uint64_t address, std::span<const std::byte> from,
                                          model::port::Time at) override;

    struct Plugged {
        std::unique_ptr<FunctionPort> function;
        unsigned port; ///< of its card
    };
    /// The number of the function that a request comes from.
    unsigned function_of(unsigned port, abi::pcie::Bdf requester) const;
    bool are_peers(unsigned one, unsigned other) const { return functions_[one].port != functions_[other].port; }
    /// The other card in whose BAR an address lies; nullptr: none.
    model::tlm::PciePort* find_peer(unsigned function, std::uint64_t address);
    /// The client's memory at an address. A peer's BAR that the client has announced is none: it is reached inside.
    const GuestMemory::Range* find_memory(unsigned function, std::uint64_t address);

    GuestConfig config_;
    FileMappings& files_;
    std::vector<std::unique_ptr<model::tlm::PciePort>> ports_;
    unsigned next_port_ = 0;         ///< the first one without a card
    std::vector<Plugged> functions_; ///< by card, and by number
};

} // namespace platform::bridge::vfio_user
