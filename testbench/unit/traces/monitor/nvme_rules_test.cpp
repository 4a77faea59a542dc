// The rules of NVMe controllers: silent on what the stock driver and the drive have done, and each fires for what is
// planted against it, and no other does.
#include "testbench/harness/source_tree.h"
#include "testbench/unit/traces/monitor/good_trace.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace monitor_bench;
using namespace traces::monitor;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What `./dev golden nvme` has recorded.
const Trace& nvme_trace() {
    static const Trace trace = [] {
        std::ifstream file(testbench::source_tree() + "/traces/golden/nvme/trace.pcapng.zst", std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const auto story = trace_bench::read_all(std::as_bytes(std::span(text)));
        REQUIRE(story.why() == "");
        Trace out{story.head, {}};
        for (const auto& kept : story.records)
            out.records.push_back({out.records.size() + 1, kept});
        return out;
    }();
    return trace;
}

std::string texts(const Trace& trace) {
    std::string text;
    const auto found = findings(trace);
    for (const auto& violation : found.kept())
        text += violation.text() + "\n";
    return text;
}

/// Completions of I/O commands, by the place of their records.
std::vector<std::size_t> completions(const Trace& trace) {
    return places<NvmeCompleted>(trace, [](const NvmeCompleted& one) { return one.queue.number != 0; });
}
abi::View<abi::nvme::Completion> entry(Trace& trace, std::size_t record) {
    return abi::View<abi::nvme::Completion>(trace.records[record].kept.payload);
}
/// Doorbells of the admin queue that software has rung by a store.
std::vector<std::size_t> doorbells(const Trace& trace, bool is_completion) {
    return places<NvmeRung>(trace, [&](const NvmeRung& rung) {
        return rung.queue.is_completion == is_completion && rung.queue.number == 0;
    });
}

} // namespace

TEST_CASE("nothing is found in the stock driver's life with a drive, and each rule has judged",
          "[unit][monitor][nvme]") {
    Monitor monitor(nvme_trace().head);
    for (const auto& one : nvme_trace().records)
        monitor.on(one.record());
    monitor.on_end();

    INFO(texts(nvme_trace()));
    CHECK(monitor.findings().count() == 0);
    for (const auto& verdict : monitor.verdicts())
        if (verdict.rule.name.starts_with("NVMe")) {
            INFO(verdict.rule.name);
            CHECK(verdict.judgements > 5);
        }
}

TEST_CASE("a command that is read before its doorbell breaks the rule of fetches, and only it",
          "[unit][monitor][nvme]") {
    auto trace = nvme_trace();
    trace.drop(doorbells(trace, false).at(2));

    INFO(texts(trace));
    CHECK(broken(trace) == "NVMe fetch behind doorbell");
    CHECK_THAT(texts(trace), ContainsSubstring("SQ 0"));
}

TEST_CASE("a completion of another command breaks the rule of completions, and only it", "[unit][monitor][nvme]") {
    auto trace = nvme_trace();
    const auto one = entry(trace, completions(trace).at(3));
    one.set<"cid">(static_cast<std::uint16_t>(one.get<"cid">() ^ 0x4000));

    INFO(texts(trace));
    CHECK(broken(trace) == "NVMe completion once");
    CHECK_THAT(texts(trace), ContainsSubstring("was not read, or has completed before"));
}

TEST_CASE("a phase that does not flip breaks the rule of phases, and only it", "[unit][monitor][nvme]") {
    auto trace = nvme_trace();
    const auto one = entry(trace, completions(trace).back());
    one.set<"p">(!one.get<"p">());

    INFO(texts(trace));
    CHECK(broken(trace) == "NVMe phase");
    CHECK_THAT(texts(trace), ContainsSubstring("to software it is an old one"));
}

TEST_CASE("a head of submissions that is ahead of what was read breaks the rule of phases, and only it",
          "[unit][monitor][nvme]") {
    auto trace = nvme_trace();
    const auto one = entry(trace, completions(trace).back());
    one.set<"sqhd">(static_cast<std::uint16_t>(one.get<"sqhd">() + 1));

    INFO(texts(trace));
    CHECK(broken(trace) == "NVMe phase");
    CHECK_THAT(texts(trace), ContainsSubstring("behind what was read"));
}

TEST_CASE("a completion in the slot after the next breaks the rule of phases, and only it", "[unit][monitor][nvme]") {
    auto trace = nvme_trace();
    std::uint16_t number = 0, vector = 0; // of the last queue that is used
    (void)places<NvmeCompleted>(trace, [&](const NvmeCompleted& one) {
        number = one.queue.number != 0 ? one.queue.number : number;
        return false;
    });
    const auto all = places<NvmeCompleted>(trace, [&](const NvmeCompleted& one) {
        vector = one.queue.number == number ? one.queue.vector : vector;
        return one.queue.number == number;
    });
    // The interrupt of the entry goes, too: it would have nothing to report.
    const auto interrupts = places<Interrupted>(trace, [&](const Interrupted& one) { return one.vector == vector; });
    const auto lost = all.at(all.size() - 2);
    trace.drop(*std::ranges::upper_bound(interrupts, lost));
    trace.drop(lost);

    INFO(texts(trace));
    CHECK(broken(trace) == "NVMe phase");
    CHECK_THAT(texts(trace), ContainsSubstring("never finds it"));
}

TEST_CASE("a completion that fills its queue breaks the rule of room, and only it", "[unit][monitor][nvme]") {
    auto trace = nvme_trace();
    // Software is said to be an entry ahead: the queue is then full with the next one.
    auto& payload = trace.records[doorbells(trace, true).at(2)].kept.payload;
    payload[0] = static_cast<std::byte>(std::to_integer<unsigned>(payload[0]) + 1);

    INFO(texts(trace));
    CHECK(broken(trace) == "NVMe room for completion");
    CHECK_THAT(texts(trace), ContainsSubstring("CQ 0"));
}

TEST_CASE("an interrupt that comes twice breaks the rule of interrupts, and only it", "[unit][monitor][nvme]") {
    auto trace = nvme_trace();
    const auto interrupts =
        places<Interrupted>(trace, [](const Interrupted& one) { return one.are_nvme_queues_known; });
    auto twice = trace.records[interrupts.back()];
    twice.number = trace.records.size() + 1;
    trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(interrupts.back()) + 1, twice);

    INFO(texts(trace));
    CHECK(broken(trace) == "NVMe interrupt has entry");
}
