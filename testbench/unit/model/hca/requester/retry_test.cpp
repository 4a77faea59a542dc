// Lost packets and answers: time-outs, sequence errors, going back, and giving up.
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <vector>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using abi::wire::NakCode;
using abi::wire::Operation;
using model::hca::queue::QpState;

namespace {

constexpr std::uint8_t good = abi::wire::ack_syndrome();
constexpr std::uint8_t out_of_sequence = abi::wire::nak_syndrome(NakCode::psn_sequence_error);
constexpr Time timeout = 4096ns * (1 << 14); ///< of the harness' queue pairs

struct Bench : OneHca {
    using OneHca::OneHca;
    Region source = a.make_region(8192, 1);

    void write(std::uint32_t length) { send({.sges = {source.sge(0, length)}, .remote = 0x1000, .rkey = abi::Key{1}}); }
    void read(std::uint32_t length) {
        send({.opcode = WqeOpcode::rdma_read, .sges = {source.sge(0, length)}, .remote = 0x1000, .rkey = abi::Key{1}});
    }
    std::vector<std::uint32_t> psns() {
        std::vector<std::uint32_t> all;
        for (const auto& packet : peer.take())
            all.push_back(packet.psn());
        return all;
    }
};
using Psns = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("without an answer everything is sent again after the time-out, not before", "[unit][transport][retry]") {
    Bench bench;
    bench.write(2500);
    bench.write(10);
    CHECK(bench.psns() == Psns{100, 101, 102, 103});

    bench.run(timeout - 1ns);
    CHECK(bench.psns().empty());
    bench.run(timeout);

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 4);
    CHECK(again[0].operation() == Operation::write_first);
    CHECK(again[0].header.rdma().reth.length == 2500);
    CHECK(again[3].operation() == Operation::write_only);
    CHECK(again[3].payload == bench.a.bytes(bench.source, 0, 10));
    CHECK(bench.a.hca.counters().timeouts == 1);
    CHECK(bench.a.hca.counters().retries == 1);
    CHECK(bench.a.q_counters().local_ack_timeout_err == 1);
    bench.answer(103, good);
    CHECK(bench.a.drain(bench.cq).size() == 2);
}

TEST_CASE("the time-out runs from the last progress", "[unit][transport][retry]") {
    Bench bench;
    bench.write(10);
    bench.write(10);
    bench.run(timeout / 2);
    bench.clock.set(timeout / 2);
    bench.answer(100, good);
    bench.psns();

    bench.run(timeout + 1us);
    CHECK(bench.psns().empty());
    bench.run(timeout * 3 / 2 + 1us);

    CHECK(bench.psns() == Psns{101});
}

TEST_CASE("every timeout value of the address path is 4.096 us times its power of two", "[unit][transport][retry]") {
    for (std::uint8_t n = 1; n < 32; ++n) {
        Bench bench([&](auto& attributes) { attributes.path.ack_timeout = n; });
        const auto value = Time(4096ns) * (std::int64_t{1} << n);
        bench.write(10);
        bench.psns();
        INFO("timeout " << unsigned{n});
        bench.run(value - 1ns);
        CHECK(bench.psns().empty());
        bench.run(value);
        CHECK(bench.psns() == Psns{100});
    }
}

TEST_CASE("a timeout of 0 waits for ever", "[unit][transport][retry]") {
    Bench bench([](auto& attributes) { attributes.path.ack_timeout = 0; });
    bench.write(10);
    bench.psns();

    bench.run(std::chrono::hours{24});

    CHECK(bench.psns().empty());
    CHECK(bench.core().state == QpState::rts);
}

TEST_CASE("after an ACK in the middle of a message the rest of it is sent again", "[unit][transport][retry]") {
    Bench bench;
    bench.write(4000);
    bench.answer(101, good);
    bench.psns();

    bench.run(timeout);

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 2);
    CHECK(again[0].operation() == Operation::write_middle);
    CHECK(again[0].psn() == 102);
    CHECK(again[0].payload == bench.a.bytes(bench.source, 2048, 1024));
    CHECK(again[1].operation() == Operation::write_last);
    CHECK(again[1].payload == bench.a.bytes(bench.source, 3072, 928));
}

