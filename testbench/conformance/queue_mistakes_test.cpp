#include "testbench/harness/provocation.h"

#include <algorithm>
#include <array>

namespace harness {

namespace {
using prm::Opcode;
using Bench = CommandBench;

template <class In> std::string_view refused(Bench& bench, const Input<In>& in, std::size_t out_length = 16) {
    return bench.run<prm::CommandOut>(in, out_length).refusal();
}
/// CREATE_EQ with one field of the context changed.
template <abi::Name F> std::string_view eq_with(Bench& bench, std::uint32_t value) {
    auto in = Bench::eq_input(bench.alloc_uar(), 0);
    in.view().sub<"eq_context_entry">().set<F>(value);
    return refused(bench, in);
}
std::uint32_t make_eq(Bench& bench, std::uint32_t uar, std::uint64_t events = 0) {
    return bench.run<prm::CreateEqOut>(Bench::eq_input(uar, events)).get<"eq_number">();
}
/// CREATE_CQ with one field of the context changed.
template <abi::Name F> std::string_view cq_with(Bench& bench, std::uint64_t value) {
    const auto uar = bench.alloc_uar();
    auto in = Bench::cq_input(uar, make_eq(bench, uar));
    using T = typename prm::Cqc::field<F>::type;
    in.view().sub<"cq_context">().set<F>(static_cast<T>(value));
    return refused(bench, in);
}
std::string_view modify_cq(Bench& bench, std::uint16_t op_mod, std::uint32_t select, bool known = true) {
    Input<prm::ModifyCqIn> in(Opcode::modify_cq, op_mod);
    in.set<"cqn">(known ? bench.make_objects().cqn : 0xabcdefu).set<"modify_field_select_resize_field_select">(select);
    return refused(bench, in);
}

/// A resize to 2^log_size entries; `prepare(bench, cqn)` is called before.
template <class Prepare> std::string_view resize(Bench& bench, std::uint32_t log_size, Prepare&& prepare) {
    const auto cqn = bench.make_objects().cqn;
    prepare(bench, cqn);
    Input<prm::ModifyCqIn> in(Opcode::modify_cq, prm::modify_cq_resize);
    in.set<"cqn">(cqn).set<"modify_field_select_resize_field_select">(7u);
    in.view().sub<"cq_context">().set<"log_cq_size">(log_size);
    for (std::uint64_t page = 0; page < std::max(64ull << log_size, 4096ull) / 4096; ++page)
        in.add(Bench::rings + 0x200000 + page * 4096);
    return refused(bench, in);
}
template <abi::Name F> std::string_view resize_with(Bench& bench, std::uint32_t value) {
    Input<prm::ModifyCqIn> in(Opcode::modify_cq, prm::modify_cq_resize);
    in.set<"cqn">(bench.make_objects().cqn).set<"modify_field_select_resize_field_select">(7u);
    in.view().sub<"cq_context">().set<F>(value);
    return refused(bench, in);
}

const std::array queues{
    Provocation{"buffer.pages_missing",
                [](Bench& b) {
                    auto in = Bench::eq_input(b.alloc_uar(), 0, 7); // 8 KiB
                    in.bytes.resize(in.bytes.size() - 8);
                    return refused(b, in);
                }},
    Provocation{"buffer.page_not_aligned",
                [](Bench& b) {
                    auto in = Bench::eq_input(b.alloc_uar(), 0);
                    in.bytes.back() = std::byte{0x40};
                    return refused(b, in);
                }},

    Provocation{"create_eq.size", [](Bench& b) { return eq_with<"log_eq_size">(b, 17); }},
    Provocation{"create_eq.uar", [](Bench& b) { return eq_with<"uar_page">(b, 5); }},
    Provocation{"create_eq.polled_uar",
                [](Bench& b) { return refused(b, Bench::eq_input(b.alloc_uar(b.create_uctx()), 0)); },
                Start::initialized, [](model::hca::HcaConfig& c) { c.polled_doorbells = true; }},
    Provocation{"create_eq.vector", [](Bench& b) { return eq_with<"intr">(b, 32); }},
    Provocation{"create_eq.second_command_queue",
                [](Bench& b) {
                    const auto uar = b.alloc_uar();
                    make_eq(b, uar, 1 << 10);
                    return refused(b, Bench::eq_input(uar, 1 << 10));
                }},
    Provocation{"create_eq.none_left",
                [](Bench& b) {
                    const auto uar = b.alloc_uar();
                    for (int i = 0; i < 4; ++i)
                        make_eq(b, uar);
                    return refused(b, Bench::eq_input(uar, 0));
                },
                Start::initialized, [](model::hca::HcaConfig& c) { c.log_max_eq = 2; }},
    Provocation{"destroy_eq.unknown",
                [](Bench& b) { return refused(b, Input<prm::DestroyEqIn>(Opcode::destroy_eq).set<"eq_number">(3u)); }},
    Provocation{"destroy_eq.in_use",
                [](Bench& b) {
                    return refused(b,
                                   Input<prm::DestroyEqIn>(Opcode::destroy_eq).set<"eq_number">(b.make_objects().eqn));
                }},
    Provocation{
        "query_eq.unknown",
        [](Bench& b) { return refused(b, Input<prm::QueryEqIn>(Opcode::query_eq).set<"eq_number">(3u), 0x110); }},

    Provocation{"create_cq.apu", [](Bench& b) { return cq_with<"apu_cq">(b, 1); }},
    Provocation{"create_cq.collapsed", [](Bench& b) { return cq_with<"cc">(b, 1); }},
    Provocation{"create_cq.compression", [](Bench& b) { return cq_with<"cqe_comp_en">(b, 1); }},
    Provocation{"create_cq.entry_size", [](Bench& b) { return cq_with<"cqe_sz">(b, 2); }},
    Provocation{"create_cq.size", [](Bench& b) { return cq_with<"log_cq_size">(b, 23); }},
    Provocation{"create_cq.doorbell_record", [](Bench& b) { return cq_with<"dbr_addr">(b, 0x1004); }},
    Provocation{"create_cq.uar", [](Bench& b) { return cq_with<"uar_page">(b, 999); }},
    Provocation{"create_cq.eq", [](Bench& b) { return cq_with<"c_eqn_or_apu_element">(b, 0x40000000); }},
    Provocation{"create_cq.none_left",
                [](Bench& b) {
                    auto uar = b.alloc_uar();
                    const auto in = Bench::cq_input(uar, make_eq(b, uar));
                    std::string_view last;
                    for (int i = 0; i < 2; ++i)
                        last = refused(b, in);
                    return last;
                },
                Start::initialized, [](model::hca::HcaConfig& c) { c.log_max_cq = 1; }},
    Provocation{"destroy_cq.unknown",
                [](Bench& b) { return refused(b, Input<prm::DestroyCqIn>(Opcode::destroy_cq).set<"cqn">(0xffffffu)); }},
    Provocation{"destroy_cq.in_use",
                [](Bench& b) {
                    const auto objects = b.make_objects();
                    b.make_qp(objects);
                    return refused(b, Input<prm::DestroyCqIn>(Opcode::destroy_cq).set<"cqn">(objects.cqn));
                }},
    Provocation{"query_cq.unknown",
                [](Bench& b) { return refused(b, Input<prm::QueryCqIn>(Opcode::query_cq).set<"cqn">(1u), 0x110); }},
    Provocation{"modify_cq.unknown", [](Bench& b) { return modify_cq(b, 0, 1, false); }},
    Provocation{"modify_cq.op_mod", [](Bench& b) { return modify_cq(b, 2, 0); }},
    Provocation{"modify_cq.resize_fields", [](Bench& b) { return modify_cq(b, 1, 1); }},
    Provocation{"modify_cq.entry_size", [](Bench& b) { return resize_with<"cqe_sz">(b, 1); }},
    Provocation{"modify_cq.size", [](Bench& b) { return resize_with<"log_cq_size">(b, 23); }},
    Provocation{"modify_cq.outstanding",
                [](Bench& b) {
                    return resize(b, 4, [](Bench& bench, std::uint32_t cqn) {
                        bench.hca.completion_queues().find(cqn)->producer = 16;
                    });
                }},
    Provocation{"modify_cq.state",
                [](Bench& b) {
                    return resize(b, 7, [](Bench& bench, std::uint32_t cqn) {
                        bench.hca.completion_queues().find(cqn)->producer = 64;
                    });
                }},
    Provocation{"modify_cq.field_select", [](Bench& b) { return modify_cq(b, 0, 1 << 4); }},
};
} // namespace

std::span<const Provocation> queue_mistakes() { return queues; }

} // namespace harness
