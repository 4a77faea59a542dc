#include "testbench/harness/provocation.h"

#include "abi/prm/access_register.h"
#include "abi/prm/q_counter.h"

#include <array>

namespace harness {

namespace {
using prm::Opcode;
using Bench = CommandBench;

std::string_view access(Bench& bench, std::uint32_t id, std::uint16_t op_mod, std::vector<std::uint32_t> dwords,
                        std::size_t out_bytes = 0x50) {
    Input<prm::AccessRegIn> in(Opcode::access_reg, op_mod);
    in.set<"register_id">(id);
    dwords.resize(std::max<std::size_t>(dwords.size(), 4));
    if (dwords.size() % 2 != 0)
        dwords.push_back(0);
    for (std::size_t i = 0; i < dwords.size(); i += 2)
        in.add(std::uint64_t{dwords[i]} << 32 | dwords[i + 1]);
    return bench.run<prm::CommandOut>(in, out_bytes).refusal();
}
template <class In> std::string_view refused(Bench& bench, const Input<In>& in, std::size_t out_length = 16) {
    return bench.run<prm::CommandOut>(in, out_length).refusal();
}
template <class In> std::string_view refused_after(Bench& bench, const Input<In>& in, unsigned times) {
    std::string_view last;
    for (unsigned i = 0; i < times; ++i)
        last = refused(bench, in);
    return last;
}
constexpr std::uint32_t port_1 = 1u << 16;

const std::array registers{
    Provocation{"access_reg.unknown", [](Bench& b) { return access(b, 0x9999, 1, {port_1}); }, Start::booted},
    Provocation{"access_reg.op_mod", [](Bench& b) { return access(b, 0x5003, 2, {port_1}); }, Start::booted},
    Provocation{"access_reg.direction", [](Bench& b) { return access(b, 0x7004, 1, {}); }, Start::booted},
    Provocation{"access_reg.input_short", [](Bench& b) { return access(b, 0x5004, 1, {port_1}); }, Start::booted},
    Provocation{"access_reg.output_short", [](Bench& b) { return access(b, 0x5003, 1, {port_1}, 0x18); },
                Start::booted},
    Provocation{"access_reg.port", [](Bench& b) { return access(b, 0x5003, 1, {2u << 16}); }, Start::booted},
    Provocation{"access_reg.mtu", [](Bench& b) { return access(b, 0x5003, 0, {port_1, 0, 0xffff0000}); },
                Start::booted},
    Provocation{"access_reg.not_infiniband", [](Bench& b) { return access(b, 0x500f, 1, {port_1}); }, Start::booted},
    Provocation{"access_reg.counter_group",
                [](Bench& b) { return access(b, 0x5008, 1, std::vector<std::uint32_t>(64, port_1 | 0x12), 0x110); },
                Start::booted},
    Provocation{"access_reg.admin_status", [](Bench& b) { return access(b, 0x5006, 0, {port_1 | 7u << 8}); },
                Start::booted},
    Provocation{"access_reg.endianness", [](Bench& b) { return access(b, 0x7004, 0, {1u << 31}); }, Start::booted},

    Provocation{"alloc_uar.none_left",
                [](Bench& b) { return refused_after(b, Input<prm::AllocUarIn>(Opcode::alloc_uar), 5); },
                Start::initialized,
                [](model::hca::HcaConfig& c) { c.uar_pages = static_cast<std::uint16_t>(c.first_uar + 4); }},
    Provocation{"dealloc_uar.unknown",
                [](Bench& b) { return refused(b, Input<prm::DeallocUarIn>(Opcode::dealloc_uar).set<"uar">(20u)); }},
    Provocation{"dealloc_uar.in_use",
                [](Bench& b) {
                    const auto uar = b.alloc_uar();
                    refused(b, Bench::eq_input(uar, 0));
                    return refused(b, Input<prm::DeallocUarIn>(Opcode::dealloc_uar).set<"uar">(uar));
                }},
    Provocation{"alloc_pd.none_left",
                [](Bench& b) { return refused_after(b, Input<prm::AllocPdIn>(Opcode::alloc_pd), 8); },
                Start::initialized, [](model::hca::HcaConfig& c) { c.log_max_pd = 3; }},
    Provocation{"dealloc_pd.unknown",
                [](Bench& b) { return refused(b, Input<prm::DeallocPdIn>(Opcode::dealloc_pd).set<"pd">(0xffffffu)); }},
    Provocation{"dealloc_pd.in_use",
                [](Bench& b) {
                    const auto pd = b.alloc_pd();
                    refused(b, Bench::mkey_input(pd, 0, 4096, 1));
                    return refused(b, Input<prm::DeallocPdIn>(Opcode::dealloc_pd).set<"pd">(pd));
                }},
    Provocation{"alloc_transport_domain.none_left",
                [](Bench& b) {
                    return refused_after(b, Input<prm::AllocTransportDomainIn>(Opcode::alloc_transport_domain), 4);
                },
                Start::initialized, [](model::hca::HcaConfig& c) { c.log_max_transport_domain = 2; }},
    Provocation{
        "dealloc_transport_domain.unknown",
        [](Bench& b) {
            return refused(
                b, Input<prm::DeallocTransportDomainIn>(Opcode::dealloc_transport_domain).set<"transport_domain">(9u));
        }},
    Provocation{"alloc_q_counter.none_left",
                [](Bench& b) { return refused_after(b, Input<prm::AllocQCounterIn>(Opcode::alloc_q_counter), 2); },
                Start::initialized, [](model::hca::HcaConfig& c) { c.max_q_counters = 2; }},
    Provocation{"dealloc_q_counter.unknown",
                [](Bench& b) {
                    return refused(b,
                                   Input<prm::DeallocQCounterIn>(Opcode::dealloc_q_counter).set<"counter_set_id">(0u));
                }},
    Provocation{"dealloc_q_counter.in_use",
                [](Bench& b) {
                    const auto set = b.run<prm::AllocQCounterOut>(Input<prm::AllocQCounterIn>(Opcode::alloc_q_counter))
                                         .get<"counter_set_id">();
                    auto in = Bench::transition_input(Opcode::rst2init_qp, b.make_qp(b.make_objects()));
                    in.view().sub<"qpc">().set<"counter_set_id">(set);
                    refused(b, in);
                    return refused(b,
                                   Input<prm::DeallocQCounterIn>(Opcode::dealloc_q_counter).set<"counter_set_id">(set));
                }},
    Provocation{"query_q_counter.vport",
                [](Bench& b) {
                    return refused(b, Input<prm::QueryQCounterIn>(Opcode::query_q_counter).set<"other_vport">(1u),
                                   0x100);
                }},
    Provocation{"query_q_counter.aggregate",
                [](Bench& b) {
                    return refused(b, Input<prm::QueryQCounterIn>(Opcode::query_q_counter).set<"aggregate">(1u), 0x100);
                }},
    Provocation{"query_q_counter.unknown",
                [](Bench& b) {
                    return refused(b, Input<prm::QueryQCounterIn>(Opcode::query_q_counter).set<"counter_set_id">(200u),
                                   0x100);
                }},
};
} // namespace

std::span<const Provocation> register_mistakes() { return registers; }

} // namespace harness
