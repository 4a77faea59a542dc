#include "testbench/harness/provocation.h"

#include <array>

namespace harness {

namespace {
using prm::Opcode;
using Bench = CommandBench;

constexpr std::uint64_t memory = 0x60000000;

template <class In> std::string_view refused(Bench& bench, const Input<In>& in, std::size_t out_length = 16) {
    return bench.run<prm::CommandOut>(in, out_length).refusal();
}
/// CREATE_UMEM of two pages with one field changed.
template <abi::Name F> std::string_view umem_with(Bench& bench, std::uint32_t value) {
    auto in = Bench::umem_input(bench.create_uctx(), memory, 2);
    in.view().sub<"umem">().template set<F>(value);
    return refused(bench, in);
}
/// CREATE_CQ of one page in user memory of one page, from `offset` on.
std::string_view cq_in(Bench& bench, std::uint64_t offset) {
    const auto uid = bench.create_uctx();
    const auto o = bench.make_objects();
    const auto uar = bench.run<prm::AllocUarOut>(Input<prm::AllocUarIn>(Opcode::alloc_uar).by(uid)).get<"uar">();
    auto in = Bench::cq_input(uar, o.eqn);
    in.by(uid).set<"cq_umem_valid">(1).set<"cq_umem_id">(bench.create_umem(uid, memory)).set<"cq_umem_offset">(offset);
    return refused(bench, in);
}
/// CREATE_MKEY over user memory: 8 KiB from `start` on, in two pages that do not touch.
std::string_view mkey_in(Bench& bench, std::uint64_t start, std::uint32_t log_page_size) {
    const auto uid = bench.create_uctx();
    const auto pd = bench.run<prm::AllocPdOut>(Input<prm::AllocPdIn>(Opcode::alloc_pd).by(uid)).get<"pd">();
    auto umem = Bench::umem_input(uid, memory);
    umem.view().sub<"umem">().set<"num_of_mtt">(2u);
    umem.add(memory + 0x10000);
    auto in = Bench::mkey_input(pd, start, 0x2000, 0);
    in.view().sub<"memory_key_mkey_entry">().set<"log_page_size">(log_page_size);
    in.by(uid).set<"mkey_umem_valid">(1).set<"mkey_umem_id">(bench.run<prm::CreateUmemOut>(umem).get<"umem_id">());
    return refused(bench, in);
}

const std::array user_contexts{
    Provocation{"command.privileged",
                [](Bench& b) {
                    const auto uid = b.create_uctx();
                    return refused(b, Bench::eq_input(b.alloc_uar(), 0).by(uid));
                }},
    Provocation{"create_uctx.capability",
                [](Bench& b) {
                    Input<prm::CreateUctxIn> in(Opcode::create_uctx);
                    in.view().sub<"uctx">().set<"cap">(1u);
                    return refused(b, in);
                }},
    Provocation{"create_uctx.none_left",
                [](Bench& b) {
                    for (unsigned i = 1; i < 1u << b.device.state().capabilities.general().get<"log_max_uctx">(); ++i)
                        if (b.create_uctx() == 0)
                            return std::string_view{};
                    return refused(b, Input<prm::CreateUctxIn>(Opcode::create_uctx));
                }},
    Provocation{"destroy_uctx.unknown",
                [](Bench& b) { return refused(b, Input<prm::DestroyUctxIn>(Opcode::destroy_uctx).set<"uid">(7u)); }},
    Provocation{"destroy_uctx.in_use",
                [](Bench& b) {
                    const auto uid = b.create_uctx();
                    b.create_umem(uid, memory);
                    return refused(b, Input<prm::DestroyUctxIn>(Opcode::destroy_uctx).set<"uid">(uid));
                }},
    Provocation{"create_umem.uid", [](Bench& b) { return refused(b, Bench::umem_input(0, memory)); }},
    Provocation{"create_umem.ats", [](Bench& b) { return umem_with<"ats">(b, 1); }},
    Provocation{"create_umem.list", [](Bench& b) { return umem_with<"num_of_mtt">(b, 0); }},
    Provocation{"create_umem.list", [](Bench& b) { return umem_with<"num_of_mtt">(b, 3); }},
    Provocation{"create_umem.page_offset", [](Bench& b) { return umem_with<"page_offset">(b, 4096); }},
    Provocation{"create_umem.page_not_aligned", [](Bench& b) { return umem_with<"log_page_size">(b, 20); }},
    Provocation{"create_umem.none_left",
                [](Bench& b) {
                    const auto uid = b.create_uctx();
                    b.device.state().registry.set_numbers(firmware::Kind::umem, {1, 2});
                    b.create_umem(uid, memory);
                    return refused(b, Bench::umem_input(uid, memory));
                }},
    Provocation{
        "destroy_umem.unknown",
        [](Bench& b) { return refused(b, Input<prm::DestroyUmemIn>(Opcode::destroy_umem).set<"umem_id">(9u)); }},
    Provocation{"destroy_umem.in_use",
                [](Bench& b) {
                    cq_in(b, 0);
                    return refused(b, Input<prm::DestroyUmemIn>(Opcode::destroy_umem).set<"umem_id">(1u));
                }},
    Provocation{"umem.unknown",
                [](Bench& b) {
                    const auto o = b.make_objects();
                    return refused(b, Bench::cq_input(o.uar, o.eqn).set<"cq_umem_valid">(1).set<"cq_umem_id">(3u));
                }},
    Provocation{"umem.range", [](Bench& b) { return cq_in(b, 1); }},
    Provocation{"umem.range", [](Bench& b) { return cq_in(b, ~0ull); }},
    Provocation{"create_mkey.umem_alignment", [](Bench& b) { return mkey_in(b, 0x10010, 12); }},
    Provocation{"create_mkey.umem_pages", [](Bench& b) { return mkey_in(b, 0x10000, 13); }},
    Provocation{"modify_cq.umem",
                [](Bench& b) {
                    Input<prm::ModifyCqIn> in(Opcode::modify_cq, prm::modify_cq_resize);
                    return refused(b, in.set<"cqn">(b.make_objects().cqn).set<"cq_umem_valid">(1));
                }},
};
} // namespace

std::span<const Provocation> user_context_mistakes() { return user_contexts; }

} // namespace harness
