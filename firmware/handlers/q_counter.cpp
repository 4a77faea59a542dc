// PRM "Q counters": ALLOC_Q_COUNTER, DEALLOC_Q_COUNTER, QUERY_Q_COUNTER.
#include "firmware/handlers/handlers.h"

namespace firmware::handlers {

Reply alloc_q_counter(State&, const Call& call, In<prm::AllocQCounterIn>, Out<prm::AllocQCounterOut> out) {
    const auto number = call.scope.create<Kind::counter_set>({});
    if (!number)
        return number.error();
    out.set<"counter_set_id">(*number);
    return accepted;
}

Reply dealloc_q_counter(State&, const Call& call, In<prm::DeallocQCounterIn> in, Out<prm::DeallocQCounterOut>) {
    return call.scope.destroy<Kind::counter_set>(in.get<"counter_set_id">(), call.at);
}

Reply query_q_counter(State&, const Call& call, In<prm::QueryQCounterIn> in, Out<prm::QueryQCounterOut> out) {
    if (in.get<"other_vport">() || in.get<"vport_number">() != 0)
        return refuse("query_q_counter.vport");
    if (in.get<"aggregate">())
        return refuse("query_q_counter.aggregate"); // q_counter_aggregation is not advertised
    auto* set = call.scope.find<Kind::counter_set>(in.get<"counter_set_id">());
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
        .set<"roce_adp_retrans">(set->roce_adp_retrans)
        .set<"cq_overflow">(set->cq_overflow)
        .set<"resp_cqe_flush_error">(set->resp_cqe_flush_error)
        .set<"req_cqe_flush_error">(set->req_cqe_flush_error);
    if (in.get<"clear">())
        static_cast<model::hca::QCounters&>(*set) = {};
    return accepted;
}

} // namespace firmware::handlers