TEST_CASE("a sequence NAK sends from its packet on, at once, and acknowledges what precedes it",
          "[unit][transport][retry]") {
    Bench bench;
    bench.write(10);
    bench.write(3000);
    bench.write(10);
    bench.psns();

    bench.answer(102, out_of_sequence);

    CHECK(bench.psns() == Psns{102, 103, 104});
    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.a.q_counters().packet_seq_err == 1);
    CHECK(bench.a.hca.counters().retries == 1);
    bench.answer(104, good);
    CHECK(bench.a.drain(bench.cq).size() == 2);
}

TEST_CASE("retries end with a transport error for the oldest message; the others are flushed",
          "[unit][transport][retry]") {
    for (std::uint8_t count = 0; count < 8; ++count) {
        Bench bench([&](auto& attributes) { attributes.retry_count = count; });
        const auto target = bench.a.make_region(64);
        bench.a.post_receive(bench.qp, {target.sge()});
        bench.write(10);
        bench.write(10);
        INFO("retry count " << unsigned{count});

        bench.run(timeout * 20);

        CHECK(bench.psns().size() == 2 * (1u + count));
        const auto done = bench.a.drain(bench.cq);
        REQUIRE(done.size() == 3);
        CHECK(done[0].opcode == CqeOpcode::req_err);
        CHECK(done[0].syndrome == CqeSyndrome::transport_retry_exc_err);
        CHECK(done[0].index == 0);
        CHECK(done[1].opcode == CqeOpcode::req_err);
        CHECK(done[1].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(done[1].index == 1);
        CHECK(done[2].opcode == CqeOpcode::resp_err);
        CHECK(done[2].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(bench.core().state == QpState::err);
        CHECK(bench.a.q_counters().req_transport_retries_exceeded == 1);
        CHECK(bench.a.q_counters().local_ack_timeout_err == count + 1u);
        CHECK(bench.a.q_counters().req_cqe_error == 1);
        CHECK(bench.a.q_counters().req_cqe_flush_error == 1);
        CHECK(bench.a.q_counters().resp_cqe_flush_error == 1);
        CHECK(bench.a.drain_events().empty()); // a requester's error is in its completion
    }
}

TEST_CASE("sequence NAKs use up the same retries as time-outs", "[unit][transport][retry]") {
    Bench bench([](auto& attributes) { attributes.retry_count = 3; });
    bench.write(10);

    bench.run(timeout);
    bench.answer(100, out_of_sequence);
    bench.answer(100, out_of_sequence);
    CHECK(bench.core().state == QpState::rts);
    bench.answer(100, out_of_sequence);

    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].syndrome == CqeSyndrome::transport_retry_exc_err);
}

TEST_CASE("progress gives all retries back", "[unit][transport][retry]") {
    Bench bench([](auto& attributes) { attributes.retry_count = 1; });
    for (int i = 0; i < 6; ++i)
        bench.write(10);
    for (std::uint32_t i = 0; i < 6; ++i) {
        bench.answer(100 + i, out_of_sequence);
        bench.answer(100 + i, good);
    }

    CHECK(bench.core().state == QpState::rts);
    CHECK(bench.a.drain(bench.cq).size() == 6);
}

TEST_CASE("a READ that lost a response asks for the rest only", "[unit][transport][retry][read]") {
    Bench bench;
    bench.read(5000);
    bench.receive(Operation::read_response_first, 100, 1024);
    bench.receive(Operation::read_response_middle, 101, 1024);
    bench.psns();

    bench.run(timeout);

    const auto again = bench.peer.take();
    REQUIRE(again.size() == 1);
    CHECK(again[0].operation() == Operation::read_request);
    CHECK(again[0].psn() == 102);
    CHECK(again[0].header.rdma().reth.address == 0x1000 + 2048);
    CHECK(again[0].header.rdma().reth.length == 5000 - 2048);
    bench.receive(Operation::read_response_first, 102, 1024);
    bench.receive(Operation::read_response_middle, 103, 1024);
    bench.receive(Operation::read_response_last, 104, 5000 - 4096);
    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].bytes == 5000);
}

