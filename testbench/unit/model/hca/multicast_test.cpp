// Multicast (IBA 10.5): every member at every port has a copy, the sender's port included. Also what a port sends to
// itself.
#include "testbench/harness/hca_pair.h"

#include "abi/wire/infiniband.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using model::hca::queue::QpType;

namespace {

constexpr std::uint32_t q_key = 0x1234;
constexpr model::port::Gid group{std::byte{0xff}, std::byte{0x12}, std::byte{0x40}};

/// A core on a cable to nobody, and on the way inside that leads back to it.
struct Port {
    static model::hca::HcaConfig infiniband(bool timed) {
        auto config = HcaPair::untimed();
        config.timed = timed;
        config.is_ethernet = false;
        config.lid = 9;
        return config;
    }
    static model::net::LinkConfig link_config(bool timed) {
        auto config = HcaPair::clean();
        config.timed = timed;
        config.encapsulation = model::port::Encapsulation::infiniband;
        return config;
    }
    struct Nobody final : model::port::Receiver {
        std::vector<model::port::Packet> packets;
        void receive(model::port::Packet& packet, Time) override { packets.push_back(packet); }
        void received_all(Time) override {}
        void ready(Time) override {}
    };

    explicit Port(bool timed = false)
        : cable(link_config(timed), clock, {}), inside(link_config(timed), clock, {}),
          node(infiniband(timed), clock, cable.end(0), 1, &inside.end(0)) {
        cable.attach(0, node.hca);
        cable.attach(1, far);
        for (const unsigned end : {0u, 1u})
            inside.attach(end, node.hca);
        node.make_eq();
        cq = node.make_cq();
    }
    TestQp make(QpType type) {
        auto a = node.attributes(cq);
        a.type = type;
        a.q_key = q_key;
        a.path.rlid = 9;
        auto qp = node.make_qp(a);
        return qp;
    }
    void run() {
        for (int i = 0; i < 1000 && clock.next() < 1s; ++i) {
            inside.pump(clock.now());
            cable.pump(clock.now());
            const auto now = std::max(clock.next(), clock.now());
            clock.set(now);
            inside.wake(now);
            cable.wake(now);
            node.hca.wake(now);
        }
        for (int i = 0; i < 10; ++i) {
            inside.pump(clock.now());
            cable.pump(clock.now());
        }
    }
    std::vector<std::byte> datagram(const TestQp& qp, const Region& from, std::uint16_t lid,
                                    const model::port::Gid& gid, abi::Qpn to) {
        using namespace abi::prm;
        auto wqe =
            Node::encode({.opcode = WqeOpcode::send, .sges = {from.sge(0, 100)}, .datagram = Post::Address{to, q_key}},
                         qp.number, qp.sq_producer);
        abi::View<WqeAv>(std::span(wqe).subspan(16))
            .set<"rlid">(lid)
            .set<"grh">(gid != model::port::Gid{})
            .set<"rgid_rip">(gid);
        return wqe;
    }

    TestClock clock;
    model::net::Link cable, inside;
    Nobody far;
    Node node;
    TestCq cq;
};

} // namespace

TEST_CASE("a multicast datagram reaches the members at the sender's port, and the cable", "[unit][multicast]") {
    Port port;
    auto sender = port.make(QpType::ud), first = port.make(QpType::ud), second = port.make(QpType::ud),
         other = port.make(QpType::ud);
    for (auto* qp : {&sender, &first, &second, &other})
        port.node.connect(*qp, {}, 0, 0, port.clock.now());
    const auto from = port.node.make_region(128, 5);
    std::vector<Region> to;
    for (auto* qp : {&first, &second, &other}) {
        to.push_back(port.node.make_region(256));
        port.node.post_receive(*qp, {to.back().sge()});
    }
    port.node.hca.groups().attach(group, port.node.core(first));
    port.node.hca.groups().attach(group, port.node.core(second));
    port.node.post_bytes(sender, port.datagram(sender, from, 0xc001, group, abi::Qpn{0xffffff}));
    port.node.ring(sender, port.clock.now());
    port.run();

    REQUIRE(port.far.packets.size() == 1);
    CHECK(port.far.packets[0].path.destination_lid == 0xc001);
    CHECK(port.node.drain(port.cq).size() == 3);
    for (int i = 0; i < 2; ++i)
        CHECK(port.node.bytes(to[static_cast<std::size_t>(i)], 40, 100) == port.node.bytes(from, 0, 100));
    CHECK(port.node.bytes(to[2], 40, 100) == std::vector<std::byte>(100));
}

