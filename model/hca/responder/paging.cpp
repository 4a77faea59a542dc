// Pages that a peer's requests need and do not find (PRM "Page fault"): software is told, and the peer asked to come
// again later with the NAK that a missing receive buffer would have brought (IBA 9.7.5.2.8). A READ response that was
// begun just pauses.
#include "model/hca/responder/responder.h"

namespace model::hca::responder {

using abi::prm::PageFaultType;
using abi::wire::NakCode;
using queue::QueuePair;
using queue::Response;

/// The packet that was expected was not accepted: it and what is behind it come again.
void Responder::ask_for_patience(QueuePair& qp, port::Time at) {
    qp.responder.nak_is_out = true;
    refuse(qp, abi::wire::rnr_syndrome(qp.attributes.min_rnr_nak), at);
}

void Responder::wait_or_refuse(QueuePair& qp, const paging::RemotePageFault& fault, const tpt::Request& access,
                               port::Time at) {
    if (!page_faults_.raise(qp, fault, access, at))
        return refuse_and_fail(qp, NakCode::remote_access_error, at);
    ask_for_patience(qp, at);
}

/// A SEND's packet does not find a page of its receive buffer. False when it cannot wait.
bool Responder::wait_to_place(QueuePair& qp, std::uint32_t packet, const tpt::Request& access, port::Time at) {
    const auto& r = qp.responder;
    const bool waits = page_faults_.raise(
        qp,
        paging::WqePageFault{.type = qp.srq != nullptr ? PageFaultType::shared_receive : PageFaultType::receive,
                             .wq_number = qp.srq != nullptr ? qp.srq->number : qp.number.value,
                             .wqe_index = r.receive->index,
                             .committed = r.message == queue::ResponderState::Message::none ? 0 : r.received,
                             .packet = packet,
                             .what = r.expected.value},
        access, at);
    if (waits)
        ask_for_patience(qp, at);
    return waits;
}

/// A READ response's next packet does not find a page. False when it cannot wait.
bool Responder::wait_to_respond(QueuePair& qp, Response& response, std::uint32_t packet, const tpt::Request& access,
                                port::Time at) {
    response.waits_for_page = page_faults_.raise(qp,
                                                 paging::RemotePageFault{.type = PageFaultType::remote_read,
                                                                         .key = response.rkey,
                                                                         .address = response.address,
                                                                         .length = response.remaining,
                                                                         .packet = packet,
                                                                         .psn = response.psn},
                                                 access, at);
    return response.waits_for_page;
}

/// The answer counts for the packet that software was told of, if that is still the one that waits.
void Responder::resume(QueuePair& qp, PageFaultType type, bool is_error, port::Time at) {
    if (!qp.can_receive())
        return;
    path_.scheduler.add(qp);
    const auto told = qp.paging.told[static_cast<std::size_t>(type)];
    auto& responses = qp.responder.responses;
    const bool is_pause = type == PageFaultType::remote_read && !responses.is_empty() &&
                          responses.front().waits_for_page && responses.front().psn.value == told;
    if (is_pause)
        responses.front().waits_for_page = false;
    if (is_error && is_pause)
        return fail_read(qp, NakCode::remote_access_error, at);
    if (is_error && qp.responder.expected.value == told)
        paging::PageFaults::give_up(qp, type, qp.responder.expected);
}

} // namespace model::hca::responder
