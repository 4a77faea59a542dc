// Turns: whatever the port takes at a time, queue pairs with work send the same number of bytes, give or take one turn.
#include "model/hca/queue/packets.h"
#include "testbench/harness/hca_node.h"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>

#include <limits>
#include <map>
#include <random>

using namespace harness;
using abi::wire::Operation;
using abi::wire::OperationTraits;
using model::hca::queue::turn_cost;

namespace {

constexpr std::uint32_t mtu = 1024;
constexpr auto packet = turn_cost(mtu);

/// A port that takes as many packets as the test says and notes whose they were.
class MeteredWire final : public model::port::Wire {
public:
    struct Sent {
        std::uint32_t qpn; ///< of the sender: its peer has the same number
        bool is_request;
        std::int64_t bytes; ///< as turns count them
    };
    bool can_send(Time) override { return room != 0; }
    model::port::Packet& next() override {
        packet_.clear();
        return packet_;
    }
    Time send(Time at) override {
        --room;
        sent.push_back(
            {packet_.rdma().destination.value, packet_.traits().is_request(), turn_cost(packet_.payload.size())});
        return at;
    }
    std::uint32_t room = 0;
    std::vector<Sent> sent;

private:
    model::port::Packet packet_;
};

struct Bench {
    static model::hca::HcaConfig untimed() {
        model::hca::HcaConfig config;
        config.timed = false;
        return config;
    }
    Bench() {
        node.make_eq();
        cq = node.make_cq({.log_size = 13});
        memory = node.make_region(1 << 20, 1);
    }
    TestQp& add(unsigned log_sq = 6) {
        auto attributes = node.attributes(cq);
        attributes.log_sq_size = static_cast<std::uint8_t>(log_sq);
        attributes.path.ack_timeout = 0;
        qps.push_back(node.make_qp(attributes));
        node.connect(qps.back(), qps.back().number, 0, 0, {});
        return qps.back();
    }
    /// Posts `messages` WRITEs of `packets` packets each.
    void post(TestQp& qp, std::uint32_t messages, std::uint32_t packets) {
        for (std::uint32_t i = 0; i < messages; ++i)
            node.post(qp, {.sges = {memory.sge(0, (packets - 1) * mtu + 8)}, .remote = 0x1000, .rkey = abi::Key{1}});
        node.ring(qp, {});
        left[qp.number.value] += messages * ((packets - 1) * packet + turn_cost(8));
    }
    /// The port takes `packets` more packets.
    void take(std::uint32_t packets) {
        wire.room = packets;
        const auto from = wire.sent.size();
        node.hca.ready({});
        for (auto i = from; i < wire.sent.size(); ++i)
            if (wire.sent[i].is_request)
                count[wire.sent[i].qpn] += wire.sent[i].bytes, left[wire.sent[i].qpn] -= wire.sent[i].bytes;
    }
    /// Largest difference in bytes between queue pairs that still have something to send.
    std::int64_t difference() const {
        std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
        for (const auto& [qpn, bytes] : left)
            if (bytes != 0) {
                const auto found = count.find(qpn);
                const auto sent = found != count.end() ? found->second : 0;
                least = std::min(least, sent);
                most = std::max(most, sent);
            }
        return most > least ? most - least : 0;
    }
    bool is_done() const {
        return std::ranges::all_of(left, [](const auto& entry) { return entry.second == 0; });
    }

    TestClock clock;
    MeteredWire wire;
    Node node{untimed(), clock, wire, 1};
    /// The most bytes and packets of a turn: a packet that begins within it is sent.
    const std::int64_t turn = untimed().packets_per_turn * turn_cost(4096) + packet;
    const std::uint32_t turn_packets = static_cast<std::uint32_t>(turn / packet);
    TestCq cq;
    Region memory;
    std::vector<TestQp> qps;
    std::map<std::uint32_t, std::int64_t> count, left; ///< by queue pair: bytes of requests
};

} // namespace

