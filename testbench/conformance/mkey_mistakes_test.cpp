#include "testbench/harness/provocation.h"

#include <array>

namespace harness {

namespace {
using prm::Opcode;
using Bench = CommandBench;

template <class In> std::string_view refused(Bench& bench, const Input<In>& in, std::size_t out_length = 16) {
    return bench.run<prm::CommandOut>(in, out_length).refusal();
}
/// CREATE_MKEY over two pages with one field of the context changed.
template <abi::Name F> std::string_view mkey_with(Bench& bench, std::uint64_t value) {
    auto in = Bench::mkey_input(bench.alloc_pd(), 0x10000, 0x2000, 2);
    using T = typename prm::Mkc::field<F>::type;
    in.view().sub<"memory_key_mkey_entry">().set<F>(static_cast<T>(value));
    return refused(bench, in);
}
template <abi::Name F> std::string_view command_with(Bench& bench, std::uint32_t value) {
    auto in = Bench::mkey_input(bench.alloc_pd(), 0x10000, 0x2000, 2);
    in.template set<F>(value);
    return refused(bench, in);
}

const std::array mkeys{
    Provocation{"create_mkey.umem",
                [](Bench& b) {
                    auto in = Bench::mkey_input(b.alloc_pd(), 0x10000, 0x2000, 2);
                    prm::set_access_mode(in.view().sub<"memory_key_mkey_entry">(), prm::AccessMode::klms);
                    in.set<"mkey_umem_valid">(1);
                    return refused(b, in);
                }},
    Provocation{"create_mkey.data_direct", [](Bench& b) { return command_with<"data_direct">(b, 1); }},
    Provocation{"create_mkey.access_mode", [](Bench& b) { return mkey_with<"access_mode_4_2">(b, 1); }},
    Provocation{"create_mkey.signature", [](Bench& b) { return mkey_with<"bsf_en">(b, 1); }},
    Provocation{"create_mkey.relaxed_ordering", [](Bench& b) { return mkey_with<"relaxed_ordering_write">(b, 1); }},
    Provocation{"create_mkey.klm_list",
                [](Bench& b) {
                    auto in = Bench::mkey_input(b.alloc_pd(), 0, 0, 0);
                    const auto mkc = in.view().sub<"memory_key_mkey_entry">();
                    prm::set_access_mode(mkc, prm::AccessMode::klms);
                    mkc.set<"free">(1).set<"translations_octword_size">(0x10001);
                    return refused(b, in);
                }},
    Provocation{"create_mkey.pd", [](Bench& b) { return mkey_with<"pd">(b, 0x4000); }},
    Provocation{"create_mkey.page_size", [](Bench& b) { return mkey_with<"log_page_size">(b, 11); }},
    Provocation{"create_mkey.length64_with_mtt", [](Bench& b) { return mkey_with<"length64">(b, 1); }},
    Provocation{"create_mkey.list_too_short",
                [](Bench& b) { return command_with<"translations_octword_actual_size">(b, 2); }},
    Provocation{"create_mkey.list_too_long", [](Bench& b) { return mkey_with<"translations_octword_size">(b, 0); }},
    Provocation{"create_mkey.range_wraps", [](Bench& b) { return mkey_with<"start_addr">(b, ~0ull - 0xffe); }},
    Provocation{"create_mkey.pa_range_wraps",
                [](Bench& b) {
                    auto in = Bench::mkey_input(b.alloc_pd(), ~0ull, 2, 0);
                    prm::set_access_mode(in.view().sub<"memory_key_mkey_entry">(), prm::AccessMode::pa);
                    return refused(b, in);
                }},
    Provocation{"create_mkey.range_beyond_list", [](Bench& b) { return mkey_with<"start_addr">(b, 0x10001); }},
    Provocation{"create_mkey.page_not_aligned", [](Bench& b) { return mkey_with<"log_page_size">(b, 31); }},
    Provocation{"create_mkey.none_left",
                [](Bench& b) {
                    const auto in = Bench::mkey_input(b.alloc_pd(), 0, 4096, 1);
                    refused(b, in);
                    return refused(b, in);
                },
                Start::initialized, [](model::hca::HcaConfig& c) { c.log_max_mkey = 1; }},
    Provocation{"destroy_mkey.unknown",
                [](Bench& b) {
                    return refused(b, Input<prm::DestroyMkeyIn>(Opcode::destroy_mkey).set<"mkey_index">(0xffffffu));
                }},
    Provocation{
        "query_mkey.unknown",
        [](Bench& b) { return refused(b, Input<prm::QueryMkeyIn>(Opcode::query_mkey).set<"mkey_index">(0u), 0x130); }},
};
} // namespace

std::span<const Provocation> mkey_mistakes() { return mkeys; }

} // namespace harness
