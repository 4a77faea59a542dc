// Each rule fires for what is planted against it, and no other does.
#include "testbench/unit/traces/monitor/good_trace.h"

#include "abi/pcie/tlp.h"
#include "traces/codec/layouts.h"
#include "traces/codec/signal.h"

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

TEST_CASE("a completion with another read's tag breaks the rule of tags, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto second = trace.records[long_read(trace).at(0)].number;
    const auto at = places<ReadAnswered>(trace, [&](const auto& answer) { return answer.request == second; }).at(0);
    const abi::View<abi::pcie::Completion> completion(trace.records[at].kept.head);
    completion.set<"tag">(static_cast<std::uint8_t>(completion.get<"tag">() + 1));

    INFO(all(trace));
    CHECK(broken(trace) == "tags unique");
    CHECK_THAT(first(trace), ContainsSubstring("takes it for another's"));
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

TEST_CASE("an event before its completion breaks the rule of events, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto event =
        places<EqeWritten>(trace, [](const EqeWritten& written) { return written.completions != nullptr; }).at(1);
    const auto completions = places<CqeWritten>(trace, [](const CqeWritten&) { return true; });
    const auto completion = *std::prev(std::ranges::lower_bound(completions, event));
    trace.move(event, completion);

    INFO(all(trace));
    CHECK(broken(trace) == "completion before event");
    CHECK_THAT(first(trace), ContainsSubstring("without a completion"));
}

TEST_CASE("an event that nobody asked for breaks the rule of events, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    trace.drop(places<CqArmed>(trace, [](const CqArmed&) { return true; }).at(1));

    INFO(all(trace));
    CHECK(broken(trace) == "completion before event");
    CHECK_THAT(first(trace), ContainsSubstring("nobody has asked for"));
}

TEST_CASE("a completion that comes twice breaks the rule of work requests, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto first_of = places<CqeWritten>(trace, [](const CqeWritten&) { return true; });
    // The second of the two atomics: what the queue says is that the first one has completed again.
    auto& again = trace.records[first_of.at(5)].kept.payload;
    const auto before = trace.records[first_of.at(4)].kept.payload;
    const abi::View<abi::prm::Cqe64> entry(again);
    entry.set<"wqe_counter">(abi::ConstView<abi::prm::Cqe64>(before).get<"wqe_counter">());

    INFO(all(trace));
    CHECK(broken(trace) == "at most once");
    CHECK_THAT(first(trace), ContainsSubstring("are posted and not completed"));
}

TEST_CASE("a completion of what is not posted breaks the rule of work requests, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto at = places<CqeWritten>(trace, [](const CqeWritten& written) {
                        return written.entry.get<"opcode">() == abi::prm::CqeOpcode::resp_send;
                    }).at(1);
    const abi::View<abi::prm::Cqe64> entry(trace.records[at].kept.payload);
    entry.set<"wqe_counter">(static_cast<std::uint16_t>(entry.get<"wqe_counter">() + 1));

    INFO(all(trace));
    CHECK(broken(trace) == "at most once");
    CHECK_THAT(first(trace), ContainsSubstring("receive queue"));
}

namespace {

/// Lets a request come again: a copy of it, behind the answer to it. Returns where.
std::size_t repeat_atomic(Trace& trace) {
    const auto request = packets(trace, Direction::inbound, OperationTraits::Kind::atomic).at(0);
    const auto answer = places<PacketSeen>(trace, [](const PacketSeen& seen) {
                            return seen.direction == Direction::outbound && seen.packet.traits().has_atomic_ack;
                        }).at(0);
    auto again = trace.records[request];
    again.number = trace.records.size() + 1;
    trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(answer) + 1, again);
    return answer + 1;
}

} // namespace

TEST_CASE("an atomic request that comes again is no mistake of the device", "[unit][monitor]") {
    auto trace = good_trace();
    const auto again = repeat_atomic(trace);
    auto answer = trace.records[again - 1];
    answer.number = trace.records.size() + 1;
    trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(again) + 1, answer);

    INFO(all(trace));
    CHECK(broken(trace) == "");
}

TEST_CASE("an atomic operation that is executed again breaks the rule of atomics, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto request = trace.records[packets(trace, Direction::inbound, OperationTraits::Kind::atomic).at(0)].number;
    const auto write = places<MemoryWritten>(trace, [&](const MemoryWritten& written) {
                           return written.at.cause == request && written.place == Place::elsewhere;
                       }).at(0);
    auto twice = trace.records[write];
    const auto again = repeat_atomic(trace);
    twice.kept.mark.cause = static_cast<std::uint32_t>(trace.records[again].number);
    twice.number = trace.records.size() + 1;
    trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(again) + 1, twice);

    INFO(all(trace));
    CHECK(broken(trace) == "atomic once");
    CHECK_THAT(first(trace), ContainsSubstring("executed twice"));
}

