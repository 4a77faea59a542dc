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
    if (auto refused = state.admit(buffer->pages().size(), call.at))
        return refused;
    const auto number = state.qp_ids.take();
    if (!number)
        return refuse("create_qp.none_left");

    const auto entries = buffer->pages().size();
    model::hca::queue::QueuePairAttributes attributes;
    decode_context(qpc, attributes);
    attributes.counter_set = 0; // named by RST2INIT
    abi::View<prm::Qpc>(attributes.context).set<"counter_set_id">(0);
    const bool is_local = model::hca::queue::service_of(attributes.type).is_local;
    if (is_local)
        attributes.pd = {}; // it serves all of them, whichever it names, and keeps none from going
    const auto domain = attributes.pd;
    attributes.buffer = std::move(*buffer);
    attributes.doorbell_record = *record;
    state.hca.create_qp(abi::Qpn{*number}, std::move(attributes));
    if (auto* pd = state.hca.protection_domains().find(domain.value); pd != nullptr && !is_local)
        ++pd->users;
    if (qpc.get<"st">() == prm::QpType::xrc)
        ++state.xrcds.find(qpc.get<"xrcd">())->users;
    call.scope.own(Kind::qp, *number, {ring_umem.holds(), record_umem.holds()});
    ++state.counter_set_users[0];
    state.charge(entries, call.at);
    out.set<"qpn">(*number);
    return accepted;
}

Reply destroy_qp(State& state, const Call& call, In<prm::DestroyQpIn> in, Out<prm::DestroyQpOut>) {
    const auto number = in.get<"qpn">();
    const auto* qp = call.scope.qp(number);
    if (qp == nullptr)
        return refuse("destroy_qp.unknown");
    const auto& attributes = qp->attributes;
    const bool is_local = model::hca::queue::service_of(attributes.type).is_local;
    if (auto* pd = state.hca.protection_domains().find(attributes.pd.value); pd != nullptr && !is_local)
        --pd->users;
    if (auto* xrcd = state.xrcds.find(attributes.xrcd); xrcd != nullptr && attributes.type == prm::QpType::xrc)
        --xrcd->users;
    --state.counter_set_users[attributes.counter_set];
    state.release(attributes.buffer.pages().size());
    state.hca.destroy_qp(abi::Qpn{number});
    call.scope.disown(Kind::qp, number);
    state.qp_ids.give_back(number);
    return accepted;
}

Reply query_qp(State& state, const Call& call, In<prm::QueryQpIn> in, Out<prm::QueryQpOut> out) {
    auto* qp = call.scope.qp(in.get<"qpn">());
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
        .set<"hw_sq_wqebb_counter">(requester.fetched)
        .set<"sw_sq_wqebb_counter">(requester.producer)
        .set<"hw_rq_counter">(responder.rq_consumer)
        .set<"sw_rq_counter">(responder.rq_producer);
    if (qp->can_receive())
        qpc.set<"next_rcv_psn">(responder.expected.value);
    if (qp->can_send())
        qpc.set<"next_send_psn">(requester.next_psn.value)
            .set<"last_acked_psn">((requester.oldest_psn + abi::Psn::mask).value)
            .set<"cur_retry_count">(requester.retries_left)
            .set<"cur_rnr_retry">(requester.rnr_retries_left);
    encode_pages(qp->attributes.buffer,
                 out.bytes().subspan(prm::QueryQpOut::field<"qp_pas_or_qpc_ext_and_pas">::offset));
    return accepted;
}

} // namespace firmware::handlers
