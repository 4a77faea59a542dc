// One function of an endpoint: the socket side of a Function. Has a configuration space, BARs, MSI-X and requests of
// its own, and is reset alone; the link it shares with the other functions of its endpoint. What the device does behind
// its BARs is the Function's. PCIe 6.0 §7.5, §6.1.4, §6.6.2.
#pragma once

#include "model/pcie/endpoint_space.h"
#include "model/pcie/function.h"
#include "model/pcie/gateway.h"
#include "model/pcie/msix.h"
#include "model/port/interrupt.h"
#include "model/tlm/ats_initiator.h"
#include "model/tlm/held_writes.h"
#include "model/tlm/initiator.h"
#include "model/tlm/pcie_port.h"
#include "traces/events.h"

#include <map>
#include <memory>
#include <set>
#include <systemc>
#include <vector>

namespace model::pcie {

class EndpointFunction final : private tlm::Fabric, private Completer, private port::Interrupts {
public:
    /// `config` must be free of faults (find_fault). `link` is the endpoint's end of the link.
    EndpointFunction(unsigned number, const FunctionConfig& config, bool is_one_of_several, Function& function,
                     tlm::PciePort& link);

    port::Dma& dma() {
        if (space_.config().ats.entries != 0)
            return ats_;
        return initiator_;
    }
    /// Sends the function's untranslated requests. Shells also ask it for lost writes and debug access.
    tlm::Initiator& initiator() { return initiator_; }
    /// Requests with a PASID; Unsupported Request while software has not enabled them.
    port::Dma& dma(std::uint32_t pasid);
    /// Asks for a page. The request is one of a group, which Function::page_answered answers as a whole.
    /// Refused (Unsupported Request, and not sent) while page requests are disabled, or when there are more than
    /// software allows.
    struct PageRequest {
        std::uint64_t address = 0;
        std::uint32_t pasid = no_pasid;
        std::uint16_t group = 0; ///< 9 bits
        bool is_read = true, is_write = false, is_last = true;
    };
    port::DmaResult request_page(const PageRequest& request, port::Time at);
    const DeviceTlb& tlb() const { return tlb_; }
    port::Interrupts& interrupts() { return *this; }
    /// Where DmaRead, DmaWritten and InterruptRaised go.
    void set_events(traces::Events events);

    /// Is told where the function's accesses land; nullptr: nobody.
    void set_watch(LandingWatch* watch);
    /// Its tags, for a report.
    time::Account account() const { return tags_.account(); }
    /// The number that the function's requests carry.
    abi::pcie::Bdf requester() const { return initiator_.requester(); }
    /// Called before memory may get another owner: the function's reads have completed, and packets get a copy of the
    /// bytes that they were lent.
    void drain() {
        for_each_dma([](auto& dma) { dma.loans().drain(); });
    }
    /// The same where only these bytes do.
    void drain(std::span<const std::byte> memory) {
        for_each_dma([&](auto& dma) { dma.loans().drain(memory); });
    }
    /// A mistake on purpose, to see whether it is found: loans of this function are not drained.
    void plant_missing_drains(port::Giver giver) {
        for_each_dma([&](auto& dma) { dma.loans().forgetful = giver; });
    }

    unsigned number() const { return number_; }
    const EndpointSpace& space() const { return space_; }
    const Msix& msix() const { return msix_; }
    /// Bytes this function has moved as a requester, to targets of that kind.
    Volume volume(TargetKind kind) const;
    /// Direct paths known at the moment.
    std::size_t known_windows() const { return initiator_.known_windows() + translated_.known_windows(); }
    /// The memory file behind a BAR, for other processes; -1: the BAR has registers.
    int bar_file(unsigned bar) const { return function_.file(bar); }
    /// A reset of the link: everything at its reset values, but what is sticky (§6.6.1).
    void reset(port::Time at);
    /// The device's direct() ranges have changed: nobody may use old ones.
    void invalidate(unsigned bar);
    /// A posted write that the function has taken turns out to be wrong. Its status registers say so.
    void note_failed_write(port::DmaStatus status) { space_.note_refused(status, true); }
    /// Does what a write of software to an MSI-X table entry does, for a bridge whose client keeps the table.
    void write_msix_entry(std::uint16_t vector, abi::ConstView<abi::pcie::MsixEntry> entry, port::Time at);

