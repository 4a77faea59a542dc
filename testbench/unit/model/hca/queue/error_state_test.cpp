// The error state: what was posted, and what is posted later, is flushed in order; nothing more is sent; reset starts
// afresh.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <vector>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using abi::wire::Operation;
using model::hca::queue::QpState;

namespace {

struct Bench : OneHca {
    using OneHca::OneHca;
    Region local = a.make_region(8192, 1);
    Post write() const { return {.sges = {local.sge(0, 10)}, .remote = 1, .rkey = abi::Key{1}}; }
    void to(QpState state) {
        a.modify(qp, state, clock.now());
        settle();
    }
    /// All completions, which have to be flushes; their indices by side.
    struct Flushed {
        std::vector<std::uint16_t> sends, receives;
    };
    Flushed flushed() {
        Flushed f;
        for (const auto& done : a.drain(cq)) {
            CHECK(done.syndrome == CqeSyndrome::wr_flush_err);
            CHECK(done.qpn == qp.number.value);
            (done.opcode == CqeOpcode::req_err ? f.sends : f.receives).push_back(done.index);
        }
        return f;
    }
};
using Indices = std::vector<std::uint16_t>;

} // namespace

TEST_CASE("to the error state everything posted is flushed, sent or not, signalled or not", "[unit][error]") {
    Bench bench;
    for (int i = 0; i < 3; ++i)
        bench.a.post_receive(bench.qp, {bench.local.sge()});
    auto quiet = bench.write();
    quiet.signalled = false;
    bench.send(bench.write());
    bench.send(quiet);
    bench.a.post(
        bench.qp,
        {.remote = 1, .rkey = abi::Key{1}, .inline_data = std::vector(100, std::byte{1})}); // three basic blocks
    bench.a.post(bench.qp, {.opcode = WqeOpcode::rdma_read,
                            .sges = {bench.local.sge(0, 10)},
                            .remote = 1,
                            .rkey = abi::Key{1},
                            .signalled = false});
    bench.a.ring(bench.qp, bench.clock.now());
    bench.settle();

    bench.to(QpState::err);

    const auto f = bench.flushed();
    CHECK(f.sends == Indices{0, 1, 2, 5});
    CHECK(f.receives == Indices{0, 1, 2});
    CHECK(bench.a.q_counters().req_cqe_flush_error == 4);
    CHECK(bench.a.q_counters().resp_cqe_flush_error == 3);
    CHECK(bench.a.drain_events().empty()); // software wanted it
}

TEST_CASE("what was posted without a doorbell is flushed with the next one", "[unit][error]") {
    Bench bench;
    bench.a.post(bench.qp, bench.write());
    bench.to(QpState::err);
    CHECK(bench.flushed().sends.empty());

    bench.a.ring(bench.qp, bench.clock.now());
    CHECK(bench.flushed().sends == Indices{0});
    bench.send(bench.write());
    bench.send(bench.write());

    CHECK(bench.flushed().sends == Indices{1, 2});
    CHECK(bench.peer.take().empty());
}

TEST_CASE("receives that are posted in the error state are flushed within twice the time for which it was left alone",
          "[unit][error]") {
    Bench bench;
    bench.to(QpState::err);
    for (std::uint16_t i = 0; i < 60; ++i) {
        const auto idle = 1us * (1 << i % 25); // up to sixteen seconds
        const auto posted = bench.clock.now() + idle;
        bench.run(posted);
        bench.clock.set(posted);
        bench.a.post_receive(bench.qp, {bench.local.sge()});
        Indices found;
        while (found.empty() && bench.clock.next() <= posted + 2 * idle + 20us) {
            bench.run(bench.clock.next());
            found = bench.flushed().receives;
        }
        CHECK(found == Indices{i});
    }
}

TEST_CASE("receives that are posted behind a command for the queue pair, or before its completions are armed, are "
          "flushed at once",
          "[unit][error]") {
    Bench bench;
    bench.to(QpState::err);
    bench.run(100s); // nobody looks often any more

    bench.a.modify(bench.qp, QpState::err, bench.clock.now()); // what drains a queue pair begins with
    bench.a.post_receive(bench.qp, {bench.local.sge()});
    bench.run(bench.clock.now() + 20us);
    CHECK(bench.flushed().receives == Indices{0});

    bench.run(bench.clock.now() + 100s);
    bench.a.post_receive(bench.qp, {bench.local.sge()});
    bench.a.arm(bench.cq, false, bench.clock.now());
    CHECK(bench.flushed().receives == Indices{1});
}

