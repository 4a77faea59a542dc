// Chains of causes, from what a device did back to the store that began it.
#include "traces/tool/why.h"

#include "testbench/harness/seed.h"
#include "testbench/unit/traces/tool/session.h"
#include "traces/tool/devices.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace trace_tool_bench;
using namespace traces::tool;
using Catch::Matchers::ContainsSubstring;
using trace_bench::MemoryDestination;
using trace_bench::MemorySource;

namespace {

struct Told {
    Outcome outcome;
    std::string text;
};
Told ask(const Bytes& trace, std::uint64_t record) {
    MemoryDestination out;
    const auto outcome = why(
        [&] {
            return std::expected<std::unique_ptr<codec::Source>, std::string>(std::make_unique<MemorySource>(trace));
        },
        record, out);
    return {outcome, text_of(out)};
}
std::string said(const char* text, RecordNumber number) { return std::string(text) + std::to_string(number); }

} // namespace

TEST_CASE("an interrupt leads back to the doorbell of its work request", "[unit][trace-tool]") {
    Session session;
    session.run(3);
    const auto marks = session.marks;

    const auto told = ask(session.bytes(), marks.interrupt);

    CHECK(told.outcome.text() == "");
    CHECK_THAT(told.text, ContainsSubstring(said("calls the driver to the event in record ", marks.eqe)));
    CHECK_THAT(told.text, ContainsSubstring(said("tells the driver of the completion in record ", marks.cqe)));
    CHECK_THAT(told.text, ContainsSubstring(said("completes the work request that record ", marks.wqe)));
    CHECK_THAT(told.text, ContainsSubstring(said("in the course of record ", marks.ack_frame)));
    CHECK_THAT(told.text, ContainsSubstring(said("answers the read in record ", marks.wqe - 1)));
    CHECK_THAT(told.text, ContainsSubstring(said("It happened in the course of record ", marks.doorbell)));
    CHECK_THAT(told.text, ContainsSubstring("doorbell of QP 0x11: WQE 2"));
    CHECK(told.text.ends_with("Software did this: here the chain begins.\n"));
    CHECK(lines_with(told.text, "\n") == 2 * 6);
    CHECK(lines_with(told.text, "\\x0a") == 0);
}

TEST_CASE("an acknowledgement leads back to the packet that it acknowledges", "[unit][trace-tool]") {
    Session session;
    session.run(2);
    const auto marks = session.marks;

    const auto told = ask(session.bytes(), marks.ack_frame);

    CHECK_THAT(told.text, ContainsSubstring(said("The peer answers the packet in record ", marks.request_frame)));
    CHECK(told.text.ends_with("Software did this: here the chain begins.\n"));
}

TEST_CASE("an answer belongs to the queue pair that it is for, not to another of the same PSN", "[unit][trace-tool]") {
    Session session;
    session.run(1);
    session.connect(qpn + 1, peer + 1);
    session.frame(Direction::outbound, abi::wire::Operation::write_only, peer + 1, psn); // of the other one
    const auto answer = session.frame(Direction::inbound, abi::wire::Operation::acknowledge, qpn, psn);

    const auto told = ask(session.bytes(), answer);

    CHECK_THAT(told.text,
               ContainsSubstring(said("The peer answers the packet in record ", session.marks.request_frame)));
}

TEST_CASE("every packet that answers a READ leads back to its request", "[unit][trace-tool]") {
    using enum abi::wire::Operation;
    Session session;
    session.run(0);
    const auto request = session.frame(Direction::outbound, read_request, peer, 0xfffffe);
    session.frame(Direction::inbound, read_response_first, qpn, 0xfffffe);
    session.frame(Direction::inbound, read_response_middle, qpn, 0xffffff);
    const auto last = session.frame(Direction::inbound, read_response_last, qpn, 0);

    CHECK_THAT(ask(session.bytes(), last).text,
               ContainsSubstring(said("The peer answers the packet in record ", request)));
}

TEST_CASE("a work request that waited leads back to its own doorbell", "[unit][trace-tool]") {
    Session session;
    session.run(1);
    RecordNumber doorbell = 0, other = 0;
    const auto ring = [&](std::uint32_t index) {
        abi::Block<SendDoorbell> bell;
        bell.view().set<"opcode">(8).set<"wqe_index">(index).set<"qpn">(qpn).set<"ds">(3);
        Journal::Call call(session.journal);
        return session.store(call, uar + uar_bfreg, bell.bytes);
    };
    doorbell = ring(1);
    {
        Journal::Call call(session.journal);
        other = session.store32(call, uar + uar_eq_arm, 5u << 24);
        session.fetch(1);
    }
    session.acknowledge(1);

    const auto told = ask(session.bytes(), session.marks.cqe);

    CHECK_THAT(told.text, ContainsSubstring(said("It is the work that the doorbell in record ", doorbell)));
    CHECK_THAT(told.text, !ContainsSubstring(said("in the course of record ", other)));
    CHECK(told.text.ends_with("Software did this: here the chain begins.\n"));
}

