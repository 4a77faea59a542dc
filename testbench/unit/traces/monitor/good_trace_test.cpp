// The trace that the monitor's tests begin with, and that nothing is found in it.
#include "testbench/unit/traces/monitor/good_trace.h"

#include "testbench/unit/traces/monitor/side.h"

#include <catch2/catch_test_macros.hpp>

#include <map>

using namespace harness;
using namespace monitor_bench;

namespace {

void talk(Side& from, Side& to) {
    for (const auto operation : {SendOperation::write, SendOperation::read})
        for (const std::uint32_t length : {8u, 9001u}) {
            from.cq->request_notification();
            from.post(to, operation, length);
            CHECK(from.context->get_cq_event(10ms) == from.cq.get());
            from.take(1);
        }
    for (int i = 0; i < 2; ++i)
        from.post(to, SendOperation::fetch_add, 8);
    from.take(2);
    for (const std::uint32_t length : {100u, 9001u}) {
        to.receive(10000);
        to.cq->request_notification();
        from.post(to, SendOperation::send, length);
        CHECK(to.context->get_cq_event(10ms) == to.cq.get());
        to.take(1);
        from.take(1);
    }
}

Bytes record() {
    trace_bench::MemoryDestination destination;
    codec::Writer writer(destination,
                         {.identity = {.revision = "test"},
                          .configuration = {},
                          .names = {},
                          .interfaces = {{codec::InterfaceKind::pcie, "host0.hca0"},
                                         {codec::InterfaceKind::ethernet, "host0.hca0.port1"}}},
                         {});
    platform::record::Journal journal(writer);
    platform::record::Boundary boundary(journal,
                                        {.functions = {0}, .ports = {{1, model::port::Encapsulation::roce_v2_ipv4}}});
    {
        TestClock clock;
        model::net::Link link(HcaPair::clean(), clock, {});
        auto config = HcaPair::untimed();
        DirectHost a(config, clock, link, 0, 64 << 20, {}, &boundary);
        ++config.node_guid; // with a MAC of its own: what goes to one's own never reaches the cable
        DirectHost b(config, clock, link, 1, 64 << 20, {});
        a.step = b.step = [&](Time until) {
            clock.set(until);
            link.wake(until);
            a.wake();
            b.wake();
        };
        Side left(a, 0x0a000001), right(b, 0x0a000002);
        connect(left, right, 77);
        talk(left, right);
        talk(right, left);
        left.close();
        right.close();
    }
    REQUIRE(writer.close());
    return destination.bytes;
}

} // namespace

const Trace& monitor_bench::good_trace() {
    static const Trace trace = [] {
        const auto story = trace_bench::read_all(record());
        REQUIRE(story.why() == "");
        Trace out{story.head, {}};
        for (const auto& kept : story.records)
            out.records.push_back({out.records.size() + 1, kept});
        return out;
    }();
    return trace;
}

TEST_CASE("nothing is found in a good trace", "[unit][monitor]") {
    const auto found = findings(good_trace());

    for (const auto& violation : found.kept())
        UNSCOPED_INFO(violation.text());
    CHECK(found.count() == 0);
}

TEST_CASE("the observer sees what the driver has done", "[unit][monitor]") {
    monitor::Observer observer(good_trace().head);
    std::map<std::string, std::size_t> seen;
    const auto count = [&](std::string_view what) { ++seen[std::string(what)]; };
    for (const auto& one : good_trace().records)
        for (const auto& fact : observer.on(one.record())) {
            if (std::holds_alternative<monitor::CqeWritten>(fact))
                count("completion");
            else if (const auto* eqe = std::get_if<monitor::EqeWritten>(&fact))
                count(eqe->entry.get<"event_type">() == abi::prm::EventType::completion ? "completion event" : "event");
            else if (std::holds_alternative<monitor::Interrupted>(fact))
                count("interrupt");
            else if (std::holds_alternative<monitor::CqArmed>(fact))
                count("arm");
            else if (std::holds_alternative<monitor::QpConnected>(fact))
                count("connection");
            else if (const auto* packet = std::get_if<monitor::PacketSeen>(&fact))
                count(packet->qp != nullptr && packet->packet.is_whole ? "packet" : "packet of nobody");
            else if (const auto* gone = std::get_if<monitor::ObjectGone>(&fact))
                count(gone->kind == monitor::ObjectKind::eq ? "event queue gone" : "object gone");
            else if (const auto* posted = std::get_if<monitor::Posted>(&fact))
                count(posted->is_send ? "posted" : "posted to receive");
        }

    CHECK(seen["completion"] == 10); // 4 WRITEs and READs, 2 atomics, 2 SENDs, 2 that arrived
    CHECK(seen["completion event"] == 6);
    CHECK(seen["event"] > 10); // of commands
    CHECK(seen["interrupt"] > 6);
    CHECK(seen["arm"] == 6);
    CHECK(seen["connection"] == 1);
    CHECK(seen["packet"] > 40);
    CHECK(seen["packet of nobody"] == 0);
    CHECK(seen["event queue gone"] >= 1);
    CHECK(seen["object gone"] >= 3);
    CHECK(seen["posted"] >= 8);
    CHECK(seen["posted to receive"] >= 2);
}
