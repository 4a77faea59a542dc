#include "platform/observe/count/queues.h"

#include "abi/prm/cqe.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace platform::observe;
using namespace platform::observe::count;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using traces::Events;

namespace {

struct At {
    std::int64_t ps = 0;
    std::int64_t count() const { return ps; }
};

/// Two cards' events, and the report of what they said.
struct Bench {
    Sources sources;
    Queues queues{sources};
    Events a{&queues, sources.add("A.hca")}, b{&queues, sources.add("B.hca")};

    void fetch(std::uint32_t qpn, std::uint16_t index, std::uint32_t length = 100) const {
        a.emit(At{}, traces::WqeFetched{.qpn = qpn, .index = index, .opcode = 8, .segments = 2, .length = length});
    }
    void complete(std::uint32_t qpn, std::uint16_t index, CqeOpcode opcode = CqeOpcode::req, CqeSyndrome syndrome = {},
                  std::uint32_t cqn = 0x80, std::uint32_t byte_count = 7) const {
        a.emit(At{}, traces::CompletionWritten{.cqn = cqn,
                                               .qpn = qpn,
                                               .opcode = static_cast<std::uint8_t>(opcode),
                                               .syndrome = static_cast<std::uint8_t>(syndrome),
                                               .wqe_counter = index,
                                               .byte_count = byte_count});
    }
    void arm(std::uint32_t cqn = 0x80) const { a.emit(At{}, traces::CompletionArmed{cqn, 0, false}); }
    void change(std::uint32_t qpn, std::uint8_t from, std::uint8_t to) const {
        a.emit(At{}, traces::QueueStateChanged{qpn, from, to});
    }

    QueueCounts counts(std::string_view name) const {
        const auto report = queues.report(64);
        const auto row = std::ranges::find(report.busiest, name, &QueueRow::name);
        REQUIRE(row != report.busiest.end());
        return row->counts;
    }
};

constexpr std::uint8_t reset = 0, initialised = 1, ready_to_send = 3;

} // namespace

TEST_CASE("a send queue has its requests, their bytes and how they ended", "[unit][observe]") {
    Bench bench;
    bench.fetch(0x41, 0, 100);
    bench.fetch(0x41, 4, 11);
    bench.fetch(0x41, 5, 1);
    bench.complete(0x41, 0);
    bench.complete(0x41, 4, CqeOpcode::req);
    bench.complete(0x41, 5, CqeOpcode::req_err, CqeSyndrome::wr_flush_err);

    const auto counts = bench.counts("A.hca QP 0x41 send");

    CHECK(counts.requests == 3);
    CHECK(counts.requests_again == 0);
    CHECK(counts.bytes == 112);
    CHECK(counts.completions_ok == 2);
    CHECK(counts.completions_error == 1);
    CHECK(counts.deepest == 3);
    CHECK_FALSE(counts.armed);
    CHECK_FALSE(counts.events);
}

TEST_CASE("a request that is fetched again is none of its own", "[unit][observe]") {
    Bench bench;
    for (const std::uint16_t index : {0xfffe, 0xffff, 0})
        bench.fetch(0x41, index);
    for (const std::uint16_t index : {0xfffe, 0xffff, 0, 0}) // went back over the wrap of the index
        bench.fetch(0x41, index);
    bench.fetch(0x41, 1);

    const auto counts = bench.counts("A.hca QP 0x41 send");

    CHECK(counts.requests == 4);
    CHECK(counts.requests_again == 4);
    CHECK(counts.bytes == 400);
    CHECK(counts.deepest == 4);
}

TEST_CASE("a completion ends the requests before it that asked for none, and none behind it", "[unit][observe]") {
    Bench bench;
    for (const std::uint16_t index : {0xfffd, 0xffff, 0x0001})
        bench.fetch(0x41, index);
    bench.complete(0x41, 0xffff); // one is left
    bench.complete(0x41, 0xfffd); // and stays: nothing new ended
    for (const std::uint16_t index : {2, 3})
        bench.fetch(0x41, index);
    CHECK(bench.counts("A.hca QP 0x41 send").deepest == 3);

    bench.fetch(0x41, 4);

    CHECK(bench.counts("A.hca QP 0x41 send").deepest == 4);
}

TEST_CASE("a long run of requests one at a time stays one deep", "[unit][observe]") {
    Bench bench;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        bench.fetch(0x41, static_cast<std::uint16_t>(i));
        bench.complete(0x41, static_cast<std::uint16_t>(i));
    }

    const auto counts = bench.counts("A.hca QP 0x41 send");

    CHECK(counts.requests == 100'000);
    CHECK(counts.requests_again == 0);
    CHECK(counts.deepest == 1);
}

TEST_CASE("a reset queue begins anew where it was reset to, and forgets what was under way", "[unit][observe]") {
    for (const bool is_made_anew : {false, true}) {
        Bench bench;
        bench.change(0x41, reset, initialised);
        bench.fetch(0x41, 6);
        bench.fetch(0x41, 7);
        is_made_anew ? bench.change(0x41, reset, initialised) : bench.change(0x41, ready_to_send, reset);
        bench.fetch(0x41, 0);
        CHECK(bench.counts("A.hca QP 0x41 send").requests == 3);
        CHECK(bench.counts("A.hca QP 0x41 send").requests_again == 0);
        CHECK(bench.counts("A.hca QP 0x41 send").deepest == 2);

        bench.change(0x41, initialised, ready_to_send);
        bench.change(0x42, ready_to_send, reset);
        bench.fetch(0x41, 0);
        bench.fetch(0x41, 1);
        bench.fetch(0x41, 2);

        CHECK(bench.counts("A.hca QP 0x41 send").requests_again == 1);
        CHECK(bench.counts("A.hca QP 0x41 send").deepest == 3);
    }
}

