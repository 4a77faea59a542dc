// Where two traces part.
#include "traces/tool/diff.h"

#include "testbench/harness/seed.h"
#include "testbench/unit/traces/tool/session.h"
#include "traces/tool/changes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace trace_tool_bench;
using namespace traces::tool;
using Catch::Matchers::ContainsSubstring;
using trace_bench::MemoryDestination;
using trace_bench::MemorySource;

namespace {

struct Told {
    DiffOutcome outcome;
    std::string text;
};
Told compare(const Bytes& a, const Bytes& b, DiffOptions options = {}) {
    MemoryDestination out;
    const auto open = [](const Bytes& trace) -> OpenTrace {
        return [&trace] {
            return std::expected<std::unique_ptr<codec::Source>, std::string>(std::make_unique<MemorySource>(trace));
        };
    };
    auto outcome = diff({open(a), open(b)}, options, out);
    return {std::move(outcome), text_of(out)};
}
Bytes session(std::uint32_t writes) {
    Session session;
    session.run(writes);
    return session.bytes();
}

} // namespace

TEST_CASE("two recordings of one run are the same", "[unit][trace-tool]") {
    const auto told = compare(session(5), session(5));

    CHECK(told.outcome.is_same);
    CHECK_THAT(told.text, ContainsSubstring("host0.hca0.port1: the same, 10 records"));
    CHECK(lines_with(told.text, "changed") == 0);
}

TEST_CASE("a field that changed is named with both values, where it changed first", "[unit][trace-tool]") {
    // More than a chunk of records is before it, and more differ behind it.
    constexpr std::uint32_t before = 200;
    Session changed;
    changed.run(before);
    changed.completed_bytes = 65;
    changed.write(before);
    const auto number = changed.marks.cqe;
    changed.write(before + 1);
    REQUIRE(changed.last() > 1500);

    const auto told = compare(session(before + 2), changed.bytes());

    CHECK_FALSE(told.outcome.is_same);
    CHECK(lines_with(told.text, "is not the same") == 1);
    CHECK_THAT(line_with(told.text, "  A "), ContainsSubstring(" " + std::to_string(number) + " ") &&
                                                 ContainsSubstring("CQE in CQ 0x42") && ContainsSubstring("64 bytes"));
    CHECK_THAT(line_with(told.text, "  B "), ContainsSubstring("65 bytes"));
    CHECK_THAT(told.text, ContainsSubstring("cqe64: byte_cnt: 0x40 in A, 0x41 in B"));
    CHECK_THAT(told.text, ContainsSubstring("host0.hca0.port1: the same"));
    CHECK_THAT(line_with(told.text, "CQ 0x42 CQEs"), ContainsSubstring("12928 -> 12930"));
}

TEST_CASE("a record more in one stream leaves the others the same", "[unit][trace-tool]") {
    Session more;
    more.run(2);
    more.frame(Direction::outbound, abi::wire::Operation::acknowledge, peer, 7);
    more.write(2);

    const auto told = compare(session(3), more.bytes());

    CHECK_THAT(told.text, ContainsSubstring("host0.hca0.port1: record 5 is not the same (6 records in A, 7 in B)"));
    CHECK_THAT(told.text, ContainsSubstring("bth: opcode: 0xa in A, 0x11 in B"));
    CHECK_THAT(told.text, ContainsSubstring("host0.hca0: the same"));
    CHECK_THAT(line_with(told.text, "BTH Acknowledge"), ContainsSubstring("3 -> 4 (+33.3 %)"));
}

TEST_CASE("a stream that ends earlier has no more", "[unit][trace-tool]") {
    const auto told = compare(session(3), session(2));

    CHECK_THAT(told.text, ContainsSubstring("host0.hca0.port1: record 5 is not the same (6 records in A, 4 in B)"));
    CHECK(line_with(told.text, "  B ") == "  B has no more");
}

TEST_CASE("times differ, unless they are to be ignored", "[unit][trace-tool]") {
    Session slow;
    slow.run(2);
    slow.write(2, 6us);
    const auto slower = slow.bytes();

    const auto told = compare(session(3), slower);
    const auto ignoring = compare(session(3), slower, {.ignore_times = true});

    CHECK_FALSE(told.outcome.is_same);
    CHECK_THAT(told.text, ContainsSubstring("time: "));
    CHECK_THAT(line_with(told.text, "doorbell to CQE"), ContainsSubstring("5200.000 -> 6200.000 (+19.2 %)"));
    CHECK(ignoring.outcome.is_same);
    CHECK(lines_with(ignoring.text, "->") == 0);
}

TEST_CASE("the streams are told by the time of what is not the same", "[unit][trace-tool]") {
    Session changed;
    changed.run(1);
    changed.frame(Direction::outbound, abi::wire::Operation::acknowledge, peer, 7);
    changed.completed_bytes = 65;
    changed.write(1);

    const auto told = compare(session(2), changed.bytes());

    CHECK(told.text.find("host0.hca0.port1: record") < told.text.find("host0.hca0: record"));
}

TEST_CASE("an interface of one trace alone is not the same", "[unit][trace-tool]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937_64 random(seed);
    const auto sample = trace_bench::make_sample(3000, {}, random);

    const auto told = compare(session(1), sample.destination.bytes);

    CHECK_FALSE(told.outcome.is_same);
    CHECK_THAT(told.text, ContainsSubstring("host0.hca0.port2: record 1 is not the same (0 records in A"));
    CHECK_THAT(told.text, ContainsSubstring("seed: 0 in A, 7 in B"));
}

