// Each rule fires for what is planted against it, and no other does.
#include "testbench/unit/traces/monitor/good_trace.h"

#include "abi/pcie/tlp.h"
#include "traces/codec/layouts.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace monitor_bench;
using namespace traces::monitor;
using abi::wire::OperationTraits;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The first violation's text.
std::string first(const Trace& trace) {
    const auto found = findings(trace);
    return found.kept().empty() ? std::string() : found.kept().front().text();
}
std::string all(const Trace& trace) {
    std::string text;
    const auto found = findings(trace);
    for (const auto& violation : found.kept())
        text += violation.text() + "\n";
    return text;
}

/// The requests of an access of the device that takes more than one.
std::vector<std::size_t> long_read(const Trace& trace) {
    std::uint64_t access = 0;
    return places<ReadAsked>(trace, [&](const ReadAsked& asked) {
        if (asked.direction != Direction::outbound)
            return false;
        if (access == 0 && asked.access != asked.at.record)
            access = asked.access;
        return access != 0 && asked.access == access;
    });
}
/// Packets of a kind in a direction.
std::vector<std::size_t> packets(const Trace& trace, Direction direction, OperationTraits::Kind kind) {
    return places<PacketSeen>(trace, [&](const PacketSeen& seen) {
        return seen.direction == direction && seen.packet.traits().kind == kind;
    });
}

} // namespace

TEST_CASE("a read with the tag of one that is outstanding breaks the rule of tags, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto second = long_read(trace).at(0);
    const auto before = trace.find([&](const Numbered& one) { return one.number == trace.records[second].number - 1; });
    using abi::pcie::MemoryRequest32;
    const auto tag = abi::ConstView<MemoryRequest32>(trace.records[before].kept.head).get<"tag">();
    abi::View<MemoryRequest32>(trace.records[second].kept.head).set<"tag">(tag);

    INFO(all(trace));
    CHECK(broken(trace) == "tags unique");
    CHECK_THAT(first(trace), ContainsSubstring("that is not answered yet"));
}

TEST_CASE("a read that is not answered breaks the rule of tags, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto second = trace.records[long_read(trace).at(0)].number;
    const auto answers = places<ReadAnswered>(trace, [&](const auto& answer) { return answer.request == second; });
    trace.drop(answers.at(0));

    INFO(all(trace));
    CHECK(broken(trace) == "tags unique");
    CHECK_THAT(first(trace), ContainsSubstring("was never answered"));
}

TEST_CASE("a completion that comes twice breaks the rule of tags, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto second = trace.records[long_read(trace).at(0)].number;
    const auto at = places<ReadAnswered>(trace, [&](const auto& answer) { return answer.request == second; }).at(0);
    auto twice = trace.records[at];
    twice.number = trace.records.size() + 1;
    trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(at) + 1, twice);

    INFO(all(trace));
    CHECK(broken(trace) == "tags unique");
    CHECK_THAT(first(trace), ContainsSubstring("no read waits for"));
}

TEST_CASE("an interrupt before its event breaks the rule of interrupts, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto event = places<EqeWritten>(trace, [](const EqeWritten& written) {
                           return written.entry.get<"event_type">() == abi::prm::EventType::completion;
                       }).at(1);
    const auto interrupts = places<Interrupted>(trace, [](const Interrupted&) { return true; });
    const auto interrupt = *std::ranges::upper_bound(interrupts, event);
    trace.move(interrupt, event);

    INFO(all(trace));
    CHECK(broken(trace) == "event before interrupt");
    CHECK_THAT(first(trace), ContainsSubstring("vector 1"));
}

TEST_CASE("a request that is not sent breaks the rule of PSNs, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    trace.drop(packets(trace, Direction::outbound, OperationTraits::Kind::write).at(2));

    INFO(all(trace));
    CHECK(broken(trace) == "PSN without gap");
    CHECK_THAT(first(trace), ContainsSubstring("skips 1 PSNs"));
}

TEST_CASE("a request that is sent again after its acknowledgement breaks the rule of PSNs, and only it",
          "[unit][monitor]") {
    auto trace = good_trace();
    const auto write = packets(trace, Direction::outbound, OperationTraits::Kind::write).at(0);
    const auto acknowledged = packets(trace, Direction::inbound, OperationTraits::Kind::acknowledge).at(0);
    auto again = trace.records[write];
    again.number = trace.records.size() + 1;
    trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(acknowledged) + 1, again);

    INFO(all(trace));
    CHECK(broken(trace) == "PSN without gap");
    CHECK_THAT(first(trace), ContainsSubstring("sent again"));
}
