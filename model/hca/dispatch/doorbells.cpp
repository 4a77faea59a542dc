#include "model/hca/dispatch/doorbells.h"

#include "model/hca/doorbell/doorbell_record.h"
#include "model/hca/queue/wqe_reader.h"

#include <utility>

namespace model::hca::dispatch {

using queue::QpState;

namespace {
void ignore(const Report& report, std::uint32_t number, std::uint32_t uar, traces::Reason reason, port::Time at) {
    ++report.counters.doorbells_ignored;
    report.events.emit(at, traces::DoorbellIgnored{number, uar, reason});
}
} // namespace

void SendDoorbells::ring(const doorbell::SendRing& rung, std::uint32_t uar, port::Time at) {
    const auto number = rung.qpn.value;
    ++report_.counters.doorbells;
    auto* qp = objects_.queue_pairs.find(number);
    if (qp == nullptr)
        return ignore(report_, number, uar, "no such queue pair", at);
    bring_in(*qp, qp->requester);
    if (qp->attributes.uar_page != uar)
        return ignore(report_, number, uar, "wrong UAR page for this queue pair", at);
    if (qp->state == QpState::rst || qp->state == QpState::init || !qp->attributes.has_sq)
        return ignore(report_, number, uar, "queue pair has no send queue that works", at);
    auto& r = qp->requester;
    const auto known_at = at;
    auto producer = rung.producer;
    // A WQE that has come whole, and follows the last one that is known, leaves nothing to ask: ten of them cost the
    // bus ten stores of two lines and no more (Kalia, Kaminsky, Andersen, ATC 2016).
    if (!rung.has_wqe() || rung.index != r.sends.producer) {
        const auto record = doorbell::read_record(dma_, qp->attributes.doorbell_record, doorbell::Record::send, at);
        if (!record)
            return failure_.enter_error(*qp, abi::prm::EventType::wq_catastrophic_error, at);
        producer = static_cast<std::uint16_t>(record->value);
        at = record->at;
    }
    // It was rung when it came; how far it reaches is known when its record has been read.
    r.sends.doorbell = report_.events.emit(known_at, traces::DoorbellRung{number, uar, producer});
    // With more than a ring's worth, or a counter that moved backwards, software overwrote WQEs that were not yet done.
    const auto posted = static_cast<std::uint16_t>(producer - r.sends.completed);
    if (posted > qp->sq_size() || posted < static_cast<std::uint16_t>(r.sends.producer - r.sends.completed))
        return failure_.enter_error(*qp, abi::prm::EventType::wq_catastrophic_error, at);
    // A doorbell behind which the record has not moved, and which names a WQE that is not counted, leads to nothing.
    const auto uncounted = static_cast<std::uint16_t>(rung.producer - producer);
    const bool is_uncounted =
        producer == r.sends.producer && rung.wqe_bytes != 0 && uncounted != 0 && uncounted <= qp->sq_size() - posted;
    r.sends.producer = producer;
    if (qp->state == QpState::err || qp->state == QpState::sqer)
        return failure_.flush_sends(*qp, at);
    if (is_uncounted)
        ignore(report_, number, uar, "the doorbell record does not count this work request", at);
    r.sends.announced = rung.producer;
    r.sends.doorbell_at = known_at;
    r.sends.record_at = at;
    // A WQE that came with its doorbell need not be read, where it is the next one, or follows others that are here.
    // One that the record does not count yet is none: software may post another in its place.
    const auto blocks = rung.wqe.size() >> queue::log_wqebb;
    const auto ahead = static_cast<std::uint16_t>(rung.index - r.sends.fetched);
    const auto unread = static_cast<std::uint16_t>(producer - r.sends.fetched);
    if (rung.has_wqe() && ahead + blocks <= unread)
        r.sends.ahead.put(rung.index, r.sends.fetched, rung.wqe, queue::log_wqebb, known_at);
    if (qp->can_send())
        scheduler_.add(*qp);
}

void CqDoorbells::ring(const doorbell::CqArm& rung, std::uint32_t uar, port::Time at) {
    const auto number = rung.cqn.value;
    auto* cq = objects_.completion_queues.find(number);
    if (cq == nullptr)
        return ignore(report_, number, uar, "no such completion queue", at);
    if (cq->attributes.uar_page != uar)
        return ignore(report_, number, uar, "wrong UAR page for this completion queue", at);
    failure_.look_again(*cq, at);
    if (!cqe_writer_.arm(*cq, rung.request, at))
        ignore(report_, number, uar, "the event of this arm sequence number is out", at);
}

} // namespace model::hca::dispatch