TEST_CASE("numbers of events and causes are no difference", "[unit][trace-tool]") {
    const auto with_event = [](std::uint64_t number) {
        Session session;
        session.run(number % 7); // other numbers of records before it
        Bytes bytes;
        codec::put_event(bytes, {.time_ps = 5, .source = 0, .number = number, .cause = number - 1},
                         traces::WqeFetched{.qpn = 1, .index = 2, .opcode = 3, .segments = 1, .length = 4});
        session.journal.put(2, {.kind = RecordKind::event, .cause = RecordNumber(number % 7)}, 1us, bytes);
        return session.bytes();
    };

    CHECK_THAT(compare(with_event(15), with_event(23)).text, ContainsSubstring("events: the same, 1 records"));
}

TEST_CASE("a trace that is cut is compared as far as it can be read", "[unit][trace-tool]") {
    auto cut = session(3);
    cut.resize(cut.size() - 30);

    const auto told = compare(session(3), cut);

    CHECK(told.outcome.traces[0].is_good());
    CHECK(told.outcome.traces[1].fault.has_value());
    CHECK_FALSE(told.outcome.is_same);
    CHECK_THAT(told.text, ContainsSubstring("  B has no more"));
}

TEST_CASE("the time that a signal says is no difference where times are ignored", "[unit][trace-tool]") {
    const auto with_signals = [](std::uint64_t time, std::uint64_t frames) {
        Session session;
        for (const auto signal :
             {Signal::wake_at, Signal::time, Signal::written, Signal::no_answer, Signal::sent, Signal::cannot_read})
            session.link.signal(Direction::inbound, signal, session.now, {.number = 1, .value = time});
        session.link.signal(Direction::inbound, Signal::traffic, session.now, {.value = frames});
        return session.bytes();
    };
    const auto before = with_signals(277'827'987, 3), later = with_signals(278'087'987, 3),
               more = with_signals(277'827'987, 4);

    CHECK_FALSE(compare(before, later).outcome.is_same);
    CHECK(compare(before, later, {.ignore_times = true}).outcome.is_same);
    CHECK_FALSE(compare(before, more, {.ignore_times = true}).outcome.is_same);
}

TEST_CASE("the timestamp of a CQE is no difference where times are ignored", "[unit][trace-tool]") {
    const auto at = [](std::uint64_t timestamp, std::uint32_t bytes) {
        Session session;
        session.timestamp = timestamp;
        session.completed_bytes = bytes;
        session.run(2);
        return session.bytes();
    };
    const auto before = at(0x441c9, 64), later = at(0x442cd, 64), shorter = at(0x441c9, 63);

    CHECK_THAT(compare(before, later).text, ContainsSubstring("cqe64: timestamp: 0x441c9 in A, 0x442cd in B"));
    CHECK(compare(before, later, {.ignore_times = true}).outcome.is_same);
    CHECK_FALSE(compare(before, shorter, {.ignore_times = true}).outcome.is_same);
}

TEST_CASE("who says its event first is a question of time, what each says is not", "[unit][trace-tool]") {
    const auto with_events = [](std::initializer_list<std::uint16_t> sources, std::uint16_t last) {
        Session session{{"A.hca", "B.hca"}};
        std::array<std::uint16_t, 2> said{};
        const auto say = [&](std::uint16_t source, std::uint16_t index) {
            Bytes bytes;
            codec::put_event(bytes, {.time_ps = 5, .source = source},
                             traces::WqeFetched{.qpn = 1, .index = index, .opcode = 3, .segments = 1, .length = 4});
            session.journal.put(2, {.kind = RecordKind::event}, 1us, bytes);
        };
        for (const auto source : sources)
            say(source, said[source]++);
        say(1, last);
        return session.bytes();
    };
    const auto one = with_events({0, 1, 0}, 7), other = with_events({0, 0, 1}, 7), changed = with_events({0, 0, 1}, 8);

    CHECK_FALSE(compare(one, other).outcome.is_same);
    const auto ignoring = compare(one, other, {.ignore_times = true});
    CHECK(ignoring.outcome.is_same);
    CHECK_THAT(ignoring.text, ContainsSubstring("events of A.hca: the same, 2 records\n") &&
                                  ContainsSubstring("events of B.hca: the same, 2 records\n") &&
                                  !ContainsSubstring("\nevents: "));
    const auto told = compare(one, changed, {.ignore_times = true});
    CHECK_FALSE(told.outcome.is_same);
    CHECK_THAT(told.text, ContainsSubstring("events of B.hca: record 2 is not the same") &&
                              ContainsSubstring("events of A.hca: the same") && ContainsSubstring("index=0x8"));
}

TEST_CASE("a key of the configuration is the same only in its table", "[unit][trace-tool]") {
    const codec::Head a{.identity = {},
                        .configuration = "[pcie.device]\nlatency_ns = 150\n\n[link]\nlatency_ns = 500\n",
                        .names = {},
                        .interfaces = {}};
    auto b = a;
    b.configuration = "[pcie.device]\nlatency_ns = 500\n\n[link]\nlatency_ns = 150\n";

    CHECK(head_changes(a, a).empty());
    CHECK(head_changes(a, b) == std::vector<std::string>{"configuration, only in A: pcie.device.latency_ns = 150",
                                                         "configuration, only in A: link.latency_ns = 500",
                                                         "configuration, only in B: pcie.device.latency_ns = 500",
                                                         "configuration, only in B: link.latency_ns = 150"});
}