TEST_CASE("a multicast datagram to the port's own LID comes once", "[unit][multicast]") {
    Port port;
    auto sender = port.make(QpType::ud), member = port.make(QpType::ud);
    for (auto* qp : {&sender, &member})
        port.node.connect(*qp, {}, 0, 0, port.clock.now());
    port.node.hca.groups().attach(group, port.node.core(member));
    const auto from = port.node.make_region(128, 5), to = port.node.make_region(256);
    port.node.post_receive(member, {to.sge()});
    port.node.post_receive(member, {to.sge()});
    port.node.post_bytes(sender, port.datagram(sender, from, 9, group, abi::Qpn{0xffffff}));
    port.node.ring(sender, port.clock.now());
    port.run();
    CHECK(port.node.drain(port.cq).size() == 2);
    CHECK(port.far.packets.empty());
}

TEST_CASE("what has left without being acknowledged is the packet's own", "[unit][multicast]") {
    Port port(true);
    auto sender = port.make(QpType::ud), receiver = port.make(QpType::ud);
    for (auto* qp : {&sender, &receiver})
        port.node.connect(*qp, {}, 0, 0, port.clock.now());
    const auto from = port.node.make_region(128, 5), to = port.node.make_region(256);
    const auto before = port.node.bytes(from, 0, 100);
    port.node.post_receive(receiver, {to.sge()});
    port.node.post_bytes(sender, port.datagram(sender, from, 9, {}, receiver.number));
    port.node.ring(sender, port.clock.now());
    port.node.fill(from.address, 100, 9); // its completion is there
    port.run();
    CHECK(port.node.bytes(to, 40, 100) == before);
}

TEST_CASE("a queue pair that left a group, or is gone, hears no more of it", "[unit][multicast]") {
    Port port;
    auto member = port.make(QpType::ud), leaver = port.make(QpType::ud);
    auto& groups = port.node.hca.groups();
    groups.attach(group, port.node.core(member));
    groups.attach(group, port.node.core(member));
    groups.attach(group, port.node.core(leaver));
    CHECK(groups.members(group).size() == 2);
    CHECK(groups.detach(group, port.node.core(leaver)));
    CHECK_FALSE(groups.detach(group, port.node.core(leaver)));
    CHECK(groups.members(group).size() == 1);
    port.node.hca.destroy_qp(member.number);
    CHECK(groups.count() == 0);
}

TEST_CASE("what nobody hears, or is no datagram, is dropped", "[unit][multicast]") {
    Port port;
    model::port::Packet packet;
    packet.path.encapsulation = model::port::Encapsulation::infiniband;
    packet.path.destination_lid = 0xc001;
    packet.rdma().destination = abi::Qpn{0xffffff};
    packet.rdma().service = abi::wire::Service::ud;
    packet.path.destination_gid = group;
    port.node.hca.receive(packet, {});
    packet.path.has_grh = true;
    port.node.hca.receive(packet, {});
    packet.rdma().service = abi::wire::Service::rc;
    port.node.hca.receive(packet, {});
    const auto dropped = port.node.events.all<traces::PacketDropped>();
    REQUIRE(dropped.size() == 3);
    CHECK(dropped[0].reason.text() == "no member of this multicast group");
    CHECK(dropped[1].reason.text() == "no member of this multicast group");
    CHECK(dropped[2].reason.text() == "multicast is for datagrams");
}