TEST_CASE("dead queue pairs are looked at less and less, together, and in the end by nobody", "[unit][error]") {
    constexpr std::size_t queues = 300;
    Bench bench;
    std::vector<TestQp> dead;
    for (std::size_t i = 0; i < queues; ++i) {
        dead.push_back(bench.a.make_qp(bench.a.attributes(bench.cq)));
        bench.a.modify(dead.back(), QpState::err, bench.clock.now() + i * 1us);
    }
    const auto looks = [&] {
        return std::ranges::count_if(bench.a.dma.log(), [&](const auto& access) {
            return access.address >= dead.front().record && access.address <= dead.back().record && access.length == 4;
        });
    };
    bench.a.dma.clear_log();

    std::size_t wakes = 0;
    for (; bench.clock.next() <= 1000s; ++wakes) {
        bench.clock.set(std::max(bench.clock.next(), bench.clock.now()));
        bench.a.hca.wake(bench.clock.now());
    }
    INFO(wakes << " wakes, " << looks() << " looks");
    CHECK(wakes <= 30 + 2 * 27); // one an interval, but for the first ones, which come apart
    CHECK(looks() <= static_cast<std::ptrdiff_t>(queues * 27)); // log2 of 1000 s over 10 us
    CHECK(bench.clock.next() >= 1300s);
}

TEST_CASE("a completion queue that is armed looks at a few of its dead queue pairs, in turn", "[unit][error]") {
    Bench bench;
    std::vector<TestQp> dead;
    for (int i = 0; i < 40; ++i) {
        dead.push_back(bench.a.make_qp(bench.a.attributes(bench.cq)));
        bench.a.modify(dead.back(), QpState::err, bench.clock.now());
    }
    for (auto& qp : dead)
        bench.a.post_receive(qp, {bench.local.sge()});
    std::vector<std::size_t> found;
    for (int i = 0; i < 10; ++i) {
        bench.a.arm(bench.cq, false, bench.clock.now());
        found.push_back(bench.a.drain(bench.cq).size());
    }
    CHECK(found == std::vector<std::size_t>(10, 4));

    for (auto& qp : dead)
        bench.a.hca.destroy_qp(qp.number);
    bench.a.dma.clear_log();
    bench.a.arm(bench.cq, false, bench.clock.now());
    CHECK(bench.a.core(bench.cq).dead.is_empty());
}

TEST_CASE("a whole ring of receives is flushed at once", "[unit][error]") {
    Bench bench;
    for (int i = 0; i < 64; ++i)
        bench.a.post_receive(bench.qp, {bench.local.sge()});
    bench.to(QpState::err);
    CHECK(bench.flushed().receives.size() == 64);
}

TEST_CASE("a record beyond the ring flushes no more than a ring", "[unit][error]") {
    Bench bench;
    bench.a.write_be32(bench.qp.record, 0xffff);
    bench.to(QpState::err);
    CHECK(bench.flushed().receives.size() == 64);
    bench.run(bench.clock.now() + 100ms);
    CHECK(bench.flushed().receives.empty());
}

TEST_CASE("the receive that a message was filling is flushed first", "[unit][error]") {
    Bench bench;
    bench.a.post_receive(bench.qp, {bench.local.sge()});
    bench.a.post_receive(bench.qp, {bench.local.sge()});
    bench.receive(Operation::send_first, OneHca::peer_psn, 1024);

    bench.to(QpState::err);

    CHECK(bench.flushed().receives == Indices{0, 1});
}

TEST_CASE("a queue pair in INIT flushes its receives when it goes to the error state", "[unit][error]") {
    Bench bench;
    bench.qp = bench.a.make_qp(bench.a.attributes(bench.cq));
    bench.to(QpState::init);
    bench.a.post_receive(bench.qp, {bench.local.sge()});
    bench.to(QpState::err);
    CHECK(bench.flushed().receives == Indices{0});
}

TEST_CASE("sends and receives are flushed to their own completion queues", "[unit][error]") {
    Bench bench;
    auto receive_cq = bench.a.make_cq();
    auto attributes = bench.a.attributes(bench.cq);
    attributes.receive_cq = receive_cq.number;
    bench.qp = bench.a.make_qp(attributes);
    bench.a.connect(bench.qp, OneHca::peer_qpn, 1, 1, bench.clock.now());
    bench.a.post_receive(bench.qp, {bench.local.sge()});
    bench.send(bench.write());

    bench.to(QpState::err);

    CHECK(bench.flushed().sends == Indices{0});
    const auto received = bench.a.drain(receive_cq);
    REQUIRE(received.size() == 1);
    CHECK(received[0].opcode == CqeOpcode::resp_err);
}

TEST_CASE("in the error state answers, time-outs and packets change nothing", "[unit][error]") {
    Bench bench;
    bench.send(bench.write());
    bench.peer.take();
    bench.to(QpState::err);
    bench.flushed();

    bench.answer(100, abi::wire::ack_syndrome());
    bench.answer(100, abi::wire::rnr_syndrome(1));
    bench.receive(Operation::write_only, OneHca::peer_psn, 0, [](auto& packet) { packet.rdma().ack_request = true; });
    bench.run(1s);

    CHECK(bench.peer.take().empty());
    CHECK(bench.a.drain(bench.cq).empty());
    CHECK(bench.a.hca.counters().messages_completed == 0);
    CHECK(bench.a.hca.counters().timeouts == 0);
}

