#include "model/hca/dispatch/turns.h"

#include <algorithm>
#include <utility>

namespace model::hca::dispatch {

void Turns::run(port::Time now) {
    if (is_running_)
        return; // called from within a turn: the loop below takes the work that has come up
    is_running_ = true;
    resting_.wake_due(now, objects_, [this](queue::QueuePair& qp) { scheduler_.add(qp); });
    const auto can_send = [&](queue::Way way) { return outlets_.can_send(way, now) && can_read(now); };
    while (const auto next = scheduler_.take(bytes_per_turn_, can_send)) {
        auto& qp = *next.qp;
        auto turn = next.turn;
        qp.requester.full = queue::Way::open;
        ++report_.counters.turns;
        traces::Cause cause(report_.events, queue::turn_cause(qp));
        cause.becomes(report_.events.emit(std::max(now, qp.requester.sends.doorbell_at),
                                          traces::QueueScheduled{qp.number.value}));
        qp.context_at = contexts_.queue_pair(qp.number, now);
        const bool has_answers = responder_.answer(qp, turn.answers, now);
        const bool has_requests = requester_.advance(qp, turn.requests, now);
        if (const auto until = std::exchange(qp.requester.rests_until, {}); until != port::Time{})
            resting_.add(qp, until);
        if (!has_answers && !has_requests) {
            qp.overdrawn_answers = qp.overdrawn_requests = 0; // who rests owes nothing
            continue;
        }
        const auto way = qp.service.is_datagram ? qp.requester.full : qp.way;
        if (way == queue::Way::open || outlets_.can_send(way, now))
            scheduler_.add_behind(qp, turn);
        else
            scheduler_.interrupt(qp, way, {has_answers ? turn.answers : 0, has_requests ? turn.requests : 0});
    }
    if (resting_.next() != port::never)
        clock_.wake_at(resting_.next());
    is_running_ = false;
}

/// Whether what a turn reads can leave soon. If not, the turn comes when it can: what is booked far ahead would stand
/// before the work of others that comes meanwhile. The same holds for a turn whose context would have to be waited for:
/// it would take the place of contexts that are needed before, as those of answers.
bool Turns::can_read(port::Time now) {
    const auto at = std::max(dma_.next_read(now), contexts_.next_miss(now));
    if (at <= now + horizon) [[likely]]
        return true;
    clock_.wake_at(at - horizon);
    return false;
}

} // namespace model::hca::dispatch
