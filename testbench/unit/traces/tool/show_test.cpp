// What `trace show` and `trace stats` say of a session that is known.
#include "traces/tool/show.h"

#include "testbench/harness/seed.h"
#include "testbench/unit/traces/tool/session.h"
#include "traces/tool/histogram.h"
#include "traces/tool/stats.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace trace_tool_bench;
using namespace traces::tool;
using Catch::Matchers::ContainsSubstring;
using trace_bench::MemoryDestination;
using trace_bench::MemorySource;

namespace {

std::string shown(const Bytes& trace, const ShowOptions& options = {}) {
    MemorySource source(trace);
    MemoryDestination out;
    const auto outcome = show(source, options, out);
    CHECK(outcome.text() == "");
    return text_of(out);
}
std::string shown_with(Filter filter) {
    Session session;
    session.run(2);
    return shown(session.bytes(), {.filter = std::move(filter)});
}

} // namespace

TEST_CASE("each structure of a session is shown by its name and numbers", "[unit][trace-tool]") {
    Session session;
    session.run(1);

    const auto text = shown(session.bytes());

    CHECK_THAT(text, ContainsSubstring("command doorbell, slots 0x1"));
    CHECK_THAT(text, ContainsSubstring("end of CREATE_QP in slot 0, qpn 0x11"));
    CHECK_THAT(line_with(text, "doorbell of QP"),
               ContainsSubstring("-> store of 8 bytes") && ContainsSubstring("doorbell of QP 0x11: WQE 0 RDMA_WRITE"));
    CHECK_THAT(text, ContainsSubstring("WQE 0 of QP 0x11: RDMA_WRITE, a WQE of 48 bytes"));
    CHECK_THAT(text, ContainsSubstring("RDMA WRITE Only to QP 0x99, PSN 0x64"));
    CHECK_THAT(line_with(text, "CQE in CQ"),
               ContainsSubstring("CQE in CQ 0x42: QP 0x11, requester, WQE 0, 64 bytes") &&
                   ContainsSubstring("[" + std::to_string(session.marks.ack_frame) + "]"));
    CHECK_THAT(text, ContainsSubstring("EQE in EQ 0x5: completion in CQ 0x42"));
    CHECK_THAT(text, ContainsSubstring("interrupt 3 of EQ 0x5"));
}

TEST_CASE("a command that is refused is shown with its status", "[unit][trace-tool]") {
    Session session;
    session.start();
    abi::Block<CreateQpIn> in;
    abi::Block<CreateQpOut> out;
    in.view().set<"opcode">(Opcode::create_qp);
    out.view().set<"status">(Status::bad_parameter).set<"syndrome">(0xb01);
    session.command(bytes_of(in), out.bytes);

    CHECK_THAT(line_with(shown(session.bytes()), "end of"),
               ContainsSubstring(std::string(name(Status::bad_parameter)) + ", syndrome 0xb01"));
}

TEST_CASE("the command that ends all objects is shown by its name", "[unit][trace-tool]") {
    Session session;
    session.start();
    session.create_queues();
    abi::Block<CommandIn> in;
    abi::Block<CommandOut> out;
    in.view().set<"opcode">(Opcode::teardown_hca);
    session.command(in.bytes, out.bytes);
    session.write(0);

    const auto text = shown(session.bytes());

    CHECK_THAT(line_with(text, "end of TEARDOWN_HCA"), ContainsSubstring("in slot 0"));
    CHECK(lines_with(text, "CQE in CQ") == 0);
}

TEST_CASE("a WQE behind its doorbell in a BlueFlame buffer is no doorbell", "[unit][trace-tool]") {
    Session session;
    session.start();
    session.create_queues();
    abi::Block<SendDoorbell> ring;
    ring.view().set<"opcode">(8).set<"qpn">(qpn).set<"ds">(3);
    Journal::Call call(session.journal);
    for (std::size_t at = 0; at < 64; at += 8)
        session.store(call, uar + uar_bfreg + bf_buffer_bytes + at, ring.bytes);

    CHECK(lines_with(shown(session.bytes()), "doorbell of QP") == 1);
}