TEST_CASE("answers that were owed are not sent from the error state", "[unit][error]") {
    Bench bench;
    model::port::Packet packet;
    packet.path = reversed(bench.core().path);
    packet.rdma().destination = bench.qp.number;
    packet.rdma().operation = Operation::read_request;
    packet.rdma().psn = abi::Psn{OneHca::peer_psn};
    packet.rdma().reth = {.address = bench.local.address, .rkey = bench.local.key, .length = 4000};
    bench.a.hca.receive(packet, bench.clock.now());
    packet.rdma().operation = Operation::write_only;
    packet.rdma().psn += 4;
    packet.rdma().reth.length = 0;
    packet.rdma().ack_request = true;
    bench.a.hca.receive(packet, bench.clock.now());

    bench.to(QpState::err); // the batch is not over yet
    bench.a.hca.received_all(bench.clock.now());
    bench.settle();

    CHECK(bench.peer.take().empty());
}

TEST_CASE("an error of the sending side ends the answers of the receiving side", "[unit][error]") {
    Bench bench;
    bench.send(bench.write());
    bench.peer.take();
    bench.hand_over(Operation::read_request, OneHca::peer_psn, 0, [&](auto& packet) {
        packet.rdma().reth = {.address = bench.local.address, .rkey = bench.local.key, .length = 4000};
    });
    bench.hand_over(Operation::acknowledge, 100, 0, [](auto& packet) {
        packet.rdma().aeth.syndrome = abi::wire::nak_syndrome(abi::wire::NakCode::remote_access_error);
    });
    bench.settle();

    CHECK(bench.core().state == QpState::err);
    CHECK(bench.peer.take().empty());
}

TEST_CASE("answers owed before a refused request are sent, then the NAK, then nothing", "[unit][error]") {
    Bench bench;
    const auto read = [&](std::uint32_t psn, abi::Key key, std::uint32_t length) {
        bench.hand_over(Operation::read_request, psn, 0, [&](auto& packet) {
            packet.rdma().reth = {.address = bench.local.address, .rkey = key, .length = length};
        });
    };
    read(OneHca::peer_psn, bench.local.key, 2000);
    read(OneHca::peer_psn + 2, abi::Key{0x7f0000, 0}, 8);
    read(OneHca::peer_psn + 3, bench.local.key, 8);
    bench.settle();

    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].operation() == Operation::read_response_first);
    CHECK(seen[1].operation() == Operation::read_response_last);
    CHECK(seen[2].syndrome() == abi::wire::nak_syndrome(abi::wire::NakCode::remote_access_error));
    CHECK(seen[2].psn() == OneHca::peer_psn + 2);
}

TEST_CASE("a READ that runs out of memory on the way ends with a NAK for the packet that is missing", "[unit][error]") {
    Bench bench;
    bench.hand_over(Operation::read_request, OneHca::peer_psn, 0, [&](auto& packet) {
        packet.rdma().reth = {.address = bench.local.address, .rkey = bench.local.key, .length = 8192};
    });
    bench.hand_over(Operation::read_request, OneHca::peer_psn + 8, 0, [&](auto& packet) {
        packet.rdma().reth = {.address = bench.local.address, .rkey = bench.local.key, .length = 8};
    });
    bench.a.hca.mkeys().find(bench.local.key.index())->mtt.resize(1); // the first page holds 568 bytes of it
    bench.settle();
    const auto seen = bench.peer.take();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].syndrome() == abi::wire::nak_syndrome(abi::wire::NakCode::remote_access_error));
    CHECK(seen[0].psn() == OneHca::peer_psn);
    CHECK(bench.core().state == QpState::err);
}

TEST_CASE("reset forgets everything, and the queue pair works again from its beginning", "[unit][error]") {
    HcaPair pair;
    pair.connect();
    const auto source = pair.a.make_region(64, 1), target = pair.b.make_region(64);
    const auto write = [&] { pair.send({.sges = {source.sge()}, .remote = target.address, .rkey = target.key}); };
    for (int round = 0; round < 5; ++round) {
        write();
        write();
        CHECK(pair.a.drain(pair.a_cq).size() == 2);
        CHECK(pair.b.bytes(target) == pair.a.bytes(source));
        for (const auto state : {QpState::err, QpState::rst}) {
            pair.a.modify(pair.a_qp, state, pair.clock.now());
            pair.b.modify(pair.b_qp, state, pair.clock.now());
        }
        CHECK(pair.a.drain(pair.a_cq).empty());
        pair.a_qp.sq_producer = pair.a_qp.rq_producer = pair.b_qp.sq_producer = pair.b_qp.rq_producer = 0;
        for (auto* node : {&pair.a, &pair.b}) {
            const auto& qp = node == &pair.a ? pair.a_qp : pair.b_qp;
            node->write_be64(qp.record, 0);
        }
        pair.a.fill(source.address, 64, 10 + static_cast<unsigned>(round));
        pair.connect(static_cast<std::uint32_t>(500 * round));
    }
    CHECK(pair.a.hca.counters().retries == 0);
}

