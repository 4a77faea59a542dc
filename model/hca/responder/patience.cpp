#include "model/hca/responder/patience.h"

namespace model::hca::responder {

using abi::prm::PageFaultType;
using abi::wire::NakCode;
using queue::QueuePair;

void Patience::ask(QueuePair& qp, port::Time at) {
    qp.responder.order.nak_is_out = true; // until this packet comes again, later ones are silently dropped
    answers_.refuse(qp, abi::wire::rnr_syndrome(qp.attributes.min_rnr_nak), at);
}

void Patience::refuse(QueuePair& qp, const memory::Denied& denied, const paging::RemotePageFault& fault,
                      port::Time at) {
    if (denied.is_page_fault())
        return wait_or_refuse(qp, fault, denied.request, at);
    answers_.refuse_and_fail(qp, denied.is_by_key() ? NakCode::remote_access_error : NakCode::remote_operational_error,
                             at);
}

void Patience::wait_or_refuse(QueuePair& qp, const paging::RemotePageFault& fault, const tpt::Request& access,
                              port::Time at) {
    if (!page_faults_.raise(qp, fault, access, at))
        return answers_.refuse_and_fail(qp, NakCode::remote_access_error, at);
    ask(qp, at);
}

bool Patience::wait_to_place(QueuePair& qp, std::uint32_t packet, const tpt::Request& access, port::Time at) {
    const auto& r = qp.responder;
    const bool waits = page_faults_.raise(
        qp,
        paging::WqePageFault{.type = qp.srq != nullptr ? PageFaultType::shared_receive : PageFaultType::receive,
                             .wq_number = qp.srq != nullptr ? qp.srq->number : qp.number.value,
                             .wqe_index = r.receives.wqe->index,
                             .committed = r.order.message == queue::OrderState::Message::none ? 0 : r.order.received,
                             .packet = packet,
                             .what = r.order.expected.value},
        access, at);
    if (waits)
        ask(qp, at);
    return waits;
}

bool Patience::wait_to_repeat(QueuePair& qp, const paging::RemotePageFault& fault, const tpt::Request& access,
                              port::Time at) {
    if (!page_faults_.raise(qp, fault, access, at))
        return false;
    answers_.refuse(qp, abi::wire::rnr_syndrome(qp.attributes.min_rnr_nak), fault.psn, qp.responder.order.msn, at);
    return true;
}

} // namespace model::hca::responder