TEST_CASE("a receive queue has what it received; how deep it is no event says", "[unit][observe]") {
    Bench bench;
    for (const auto opcode :
         {CqeOpcode::resp_wr_imm, CqeOpcode::resp_send, CqeOpcode::resp_send_imm, CqeOpcode::resp_send_inv})
        bench.complete(0x41, 0, opcode);
    bench.complete(0x41, 0, CqeOpcode::resp_err, CqeSyndrome::wr_flush_err);
    bench.complete(0x41, 0, CqeOpcode::resize_cq);

    const auto counts = bench.counts("A.hca QP 0x41 receive");

    CHECK(counts.completions_ok == 4);
    CHECK(counts.completions_error == 1);
    CHECK(counts.bytes == 28);
    CHECK_FALSE(counts.requests);
    CHECK_FALSE(counts.requests_again);
    CHECK_FALSE(counts.deepest);
    CHECK(std::ranges::count(bench.queues.report(9).sums, QueueKind::send, &QueueSum::kind) == 0);
    bench.complete(0x43, 0, CqeOpcode::resp_err, CqeSyndrome::wr_flush_err);
    CHECK(bench.counts("A.hca QP 0x43 receive").completions_error == 1);
}

TEST_CASE("a completion queue is as deep as what came from one arm to the next", "[unit][observe]") {
    Bench bench;
    for (int i = 0; i < 5; ++i) // nobody has armed it: who knows when these were read
        bench.complete(0x41, 0);
    CHECK_FALSE(bench.counts("A.hca CQ 0x80").deepest);
    bench.arm();
    CHECK(bench.counts("A.hca CQ 0x80").deepest == 0);
    bench.complete(0x41, 1), bench.complete(0x42, 1), bench.complete(0x41, 2, CqeOpcode::req_err, CqeSyndrome{1});
    bench.complete(0x41, 0, CqeOpcode::req, {}, 0x81);
    bench.arm();
    bench.complete(0x41, 3), bench.complete(0x41, 4);
    bench.a.emit(At{}, traces::EventWritten{.eqn = 3, .type = 0, .subtype = 0, .number = 0x80});
    bench.a.emit(At{}, traces::EventWritten{.eqn = 3, .type = 0x0a, .subtype = 0, .number = 0x80});

    const auto counts = bench.counts("A.hca CQ 0x80");

    CHECK(counts.completions_ok == 9);
    CHECK(counts.completions_error == 1);
    CHECK(counts.deepest == 3);
    CHECK(counts.armed == 2);
    CHECK(counts.events == 1);
    CHECK_FALSE(counts.requests);
    CHECK_FALSE(counts.bytes);
    CHECK(bench.counts("A.hca EQ 0x3").events == 2);
    CHECK_FALSE(bench.counts("A.hca EQ 0x3").completions_ok);
    bench.arm(0x82); // nothing came since
    CHECK(bench.counts("A.hca CQ 0x82").armed == 1);
}

TEST_CASE("queues are told apart by card, kind and number, the busiest first", "[unit][observe]") {
    Bench bench;
    bench.b.emit(At{}, traces::WqeFetched{.qpn = 0x41, .index = 0, .opcode = 8, .segments = 2, .length = 3});
    bench.b.emit(At{}, traces::PacketSent{});
    std::uint16_t index = 0;
    for (const std::uint32_t qpn : {0xffffffU, 0x42U, 0x7fU, 0x42U, 0x41U})
        bench.fetch(qpn, index++);

    const auto report = bench.queues.report(64);

    std::vector<std::string> names;
    for (const auto& row : report.busiest)
        names.push_back(row.name);
    CHECK(names == std::vector<std::string>{"A.hca QP 0x42 send", "A.hca QP 0x41 send", "A.hca QP 0x7f send",
                                            "A.hca QP 0xffffff send", "B.hca QP 0x41 send"});
    CHECK(report.busiest.front().card == "A.hca");
    CHECK(bench.counts("A.hca QP 0x42 send").requests == 2);
    CHECK(bench.counts("B.hca QP 0x41 send").bytes == 3);
}

TEST_CASE("what has no row is in the sums", "[unit][observe]") {
    Bench bench;
    for (std::uint32_t qpn = 0; qpn < 100; ++qpn)
        for (std::uint32_t i = 0; i < 100 - qpn; ++i)
            bench.fetch(qpn, static_cast<std::uint16_t>(i), 2);
    bench.complete(0, 99);
    bench.complete(7, 7, CqeOpcode::req_err, CqeSyndrome::local_prot_err);

    const auto report = bench.queues.report(2);

    REQUIRE(report.busiest.size() == 3); // two send queues and the completion queue
    CHECK(report.busiest[0].name == "A.hca QP 0x0 send");
    CHECK(report.busiest[1].name == "A.hca QP 0x1 send");
    REQUIRE(report.sums.size() == 2);
    const auto& sum = report.sums[0];
    CHECK(sum.card == "A.hca");
    CHECK(sum.kind == QueueKind::send);
    CHECK(sum.queues == 100);
    CHECK(sum.counts.requests == 5050);
    CHECK(sum.counts.bytes == 10'100);
    CHECK(sum.counts.completions_ok == 1);
    CHECK(sum.counts.completions_error == 1);
    CHECK(sum.counts.deepest == 100);
    CHECK_FALSE(sum.counts.armed);
    CHECK(report.sums[1].kind == QueueKind::completion);
    CHECK(report.sums[1].queues == 1);
    CHECK(bench.queues.report(0).busiest.empty());
}
