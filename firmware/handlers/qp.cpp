// PRM "Queue pairs": CREATE_QP, DESTROY_QP, QUERY_QP. The transitions are in qp_transition.cpp.
#include "firmware/buffer.h"
#include "firmware/handlers/handlers.h"
#include "firmware/qp_context.h"

#include <algorithm>

namespace firmware::handlers {

Reply create_qp(State& state, const Call& call, In<prm::CreateQpIn> in, Out<prm::CreateQpOut> out) {
    const auto qpc = in.sub<"qpc">();
    if (in.get<"qpc_ext">())
        return refuse("create_qp.extension");
    if (in.get<"input_qpn">() != 0)
        return refuse("create_qp.input_qpn");
    if (auto refused = check_creation(state, call.scope, qpc))
        return refused;
    const InUmem ring_umem{in.get<"wq_umem_valid">() != 0, in.get<"wq_umem_id">(), in.get<"wq_umem_offset">()};
    const InUmem record_umem{qpc.get<"dbr_umem_valid">() != 0, qpc.get<"dbr_umem_id">(), qpc.get<"dbr_addr">()};
    auto buffer = ring_buffer(call.scope,
                              {.log_page_size = qpc.get<"log_page_size">(),
                               .page_offset = qpc.get<"page_offset">(),
                               .bytes = buffer_bytes(qpc)},
                              ring_umem, call.tail);
    if (!buffer)
        return buffer.error();
    const auto record = doorbell_record(call.scope, record_umem);
    if (!record)
        return record.error();
    if (record->value % doorbell_record_bytes != 0)
        return refuse("create_qp.doorbell_record");

    const auto entries = buffer->pages().size();
    model::hca::queue::QueuePairAttributes attributes;
    decode_context(qpc, attributes);
    attributes.counter_set = 0; // RST2INIT names it
    abi::View<prm::Qpc>(attributes.context).set<"counter_set_id">(0);
    if (model::hca::queue::service_of(attributes.type).is_local)
        attributes.pd = {}; // it serves all of them, whichever it names, and does not count as a user of any
    attributes.buffer = std::move(*buffer);
    attributes.doorbell_record = *record;
    // Without a send queue it has no doorbells there, and names no page.
    auto* const uar = attributes.has_sq ? call.scope.find<Kind::uar>(attributes.uar_page) : nullptr;
    const auto number =
        call.scope.create<Kind::qp>({.at = call.at,
                                     .entries = entries,
                                     .umems = {ring_umem.memory(call.scope), record_umem.memory(call.scope)},
                                     .uar = objects::Ref(uar)},
                                    std::move(attributes));
    if (!number)
        return number.error();
    out.set<"qpn">(*number);
    return accepted;
}

Reply destroy_qp(State&, const Call& call, In<prm::DestroyQpIn> in, Out<prm::DestroyQpOut>) {
    return call.scope.destroy<Kind::qp>(in.get<"qpn">(), call.at);
}

Reply query_qp(State& state, const Call& call, In<prm::QueryQpIn> in, Out<prm::QueryQpOut> out) {
    auto* qp = call.scope.find<Kind::qp>(in.get<"qpn">());
    if (qp == nullptr)
        return refuse("query_qp.unknown");
    if (in.get<"qpc_ext">())
        return refuse("query_qp.extension");
    state.hca.look_for_receives(*qp, call.at);
    const auto qpc = out.sub<"qpc">();
    std::ranges::copy(qp->attributes.context, qpc.bytes().begin());
    const auto& requester = qp->requester;
    const auto& responder = qp->responder;
    qpc.set<"state">(qp->state)
        .set<"hw_sq_wqebb_counter">(requester.sends.fetched)
        .set<"sw_sq_wqebb_counter">(requester.sends.producer)
        .set<"hw_rq_counter">(responder.receives.consumer)
        .set<"sw_rq_counter">(responder.receives.producer);
    if (qp->can_receive())
        qpc.set<"next_rcv_psn">(responder.order.expected.value);
    if (qp->can_send())
        qpc.set<"next_send_psn">(requester.window.next_psn.value)
            .set<"last_acked_psn">((requester.window.oldest_psn + abi::Psn::mask).value)
            .set<"cur_retry_count">(requester.retry.retries_left)
            .set<"cur_rnr_retry">(requester.retry.rnr_retries_left);
    encode_pages(qp->attributes.buffer,
                 out.bytes().subspan(prm::QueryQpOut::field<"qp_pas_or_qpc_ext_and_pas">::offset));
    return accepted;
}

} // namespace firmware::handlers