TEST_CASE("a multicast datagram without a global route header reaches nobody", "[unit][multicast]") {
    Port port;
    auto member = port.make(QpType::ud);
    port.node.connect(member, {}, 0, 0, port.clock.now());
    port.node.hca.groups().attach(group, port.node.core(member));
    const auto to = port.node.make_region(256);
    port.node.post_receive(member, {to.sge()});
    const auto receive = [&](bool has_header) {
        model::port::Packet packet;
        packet.path.encapsulation = model::port::Encapsulation::infiniband;
        packet.path.destination_lid = 0xc001;
        packet.path.destination_gid = group;
        packet.path.has_grh = has_header;
        auto& head = packet.rdma();
        head.destination = abi::Qpn{0xffffff};
        head.service = abi::wire::Service::ud;
        head.operation = abi::wire::Operation::send_only;
        head.pkey = 0xffff;
        head.deth.qkey = q_key;
        port.node.hca.receive(packet, port.clock.now());
        return port.node.drain(port.cq).size();
    };

    CHECK(receive(false) == 0);
    CHECK(receive(true) == 1);
}

TEST_CASE("a connection to the port's own LID never reaches the cable", "[unit][loopback]") {
    for (const bool timed : {false, true}) {
        Port port(timed);
        auto left = port.make(QpType::rc), right = port.make(QpType::rc);
        port.node.connect(left, right.number, 10, 20, port.clock.now());
        port.node.connect(right, left.number, 20, 10, port.clock.now());
        const auto from = port.node.make_region(6000, 7), to = port.node.make_region(6000),
                   back = port.node.make_region(6000);
        port.node.post(left, {.sges = {from.sge()}, .remote = to.address, .rkey = to.key});
        port.node.post(left,
                       {.opcode = WqeOpcode::rdma_read, .sges = {back.sge()}, .remote = to.address, .rkey = to.key});
        port.node.ring(left, port.clock.now());
        port.run();

        const auto done = port.node.drain(port.cq);
        REQUIRE(done.size() == 2);
        CHECK(done[0].is_ok());
        CHECK(done[1].is_ok());
        CHECK(port.node.bytes(back) == port.node.bytes(from));
        CHECK(port.far.packets.empty());
    }
}

TEST_CASE("a datagram to the port's own LID never reaches the cable, one to this end of the cable does",
          "[unit][loopback]") {
    Port port;
    auto sender = port.make(QpType::ud), receiver = port.make(QpType::ud);
    for (auto* qp : {&sender, &receiver})
        port.node.connect(*qp, {}, 0, 0, port.clock.now());
    const auto from = port.node.make_region(128, 5), to = port.node.make_region(256);
    port.node.post_receive(receiver, {to.sge()});
    port.node.post_bytes(sender, port.datagram(sender, from, 9, {}, receiver.number));
    port.node.post_bytes(sender, port.datagram(sender, from, abi::wire::permissive_lid, {}, abi::Qpn{0}));
    port.node.ring(sender, port.clock.now());
    port.run();

    CHECK(port.node.bytes(to, 40, 100) == port.node.bytes(from, 0, 100));
    REQUIRE(port.far.packets.size() == 1);
    CHECK(port.far.packets[0].path.source_lid == abi::wire::permissive_lid);
}

TEST_CASE("over Ethernet the IP header is the global route header of a multicast datagram", "[unit][multicast]") {
    HcaPair pair;
    pair.remake([](auto& attributes) {
        attributes.type = QpType::ud;
        attributes.q_key = q_key;
    });
    pair.connect();
    auto& node = pair.b;
    node.hca.groups().attach(group, node.core(pair.b_qp));
    const auto to = node.make_region(256);
    node.post_receive(pair.b_qp, {to.sge()});
    model::port::Packet packet;
    packet.path = reversed(node.core(pair.b_qp).path);
    packet.path.has_grh = false;
    packet.path.destination_gid = group;
    auto& head = packet.rdma();
    head.destination = abi::Qpn{0xffffff};
    head.service = abi::wire::Service::ud;
    head.operation = abi::wire::Operation::send_only;
    head.pkey = 0xffff;
    head.deth.qkey = q_key;

    node.hca.receive(packet, {});

    CHECK(node.drain(pair.b_cq).size() == 1);
}