TEST_CASE("an atomic operation with two results breaks the rule of atomics, and only it", "[unit][monitor]") {
    auto trace = good_trace();
    const auto again = repeat_atomic(trace);
    auto answer = trace.records[again - 1];
    answer.number = trace.records.size() + 1;
    // Ethernet 14, IPv4 20, UDP 8, BTH 12, AETH 4: the last byte of the value before the operation.
    answer.kept.head.at(14 + 20 + 8 + 12 + 4 + 7) ^= std::byte{1};
    trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(again) + 1, answer);

    INFO(all(trace));
    CHECK(broken(trace) == "atomic once");
    CHECK_THAT(first(trace), ContainsSubstring("before"));
}

TEST_CASE("each rule says how often it has judged, and one that never saw its subject says so", "[unit][monitor]") {
    Monitor monitor(good_trace().head);
    for (const auto& one : good_trace().records)
        monitor.on(one.record());
    monitor.on_end();

    for (const auto& verdict : monitor.verdicts()) {
        INFO(verdict.rule.name);
        const bool has_subject = verdict.rule.name != "atomic once" && !verdict.rule.name.starts_with("NVMe");
        CHECK((verdict.judgements != 0) == has_subject); // nothing came again, and no drive is there
        CHECK(verdict.violations == 0);
    }
}

TEST_CASE("an interrupt of a vector whose queues nobody has seen made is not judged", "[unit][monitor]") {
    auto trace = good_trace();
    // As if the recording had begun when the device was in use already.
    const auto made = places<CommandDone>(trace, [](const CommandDone& done) {
                          return done.opcode == abi::prm::Opcode::create_qp;
                      }).at(0);
    trace.records.erase(trace.records.begin(), trace.records.begin() + static_cast<std::ptrdiff_t>(made));
    Monitor monitor(trace.head);
    for (const auto& one : trace.records)
        monitor.on(one.record());

    for (const auto& violation : monitor.findings().kept())
        UNSCOPED_INFO(violation.text());
    CHECK(monitor.findings().count() == 0);
    for (const auto& verdict : monitor.verdicts())
        if (verdict.rule.name == "event before interrupt" || verdict.rule.name == "rkey valid")
            CHECK(verdict.judgements == 0);
}

TEST_CASE("a read that a reset has cut off need not be answered", "[unit][monitor]") {
    auto trace = good_trace();
    const auto second = trace.records[long_read(trace).at(0)].number;
    const auto at = places<ReadAnswered>(trace, [&](const auto& answer) { return answer.request == second; }).at(0);
    abi::Block<traces::codec::SignalRecord> reset;
    reset.view().set<"code">(static_cast<std::uint16_t>(traces::codec::Signal::reset));
    auto signal = trace.records[at];
    signal.number = trace.records.size() + 1;
    signal.kept.mark = {.kind = traces::codec::RecordKind::signal, .direction = Direction::inbound};
    signal.kept.head.assign(reset.bytes.begin(), reset.bytes.end());
    signal.kept.payload.clear();
    trace.records.resize(at);
    CHECK(broken(trace) == "tags unique");

    trace.records.push_back(signal);

    CHECK(broken(trace) == "");
}

TEST_CASE("a doorbell that is rung in two stores is one doorbell", "[unit][monitor]") {
    auto trace = good_trace();
    const auto arms = places<CqArmed>(trace, [](const CqArmed&) { return true; });
    for (const auto at : std::vector(arms.rbegin(), arms.rend())) {
        auto& first = trace.records[at];
        const abi::View<abi::pcie::MemoryRequest32> header(first.kept.head);
        header.sub<"header">().set<"length">(1);
        header.set<"last_enables">(0);
        auto second = first;
        second.number = trace.records.size() + 1;
        if (first.kept.head.size() == abi::pcie::MemoryRequest64::size) {
            const abi::View<abi::pcie::MemoryRequest64> wide(second.kept.head);
            wide.set<"address">(wide.get<"address">() + 1);
        } else {
            const abi::View<abi::pcie::MemoryRequest32> narrow(second.kept.head);
            narrow.set<"address">(narrow.get<"address">() + 1);
        }
        first.kept.payload.resize(4);
        second.kept.payload.erase(second.kept.payload.begin(), second.kept.payload.begin() + 4);
        trace.records.insert(trace.records.begin() + static_cast<std::ptrdiff_t>(at) + 1, second);
    }

    INFO(all(trace));
    CHECK(broken(trace) == "");
    CHECK(places<CqArmed>(trace, [](const CqArmed&) { return true; }).size() == arms.size());
}
