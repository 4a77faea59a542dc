#include "testbench/harness/provocation.h"

#include <array>

namespace harness {

namespace {
using prm::Opcode;
using Bench = CommandBench;

template <class In> std::string_view refused(Bench& bench, const Input<In>& in, std::size_t out_length = 16) {
    return bench.run<prm::CommandOut>(in, out_length).refusal();
}
Input<prm::ManagePagesIn> pages(prm::PageAction action, std::uint32_t count) {
    Input<prm::ManagePagesIn> in(Opcode::manage_pages, static_cast<std::uint16_t>(action));
    in.set<"input_num_entries">(count);
    return in;
}
std::string_view atomic_mode(Bench& bench, std::uint32_t mode) {
    Input<prm::SetHcaCapIn> in(Opcode::set_hca_cap, static_cast<std::uint16_t>(prm::CapabilityType::atomic) << 1);
    abi::View<prm::AtomicCaps>(in.view().sub<"capability">().bytes()).set<"atomic_req_8b_endianness_mode">(mode);
    return refused(bench, in);
}

const std::array life_cycle{
    // --- before a command runs ---
    Provocation{"command.unknown", [](Bench& b) { return refused(b, Input<prm::CommandIn>(Opcode::create_srq)); }},
    Provocation{"command.capability_off",
                [](Bench& b) {
                    return refused(b, Input<prm::QueryHcaVportContextIn>(Opcode::query_hca_vport_context), 0x210);
                }},
    Provocation{"command.phase", [](Bench& b) { return refused(b, Input<prm::AllocPdIn>(Opcode::alloc_pd)); },
                Start::booted},
    Provocation{"command.input_too_short",
                [](Bench& b) { return refused(b, Input<prm::CommandIn>(Opcode::create_eq)); }},
    Provocation{"command.input_too_long",
                [](Bench& b) {
                    Input<prm::AllocPdIn> in(Opcode::alloc_pd);
                    in.bytes.resize(8192);
                    return refused(b, in);
                }},
    Provocation{"command.output_too_short",
                [](Bench& b) { return refused(b, Input<prm::QueryCqIn>(Opcode::query_cq), 16); }},
    Provocation{"command.uid",
                [](Bench& b) {
                    Input<prm::AllocPdIn> in(Opcode::alloc_pd);
                    abi::View<prm::CommandIn>(std::span(in.bytes)).set<"uid">(5);
                    return refused(b, in);
                }},
    // --- life cycle ---
    Provocation{"enable_hca.function",
                [](Bench& b) { return refused(b, Input<prm::EnableHcaIn>(Opcode::enable_hca).set<"function_id">(1u)); },
                Start::off},
    Provocation{"disable_hca.function",
                [](Bench& b) {
                    return refused(b, Input<prm::DisableHcaIn>(Opcode::disable_hca).set<"embedded_cpu_function">(1u));
                },
                Start::enabled},
    Provocation{"set_issi.not_supported",
                [](Bench& b) { return refused(b, Input<prm::SetIssiIn>(Opcode::set_issi).set<"current_issi">(40u)); },
                Start::enabled},
    Provocation{"init_hca.pages_missing", [](Bench& b) { return refused(b, Input<prm::InitHcaIn>(Opcode::init_hca)); },
                Start::booted},
    Provocation{
        "teardown_hca.profile",
        [](Bench& b) { return refused(b, Input<prm::TeardownHcaIn>(Opcode::teardown_hca).set<"profile">(1u)); }},
    // --- pages ---
    Provocation{
        "query_pages.function",
        [](Bench& b) { return refused(b, Input<prm::QueryPagesIn>(Opcode::query_pages, 1).set<"function_id">(3u)); },
        Start::enabled},
    Provocation{"query_pages.op_mod",
                [](Bench& b) { return refused(b, Input<prm::QueryPagesIn>(Opcode::query_pages, 4)); }, Start::enabled},
    Provocation{"manage_pages.function",
                [](Bench& b) { return refused(b, pages(prm::PageAction::take, 1).set<"function_id">(3u)); },
                Start::enabled},
    Provocation{"manage_pages.op_mod",
                [](Bench& b) { return refused(b, Input<prm::ManagePagesIn>(Opcode::manage_pages, 3)); },
                Start::enabled},
    Provocation{"manage_pages.list_too_short",
                [](Bench& b) { return refused(b, pages(prm::PageAction::give, 3).add(0x1000).add(0x2000)); },
                Start::enabled},
    Provocation{"manage_pages.too_many",
                [](Bench& b) {
                    for (std::uint64_t i = 0; i < firmware::State::max_given_pages; ++i)
                        b.device.state().pages.give(i << 12);
                    return refused(b, pages(prm::PageAction::give, 1).add(1ull << 50));
                },
                Start::enabled},
    Provocation{"manage_pages.given_twice_at_once",
                [](Bench& b) { return refused(b, pages(prm::PageAction::give, 2).add(0x1000).add(0x1000)); },
                Start::enabled},
    Provocation{"manage_pages.not_aligned",
                [](Bench& b) { return refused(b, pages(prm::PageAction::give, 1).add(0x1200)); }, Start::enabled},
    Provocation{"manage_pages.given_before",
                [](Bench& b) {
                    b.give(0x1000, 1);
                    return refused(b, pages(prm::PageAction::give, 1).add(0x1000));
                },
                Start::enabled},
    Provocation{"resources.no_pages",
                [](Bench& b) { // one page of initialization, one object a page
                    const auto uar = b.alloc_uar();
                    refused(b, Bench::eq_input(uar, 0));
                    return refused(b, Bench::eq_input(uar, 0));
                },
                Start::initialized,
                [](model::hca::HcaConfig& c) { c.init_pages = 1, c.pages_per_1024_objects = 1024; }},
    Provocation{"resources.page_entries",
                [](Bench& b) {
                    b.device.state().account.charge(firmware::objects::Account::max_entries, {});
                    return refused(b, Bench::eq_input(b.alloc_uar(), 0));
                }},
    // --- capabilities ---
    Provocation{"query_hca_cap.function",
                [](Bench& b) {
                    return refused(b, Input<prm::QueryHcaCapIn>(Opcode::query_hca_cap).set<"other_function">(1u),
                                   0x1010);
                },
                Start::booted},
    Provocation{
        "query_hca_cap.type",
        [](Bench& b) { return refused(b, Input<prm::QueryHcaCapIn>(Opcode::query_hca_cap, 0x3f << 1), 0x1010); },
        Start::booted},
    Provocation{
        "set_hca_cap.function",
        [](Bench& b) { return refused(b, Input<prm::SetHcaCapIn>(Opcode::set_hca_cap).set<"function_id">(1u)); },
        Start::booted},
    Provocation{"set_hca_cap.op_mod",
                [](Bench& b) { return refused(b, Input<prm::SetHcaCapIn>(Opcode::set_hca_cap, 1)); }, Start::booted},
    Provocation{"set_hca_cap.type",
                [](Bench& b) { return refused(b, Input<prm::SetHcaCapIn>(Opcode::set_hca_cap, 1 << 1)); },
                Start::booted},
    Provocation{"set_hca_cap.beyond_maximum",
                [](Bench& b) {
                    Input<prm::SetHcaCapIn> in(Opcode::set_hca_cap);
                    abi::View<prm::CmdHcaCap>(in.view().sub<"capability">().bytes()).set<"log_max_qp">(31);
                    return refused(b, in);
                },
                Start::booted},
    Provocation{"set_hca_cap.atomic_mode", [](Bench& b) { return atomic_mode(b, 2); }, Start::booted},
};
} // namespace

std::span<const Provocation> life_cycle_mistakes() { return life_cycle; }

} // namespace harness
