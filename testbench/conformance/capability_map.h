// What builds each advertised capability: a file of this repository for every field of the capability pages that is not
// zero in some configuration. The coverage test finds fields without a row, rows without a field, and files that are
// gone.
#pragma once

#include <array>
#include <string_view>

namespace conformance {

struct Built {
    std::string_view field, by;
};

inline constexpr std::array built{
    Built{"log_max_qp", "firmware/handlers/qp.cpp"},
    Built{"log_max_qp_sz", "firmware/qp_context.cpp"},
    Built{"log_max_cq", "firmware/handlers/cq.cpp"},
    Built{"log_max_cq_sz", "firmware/handlers/cq.cpp"},
    Built{"log_max_eq", "firmware/handlers/eq.cpp"},
    Built{"log_max_eq_sz", "firmware/handlers/eq.cpp"},
    Built{"max_num_eqs", "firmware/handlers/eq.cpp"},
    Built{"log_max_mkey", "firmware/handlers/mkey.cpp"},
    Built{"log_max_mrw_sz", "model/hca/tpt/translate.cpp"},
    Built{"log_max_pd", "firmware/handlers/uar_pd.cpp"},
    Built{"log_max_transport_domain", "firmware/handlers/uar_pd.cpp"},
    Built{"max_wqe_sz_sq", "model/hca/queue/wqe_reader.cpp"},
    Built{"max_wqe_sz_rq", "firmware/qp_context.cpp"},
    Built{"cq_oi", "model/hca/completion/cqe_writer.cpp"},
    Built{"cq_resize", "model/hca/completion/cqe_writer.cpp"},
    Built{"cq_moderation", "model/hca/completion/moderation.h"},
    Built{"log_max_srq", "firmware/handlers/srq.cpp"},
    Built{"log_max_srq_sz", "firmware/handlers/srq.cpp"},
    Built{"log_max_rmp", "firmware/handlers/srq.cpp"},
    Built{"basic_cyclic_rcv_wqe", "model/hca/queue/shared_receive_queue.cpp"},
    Built{"log_max_xrcd", "firmware/handlers/uar_pd.cpp"},
    Built{"log_max_mcg", "firmware/handlers/multicast.cpp"},
    Built{"max_qp_mcg", "firmware/handlers/multicast.cpp"},
    Built{"rc", "model/hca/requester/requester.h"},
    Built{"uc", "model/hca/responder/execution.cpp"},
    Built{"ud", "model/hca/responder/datagram.cpp"},
    Built{"xrc", "model/hca/queue/shared_receive_queue.cpp"},
    Built{"atomic", "model/hca/responder/remote_memory.cpp"},
    Built{"log_max_msg", "model/hca/requester/work_queue.cpp"},
    Built{"log_max_ra_req_qp", "model/hca/requester/work_queue.cpp"},
    Built{"log_max_ra_res_qp", "model/hca/responder/duplicates.cpp"},
    Built{"local_ca_ack_delay", "model/hca/requester/retry.cpp"},
    Built{"cqe_version", "model/hca/completion/cqe_writer.cpp"},
    Built{"sctr_data_cqe", "model/hca/completion/cqe_writer.cpp"},
    Built{"log_max_klm_list_size", "model/hca/tpt/translate.cpp"},
    Built{"fixed_buffer_size", "model/hca/tpt/translate.cpp"},
    Built{"null_mkey", "model/hca/tpt/translate.cpp"},
    Built{"umr_extended_translation_offset", "model/hca/umr/umr.cpp"},
    Built{"imaicl", "model/hca/umr/umr.cpp"},
    Built{"pg", "firmware/handlers/paging.cpp"},
    Built{"vport_counters", "firmware/handlers/port_counters.cpp"},
    Built{"log_max_uctx", "firmware/handlers/user_context.cpp"},
    Built{"log_max_umem", "firmware/handlers/user_context.cpp"},
    Built{"max_qp_cnt", "firmware/handlers/q_counter.cpp"},
    Built{"out_of_seq_cnt", "firmware/handlers/q_counter.cpp"},
    Built{"retransmission_q_counters", "firmware/handlers/q_counter.cpp"},
    Built{"enhanced_error_q_counters", "firmware/handlers/q_counter.cpp"},
    Built{"rts2rts_qp_counters_set_id", "firmware/qp_transition.cpp"},
    Built{"num_ports", "firmware/handlers/vport.cpp"},
    Built{"port_type", "firmware/handlers/vport.cpp"},
    Built{"roce", "firmware/handlers/roce_address.cpp"},
    Built{"ib_virt", "firmware/handlers/vport.cpp"},
    Built{"uar_sz", "firmware/handlers/uar_pd.cpp"},
    Built{"log_pg_sz", "firmware/handlers/pages.cpp"},
    Built{"num_of_uars_per_page", "model/hca/doorbell/uar.cpp"},
    Built{"bf", "model/hca/doorbell/uar.cpp"},
    Built{"log_bf_reg_size", "model/hca/doorbell/uar.cpp"},
    Built{"device_frequency_mhz", "firmware/init_segment.cpp"},
    Built{"device_frequency_khz", "firmware/init_segment.cpp"},
    Built{"cmdif_checksum", "firmware/command_queue.cpp"},
    // atomic page
    Built{"atomic_req_8b_endianness_mode", "model/hca/responder/remote_memory.cpp"},
    Built{"supported_atomic_req_8b_endianness_mode_1", "model/hca/responder/remote_memory.cpp"},
    Built{"atomic_operations", "model/hca/responder/remote_memory.cpp"},
    Built{"atomic_size_qp", "model/hca/responder/remote_memory.cpp"},
    // RoCE page
    Built{"l3_type", "model/hca/address/identity.cpp"},
    Built{"roce_version", "model/wire/builder.cpp"},
    Built{"r_roce_dest_udp_port", "model/wire/builder.cpp"},
    Built{"r_roce_min_src_udp_port", "model/hca/address/identity.cpp"},
    Built{"r_roce_max_src_udp_port", "model/hca/address/identity.cpp"},
    Built{"roce_address_table_size", "model/hca/address/identity.h"},
};

} // namespace conformance
