#include "testbench/harness/provocation.h"

#include <array>

namespace harness {

namespace {
using prm::Opcode;
using Bench = CommandBench;

template <class In> std::string_view refused(Bench& bench, const Input<In>& in, std::size_t out_length = 16) {
    return bench.run<prm::CommandOut>(in, out_length).refusal();
}
/// CREATE_RMP with something changed.
template <class Change> std::string_view rmp_with(Bench& bench, Change&& change) {
    auto in = Bench::rmp_input(bench.alloc_pd());
    change(in.view().template sub<"ctx">());
    return refused(bench, in);
}
template <abi::Name F> std::string_view rmp_wq_with(Bench& bench, std::uint64_t value) {
    return rmp_with(bench, [value](auto rmpc) {
        using T = typename prm::Wq::field<F>::type;
        rmpc.template sub<"wq">().template set<F>(static_cast<T>(value));
    });
}
std::uint32_t make_rmp(Bench& bench) {
    return bench.run<prm::CreateRmpOut>(Bench::rmp_input(bench.alloc_pd())).get<"rmpn">();
}
std::string_view modify_rmp(Bench& bench, std::uint32_t rmpn, prm::RmpState state) {
    Input<prm::ModifyRmpIn> in(Opcode::modify_rmp);
    in.set<"rmpn">(rmpn).set<"rmp_state">(state);
    return refused(bench, in);
}
/// CREATE_XRC_SRQ with one field changed.
template <abi::Name F> std::string_view xrc_srq_with(Bench& bench, std::uint32_t value) {
    const auto o = bench.make_objects();
    auto in = Bench::xrc_srq_input(o.pd, o.cqn, bench.alloc_xrcd());
    in.view().sub<"xrc_srq_context_entry">().set<F>(value);
    return refused(bench, in);
}
/// CREATE_QP that receives from a new pool.
Input<prm::CreateQpIn> sharing_qp(Bench& bench, const Bench::Objects& o) {
    auto in = Bench::qp_input(o.pd, o.uar, o.cqn);
    in.view().sub<"qpc">().set<"rq_type">(prm::ReceiveQueueType::srq).set<"srqn_rmpn_xrqn">(make_rmp(bench));
    return in;
}
constexpr std::uint32_t unknown = 0xabcdef;

const std::array shared_queues{
    Provocation{"create_xrc_srq.umem", [](Bench& b) { return xrc_srq_with<"dbr_umem_valid">(b, 1); }},
    Provocation{"create_srq.wq_signature", [](Bench& b) { return rmp_wq_with<"wq_signature">(b, 1); }},
    Provocation{"create_srq.size", [](Bench& b) { return rmp_wq_with<"log_wq_sz">(b, 9); }, Start::initialized,
                [](model::hca::HcaConfig& c) { c.log_max_srq_size = 8; }},
    Provocation{"create_srq.stride", [](Bench& b) { return rmp_wq_with<"log_wq_stride">(b, 4); }},
    Provocation{"create_srq.stride", [](Bench& b) { return rmp_wq_with<"log_wq_stride">(b, 10); }},
    Provocation{"create_srq.basic_list",
                [](Bench& b) {
                    auto in = Bench::rmp_input(b.make_objects().pd);
                    in.view().sub<"ctx">().set<"basic_cyclic_rcv_wqe">(1);
                    return refused(b, in);
                }},
    Provocation{"create_srq.doorbell_record", [](Bench& b) { return rmp_wq_with<"dbr_addr">(b, 0x20000102); }},
    Provocation{"create_srq.pd", [](Bench& b) { return rmp_wq_with<"pd">(b, unknown); }},
    Provocation{"create_srq.none_left",
                [](Bench& b) {
                    for (int i = 0; i < 3; ++i)
                        make_rmp(b);
                    return refused(b, Bench::rmp_input(b.alloc_pd()));
                },
                Start::initialized, [](model::hca::HcaConfig& c) { c.log_max_srq = 2; }},
    Provocation{"destroy_srq.in_use",
                [](Bench& b) {
                    const auto qp = sharing_qp(b, b.make_objects());
                    b.run<prm::CreateQpOut>(qp);
                    const auto rmpn = b.hca.shared_receive_queues().find(0x80) ? 0x80u : 1u;
                    return refused(b, Input<prm::DestroyRmpIn>(Opcode::destroy_rmp).set<"rmpn">(rmpn));
                }},
    Provocation{"create_rmp.type", [](Bench& b) { return rmp_wq_with<"wq_type">(b, 2); }},
    Provocation{
        "create_rmp.state",
        [](Bench& b) { return rmp_with(b, [](auto rmpc) { rmpc.template set<"state">(prm::RmpState::error); }); }},
    Provocation{
        "destroy_rmp.unknown",
        [](Bench& b) { return refused(b, Input<prm::DestroyRmpIn>(Opcode::destroy_rmp).set<"rmpn">(unknown)); }},
    Provocation{
        "query_rmp.unknown",
        [](Bench& b) { return refused(b, Input<prm::QueryRmpIn>(Opcode::query_rmp).set<"rmpn">(unknown), 0x110); }},
    Provocation{"modify_rmp.unknown", [](Bench& b) { return modify_rmp(b, unknown, prm::RmpState::ready); }},
    Provocation{"modify_rmp.state", [](Bench& b) { return modify_rmp(b, make_rmp(b), prm::RmpState::error); }},
    Provocation{"create_xrc_srq.xrcd", [](Bench& b) { return xrc_srq_with<"xrcd">(b, unknown); }},
    Provocation{"create_xrc_srq.cq", [](Bench& b) { return xrc_srq_with<"cqn">(b, unknown); }},
    Provocation{"destroy_xrc_srq.unknown", // a pool is none
                [](Bench& b) {
                    return refused(b,
                                   Input<prm::DestroyXrcSrqIn>(Opcode::destroy_xrc_srq).set<"xrc_srqn">(make_rmp(b)));
                }},
    Provocation{"query_xrc_srq.unknown",
                [](Bench& b) {
                    return refused(b, Input<prm::QueryXrcSrqIn>(Opcode::query_xrc_srq).set<"xrc_srqn">(unknown), 0x110);
                }},
    Provocation{
        "arm_xrc_srq.unknown",
        [](Bench& b) { return refused(b, Input<prm::ArmXrcSrqIn>(Opcode::arm_xrc_srq).set<"xrc_srqn">(unknown)); }},
    Provocation{"alloc_xrcd.none_left",
                [](Bench& b) {
                    for (int i = 0; i < 3; ++i)
                        b.alloc_xrcd();
                    return refused(b, Input<prm::AllocXrcdIn>(Opcode::alloc_xrcd));
                },
                Start::initialized, [](model::hca::HcaConfig& c) { c.log_max_xrcd = 2; }},
    Provocation{
        "dealloc_xrcd.unknown",
        [](Bench& b) { return refused(b, Input<prm::DeallocXrcdIn>(Opcode::dealloc_xrcd).set<"xrcd">(unknown)); }},
    Provocation{"dealloc_xrcd.in_use",
                [](Bench& b) {
                    const auto o = b.make_objects();
                    const auto xrcd = b.alloc_xrcd();
                    b.run<prm::CreateXrcSrqOut>(Bench::xrc_srq_input(o.pd, o.cqn, xrcd));
                    return refused(b, Input<prm::DeallocXrcdIn>(Opcode::dealloc_xrcd).set<"xrcd">(xrcd));
                }},
    Provocation{"create_qp.srq",
                [](Bench& b) {
                    auto in = sharing_qp(b, b.make_objects());
                    in.view().sub<"qpc">().set<"srqn_rmpn_xrqn">(unknown);
                    return refused(b, in);
                }},
    Provocation{"create_qp.xrcd",
                [](Bench& b) {
                    auto in = sharing_qp(b, b.make_objects());
                    in.view().sub<"qpc">().set<"st">(prm::QpType::xrc).set<"xrcd">(unknown);
                    return refused(b, in);
                }},
    Provocation{"create_qp.special_in_use",
                [](Bench& b) {
                    const auto o = b.make_objects();
                    auto in = Bench::qp_input(o.pd, o.uar, o.cqn);
                    in.view().sub<"qpc">().set<"st">(prm::QpType::qp1);
                    b.run<prm::CreateQpOut>(in);
                    return refused(b, in);
                }},
};
} // namespace

std::span<const Provocation> srq_mistakes() { return shared_queues; }

} // namespace harness