TEST_CASE("an answer behind a missing one is an implied NAK, once", "[unit][transport][retry][read]") {
    Bench bench;
    bench.read(3000);
    bench.psns();

    bench.receive(Operation::read_response_first, 100, 1024);
    bench.receive(Operation::read_response_last, 102, 952); // 101 is lost
    CHECK(bench.psns() == Psns{101});
    bench.receive(Operation::read_response_last, 102, 952);

    CHECK(bench.psns().empty());
    CHECK(bench.a.q_counters().implied_nak_seq_err == 1);
    CHECK(bench.a.drain(bench.cq).empty());
}

TEST_CASE("an ACK behind a READ without its response is an implied NAK", "[unit][transport][retry][read]") {
    Bench bench;
    bench.write(10);
    bench.read(1500);
    bench.write(10);
    bench.psns();

    bench.answer(103, good);

    CHECK(bench.a.drain(bench.cq).size() == 1);
    CHECK(bench.psns() == Psns{101, 103});
    CHECK(bench.a.q_counters().implied_nak_seq_err == 1);
    bench.receive(Operation::read_response_first, 101, 1024);
    bench.receive(Operation::read_response_last, 102, 476);
    bench.answer(103, good);
    CHECK(bench.a.drain(bench.cq).size() == 2);
}

TEST_CASE("answers that come before the second sending are taken, and nothing is sent twice for them",
          "[unit][transport][retry]") {
    Bench bench;
    bench.write(10);
    bench.write(2000);
    bench.write(10);
    bench.psns();

    // One batch: the requester goes back, and then hears that all had arrived.
    bench.hand_over(Operation::acknowledge, 100, 0,
                    [](auto& packet) { packet.rdma().aeth.syndrome = out_of_sequence; });
    bench.hand_over(Operation::acknowledge, 102, 0, [](auto&) {});
    bench.settle();

    CHECK(bench.psns() == Psns{103});
    CHECK(bench.a.drain(bench.cq).size() == 2);
    bench.answer(103, good);
    CHECK(bench.a.drain(bench.cq).size() == 1);
}

TEST_CASE("a NOP between messages that are sent again completes in its turn", "[unit][transport][retry]") {
    Bench bench;
    bench.write(10);
    bench.send({.opcode = WqeOpcode::nop});
    CHECK(bench.a.drain(bench.cq).empty());

    SECTION("when the answer comes before the second sending") {
        bench.hand_over(Operation::acknowledge, 100, 0,
                        [](auto& packet) { packet.rdma().aeth.syndrome = out_of_sequence; });
        bench.hand_over(Operation::acknowledge, 100, 0, [](auto&) {});
        bench.settle();
    }
    SECTION("when it comes after it") {
        bench.answer(100, out_of_sequence);
        CHECK(bench.a.drain(bench.cq).empty());
        bench.answer(100, good);
    }

    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 2);
    CHECK(done[1].send_opcode == 0);
}

TEST_CASE("no more than 2^23 - 1 sequence numbers are outstanding", "[unit][transport][retry]") {
    Bench bench([](auto& attributes) { attributes.mtu = 1; });
    // 1 GiB of one page: 2^22 packets a message.
    model::hca::tpt::MkeyAttributes a;
    a.rights = Node::all_rights;
    a.pd = Node::pd;
    a.length = 1u << 30;
    const auto key = bench.a.make_key(a, std::vector<std::uint64_t>(1u << 18, 0x40000));
    for (int i = 0; i < 3; ++i)
        bench.a.post(bench.qp,
                     {.opcode = WqeOpcode::rdma_read, .sges = {{0, 1u << 30, key}}, .remote = 0, .rkey = abi::Key{1}});

    bench.a.ring(bench.qp, bench.clock.now());
    bench.settle();

    CHECK(bench.psns() == Psns{100});
    CHECK(bench.core().requester.window.next_psn - abi::Psn{100} == 1 << 22);
    bench.write(256 * 10); // waits behind the READs
    CHECK(bench.psns().empty());
}

