#include "model/hca/responder/answers.h"

namespace model::hca::responder {

using abi::wire::NakCode;
using queue::QueuePair;
using queue::Response;

void Answers::owe_ack(QueuePair& qp, port::Time at) {
    auto& own = qp.responder.answers;
    at = qp.responder.order.execute(at);
    if (own.ack_pending && own.ack.earliest != at) // it has left by then
        enqueue(qp, own.ack);
    if (own.responses.is_empty()) {
        own.ack_pending = true;
        own.ack = ack(qp);
        own.ack.earliest = at;
        own.ack.cause = report_.events.cause();
        if (!own.in_ack_list) {
            own.in_ack_list = true;
            owing_.push_back(&qp);
        }
        return;
    }
    auto& last = own.responses.back();
    if (last.kind == Response::Kind::acknowledge && last.earliest == at) {
        last.psn = qp.responder.order.expected + abi::Psn::mask;
        last.msn = qp.responder.order.msn;
        last.cause = report_.events.cause();
        return;
    }
    respond(qp, ack(qp), at);
}

void Answers::respond(QueuePair& qp, Response response, port::Time at) {
    response.earliest = qp.responder.order.execute(at);
    response.cause = report_.events.cause();
    enqueue(qp, response);
}

void Answers::enqueue(QueuePair& qp, const Response& response) {
    qp.responder.answers.ack_pending = false;
    qp.responder.answers.responses.push(response);
    scheduler_.add(qp);
}

void Answers::refuse(QueuePair& qp, std::uint8_t syndrome, abi::Psn psn, std::uint32_t msn, port::Time at) {
    if (!qp.service.is_reliable)
        return;
    ++report_.counters.naks_sent;
    report_.events.emit(at, traces::Naked{qp.number.value, psn.value, syndrome});
    respond(qp, {.kind = Response::Kind::negative, .syndrome = syndrome, .psn = psn, .msn = msn}, at);
}

void Answers::refuse_and_fail(QueuePair& qp, NakCode code, port::Time at) {
    if (!qp.service.is_reliable)
        return; // a wrong packet is silently dropped, and does not end the connection (IBA 9.8.2.2)
    refuse(qp, abi::wire::nak_syndrome(code), at);
    fail(qp, code, at);
}

void Answers::fail(QueuePair& qp, NakCode code, port::Time at) {
    auto& count = *qp.counters;
    if (code == NakCode::remote_access_error) {
        ++count.resp_remote_access_errors;
        failure_.enter_error(qp, abi::prm::EventType::wq_access_error, at);
    } else if (code == NakCode::invalid_request) {
        ++count.resp_remote_invalid_request;
        failure_.enter_error(qp, abi::prm::EventType::wq_invalid_request, at);
    } else {
        ++count.resp_local_qp_error;
        failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
    }
}

bool Answers::is_limit_reached(const QueuePair& qp, bool counts_repeats) {
    const auto& responses = qp.responder.answers.responses;
    std::uint32_t pending = 0;
    for (auto n = responses.begin(); n != responses.end(); ++n) {
        const auto kind = responses[n].kind;
        pending += (kind == Response::Kind::read || kind == Response::Kind::atomic) &&
                   (counts_repeats || !responses[n].is_repeat);
    }
    return pending >= 1u << qp.attributes.log_reads_responder;
}

void Answers::forget(QueuePair& qp) {
    auto& own = qp.responder.answers;
    if (own.in_ack_list)
        std::erase(owing_, &qp);
    own.in_ack_list = false;
}

} // namespace model::hca::responder