TEST_CASE("what led to a record is kept of the last ones, and of others it is said that it is not",
          "[unit][trace-tool]") {
    Session session;
    session.run(3);
    const auto bytes = session.bytes();
    MemorySource source(bytes);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    Causes all(reader.head()), last(reader.head(), 5);
    REQUIRE_FALSE(walk(reader, [&](const codec::Record& record, const Seen& seen, const Decoder& decoder) {
        all.take(record, seen, decoder);
        last.take(record, seen, decoder);
        return true;
    }));
    const auto end = reader.records();

    for (auto record = end - 4; record <= end; ++record)
        CHECK(last.of(record).record == all.of(record).record);
    CHECK(last.of(end - 5).link == Link::forgotten);
    CHECK(last.of(end - 5).record == 0);
    CHECK(last.of(1).link == Link::forgotten);
    CHECK(last.of(end + 1).link == Link::begin);
}

TEST_CASE("a frame that nobody in the trace has sent begins a chain", "[unit][trace-tool]") {
    Session session;
    session.run(0);
    const auto arrived = session.frame(Direction::inbound, abi::wire::Operation::write_only, qpn, 7);

    CHECK_THAT(ask(session.bytes(), arrived).text, ContainsSubstring("It came from outside"));
}

TEST_CASE("the end of a batch leads to the last frame of its port, not of another", "[unit][trace-tool]") {
    Session session;
    session.run(0);
    const auto frame = session.frame(Direction::inbound, abi::wire::Operation::write_only, qpn, 7);
    session.journal.put(3, RecordKind::frame, Direction::inbound, session.now, Bytes(64)); // at another device
    const auto end = session.link.signal(Direction::inbound, Signal::batch_end, session.now, {});

    CHECK_THAT(ask(session.bytes(), end).text,
               ContainsSubstring(said("It ends the batch whose last frame is record ", frame)));
}

TEST_CASE("the functions and ports of a device are found by their names", "[unit][trace-tool]") {
    using enum codec::InterfaceKind;
    codec::Head head;
    head.interfaces = {{pcie, "A.sw0.hca0"},           {pcie, "A.sw0.hca0.f12"},
                       {ethernet, "A.sw0.hca0.port1"}, {infiniband, "A.sw0.hca0.port2"},
                       {pcie, "A.sw0.ford"},           {events, "events"}};
    const Devices devices(head);

    REQUIRE(devices.all().size() == 3);
    CHECK(devices.all()[0].functions == std::vector<std::uint32_t>{0, 1});
    CHECK(devices.all()[0].ports == std::vector<std::uint32_t>{2, 3});
    CHECK(devices.port(devices.of(0), 1) == 3u);
    CHECK_FALSE(devices.port(devices.of(0), 2));
    CHECK(devices.of(4) == 1);
}

TEST_CASE("the end of a command leads back to its doorbell", "[unit][trace-tool]") {
    Session session;
    session.run(0);

    const auto told = ask(session.bytes(), session.marks.create_qp);

    CHECK_THAT(told.text, ContainsSubstring("command doorbell, slots 0x1"));
    CHECK(told.text.ends_with("Software did this: here the chain begins.\n"));
}

TEST_CASE("a frame that another device of the trace has sent leads there", "[unit][trace-tool]") {
    Session session;
    session.run(1);
    const auto arrived = session.frame(Direction::inbound, abi::wire::Operation::write_only, peer, psn);

    const auto told = ask(session.bytes(), arrived);

    CHECK_THAT(told.text,
               ContainsSubstring(said("The same frame left a device in record ", session.marks.request_frame)));
}

TEST_CASE("a device that wakes was to be woken by what it did before", "[unit][trace-tool]") {
    Session session;
    session.run(1);
    RecordNumber asked = 0, woken = 0;
    {
        Journal::Call call(session.journal);
        session.store32(call, uar + uar_eq_arm, 5u << 24);
        asked = session.link.signal(Direction::outbound, Signal::wake_at, session.now, {.value = 1});
    }
    woken = session.link.signal(Direction::inbound, Signal::wake, session.now, {});

    const auto told = ask(session.bytes(), woken);

    CHECK_THAT(told.text, ContainsSubstring(said("asked in record ", asked)));
    CHECK_THAT(told.text, ContainsSubstring("EQ 0x5 consumed up to 0, armed"));
}

TEST_CASE("a record that the trace has not is refused by its number", "[unit][trace-tool]") {
    Session session;
    session.run(0);
    const auto last = session.last();
    const auto bytes = session.bytes();

    CHECK_THAT(ask(bytes, last + 1).outcome.text(), ContainsSubstring("records 1 to " + std::to_string(last)));
    CHECK_FALSE(ask(bytes, 0).outcome.is_good());
}

TEST_CASE("a chain ends, whatever the marks of a trace say", "[unit][trace-tool]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937_64 random(seed);
    const auto sample = trace_bench::make_sample(500, {}, random);

    for (std::uint64_t record = 1; record <= 500; record += 7)
        CHECK(ask(sample.destination.bytes, record).outcome.is_good());
}
