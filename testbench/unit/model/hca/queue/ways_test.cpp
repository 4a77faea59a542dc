// Two ways out of a port: the cable, and the one inside that leads back. One that is full holds up nobody at the other.
#include "testbench/harness/hca_node.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <functional>
#include <vector>

using namespace harness;
using model::hca::queue::QpType;

namespace {

constexpr std::uint32_t q_key = 0x1234;

/// Takes as many packets as the test says.
class MeteredWire final : public model::port::Wire {
public:
    bool can_send(Time) override { return room != 0; }
    model::port::Packet& next() override {
        packet_.clear();
        return packet_;
    }
    Time send(Time at) override {
        --room;
        ++sent;
        psns.push_back(packet_.rdma().psn.value);
        if (on_send)
            on_send(at);
        return at;
    }
    std::uint32_t room = 0, sent = 0;
    std::vector<std::uint32_t> psns; ///< of what was sent
    std::function<void(Time)> on_send;

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
        cq = node.make_cq();
        memory = node.make_region(4096, 1);
    }
    /// A connection to node `to`, with WRITEs that wait.
    TestQp connection(std::uint16_t to, std::uint32_t psn = 0) {
        auto attributes = node.attributes(cq);
        attributes.path.ack_timeout = 0;
        auto qp = node.make_qp(attributes);
        node.peer = to;
        node.connect(qp, qp.number, psn, 0, {});
        for (int i = 0; i < 4; ++i)
            node.post(qp, {.sges = {memory.sge(0, 64)}, .remote = 0x1000, .rkey = abi::Key{1}});
        node.ring(qp, {});
        return qp;
    }
    TestQp datagrams() {
        auto attributes = node.attributes(cq);
        attributes.type = QpType::ud;
        attributes.q_key = q_key;
        auto qp = node.make_qp(attributes);
        node.connect(qp, {}, 0, 0, {});
        return qp;
    }
    void post(TestQp& qp, std::uint16_t to) {
        node.post(qp, {.opcode = abi::prm::WqeOpcode::send,
                       .sges = {memory.sge(0, 64)},
                       .datagram = Post::Address{.destination = abi::Qpn{0x77}, .q_key = q_key, .node = to}});
    }
    TestClock clock;
    MeteredWire cable, inside;
    Node node{untimed(), clock, cable, 1, &inside};
    TestCq cq;
    Region memory;
};

} // namespace

TEST_CASE("a way that is full does not hold up connections of the other", "[unit][scheduler][loopback]") {
    Bench bench;
    bench.connection(1);
    bench.connection(2);
    auto& free = GENERATE(true, false) ? bench.cable : bench.inside;

    free.room = 100;
    bench.node.hca.ready({});

    CHECK(free.sent == 4);
    CHECK(bench.cable.sent + bench.inside.sent == 4);
    bench.cable.room = bench.inside.room = 100;
    bench.node.hca.ready({});
    CHECK(bench.cable.sent == 4);
    CHECK(bench.inside.sent == 4);
}

TEST_CASE("a datagram that waits for a full way waits alone", "[unit][scheduler][loopback]") {
    Bench bench;
    auto first = bench.datagrams(), second = bench.datagrams();
    for (const std::uint16_t to : {1, 2, 1})
        bench.post(first, to);
    bench.node.ring(first, {});
    for (const std::uint16_t to : {2, 2})
        bench.post(second, to);
    bench.node.ring(second, {});

    bench.cable.room = 100;
    bench.node.hca.ready({});
    CHECK(bench.inside.sent == 0);
    CHECK(bench.cable.sent == 2); // the other one's; the first queue keeps its order
    bench.inside.room = 1;
    bench.node.hca.ready({});
    CHECK(bench.inside.sent == 1);
    CHECK(bench.cable.sent == 3);
    bench.inside.room = 1;
    bench.node.hca.ready({});
    CHECK(bench.inside.sent == 2);
}

TEST_CASE("a queue pair whose path is set anew waits for its new way", "[unit][scheduler][loopback]") {
    Bench bench;
    const auto qp = bench.connection(2);
    auto attributes = bench.node.core(qp).attributes;
    attributes.path.remote_gid = gid_of_node(1);
    attributes.path.remote_mac = mac_of_node(1);
    bench.node.hca.modify_qp(bench.node.core(qp), attributes, model::hca::queue::QpState::rts, {}, true);

    bench.inside.room = 100;
    bench.node.hca.ready({});

    CHECK(bench.inside.sent == 4);
    bench.node.hca.destroy_qp(qp.number);
    bench.cable.room = 1;
    bench.node.hca.ready({});
    CHECK(bench.cable.sent == 0);
}

TEST_CASE("a way that has room again in the middle of a turn lets the turn end first", "[unit][scheduler]") {
    Bench bench;
    bench.connection(2, 100);
    bench.connection(2, 200);
    bench.cable.on_send = [&](Time at) { bench.node.hca.ready(at); };

    bench.cable.room = 100;
    bench.node.hca.ready({});

    CHECK(bench.cable.psns == std::vector<std::uint32_t>{100, 101, 102, 103, 200, 201, 202, 203});
}

TEST_CASE("an acknowledge waits for a way that is full", "[unit][scheduler][ack]") {
    Bench bench;
    auto attributes = bench.node.attributes(bench.cq);
    auto qp = bench.node.make_qp(attributes);
    bench.node.peer = 2;
    bench.node.connect(qp, abi::Qpn{0x99}, 0, 100, {});
    model::port::Packet packet;
    packet.path = reversed(bench.node.core(qp).path);
    packet.rdma().pkey = 0xffff;
    packet.rdma().operation = abi::wire::Operation::write_only;
    packet.rdma().destination = qp.number;
    packet.rdma().psn = abi::Psn{100};
    packet.rdma().ack_request = true;

    bench.node.hca.receive(packet, {});
    bench.node.hca.received_all({});
    CHECK(bench.cable.sent == 0);

    bench.cable.room = 1;
    bench.node.hca.ready({});
    CHECK(bench.cable.psns == std::vector<std::uint32_t>{100});
}