TEST_CASE("a queue is forgotten with its object", "[unit][trace-tool]") {
    Session session;
    session.start();
    session.create_queues();
    abi::Block<DestroyCqIn> in;
    abi::Block<DestroyCqOut> out;
    in.view().set<"opcode">(Opcode::destroy_cq).set<"cqn">(cqn);
    session.command(in.bytes, out.bytes);
    session.write(0);

    CHECK(lines_with(shown(session.bytes()), "CQE in CQ") == 0);
}

TEST_CASE("a filter leaves the records of its object", "[unit][trace-tool]") {
    CHECK(lines_with(shown_with({.qpn = qpn}), "WQE 1 of QP 0x11") == 1);
    CHECK(lines_with(shown_with({.qpn = qpn}), "CREATE_CQ") == 0);
    CHECK(lines_with(shown_with({.qpn = qpn + 1}), "\n") == 0);
    CHECK(lines_with(shown_with({.cqn = cqn}), "\n") == 1 + 2 + 2); // its command, CQEs, EQEs
    CHECK(lines_with(shown_with({.eqn = eqn}), "\n") == 1 + 2 + 2); // its command, EQEs, interrupts
    CHECK(shown_with({.queue = cqn}) == shown_with({.cqn = cqn}));
    CHECK(shown_with({.queue = qpn}) == shown_with({.qpn = qpn}));
    CHECK(lines_with(shown_with({.mkey = lkey}), "\n") == 2);
    CHECK(lines_with(shown_with({.mkey = rkey + 0x100}), "\n") == 0);
    CHECK(lines_with(shown_with({.kinds = {What::cqe, What::interrupt}}), "\n") == 4);
    CHECK(lines_with(shown_with({.function = "port1"}), "\n") == 4);
    CHECK(lines_with(shown_with({.first = 2, .last = 4}), "\n") == 3);
}

TEST_CASE("a filter by queue pair leaves packets of its own, not those that others send to its number",
          "[unit][trace-tool]") {
    // Two devices; what is the one's own number is the peer's of the other.
    Session session;
    session.start();
    session.create_queues();
    session.write(0);
    Journal::Call call(session.journal);
    call.is(session.journal.put(3, codec::RecordKind::frame, Direction::inbound, session.now,
                                Session::roce(abi::wire::Operation::write_only, peer, psn)));
    session.journal.put(3, codec::RecordKind::frame, Direction::outbound, session.now,
                        Session::acknowledgement(psn, 0));
    const auto bytes = session.bytes();

    for (const auto& filter : {Filter{.qpn = qpn}, Filter{.queue = qpn}}) {
        const auto own = shown(bytes, {.filter = filter});
        CHECK(lines_with(own, "host0.hca0.port1") == 2); // its request and the answer to it
        CHECK(lines_with(own, "host1.hca0.port1") == 0);
    }
    for (const auto& filter : {Filter{.qpn = peer}, Filter{.queue = peer}}) {
        const auto other = shown(bytes, {.filter = filter});
        CHECK(lines_with(other, "host0") == 0);
        CHECK(lines_with(other, "host1.hca0.port1") == 2);
    }
}

TEST_CASE("a packet of which nobody knows who has sent it is found by its peer's number", "[unit][trace-tool]") {
    Session session;
    session.frame(Direction::outbound, abi::wire::Operation::write_only, peer, psn);

    CHECK(lines_with(shown(session.bytes(), {.filter = {.qpn = peer}}), "\n") == 1);
}

