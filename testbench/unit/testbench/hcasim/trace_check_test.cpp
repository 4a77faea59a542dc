// `trace check`: what a person reads of a recording that breaks a rule, and of one that does not.
#include "testbench/hcasim/trace_check.h"

#include "testbench/unit/traces/monitor/good_trace.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace monitor_bench;
using Catch::Matchers::ContainsSubstring;

namespace {

Bytes file_of(const Trace& trace) {
    trace_bench::MemoryDestination destination;
    codec::Writer writer(destination, trace.head, {});
    for (const auto& [number, kept] : trace.records)
        writer.write(kept.interface, kept.time_ps, kept.mark, kept.head, kept.payload);
    REQUIRE(writer.close());
    return destination.bytes;
}
/// The second of two atomics completes as the first one, again.
Trace with_completion_twice() {
    auto trace = good_trace();
    const auto completions = places<monitor::CqeWritten>(trace, [](const auto&) { return true; });
    const auto first = trace.records[completions.at(4)].kept.payload;
    const abi::View<abi::prm::Cqe64> second(trace.records[completions.at(5)].kept.payload);
    second.set<"wqe_counter">(abi::ConstView<abi::prm::Cqe64>(first).get<"wqe_counter">());
    return trace;
}

struct Said {
    std::string text;
    hcasim::TraceChecked checked;
};
Said check(const Bytes& file, bool can_be_read_again = true) {
    trace_bench::MemorySource source(file);
    trace_bench::MemoryDestination result;
    Said said;
    said.checked = hcasim::check_trace(
        "a.pcapng", source,
        [&]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
            if (!can_be_read_again)
                return nullptr;
            return std::make_unique<trace_bench::MemorySource>(file);
        },
        result);
    said.text.assign(reinterpret_cast<const char*>(result.bytes.data()), result.bytes.size());
    return said;
}

} // namespace

TEST_CASE("a recording that keeps the rules is said to, with what each rule has judged", "[unit][hcasim][monitor]") {
    const auto said = check(file_of(good_trace()));

    CHECK(said.checked.violations == 0);
    CHECK(said.checked.outcome.text() == "");
    CHECK_THAT(said.text, ContainsSubstring("a.pcapng: ") && ContainsSubstring(" records, nothing found"));
    CHECK_THAT(said.text, ContainsSubstring("completion before event    6 completion events judged\n"));
    CHECK_THAT(said.text, ContainsSubstring("atomic once                has judged nothing: no atomic requests that "
                                            "come again that it can follow\n"));
}

TEST_CASE("a violation is told with rule, chapter, objects and its records in the words of the PRM",
          "[unit][hcasim][monitor]") {
    const auto said = check(file_of(with_completion_twice()));

    CHECK(said.checked.violations == 1);
    CHECK_THAT(said.text, ContainsSubstring("records, 1 violation\n"));
    CHECK_THAT(said.text, ContainsSubstring("\nat most once (IBA 10.8.5; PRM \"CQE\")\n  host0.hca0, QP 0x"));
    CHECK_THAT(said.text, ContainsSubstring("are posted and not completed"));
    CHECK_THAT(said.text, ContainsSubstring(" CQE in CQ 0x")); // the record itself
    CHECK_THAT(said.text, ContainsSubstring("at most once               10 completions of work requests judged, "
                                            "violated 1 times\n"));
}

TEST_CASE("a recording that can be read once only is told with the numbers of its records", "[unit][hcasim][monitor]") {
    const auto said = check(file_of(with_completion_twice()), false);

    CHECK(said.checked.violations == 1);
    CHECK_THAT(said.text, ContainsSubstring("\n  record "));
}

TEST_CASE("a recording that is cut is checked as far as it goes, and what is open there is no violation",
          "[unit][hcasim][monitor]") {
    auto trace = good_trace();
    // A read of the device waits for its answer at the end of what can be read.
    const auto asked = places<monitor::ReadAsked>(trace, [](const auto&) { return true; }).at(3);
    trace.records.resize(asked + 1);
    auto whole = file_of(trace);
    const auto cut = Bytes(whole.begin(), whole.end() - 20);

    const auto said = check(cut);

    CHECK(said.checked.violations == 0);
    CHECK(said.checked.outcome.fault);
    CHECK_THAT(said.text, ContainsSubstring(" records could be read, nothing found"));
    CHECK(check(whole).checked.violations == 1); // never answered
}
