// The command queue (PRM "Command interface"): a doorbell names slots; each slot's entry is fetched from host memory,
// its mailboxes read, the command executed, the answer written, and last the byte that gives the slot back. With an
// event queue for commands an event follows. Slots run one after the other in the order of their doorbells.
#pragma once

#include "abi/prm/command.h"
#include "firmware/mailbox.h"
#include "firmware/state.h"
#include "model/port/clock.h"
#include "model/port/dma.h"

#include <array>
#include <cstdint>
#include <deque>

namespace firmware {

class CommandQueue {
public:
    static constexpr unsigned log_entries = 5, log_stride = 6; ///< what the initialization segment presents

    CommandQueue(State& state, model::port::Dma& dma, model::port::Clock& clock)
        : state_(state), dma_(dma), clock_(clock) {}

    /// Where the driver put the entries. Doorbells before that are ignored.
    void set_base(std::uint64_t address);
    /// Doorbell: bit n for slot n. A slot that is still waiting is not queued twice.
    void ring(std::uint32_t vector, model::port::Time at);
    /// Executes what is due.
    void wake(model::port::Time now);
    void reset();

private:
    using Entry = abi::Block<abi::prm::CommandQueueEntry>;
    /// How a command reached the device, and how its answer got back; not what the command itself says.
    struct Delivery {
        abi::prm::DeliveryStatus status = abi::prm::DeliveryStatus::ok;
        model::port::Time done{}; ///< of the last access to a mailbox
    };

    model::port::Time latency() const;
    model::port::Time execute(unsigned slot, model::port::Time at);
    Delivery deliver(abi::View<abi::prm::CommandQueueEntry> entry, model::port::Time at);
    model::port::Time give_back(Entry& entry, unsigned slot, abi::prm::DeliveryStatus status, bool is_signed,
                                model::port::Time at);
    abi::BusAddress slot_address(unsigned slot) const {
        return abi::BusAddress{base_ + (std::uint64_t{slot} << log_stride)};
    }
    bool checks_signatures() const { return state_.capabilities.general().get<"cmdif_checksum">() != 0; }

    State& state_;
    model::port::Dma& dma_;
    model::port::Clock& clock_;
    std::uint64_t base_ = 0;
    bool has_base_ = false;
    std::deque<unsigned> waiting_;
    std::uint32_t waiting_mask_ = 0;
    std::array<std::uint64_t, 32> causes_{}; ///< by slot: what led to its doorbell (traces/events.h)
    model::port::Time due_{};                ///< of the first that waits
    bool is_executing_ = false;
};

} // namespace firmware