TEST_CASE("when a request has failed, packets of it that are still under way keep what they carried",
          "[unit][transport][retry][loan]") {
    Bench bench;
    const auto sent = bench.a.bytes(bench.source, 0, 64);
    bench.a.post(bench.qp, {.sges = {bench.source.sge(0, 64)}, .remote = 0x1000, .rkey = abi::Key{1}});
    bench.a.ring(bench.qp, bench.clock.now());
    while (bench.core().state == QpState::rts) { // a cable that keeps everything, longer than the requester waits
        bench.clock.set(bench.clock.next());
        bench.a.hca.wake(bench.clock.now());
    }
    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 1);
    REQUIRE(done[0].syndrome == CqeSyndrome::transport_retry_exc_err);

    bench.a.fill(bench.source.address, 64, 9); // software has heard that the request is over
    bench.settle();

    const auto seen = bench.peer.take();
    CHECK(seen.size() == 8);
    for (const auto& packet : seen)
        CHECK(packet.payload == sent);
}

namespace {

model::hca::HcaConfig adaptive(bool is_ethernet = true) {
    model::hca::HcaConfig config;
    config.timed = false;
    config.is_ethernet = is_ethernet;
    config.adaptive.is_on = true;
    return config;
}
/// When each try was made again, with a peer that never answers, until nothing is tried any more.
std::vector<Time> tries(Bench& bench) {
    bench.write(10);
    bench.psns();
    std::vector<Time> all;
    for (Time at{}; bench.core().state == QpState::rts; at += 1us * 1024) {
        bench.run(at);
        for (const auto& packet : bench.peer.take())
            all.push_back(packet.at);
    }
    return all;
}

} // namespace

TEST_CASE("adaptive retransmission tries eight times at times of its own, and then as the specification has it",
          "[unit][transport][retry]") {
    constexpr Time first = 4096ns * 1024, own_timeout = 4096ns * (1 << 10);
    for (const std::uint8_t count : {1, 7}) {
        Bench bench(
            [&](auto& attributes) {
                attributes.retry_count = count;
                attributes.path.ack_timeout = 10;
            },
            adaptive());
        INFO("retry count " << unsigned{count});

        const auto found = tries(bench);

        // Six of them are beside the retries that were asked for.
        REQUIRE(found.size() == 6u + count);
        Time at{};
        const std::array<double, 8> times{1, 1, 1.5, 3, 6, 16, 32, 64};
        for (std::size_t i = 0; i < found.size(); ++i) {
            at += i < times.size() ? Time{static_cast<std::int64_t>(static_cast<double>(first.count()) * times[i])}
                                   : own_timeout;
            CHECK(found[i] == at);
        }
        const auto adaptives = std::min<std::uint32_t>(8, 7u + count); // the last one finds no try left
        CHECK(bench.a.q_counters().roce_adp_retrans == adaptives);
        CHECK(bench.a.q_counters().local_ack_timeout_err == 7u + count - adaptives);
        CHECK(bench.a.hca.counters().adaptive_timeouts == adaptives);
        CHECK(bench.a.hca.counters().timeouts == 7u + count);
        CHECK(bench.a.q_counters().req_transport_retries_exceeded == 1);
    }
}

TEST_CASE("an answer begins adaptive retransmission anew", "[unit][transport][retry]") {
    Bench bench({}, adaptive());
    bench.write(10);
    bench.write(10);
    constexpr Time first = 4096ns * 1024;
    bench.run(first * 7 / 2); // tries at 1, 2 and 3.5 times that
    bench.psns();
    bench.clock.set(first * 7 / 2);
    bench.answer(100, good);

    bench.run(first * 9 / 2 - 1ns);
    CHECK(bench.psns().empty());
    bench.run(first * 9 / 2);
    CHECK(bench.psns() == Psns{101});
}

TEST_CASE("adaptive retransmission leaves InfiniBand, and a time-out of 0, alone", "[unit][transport][retry]") {
    SECTION("InfiniBand") {
        Bench bench({}, adaptive(false));
        bench.write(10);
        bench.psns();
        bench.run(timeout - 1ns);
        CHECK(bench.psns().empty());
        bench.run(timeout);
        CHECK(bench.psns() == Psns{100});
        CHECK(bench.a.q_counters().roce_adp_retrans == 0);
        CHECK(bench.a.q_counters().local_ack_timeout_err == 1);
    }
    SECTION("for ever") {
        Bench bench([](auto& attributes) { attributes.path.ack_timeout = 0; }, adaptive());
        bench.write(10);
        bench.psns();
        bench.run(std::chrono::hours{24});
        CHECK(bench.psns().empty());
    }
}