TEST_CASE("64 queue pairs with long messages and one with short ones send as many bytes", "[unit][scheduler]") {
    INFO("seed " << Catch::getSeed());
    std::mt19937 random(Catch::getSeed());
    Bench bench;
    bench.qps.reserve(65);
    for (int i = 0; i < 64; ++i)
        bench.post(bench.add(), 4, 200);
    bench.post(bench.add(13), 8000, 1);

    std::int64_t worst = 0;
    while (!bench.is_done()) {
        bench.take(1 + random() % 100);
        worst = std::max(worst, bench.difference());
    }

    CHECK(worst <= bench.turn);
    CHECK(bench.wire.sent.size() == 64 * 800 + 8000);
}

TEST_CASE("a port with little room does not favour anybody", "[unit][scheduler]") {
    for (std::uint32_t room = 1; room <= 40; ++room) {
        Bench bench;
        bench.qps.reserve(3);
        for (int i = 0; i < 3; ++i)
            bench.post(bench.add(), 1, 500);

        std::int64_t worst = 0;
        while (!bench.is_done()) {
            bench.take(room);
            worst = std::max(worst, bench.difference());
        }

        INFO("the port takes " << room << " packets at a time");
        CHECK(worst <= bench.turn);
    }
}

TEST_CASE("a queue pair that comes late has its first turn after one round", "[unit][scheduler]") {
    Bench bench;
    bench.qps.reserve(9);
    for (int i = 0; i < 8; ++i)
        bench.post(bench.add(), 1, 1000);
    bench.take(333);

    auto& late = bench.add();
    bench.post(late, 1, 1);
    bench.take(9 * bench.turn_packets);

    CHECK(bench.count[late.number.value] == turn_cost(8));
}

TEST_CASE("answering the peer's READs does not keep a queue pair from its own requests", "[unit][scheduler]") {
    Bench bench;
    auto& qp = bench.add();
    bench.post(qp, 2, 1000);
    std::uint32_t psn = 0, answers = 0, requests = 0, worst = 0;

    for (int i = 0; i < 100; ++i) {
        for (; psn < answers + 40; psn += 20) { // there is always an answer to send
            model::port::Packet read;
            read.path = reversed(bench.node.core(qp).path);
            read.rdma().operation = Operation::read_request;
            read.rdma().destination = qp.number;
            read.rdma().psn = abi::Psn{psn};
            read.rdma().reth = {.address = bench.memory.address, .rkey = bench.memory.key, .length = 20 * mtu};
            bench.node.hca.receive(read, {});
        }
        bench.take(20);
        answers = requests = 0;
        for (const auto& sent : bench.wire.sent)
            ++(sent.is_request ? requests : answers);
        worst = std::max(worst, answers > requests ? answers - requests : requests - answers);
    }

    CHECK(answers + requests == 2000);
    CHECK(worst <= bench.turn_packets);
}

TEST_CASE("a queue pair destroyed within its turn leaves the turn to nobody", "[unit][scheduler]") {
    Bench bench;
    bench.qps.reserve(3);
    for (int i = 0; i < 3; ++i)
        bench.post(bench.add(), 1, 500);
    bench.take(2 * bench.turn_packets + 5); // the third one is in its turn

    bench.node.hca.destroy_qp(bench.qps[2].number);
    bench.left.erase(bench.qps[2].number.value);
    std::int64_t worst = 0;
    while (!bench.is_done()) {
        bench.take(7);
        worst = std::max(worst, bench.difference());
    }

    CHECK(worst <= bench.turn);
}

TEST_CASE("queue pairs that go leave the order of the others as it is", "[unit][scheduler]") {
    Bench bench;
    bench.qps.reserve(100);
    for (int i = 0; i < 100; ++i)
        bench.post(bench.add(), 1, 1);
    for (std::size_t i = 0; i < 100; i += 3) {
        bench.node.hca.destroy_qp(bench.qps[i].number);
        bench.left.erase(bench.qps[i].number.value);
    }
    while (!bench.is_done())
        bench.take(7);

    std::vector<std::uint32_t> order, expected;
    for (const auto& sent : bench.wire.sent)
        order.push_back(sent.qpn);
    for (std::size_t i = 0; i < 100; ++i)
        if (i % 3 != 0)
            expected.push_back(bench.qps[i].number.value);
    CHECK(order == expected);
}