TEST_CASE("a range of time has its begin and not its end", "[unit][trace-tool]") {
    Session session;
    session.run(1);
    const auto bytes = session.bytes();
    const auto at = session.now.count();

    CHECK(lines_with(shown(bytes, {.filter = {.from_ps = at}}), "\n") == 4); // ACK, CQE, EQE, interrupt
    CHECK(lines_with(shown(bytes, {.filter = {.from_ps = at, .until_ps = at}}), "\n") == 0);
}

TEST_CASE("whoever asks for what is not there can be told so", "[unit][trace-tool]") {
    Session session;
    session.run(1);
    const auto bytes = session.bytes();
    const auto told = [&](auto&& work, const auto& options) {
        MemorySource source(bytes);
        MemoryDestination out;
        const auto outcome = work(source, options, out);
        CHECK(outcome.records == session.last());
        return outcome.told;
    };

    CHECK(told(show, ShowOptions{.filter = {.qpn = 0x999}}) == 0u);
    CHECK(told(show, ShowOptions{.filter = {.kinds = {What::cqe, What::interrupt}}}) == 2u);
    CHECK(told(show, ShowOptions{}) == session.last());
    CHECK(told(stats, Filter{.qpn = 0x999}) == 0u);
    CHECK(told(stats, Filter{}) == session.last());
}

TEST_CASE("fields are those of the layouts", "[unit][trace-tool]") {
    Session session;
    session.run(1);

    const auto text = shown(session.bytes(), {.filter = {.kinds = {What::cqe, What::command_done}}, .fields = true});

    CHECK_THAT(text, ContainsSubstring("cqe64: byte_cnt=0x40"));
    CHECK_THAT(text, ContainsSubstring("create_qp_in: opcode=0x500 (CREATE_QP)"));
}

TEST_CASE("every layout of a command is found by its opcode", "[unit][trace-tool]") {
    for (const auto opcode : {Opcode::create_qp, Opcode::qp_2err, Opcode::query_hca_cap, Opcode::alloc_uar,
                              Opcode::create_umem, Opcode::mad_ifc, Opcode::init2rtr_qp, Opcode::manage_pages}) {
        INFO(name(opcode));
        CHECK(layouts_of(opcode).in != nullptr);
        CHECK(layouts_of(opcode).out != nullptr);
    }
}

TEST_CASE("statistics count, and time from doorbell to completion", "[unit][trace-tool]") {
    Session session;
    session.run(10);
    const auto bytes = session.bytes();
    MemorySource source(bytes);
    MemoryDestination out;

    REQUIRE(stats(source, {}, out).is_good());

    const auto text = text_of(out);
    CHECK_THAT(line_with(text, "QP 0x11 doorbells"), ContainsSubstring(" 10 "));
    CHECK_THAT(line_with(text, "CQ 0x42 CQEs"), ContainsSubstring(" 10            640 B"));
    CHECK_THAT(line_with(text, "command CREATE_QP"), ContainsSubstring(" 1 "));
    CHECK_THAT(line_with(text, "WQE read to CQE, RDMA_WRITE"), ContainsSubstring(" 10     5100.000"));
    CHECK_THAT(line_with(text, "doorbell to CQE"), ContainsSubstring(" 10     5200.000"));
    CHECK_THAT(line_with(text, "DMA read to its last completion"), ContainsSubstring("100.000      100.000"));
}

TEST_CASE("a percentile is right to a hundredth, and the largest value exact", "[unit][trace-tool]") {
    Histogram histogram;
    for (std::int64_t i = 1; i <= 100000; ++i)
        histogram.add(i * 1000);

    for (const auto percent : {50.0, 90.0, 99.0, 99.9}) {
        const auto exact = percent * 1e6;
        CHECK(static_cast<double>(histogram.percentile(percent)) >= exact);
        CHECK(static_cast<double>(histogram.percentile(percent)) <= exact * 1.01);
    }
    CHECK(histogram.percentile(100) == 100000000);
    CHECK(histogram.most() == 100000000);
    CHECK(histogram.least() == 1000);
}

