#include "model/hca/requester/requester.h"

#include "abi/wire/infiniband.h"
#include "model/hca/congestion/reaction_point.h"
#include "model/hca/congestion/swift.h"

#include <algorithm>
#include <memory>

namespace model::hca::requester {

using abi::prm::PageFaultType;
using queue::QueuePair;

void Requester::start(QueuePair& qp) {
    auto& r = qp.requester;
    r.window.next_psn = r.window.unsent_psn = r.window.oldest_psn = qp.attributes.next_send_psn;
    r.retry.retries_left = qp.attributes.retry_count;
    r.retry.rnr_retries_left = qp.attributes.rnr_retry;
    // Nobody answers unreliable services; what stays inside of the port meets no congestion.
    if (!qp.service.is_reliable || qp.outlet == queue::Way::inside)
        return;
    ++windows_;
    if (!config_.controls_congestion_by(congestion::Algorithm::swift))
        return;
    r.congestion.control = std::make_unique<congestion::Swift>(config_.swift);
    r.congestion.round_trips = std::make_unique<congestion::RoundTrips>();
}

time::Account Requester::window_account() const {
    const port::Time waited{static_cast<std::int64_t>(counters_.window_waited_ps)};
    return {
        .name = "congestion windows",
        .kind = time::Kind::window,
        .units = most_windows(),
        .usage = {
            .uses = counters_.window_waits, .busy = waited, .waited = waited, .longest_wait = sending_.longest_hold()}};
}

time::Account Requester::rate_account() const {
    const port::Time waited{static_cast<std::int64_t>(counters_.rate_waited_ps)};
    const port::Time longest{static_cast<std::int64_t>(counters_.rate_longest_wait_ps)};
    return {.name = "congestion rates",
            .kind = time::Kind::window,
            .units = most_windows(),
            .usage = {.uses = counters_.rate_waits, .busy = waited, .waited = waited, .longest_wait = longest}};
}

void Requester::receive(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& r = qp.requester;
    if (!qp.can_send() || r.sends.messages.is_empty())
        return;
    at += latency_;
    r.heard_at = at;
    const auto& head = packet.rdma();
    // Only what was sent and is not yet acknowledged can be answered. Any other answer is a late copy and is silently
    // dropped (IBA 9.7.5.1.1, ghost acknowledges).
    if (head.psn.is_before(r.window.oldest_psn) || !head.psn.is_before(r.window.unsent_psn))
        return;
    if (!r.congestion.round_trips) [[likely]]
        return take_in(qp, packet, at);
    const auto psn = head.psn, oldest_before = r.window.oldest_psn;
    take_in(qp, packet, at);
    learn(qp, psn, oldest_before, at - latency_);
}

void Requester::take_in(QueuePair& qp, port::Packet& packet, port::Time at) {
    const auto& head = packet.rdma();
    const auto& traits = packet.traits();
    if (traits.has_aeth && events_.is_on())
        events_.emit(at, traces::Acknowledged{qp.number.value, head.psn.value, head.aeth.syndrome, head.aeth.msn});
    if (traits.kind == abi::wire::OperationTraits::Kind::read_response ||
        head.operation == abi::wire::Operation::atomic_acknowledge)
        return responses_.receive(qp, packet, at);
    if (abi::wire::kind_of(head.aeth.syndrome) == abi::wire::SyndromeKind::acknowledge)
        return acknowledgements_.acknowledge(qp, head.psn, at);
    acknowledgements_.refused(qp, packet, at);
}

/// Tells a queue pair's congestion control of an answer that came at `at` and was taken in. The packet that it opens
/// the window for has a turn.
void Requester::learn(QueuePair& qp, abi::Psn psn, abi::Psn oldest_before, port::Time at) {
    auto& own = qp.requester.congestion;
    const auto newly = qp.requester.window.oldest_psn - oldest_before;
    if (!qp.can_send() || newly <= 0)
        return;
    const auto round_trip =
        own.round_trips->answered(psn, at); // what was refused is sent again, and not known any more
    if (round_trip) {
        ++counters_.round_trips;
        counters_.round_trips_ps += static_cast<std::uint64_t>(round_trip->count());
    }
    auto& control = *own.control;
    const auto window = control.window();
    control.acknowledged({.packets = static_cast<std::uint32_t>(newly), .round_trip = round_trip, .at = at});
    counters_.window_cuts += control.window() < window;
    if (own.held_since != port::never)
        scheduler_.add(qp);
}

void Requester::slow_down(QueuePair& qp, port::Time at) {
    constexpr double mega = 1000; // of a gigabit
    if (!config_.controls_congestion_by(congestion::Algorithm::dcqcn) || config_.port_rate_gbps == 0 ||
        !qp.can_receive())
        return;
    ++counters_.cnps_handled;
    auto& control = qp.requester.congestion.control;
    if (!control) {
        control = std::make_unique<congestion::ReactionPoint>(config_.dcqcn, config_.port_rate_gbps * mega, at);
        ++counters_.rates_limited;
    }
    control->notified(at);
}

/// Software's answer is about the message that it was told of. That message may be complete by now, since a page can be
/// there before software says so; then only the queue goes on.
void Requester::resume(QueuePair& qp, PageFaultType type, bool is_error, port::Time at) {
    auto& r = qp.requester;
    if (!qp.can_send())
        return;
    scheduler_.add(qp);
    const auto number = qp.paging.told[static_cast<std::size_t>(type)];
    auto& messages = r.sends.messages;
    if (number - messages.begin() >= messages.size())
        return;
    auto& message = messages[number];
    const bool is_answer = type == PageFaultType::read_or_atomic;
    if (is_answer && (number != messages.begin() || !message.awaits_data))
        return;
    if (is_error && message.error == 0) {
        if (is_answer)
            return retirement_.fail_front_locally(qp, completion::absent_page(), at);
        return retirement_.stop(qp, message, completion::absent_page(), at);
    }
    if (is_answer) {
        r.retry.asked_again = r.retry.waits_rnr = false;
        qp.timer.deadline = port::never;
        retry_.go_back(qp, message.first + message.answered, at);
    }
}

} // namespace model::hca::requester