TEST_CASE("a queue pair may be destroyed in any state, also with work under way and timers running", "[unit][error]") {
    for (const auto state : {QpState::rts, QpState::err, QpState::rst}) {
        Bench bench;
        bench.send(bench.write());
        bench.answer(100, abi::wire::rnr_syndrome(5));
        bench.hand_over(Operation::read_request, OneHca::peer_psn, 0, [&](auto& packet) {
            packet.rdma().reth = {.address = bench.local.address, .rkey = bench.local.key, .length = 8192};
        });
        if (state != QpState::rts)
            bench.to(state);
        bench.a.hca.destroy_qp(bench.qp.number);
        bench.peer.take();

        bench.run(10s);
        bench.answer(100, abi::wire::ack_syndrome());
        bench.a.ring(bench.qp, bench.clock.now());

        CHECK(bench.peer.take().empty());
        CHECK(bench.a.core(bench.cq).users() == 0);
        CHECK(bench.a.hca.queue_pairs().count() == 0);
    }
}

TEST_CASE("a queue pair goes from RST to the error state, where what is posted is flushed", "[unit][error]") {
    Bench bench;
    auto fresh = bench.a.make_qp(bench.a.attributes(bench.cq));
    bench.a.post_receive(fresh, {bench.local.sge()});
    bench.a.modify(fresh, QpState::err, bench.clock.now());
    CHECK(bench.a.core(fresh).state == QpState::err);

    bench.a.post(fresh, bench.write());
    bench.a.post(fresh, bench.write());
    bench.a.ring(fresh, bench.clock.now());
    bench.settle();

    const auto done = bench.a.drain(bench.cq);
    REQUIRE(done.size() == 3);
    CHECK(done[0].opcode == CqeOpcode::resp_err);
    for (std::uint16_t i = 0; i < 3; ++i) {
        CHECK(done[i].syndrome == CqeSyndrome::wr_flush_err);
        CHECK(done[i].qpn == fresh.number.value);
        CHECK(done[i].index == (i == 0 ? 0 : i - 1));
    }
    CHECK(bench.peer.take().empty());
    CHECK(bench.a.drain_events().empty());
    bench.a.modify(fresh, QpState::rst, bench.clock.now());
    CHECK(bench.a.core(fresh).state == QpState::rst);
}

TEST_CASE("a completion that finds its queue full counts at its queue pair", "[unit][error]") {
    HcaPair pair;
    const auto small = pair.a.make_cq({.log_size = 1});
    auto attributes = pair.a.attributes(pair.a_cq);
    attributes.send_cq = small.number;
    pair.a_qp = pair.a.make_qp(attributes);
    pair.connect();
    for (int i = 0; i < 2; ++i)
        pair.send({.opcode = WqeOpcode::rdma_write});
    CHECK(pair.a.q_counters().cq_overflow == 0);

    pair.send({.opcode = WqeOpcode::rdma_write});

    CHECK(pair.a.q_counters().cq_overflow == 1);
    CHECK(pair.a.core(pair.a_qp).state == QpState::err);
}

TEST_CASE("a receive completion that finds its queue full counts, too", "[unit][error]") {
    HcaPair pair;
    const auto small = pair.b.make_cq({.log_size = 1});
    auto attributes = pair.b.attributes(pair.b_cq);
    attributes.receive_cq = small.number;
    pair.b_qp = pair.b.make_qp(attributes);
    pair.connect();
    for (int i = 0; i < 3; ++i)
        pair.b.post_receive(pair.b_qp, {});

    for (int i = 0; i < 3; ++i)
        pair.send({.opcode = WqeOpcode::send});

    CHECK(pair.b.q_counters().cq_overflow == 1);
    CHECK(pair.b.core(pair.b_qp).state == QpState::err);
}

TEST_CASE("in the error state a WQE that says it has no bytes is flushed as one block", "[unit][error]") {
    Bench bench;
    bench.to(QpState::err);
    bench.flushed();
    bench.a.post_bytes(bench.qp, std::vector<std::byte>(64));
    bench.a.post(bench.qp, bench.write());

    bench.a.ring(bench.qp, bench.clock.now());

    CHECK(bench.flushed().sends == Indices{0, 1});
}
