// PRM "Q counters": ALLOC_Q_COUNTER, DEALLOC_Q_COUNTER, QUERY_Q_COUNTER.
#include "firmware/handlers/handlers.h"

namespace firmware::handlers {

Reply alloc_q_counter(State& state, const Call& call, In<prm::AllocQCounterIn>, Out<prm::AllocQCounterOut> out) {
    const auto number = state.counter_set_ids.take();
    if (!number)
        return refuse("alloc_q_counter.none_left");
    state.hca.q_counters().create(*number);
    call.scope.own(Kind::counter_set, *number);
    out.set<"counter_set_id">(static_cast<std::uint32_t>(*number));
    return accepted;
}

Reply dealloc_q_counter(State& state, const Call& call, In<prm::DeallocQCounterIn> in, Out<prm::DeallocQCounterOut>) {
    const auto number = in.get<"counter_set_id">();
    if (number == 0 || call.scope.counter_set(number) == nullptr)
        return refuse("dealloc_q_counter.unknown");
    if (state.counter_set_users[number] != 0)
        return refuse("dealloc_q_counter.in_use");
    state.hca.q_counters().destroy(number);
    call.scope.disown(Kind::counter_set, number);
    state.counter_set_ids.give_back(number);
    return accepted;
}

Reply query_q_counter(State&, const Call& call, In<prm::QueryQCounterIn> in, Out<prm::QueryQCounterOut> out) {
    if (in.get<"other_vport">() || in.get<"vport_number">() != 0)
        return refuse("query_q_counter.vport");
    if (in.get<"aggregate">())
        return refuse("query_q_counter.aggregate"); // q_counter_aggregation is not advertised
    auto* set = call.scope.counter_set(in.get<"counter_set_id">());
    if (set == nullptr)
        return refuse("query_q_counter.unknown");
    out.set<"rx_write_requests">(set->rx_write_requests)
        .set<"rx_read_requests">(set->rx_read_requests)
        .set<"rx_atomic_requests">(set->rx_atomic_requests)
        .set<"out_of_buffer">(set->out_of_buffer)
        .set<"out_of_sequence">(set->out_of_sequence)
        .set<"duplicate_request">(set->duplicate_request)
        .set<"rnr_nak_retry_err">(set->rnr_nak_retry_err)
        .set<"packet_seq_err">(set->packet_seq_err)
        .set<"implied_nak_seq_err">(set->implied_nak_seq_err)
        .set<"local_ack_timeout_err">(set->local_ack_timeout_err)
        .set<"req_rnr_retries_exceeded">(set->req_rnr_retries_exceeded)
        .set<"req_transport_retries_exceeded">(set->req_transport_retries_exceeded)
        .set<"resp_local_length_error">(set->resp_local_length_error)
        .set<"req_local_length_error">(set->req_local_length_error)
        .set<"resp_local_qp_error">(set->resp_local_qp_error)
        .set<"local_operation_error">(set->local_operation_error)
        .set<"resp_local_protection">(set->resp_local_protection)
        .set<"req_local_protection">(set->req_local_protection)
        .set<"resp_cqe_error">(set->resp_cqe_error)
        .set<"req_cqe_error">(set->req_cqe_error)
        .set<"req_bad_response">(set->req_bad_response)
        .set<"req_remote_invalid_request">(set->req_remote_invalid_request)
        .set<"resp_remote_invalid_request">(set->resp_remote_invalid_request)
        .set<"req_remote_access_errors">(set->req_remote_access_errors)
        .set<"resp_remote_access_errors">(set->resp_remote_access_errors)
        .set<"req_remote_operation_errors">(set->req_remote_operation_errors)
        .set<"cq_overflow">(set->cq_overflow)
        .set<"resp_cqe_flush_error">(set->resp_cqe_flush_error)
        .set<"req_cqe_flush_error">(set->req_cqe_flush_error);
    if (in.get<"clear">())
        *set = {};
    return accepted;
}

} // namespace firmware::handlers
