// Flows of a picture where both ends of a connection were recorded, and where the model has said events.
#include "testbench/unit/traces/tool/drawn.h"
#include "traces/codec/event_record.h"
#include "traces/tool/flows.h"

#include <catch2/catch_test_macros.hpp>

#include <initializer_list>
#include <optional>

using namespace trace_tool_bench;

namespace {

/// A session whose packets also pass the port of the device that answers.
struct BothEnds : Session {
    static constexpr std::uint32_t other = 3; ///< interface of its port

    BothEnds() {
        start();
        create_queues();
    }
    /// A doorbell; in the course of it the device reads these WQEs, and sends a packet of each.
    RecordNumber ring(std::uint32_t index, std::initializer_list<std::uint32_t> fetched,
                      std::optional<abi::wire::Operation> also = std::nullopt) {
        now += 1us;
        abi::Block<SendDoorbell> doorbell;
        doorbell.view().set<"opcode">(8).set<"wqe_index">(index).set<"qpn">(qpn).set<"ds">(3);
        Journal::Call call(journal);
        const auto number = store(call, uar + uar_bfreg, doorbell.bytes);
        for (const auto wqe : fetched)
            fetch(wqe);
        if (also)
            frame(Direction::outbound, *also, peer, psn);
        return number;
    }
    RecordNumber there(Direction direction, const Bytes& bytes) {
        return journal.put(other, RecordKind::frame, direction, now, bytes);
    }
    void event(std::uint64_t number, std::uint64_t cause, RecordNumber mark, const traces::Event& event) {
        Bytes bytes;
        traces::codec::put_event(bytes, {.time_ps = now.count(), .source = 0, .number = number, .cause = cause}, event);
        journal.put(2, {.kind = RecordKind::event, .cause = mark}, now, bytes);
    }
};

std::vector<std::string> way_of(const std::vector<Drawn>& drawn, std::uint64_t flow) {
    std::vector<std::string> way;
    for (const auto& one : drawn)
        if (std::ranges::find(one.flows, flow) != one.flows.end())
            way.push_back(one.track);
    return way;
}

} // namespace

TEST_CASE("a flow leads over the responder and its answer back to the requester", "[unit][trace-tool]") {
    BothEnds session;
    session.ring(0, {0});
    {
        Journal::Call call(session.journal);
        call.is(session.there(Direction::inbound, Session::roce(abi::wire::Operation::write_only, peer, psn)));
        session.there(Direction::outbound, Session::roce(abi::wire::Operation::acknowledge, qpn, psn));
    }
    session.acknowledge(0);

    const auto drawn = draw(session.bytes());

    const auto& doorbell = find(drawn, "doorbells of QP 0x11", "up to WQE 0");
    REQUIRE(doorbell.flows.size() == 1);
    CHECK(way_of(drawn, doorbell.flows[0]) ==
          std::vector<std::string>{"doorbells of QP 0x11", "work requests of QP 0x11", "host0.hca0.port1 frames out",
                                   "host1.hca0.port1 frames in", "host1.hca0.port1 frames out",
                                   "host0.hca0.port1 frames in", "host0.hca0 CQ 0x42", "host0.hca0 EQ 0x5",
                                   "host0.hca0 interrupts"});
}

TEST_CASE("an answer that its responder gives later, of itself, has the flow of its request at the requester",
          "[unit][trace-tool]") {
    BothEnds session;
    session.ring(0, {0});
    session.there(Direction::inbound, Session::roce(abi::wire::Operation::write_only, peer, psn));
    session.now += 1us;
    session.there(Direction::outbound, Session::roce(abi::wire::Operation::acknowledge, qpn, psn));
    session.acknowledge(0);

    const auto drawn = draw(session.bytes());

    const auto flows = find(drawn, "doorbells of QP 0x11", "up to WQE 0").flows;
    CHECK(find(drawn, "host0.hca0.port1 frames in", "Acknowledge").flows == flows);
}

TEST_CASE("each packet of the answer to a READ has its flow at both ends, and nothing else has", "[unit][trace-tool]") {
    using enum abi::wire::Operation;
    BothEnds session;
    session.ring(0, {0}, read_request); // the packet once more, as another kind
    {
        Journal::Call call(session.journal);
        call.is(session.there(Direction::inbound, Session::roce(read_request, peer, psn)));
        session.there(Direction::outbound, Session::roce(read_response_first, qpn, psn));
        session.there(Direction::outbound, Session::roce(read_response_middle, qpn, psn + 1));
        session.there(Direction::outbound, Session::roce(read_response_last, qpn, psn + 2));
        session.there(Direction::outbound, Session::roce(acknowledge, qpn, psn + 7)); // of nothing that has come
    }
    session.frame(Direction::inbound, read_response_first, qpn, psn);
    session.frame(Direction::inbound, read_response_middle, qpn, psn + 1);
    session.frame(Direction::inbound, read_response_last, qpn, psn + 2);
    session.frame(Direction::inbound, acknowledge, qpn, psn + 9);

    const auto drawn = draw(session.bytes());

    const auto flows = find(drawn, "doorbells of QP 0x11", "up to WQE 0").flows;
    REQUIRE(flows.size() == 1);
    for (const auto* number : {"PSN 0x64", "PSN 0x65", "PSN 0x66"})
        for (const auto* track : {"host1.hca0.port1 frames out", "host0.hca0.port1 frames in"}) {
            INFO(number << " on " << track);
            CHECK(find(drawn, track, number).flows == flows);
        }
    CHECK(find(drawn, "host0.hca0.port1 frames in", "PSN 0x6d").flows.empty());
}

TEST_CASE("what the model's rooms say of a work request is in its flow, of each of several by one doorbell",
          "[unit][trace-tool]") {
    BothEnds session;
    const auto doorbell = session.ring(1, {0, 1});
    session.event(1, 0, doorbell, traces::DoorbellRung{qpn, 6, 2});
    session.event(2, 1, 0, traces::WqeFetched{qpn, 0, 8, 3, 64});
    session.event(3, 1, 0, traces::WqeFetched{qpn, 1, 8, 3, 64});
    session.event(4, 3, 0, traces::QueueScheduled{qpn});
    session.event(5, 0, 0, traces::QueueScheduled{qpn}); // of nobody's
    session.acknowledge(0);
    session.acknowledge(1);

    const auto drawn = draw(session.bytes());

    const auto flows = find(drawn, "doorbells of QP 0x11", "up to WQE 1").flows;
    REQUIRE(flows.size() == 2);
    std::vector<std::vector<std::uint64_t>> said;
    for (const auto& one : drawn)
        if (one.name == "DoorbellRung" || one.name == "WqeFetched" || one.name == "QueueScheduled")
            said.push_back(one.flows);
    CHECK(said == std::vector<std::vector<std::uint64_t>>{flows, {flows[0]}, {flows[1]}, {flows[1]}, {}});
}

TEST_CASE("of doorbells without end only so many are known by what they have posted", "[unit][trace-tool]") {
    Posts posts(2);
    for (std::uint64_t doorbell = 1; doorbell <= 3; ++doorbell) {
        WorkBoard::News news;
        news.fetched.push_back({.doorbell = doorbell, .fetched = doorbell + 10});
        posts.take(news, doorbell + 10);
    }
    posts.sort();

    CHECK(posts.of(1) == std::vector<Flow>{11});
    CHECK(posts.of(2) == std::vector<Flow>{12});
    CHECK(posts.of(3).empty());
}
