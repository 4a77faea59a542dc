// An event queue (PRM "Event queues"): writes 64-byte EQEs with an owner bit and raises its MSI-X vector when armed.
#pragma once

#include "abi/prm/eq.h"
#include "abi/prm/eqe.h"
#include "abi/types.h"
#include "model/hca/counted.h"
#include "model/hca/counters.h"
#include "model/hca/object_table.h"
#include "model/hca/memory/order.h"
#include "model/hca/memory/paged_buffer.h"
#include "model/port/interrupt.h"
#include "traces/events.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace model::hca::event {

/// What CREATE_EQ says.
struct Attributes {
    memory::PagedBuffer buffer;
    std::uint8_t log_size = 0; ///< entries of 64 bytes
    std::uint16_t vector = 0;  ///< MSI-X
    bool overrun_ignore = false;
    std::uint32_t uar_page = 0;
    std::uint64_t events = 0;                             ///< bit n: event type n is delivered here
    std::array<std::byte, abi::prm::Eqc::size> context{}; ///< as software wrote it, for QUERY_EQ
};

enum class State : std::uint8_t { ready, overflow, write_failed };

struct EventQueue : Counted {
    EventQueue(abi::Eqn eqn, Attributes a) : number(eqn), attributes(std::move(a)) {}

    abi::Eqn number;
    Attributes attributes;
    std::uint32_t producer = 0;     ///< entries written since creation
    std::uint32_t consumer = 0;     ///< as the last doorbell said, 24 bits
    bool is_armed = false;          ///< the first arm comes from software
    memory::Order entries;          ///< as those of a completion queue
    std::uint64_t newest_event = 0; ///< number of the event of the last entry (traces/events.h)
    State state = State::ready;     ///< why an event was lost, if one was

    std::uint32_t size() const { return 1u << attributes.log_size; }
};

/// Writes events and decides about interrupts, for all event queues of the device.
class EventQueues {
public:
    EventQueues(port::Dma& dma, port::Interrupts& interrupts, Counters& counters, const traces::Events& events)
        : dma_(dma), interrupts_(interrupts), counters_(counters), events_(events) {}

    const ObjectTable<EventQueue>& table() const { return table_; }
    EventQueue& create(abi::Eqn eqn, Attributes attributes);
    void destroy(abi::Eqn eqn);
    void clear();
    /// Makes the queue take events of these types from now on, and of no others (Attributes::events).
    void subscribe(EventQueue& eq, std::uint64_t events);
    /// The queues that subscribed to events of this type, by ascending number.
    std::span<EventQueue* const> subscribers(abi::prm::EventType type) const {
        return subscribers_[static_cast<std::size_t>(type)];
    }

    /// Writes an event to queue `eqn`. Drops it when there is no such queue. `fill(View<Eqe>)` sets the event's data.
    template <class Fill>
    void write(abi::Eqn eqn, abi::prm::EventType type, std::uint8_t subtype, std::uint32_t number, port::Time at,
               Fill&& fill) {
        if (auto* eq = table_.find(eqn.value)) {
            abi::Block<abi::prm::Eqe> entry;
            fill(entry.view());
            write(*eq, entry, type, subtype, number, at);
        }
    }
    /// Writes an event to every queue that subscribed to its type (asynchronous events). False when none took it.
    template <class Fill>
    bool broadcast(abi::prm::EventType type, std::uint8_t subtype, std::uint32_t number, port::Time at, Fill&& fill) {
        abi::Block<abi::prm::Eqe> entry;
        fill(entry.view());
        bool is_taken = false;
        for (auto* eq : subscribers(type))
            is_taken |= write(*eq, entry, type, subtype, number, at);
        return is_taken;
    }
    /// The same for an event about queue pair or shared receive queue `number` (PRM "QP events").
    bool tell(abi::prm::EventType type, std::uint32_t number, port::Time at) {
        return broadcast(type, 0, number, at, [number](abi::View<abi::prm::Eqe> eqe) {
            abi::prm::event_data<abi::prm::QueueEventData>(eqe).set<"qp_srq_n">(number);
        });
    }
    /// Whether any queue subscribed to events of this type.
    bool is_heard(abi::prm::EventType type) const { return !subscribers(type).empty(); }
    /// A doorbell says that software consumed up to `consumer` (24 bits) and, if `arm`, wants the next interrupt.
    void ring(abi::Eqn eqn, std::uint32_t consumer, bool arm, std::uint32_t uar, port::Time at);

private:
    bool write(EventQueue& eq, abi::Block<abi::prm::Eqe>& entry, abi::prm::EventType type, std::uint8_t subtype,
               std::uint32_t number, port::Time at);
    void raise(EventQueue& eq, port::Time at);

    port::Dma& dma_;
    port::Interrupts& interrupts_;
    Counters& counters_;
    const traces::Events& events_;
    ObjectTable<EventQueue> table_;
    std::array<std::vector<EventQueue*>, 64> subscribers_; ///< by event type: a bit of Attributes::events
};

} // namespace model::hca::event