    // What comes by the link, for the endpoint.
    /// A memory request to an address that this function claims; returns what becomes of it.
    port::DmaStatus receive_memory(const EndpointSpace::Hit& hit, ::tlm::tlm_generic_payload& payload,
                                   tlm::Extension& request, sc_core::sc_time& delay);
    /// As get_direct_mem_ptr. `hit` is where the payload's address lies.
    bool receive_direct(const EndpointSpace::Hit& hit, const ::tlm::tlm_generic_payload& payload,
                        tlm::Extension& request, ::tlm::tlm_dmi& dmi);
    void receive_config(::tlm::tlm_generic_payload& payload, tlm::Extension& request, const sc_core::sc_time& delay);
    /// An invalidation or a page response.
    void receive_message(::tlm::tlm_generic_payload& payload, const tlm::Extension& request, port::Time at);
    /// Shrinks `range` around `address`, which no BAR of this function claims, to where none does.
    void narrow(std::uint64_t address, Range& range) const;
    /// A memory request that came in by the link was refused.
    void note_refused(port::DmaStatus status, bool is_posted) { space_.note_refused(status, is_posted); }
    void set_link(const LinkConfig& negotiated);
    /// Paths to these addresses may be wrong now.
    void forget(Range range) {
        for_each_initiator([&](auto& initiator) { initiator.forget(range); });
    }

private:
    // Fabric: requests of this function
    void enter(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay) override {
        link_.send(payload, request, delay);
    }
    bool enter_direct(::tlm::tlm_generic_payload& payload, tlm::Extension& request, ::tlm::tlm_dmi& dmi) override {
        return link_.send_direct(payload, request, dmi);
    }
    void refused(port::DmaStatus status) override { space_.note_received(status); }
    // Completer: accesses to a BAR by a known path
    port::DmaResult complete_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into,
                                  port::Time at) override;
    port::DmaStatus complete_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from,
                                   port::Time at) override;
    port::Time all_there(port::Time at) const override { return order_.all_there(at); }
    std::size_t peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    std::size_t poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;
    // Interrupts
    void raise(std::uint16_t vector, port::Time at) override;

    enum class Part : std::uint8_t { function, table, pending };
    struct Slice {
        Part part;
        std::uint64_t offset, length;
    };
    Slice slice(unsigned bar, std::uint64_t offset, std::uint64_t length) const;
    /// The ports that dma() gives.
    template <class F> void for_each_dma(F&& f) {
        f(initiator_), f(ats_);
        for (auto& [pasid, channel] : channels_)
            f(channel->untranslated), f(channel->ats);
    }
    template <class F> void for_each_initiator(F&& f) {
        f(initiator_), f(translated_);
        for (auto& [pasid, channel] : channels_)
            f(channel->untranslated);
    }
    std::uint32_t read_register(std::uint16_t offset, unsigned bytes);
    void write_register(std::uint16_t offset, unsigned bytes, std::uint32_t value, port::Time at);
    void adopt(const EndpointSpace::Meaning& before);
    void send_pending(port::Time at);
    void send(const Msix::Message& message, port::Time at);

    unsigned number_;
    Function& function_;
    tlm::PciePort& link_;
    Range msix_range_; ///< of the MSI-X BAR: from the first byte of table or pending bits to the last
    EndpointSpace space_;
    Msix msix_;
    std::vector<port::Time> raised_at_; ///< by vector: a pending one is not sent before it was raised
    Gateway gateway_;
    struct Channel { ///< requests of one PASID
        tlm::Initiator untranslated;
        tlm::AtsInitiator ats;
        Channel(EndpointFunction& owner, std::uint32_t pasid)
            : untranslated(owner, tlm::AddressType::untranslated, pasid, &owner.order_),
              ats(untranslated, owner.translated_, owner.tlb_, owner.space_.config().ats, pasid, owner.is_ats_on_) {}
    };
    DeviceTlb tlb_;
    bool is_ats_on_ = false;
    bool is_timed_ = false; ///< the link
    tlm::HeldWrites held_;  ///< of others, into the function's memory
    WriteOrder order_;      ///< order of the writes of all its initiators
    Tags tags_;             ///< for the reads of all its initiators, where links have time
    tlm::Initiator initiator_, translated_;
    tlm::AtsInitiator ats_;
    std::map<std::uint32_t, std::unique_ptr<Channel>> channels_;
    std::set<std::uint16_t> page_groups_; ///< asked for and not answered
    traces::Events events_;
    LandingWatch* watch_ = nullptr;
};

} // namespace model::pcie
