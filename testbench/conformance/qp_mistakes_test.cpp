#include "abi/prm/paging.h"
#include "testbench/harness/provocation.h"

#include <array>

namespace harness {

namespace {
using prm::Opcode;
using Bench = CommandBench;

template <class In> std::string_view refused(Bench& bench, const Input<In>& in, std::size_t out_length = 16) {
    return bench.run<prm::CommandOut>(in, out_length).refusal();
}
Input<prm::CreateQpIn> good(Bench& bench) {
    const auto objects = bench.make_objects();
    return Bench::qp_input(objects.pd, objects.uar, objects.cqn);
}
/// CREATE_QP with one field of the context changed.
template <abi::Name F> std::string_view qp_with(Bench& bench, std::uint64_t value) {
    auto in = good(bench);
    using T = typename prm::Qpc::field<F>::type;
    in.view().sub<"qpc">().set<F>(static_cast<T>(value));
    return refused(bench, in);
}
/// CREATE_QP with a field beside the context changed.
template <abi::Name F> std::string_view create_with(Bench& bench, std::uint32_t value) {
    auto in = good(bench);
    in.template set<F>(value);
    return refused(bench, in);
}
/// A queue pair driven up to the state that `opcode` starts from, and then that transition with one field changed.
template <abi::Name F> std::string_view transition_with(Bench& bench, Opcode opcode, std::uint64_t value) {
    bench.set_gid();
    const auto qpn = bench.make_qp(bench.make_objects());
    for (const Opcode step : {Opcode::rst2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp}) {
        Input<prm::Rst2initQpIn> in = Bench::transition_input(step, qpn);
        if (step != opcode) {
            refused(bench, in);
            continue;
        }
        const abi::View<prm::Qpc> qpc = in.view().sub<"qpc">();
        using T = typename prm::Qpc::field<F>::type;
        qpc.set<F>(static_cast<T>(value));
        return refused(bench, in);
    }
    return "";
}
template <abi::Name F> std::string_view path_with(Bench& bench, Opcode opcode, std::uint32_t value) {
    bench.set_gid();
    const auto qpn = bench.make_qp(bench.make_objects());
    if (opcode == Opcode::init2rtr_qp)
        bench.transit(Opcode::rst2init_qp, qpn);
    auto in = Bench::transition_input(opcode, qpn);
    in.view().sub<"qpc">().sub<"primary_address_path">().template set<F>(value);
    return refused(bench, in);
}

/// PAGE_FAULT_RESUME for a queue pair that exists, one number of it wrong.
std::string_view resume(Bench& bench, std::uint32_t type, std::uint32_t queue_offset, std::uint32_t token_offset) {
    const auto qpn = bench.make_qp(bench.make_objects());
    auto in = Input<prm::PageFaultResumeIn>(Opcode::page_fault_resume);
    in.view()
        .sub<"page_fault_info">()
        .sub<"trans_page_fault_info">()
        .set<"page_fault_type">(static_cast<prm::PageFaultType>(type))
        .set<"wq_number">(qpn + queue_offset)
        .set<"fault_token">(qpn + token_offset);
    return refused(bench, in);
}

const std::array queue_pairs{
    Provocation{"page_fault_resume.type", [](Bench& b) { return resume(b, 5, 0, 0); }},
    Provocation{"page_fault_resume.token", [](Bench& b) { return resume(b, 1, 0, 7); }},
    Provocation{"page_fault_resume.queue", [](Bench& b) { return resume(b, 1, 7, 0); }},
    Provocation{"create_qp.extension", [](Bench& b) { return create_with<"qpc_ext">(b, 1); }},
    Provocation{"create_qp.input_qpn", [](Bench& b) { return create_with<"input_qpn">(b, 0x100); }},
    Provocation{"create_qp.service", [](Bench& b) { return qp_with<"st">(b, 9); }},
    Provocation{"create_qp.wq_signature", [](Bench& b) { return qp_with<"wq_signature">(b, 1); }},
    Provocation{"create_qp.scatter_to_cqe", [](Bench& b) { return qp_with<"cs_req">(b, 0x12); }},
    Provocation{"create_qp.cross_channel", [](Bench& b) { return qp_with<"cd_master">(b, 1); }},
    Provocation{"create_qp.rq_type", [](Bench& b) { return qp_with<"rq_type">(b, 2); }},
    Provocation{"create_qp.sq_size", [](Bench& b) { return qp_with<"log_sq_size">(b, 9); }, Start::initialized,
                [](model::hca::HcaConfig& c) { c.log_max_qp_size = 8; }},
    Provocation{"create_qp.rq_size", [](Bench& b) { return qp_with<"log_rq_size">(b, 9); }, Start::initialized,
                [](model::hca::HcaConfig& c) { c.log_max_qp_size = 8; }},
    Provocation{"create_qp.rq_stride", [](Bench& b) { return qp_with<"log_rq_stride">(b, 6); }},
    Provocation{"create_qp.doorbell_record", [](Bench& b) { return qp_with<"dbr_addr">(b, 0x1002); }},
    Provocation{"create_qp.pd", [](Bench& b) { return qp_with<"pd">(b, 0); }},
    Provocation{"create_qp.uar", [](Bench& b) { return qp_with<"uar_page">(b, 0); }},
    Provocation{"create_qp.send_cq", [](Bench& b) { return qp_with<"cqn_snd">(b, 0); }},
    Provocation{"create_qp.receive_cq", [](Bench& b) { return qp_with<"cqn_rcv">(b, 0xffffff); }},
    Provocation{"create_qp.none_left",
                [](Bench& b) {
                    const auto in = good(b);
                    refused(b, in);
                    return refused(b, in);
                },
                Start::initialized, [](model::hca::HcaConfig& c) { c.log_max_qp = 1; }},
    Provocation{"destroy_qp.unknown",
                [](Bench& b) { return refused(b, Input<prm::DestroyQpIn>(Opcode::destroy_qp).set<"qpn">(0x40u)); }},
    Provocation{
        "query_qp.unknown",
        [](Bench& b) { return refused(b, Input<prm::QueryQpIn>(Opcode::query_qp).set<"qpn">(0xffffffu), 0x1d0); }},
    Provocation{"query_qp.extension",
                [](Bench& b) {
                    const auto qpn = b.make_qp(b.make_objects());
                    return refused(b, Input<prm::QueryQpIn>(Opcode::query_qp).set<"qpn">(qpn).set<"qpc_ext">(1u),
                                   0x1d0);
                }},
    Provocation{"modify_qp.unknown",
                [](Bench& b) { return refused(b, Bench::transition_input(Opcode::rst2init_qp, 0x1234)); }},
    Provocation{
        "modify_qp.state",
        [](Bench& b) { return refused(b, Bench::transition_input(Opcode::rtr2rts_qp, b.make_qp(b.make_objects()))); }},
    Provocation{"modify_qp.opt_param_mask",
                [](Bench& b) {
                    auto in = Bench::transition_input(Opcode::rst2init_qp, b.make_qp(b.make_objects()));
                    in.set<"opt_param_mask">(1u);
                    return refused(b, in);
                }},
    Provocation{"modify_qp.counter_set",
                [](Bench& b) { return transition_with<"counter_set_id">(b, Opcode::rst2init_qp, 9); }},
    Provocation{"modify_qp.atomic_mode", [](Bench& b) { return transition_with<"rae">(b, Opcode::rst2init_qp, 1); }},
    Provocation{"modify_qp.mtu", [](Bench& b) { return transition_with<"mtu">(b, Opcode::init2rtr_qp, 6); }},
    Provocation{"modify_qp.message_size",
                [](Bench& b) { return transition_with<"log_msg_max">(b, Opcode::init2rtr_qp, 31); }},
    Provocation{"modify_qp.responder_reads",
                [](Bench& b) { return transition_with<"log_rra_max">(b, Opcode::init2rtr_qp, 5); }},
    Provocation{"modify_qp.requester_reads",
                [](Bench& b) { return transition_with<"log_sra_max">(b, Opcode::rtr2rts_qp, 5); }},
    Provocation{"leave_qp.unknown",
                [](Bench& b) { return refused(b, Input<prm::Qp2errIn>(Opcode::qp_2err).set<"qpn">(0x41u)); }},
    Provocation{"qp_path.pkey_index", [](Bench& b) { return path_with<"pkey_index">(b, Opcode::rst2init_qp, 1); }},
    Provocation{"qp_path.port", [](Bench& b) { return path_with<"vhca_port_num">(b, Opcode::rst2init_qp, 2); }},
    Provocation{"qp_path.source_address",
                [](Bench& b) { return path_with<"src_addr_index">(b, Opcode::init2rtr_qp, 1); }},
};
} // namespace

std::span<const Provocation> qp_mistakes() { return queue_pairs; }

} // namespace harness
