#include "model/hca/event/event_queue.h"

#include "abi/prm/doorbell.h"

#include <algorithm>

namespace model::hca::event {

namespace {
constexpr auto index_mask = abi::prm::queue_index_mask;
} // namespace

EventQueue& EventQueues::create(abi::Eqn eqn, Attributes attributes) {
    const auto events = std::exchange(attributes.events, 0);
    auto& eq = table_.create(eqn.value, eqn, std::move(attributes));
    subscribe(eq, events);
    return eq;
}

void EventQueues::destroy(abi::Eqn eqn) {
    auto* eq = table_.find(eqn.value);
    if (eq == nullptr)
        return;
    subscribe(*eq, 0);
    table_.destroy(eqn.value);
}

void EventQueues::subscribe(EventQueue& eq, std::uint64_t events) {
    for (std::size_t type = 0; type < subscribers_.size(); ++type) {
        auto& heard_by = subscribers_[type];
        const bool takes = (eq.attributes.events >> type & 1) != 0, will_take = (events >> type & 1) != 0;
        if (takes && !will_take)
            std::erase(heard_by, &eq);
        else if (will_take && !takes)
            heard_by.insert(std::ranges::upper_bound(heard_by, eq.number, {}, &EventQueue::number), &eq);
    }
    eq.attributes.events = events;
}

void EventQueues::clear() {
    std::ranges::for_each(subscribers_, [](auto& heard_by) { heard_by.clear(); });
    table_.clear();
}

bool EventQueues::write(EventQueue& eq, abi::Block<abi::prm::Eqe>& entry, abi::prm::EventType type,
                        std::uint8_t subtype, std::uint32_t number, port::Time at) {
    if (!eq.attributes.overrun_ignore && ((eq.producer - eq.consumer) & index_mask) >= eq.size()) {
        // PRM "EQ": software sizes the ring so that this cannot happen; the queue stops rather than overwrite events.
        eq.state = State::overflow;
        events_.emit(at, traces::EventLost{eq.number.value, static_cast<std::uint8_t>(type), subtype, number});
        return false;
    }
    at = eq.entries.issue(at);
    const bool owner = (eq.producer >> eq.attributes.log_size & 1) != 0;
    auto eqe = entry.view();
    eqe.set<"event_type">(type).set<"event_sub_type">(subtype).set<"owner">(owner);
    const auto offset = std::uint64_t{eq.producer & (eq.size() - 1)} * abi::prm::Eqe::size;
    const auto written = eq.attributes.buffer.write(dma_, offset, entry.bytes, at);
    if (!written.is_ok()) {
        eq.state = State::write_failed;
        return false;
    }
    ++eq.producer;
    ++counters_.events_written;
    eq.newest_event = events_.emit(
        written.done, traces::EventWritten{eq.number.value, static_cast<std::uint8_t>(type), subtype, number});
    if (eq.is_armed)
        raise(eq, written.done);
    return true;
}

void EventQueues::raise(EventQueue& eq, port::Time at) {
    eq.is_armed = false;
    ++counters_.interrupts;
    const traces::Cause cause(events_, eq.newest_event);
    interrupts_.raise(eq.attributes.vector, at);
}

void EventQueues::ring(abi::Eqn eqn, std::uint32_t consumer, bool arm, std::uint32_t uar, port::Time at) {
    auto* eq = table_.find(eqn.value);
    if (eq == nullptr || eq->attributes.uar_page != uar) {
        const auto reason = eq == nullptr ? traces::Reason("no such event queue")
                                          : traces::Reason("wrong UAR page for this event queue");
        events_.emit(at, traces::DoorbellIgnored{eqn.value, uar, reason});
        return;
    }
    eq->consumer = consumer;
    eq->is_armed = eq->is_armed || arm;
    // Entries that came while the queue was not armed raised no interrupt. Software would wait for ever without it now.
    if (eq->is_armed && ((eq->producer - consumer) & index_mask) != 0)
        raise(*eq, eq->entries.issue(at)); // it does not come before the entry
}

} // namespace model::hca::event
