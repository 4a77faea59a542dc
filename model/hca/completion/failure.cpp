#include "model/hca/completion/failure.h"

#include "abi/prm/wqe.h"
#include "abi/wire/infiniband.h"
#include "model/hca/doorbell/doorbell_record.h"

#include <algorithm>

namespace model::hca::completion {

using queue::OrderState;
using queue::Outstanding;
using queue::QpState;
using queue::QueuePair;
using queue::ReceiveKind;
using queue::Response;

namespace {

constexpr port::Time first_flush_interval = std::chrono::microseconds{10};
/// The interval is doubled up to this one and no further, so that time does not overflow.
constexpr port::Time last_flush_interval = first_flush_interval * (1ll << 30);
/// At how many queue pairs one doorbell of a completion queue has the device look, at most.
constexpr int looks_per_arm = 4;

/// Whether this answer is a NAK that ends the connection: all NAKs but the sequence error do (IBA 9.9.3).
bool is_final(const Response& response) {
    using namespace abi::wire;
    return response.kind == Response::Kind::negative && kind_of(response.syndrome) == SyndromeKind::nak &&
           response.syndrome != nak_syndrome(NakCode::psn_sequence_error);
}

} // namespace

void Failure::flush_sends(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    for (; !r.sends.messages.is_empty(); r.sends.messages.pop()) {
        completions_.send(qp, r.sends.messages.front(), CqeSyndrome::wr_flush_err, 0, at);
        r.sends.completed = static_cast<std::uint16_t>(r.sends.completed + r.sends.messages.front().wqebbs);
    }
    // Of WQEs that were never fetched only the size and the opcode are needed.
    constexpr std::uint64_t wqebb = abi::prm::wqe_bb_bytes, unit = abi::prm::wqe_ds_bytes;
    const auto ring_bytes = qp.sq_size() * wqebb;
    while (r.sends.fetched != r.sends.producer) {
        abi::Block<abi::prm::WqeCtrl> ctrl;
        const auto offset = r.sends.fetched * wqebb & (ring_bytes - 1);
        const bool is_readable = qp.attributes.buffer.read(dma_, qp.sq_offset + offset, ctrl.bytes, at).is_ok();
        const auto size = is_readable ? ctrl.view().get<"ds">() * unit : 0;
        const auto blocks = std::max<std::uint64_t>(1, (size + wqebb - 1) / wqebb);
        const auto left = static_cast<std::uint16_t>(r.sends.producer - r.sends.fetched);
        const Outstanding message{.wqe_index = r.sends.fetched,
                                  .wqebbs = static_cast<std::uint8_t>(std::min<std::uint64_t>(blocks, left)),
                                  .opcode = ctrl.view().get<"opcode">()};
        completions_.send(qp, message, CqeSyndrome::wr_flush_err, 0, at);
        r.sends.fetched = static_cast<std::uint16_t>(r.sends.fetched + message.wqebbs);
    }
    r.sends.completed = r.sends.fetched;
    // A queue that leaves the send error state may come to these indices again with other WQEs.
    r.sends.ahead.forget();
    r.position.message = r.sends.messages.end();
    r.position.offset = 0;
    r.position.has_wqe = r.response.has_wqe = false;
    r.window.reads_outstanding = 0;
}

void Failure::flush_receives(QueuePair& qp, port::Time at) {
    auto& r = qp.responder;
    if (qp.attributes.receive != ReceiveKind::ordinary || qp.receive_cq == nullptr)
        return;
    if (const auto producer =
            doorbell::read_record(dma_, qp.attributes.doorbell_record, doorbell::Record::receive, at)) {
        r.receives.producer = static_cast<std::uint16_t>(producer->value);
        at = producer->at;
    }
    // A record beyond the ring's size is nonsense; at most one ring's worth is flushed for it.
    const auto posted = static_cast<std::uint16_t>(r.receives.producer - r.receives.consumer);
    const bool is_new = posted != 0;
    for (auto left = std::min<std::uint32_t>(posted, qp.rq_size()); left != 0; --left)
        completions_.fail_receive(qp, r.receives.consumer++, CqeSyndrome::wr_flush_err, 0, at);
    r.receives.consumer = r.receives.producer;
    r.receives.flush_interval = is_new || r.receives.flush_interval == port::Time{}
                                    ? first_flush_interval
                                    : std::min(r.receives.flush_interval * 2, last_flush_interval);
    timers_.set(qp, (at / r.receives.flush_interval + 1) * r.receives.flush_interval);
}

void Failure::look_again(QueuePair& qp, port::Time at) {
    if (qp.state != QpState::err)
        return;
    qp.responder.receives.flush_interval = {};
    flush_receives(qp, at);
}

void Failure::look_again(CompletionQueue& cq, port::Time at) {
    QueuePair* first = nullptr;
    for (int left = looks_per_arm; left != 0 && !cq.dead.is_empty() && &cq.dead.front() != first; --left) {
        auto& qp = cq.dead.front();
        first = first != nullptr ? first : &qp;
        cq.dead.remove(qp); // it goes to the end, so that the next doorbell is for others
        cq.dead.push_back(qp);
        look_again(qp, at);
    }
}

void Failure::forget(QueuePair& qp) {
    if (qp.receive_cq != nullptr)
        qp.receive_cq->dead.remove(qp);
}

void Failure::enter_error(QueuePair& qp, port::Time at) {
    if (qp.state == QpState::err)
        return;
    events_.emit(at, traces::QueueStateChanged{qp.number.value, static_cast<std::uint8_t>(qp.state),
                                               static_cast<std::uint8_t>(QpState::err)});
    qp.state = QpState::err;
    auto& responder = qp.responder;
    responder.order.message = OrderState::Message::none;
    // Nothing is sent in the error state but the NAK that led there, behind the answers owed before it.
    responder.answers.ack_pending = false;
    if (!responder.answers.responses.is_empty() && !is_final(responder.answers.responses.back()))
        responder.answers.responses.clear();
    if (responder.receives.has_wqe) {
        // A SEND was filling this WQE.
        responder.receives.has_wqe = false;
        completions_.fail_receive(qp, responder.receives.wqe->index, CqeSyndrome::wr_flush_err, 0, at);
    }
    qp.requester.retry.waits_rnr = false;
    qp.paging = {};
    flush_sends(qp, at);
    if (qp.attributes.receive == ReceiveKind::ordinary && qp.receive_cq != nullptr)
        qp.receive_cq->dead.push_back(qp);
    flush_receives(qp, at);
    if (qp.srq != nullptr) {
        // Nothing more is taken from the shared queue for this one (IBA 11.6.3.2). Who is told empties the completion
        // queue and takes the buffers back, so that the last completion is there before.
        const auto* cq = qp.srq->cq != nullptr ? qp.srq->cq.get() : qp.receive_cq.get();
        const auto told = cq != nullptr ? std::max(at, cq->entries.issued) : at;
        event_queues_.tell(abi::prm::EventType::srq_last_wqe, qp.number.value, told);
    }
}

void Failure::enter_send_error(QueuePair& qp, port::Time at) {
    events_.emit(at, traces::QueueStateChanged{qp.number.value, static_cast<std::uint8_t>(qp.state),
                                               static_cast<std::uint8_t>(QpState::sqer)});
    qp.state = QpState::sqer;
    qp.paging = {}; // only the sending side of an unreliable queue pair waits for pages
    flush_sends(qp, at);
}

void Failure::enter_error(QueuePair& qp, abi::prm::EventType why, port::Time at) {
    if (qp.state == QpState::err)
        return;
    event_queues_.tell(why, qp.number.value, at);
    enter_error(qp, at);
}

} // namespace model::hca::completion