TEST_CASE("a trace that is cut is shown up to there, with the place of the fault", "[unit][trace-tool]") {
    Session session;
    session.run(2);
    auto bytes = session.bytes();
    bytes.resize(bytes.size() - 30);
    MemorySource source(bytes);
    MemoryDestination out;

    const auto outcome = show(source, {}, out);

    REQUIRE(outcome.fault);
    CHECK(outcome.fault->kind == codec::FaultKind::truncated);
    CHECK_THAT(outcome.text(), ContainsSubstring("byte"));
    CHECK(outcome.records >= outcome.confirmed);
    CHECK(lines_with(text_of(out), "\n") == outcome.records);
}

TEST_CASE("what a trace says does not steer a terminal", "[unit][trace-tool]") {
    MemoryDestination out;
    Output output(out);

    output.line("a\x1b[2J\x7f\xc2\x9b\xc3\xa4\n");
    output.flush();

    CHECK(text_of(out) == "a\\x1b[2J\\x7f\\x9b\xc3\xa4\\x0a\n");
}

TEST_CASE("statistics of a queue know the doorbells that are not counted", "[unit][trace-tool]") {
    Session session;
    session.run(10);
    const auto bytes = session.bytes();
    MemorySource source(bytes);
    MemoryDestination out;

    REQUIRE(stats(source, {.kinds = {What::cqe}}, out).is_good());

    CHECK_THAT(text_of(out), ContainsSubstring("10 records, "));
    CHECK(lines_with(text_of(out), "doorbells") == 0);
    CHECK_THAT(line_with(text_of(out), "doorbell to CQE"), ContainsSubstring(" 10     5200.000"));
}

TEST_CASE("queues without end share a row of the statistics", "[unit][trace-tool]") {
    Session session;
    session.run(0);
    for (std::uint32_t i = 0; i < 3000; ++i) {
        abi::Block<SendDoorbell> ring;
        ring.view().set<"qpn">(i);
        Journal::Call call(session.journal);
        session.store(call, uar + uar_bfreg, ring.bytes);
    }
    const auto bytes = session.bytes();
    MemorySource source(bytes);
    MemoryDestination out;

    REQUIRE(stats(source, {}, out).is_good());

    CHECK(lines_with(text_of(out), "doorbells") == 2048);
    CHECK_THAT(line_with(text_of(out), "all others together"), ContainsSubstring(" 952 "));
}

TEST_CASE("whatever the records are, each has its line", "[unit][trace-tool]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937_64 random(seed);
    const auto sample = trace_bench::make_sample(2000, {}, random);
    MemorySource source(sample.destination.bytes);
    MemoryDestination out;

    const auto outcome = show(source, {.fields = true}, out);

    CHECK(outcome.text() == "");
    CHECK(lines_with(text_of(out), "\n") >= 2000);
}

TEST_CASE("times and numbers are read with their units, and others refused", "[unit][trace-tool]") {
    CHECK(parse_time("1.5us") == 1500000);
    CHECK(parse_time("20 ns") == 20000);
    CHECK(parse_time("7") == 7);
    CHECK_FALSE(parse_time("7 m"));
    CHECK_FALSE(parse_time("-7"));
    CHECK_FALSE(parse_time("1e30s"));
    CHECK(parse_number("0x11") == 17u);
    CHECK_FALSE(parse_number("11x"));
    CHECK(parse_range("7") == Range{7, 7});
    CHECK(parse_range("7-9") == Range{7, 9});
    CHECK(parse_range("7-") == Range{7, std::nullopt});
    CHECK(parse_range("-9") == Range{1, 9});
    for (const auto* wrong : {"", "-", "9-7", "a-b", "1-2-3"})
        CHECK_FALSE(parse_range(wrong));
    CHECK(parse_kinds("cqe,eqe") == std::vector{What::cqe, What::eqe});
    CHECK_THAT(parse_kinds("cqes").error(), ContainsSubstring("doorbell-record"));
}
