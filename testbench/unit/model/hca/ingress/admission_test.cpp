// Which packets a port takes in: addresses of the link and of the network, the peer of a connection, partitions.
#include "testbench/harness/hca_pair.h"
#include "testbench/harness/scripted_peer.h"

#include "abi/wire/infiniband.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <string_view>

using namespace harness;
using abi::wire::Operation;
using model::hca::queue::QpState;
using model::hca::queue::QpType;
using model::port::Encapsulation;
using model::port::Packet;
using Attributes = model::hca::queue::QueuePairAttributes;

namespace {

constexpr std::string_view other_mac = "the MAC of another port", other_lid = "the LID of another port",
                           other_gid = "the GID of another port", other_peer = "not from the peer of this connection",
                           other_partition = "P_Key mismatch";
constexpr std::uint32_t q_key = 0x1234;

model::hca::HcaConfig config(bool is_ethernet) {
    model::hca::HcaConfig config;
    config.timed = false;
    config.is_ethernet = is_ethernet;
    return config;
}

struct Bench : OneHca {
    template <class Change = void (*)(Attributes&)>
    explicit Bench(
        bool is_ethernet = true, Change&& change = [](Attributes&) {})
        : OneHca(
              [&](Attributes& attributes) {
                  attributes.q_key = q_key;
                  attributes.path.rlid = 2;
                  change(attributes);
              },
              config(is_ethernet)) {}
    std::uint32_t psn = OneHca::peer_psn;

    /// One packet of the peer; why it was dropped, or nothing.
    std::string_view arrive(const std::function<void(Packet&)>& change = [](Packet&) {}) {
        const auto before = a.events.all<traces::PacketDropped>().size();
        const auto accepted = a.hca.counters().payload_received;
        if (core().service.is_datagram)
            a.post_receive(qp, {to.sge()});
        receive(core().service.is_datagram ? Operation::send_only : Operation::write_only, psn, 16,
                [&](Packet& packet) {
                    packet.rdma().service = core().service.on_wire;
                    packet.rdma().reth = {.address = to.address, .rkey = to.key, .length = 16};
                    packet.rdma().deth = {.qkey = q_key, .source_qpn = peer_qpn};
                    change(packet);
                });
        const auto dropped = a.events.all<traces::PacketDropped>();
        CHECK((a.hca.counters().payload_received == accepted + 16) == (dropped.size() == before));
        psn += dropped.size() == before;
        return dropped.size() == before ? std::string_view{} : dropped.back().reason.text();
    }
    Region to = a.make_region(64);
};

auto with_lid(std::uint16_t source, std::uint16_t destination) {
    return [=](Packet& packet) { packet.path.source_lid = source, packet.path.destination_lid = destination; };
}

} // namespace

TEST_CASE("a RoCE port takes what has its MAC and an IP address of its table, from the peer of the connection",
          "[unit][admission]") {
    Bench bench;

    CHECK(bench.arrive().empty());
    CHECK(bench.arrive([](Packet& packet) { packet.path.destination_mac = mac_of_node(3); }) == other_mac);
    CHECK(bench.arrive([](Packet& packet) { packet.path.destination_mac = {}; }) == other_mac);
    CHECK(bench.arrive([](Packet& packet) { packet.path.destination_mac[0] |= std::byte{1}; }) ==
          other_mac); // a group's
    CHECK(bench.arrive([](Packet& packet) { packet.path.destination_gid = gid_of_node(3); }) == other_gid);
    CHECK(bench.arrive([](Packet& packet) { packet.path.destination_gid = {}; }) == other_gid);
    CHECK(bench.arrive([](Packet& packet) { packet.path.encapsulation = Encapsulation::roce_v2_ipv4; }) == other_gid);
    CHECK(bench.a.hca.counters().packets_misaddressed == 6);
    CHECK(bench.arrive([](Packet& packet) { packet.path.source_gid = gid_of_node(3); }) == other_peer);
    CHECK(bench.a.hca.counters().packets_misaddressed == 6);
    CHECK(bench.arrive([](Packet& packet) { packet.path.source_mac = mac_of_node(9); }).empty()); // the last router's
    CHECK(bench.peer.seen.empty());                                                               // nobody is told
}

TEST_CASE("answers, too, come from the peer of the connection only", "[unit][admission]") {
    Bench bench;
    bench.send({.sges = {bench.to.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
    const auto answer = [&](auto&& change) {
        bench.receive(Operation::acknowledge, OneHca::first_psn, 0, change);
        return bench.a.drain(bench.cq).size();
    };
    CHECK(answer([](Packet& packet) { packet.path.source_gid = gid_of_node(3); }) == 0);
    CHECK(answer([](Packet& packet) { packet.path.destination_mac = mac_of_node(3); }) == 0);
    CHECK(answer([](Packet&) {}) == 1);
}

TEST_CASE("the address table counts as it stands when the packet comes", "[unit][admission]") {
    Bench bench, datagrams(true, [](Attributes& attributes) { attributes.type = QpType::ud; });
    auto& gids = bench.a.hca.identity().gids;
    gids[5] = {.is_valid = true, .is_ipv4 = true, .gid = gid_of_node(77), .mac = mac_of_node(78)};
    datagrams.a.hca.identity().gids[5] = gids[5];
    const auto to_second = [](Packet& packet) {
        packet.path.encapsulation = Encapsulation::roce_v2_ipv4;
        packet.path.destination_gid = gid_of_node(77);
        packet.path.destination_mac = mac_of_node(78);
    };

    CHECK(bench.arrive(to_second) == other_peer); // this port's, but not the connection's
    CHECK(datagrams.arrive(to_second).empty());
    CHECK(datagrams.arrive().empty());
    gids[0] = {};
    CHECK(bench.arrive() == other_gid); // the port still has its MAC
    bench.a.hca.identity().mac = {};
    CHECK(bench.arrive() == other_mac);
    set_addresses(bench.a.hca.identity(), 1);
    CHECK(bench.arrive().empty());
    datagrams.a.hca.identity().gids[5] = {};
    CHECK(datagrams.arrive(to_second) == other_mac);
}

TEST_CASE("an InfiniBand port takes what has one of its LIDs, from the LID of the peer", "[unit][admission]") {
    Bench bench(false);
    constexpr std::uint16_t own = 1, peer = 2;

    CHECK(bench.arrive().empty());
    CHECK(bench.arrive(with_lid(peer, own)).empty());
    CHECK(bench.arrive(with_lid(peer, 3)) == other_lid);
    CHECK(bench.arrive(with_lid(peer, 0)) == other_lid);
    CHECK(bench.arrive(with_lid(peer, abi::wire::permissive_lid)) == other_lid); // for subnet management alone
    CHECK(bench.arrive(with_lid(peer, 0xc001)) == other_lid); // a group's, and the queue pair is no group
    CHECK(bench.arrive(with_lid(3, own)) == other_peer);
    CHECK(bench.arrive([](Packet& packet) { packet.path.has_grh = true; }) == other_peer); // the path has none

    bench.a.hca.identity().lid = 8;
    bench.a.hca.identity().lmc = 2;
    CHECK(bench.arrive(with_lid(peer, own)) == other_lid);
    for (const std::uint16_t lid : {8, 9, 10, 11})
        CHECK(bench.arrive(with_lid(peer, lid)).empty());
    CHECK(bench.arrive(with_lid(peer, 12)) == other_lid);
    CHECK(bench.arrive(with_lid(peer, 7)) == other_lid);
    bench.a.hca.identity().lid = 0; // no subnet manager yet
    CHECK(bench.arrive(with_lid(peer, 0)) == other_lid);
}

TEST_CASE("packets of a connection come from the LID that its path bits choose, above the base that the port has now",
          "[unit][admission][lmc]") {
    Bench bench(false, [](Attributes& attributes) { attributes.path.path_bits = 6; });
    const auto source_of_ack = [&] {
        CHECK(bench
                  .arrive([&](Packet& packet) {
                      with_lid(2, bench.a.hca.identity().lid)(packet);
                      packet.rdma().ack_request = true;
                  })
                  .empty());
        const auto seen = bench.peer.take();
        REQUIRE(seen.size() == 1);
        return seen[0].header.path.source_lid;
    };
    CHECK(source_of_ack() == 1); // the port has one LID
    bench.a.hca.set_lids(8, 2);
    CHECK(source_of_ack() == 10); // and now four, told apart by two bits
    bench.a.hca.set_lids(16, 3);
    CHECK(source_of_ack() == 22);
}

TEST_CASE("a connection whose path leads to one of the peer's LIDs takes packets from that one",
          "[unit][admission][lmc]") {
    Bench bench(false, [](Attributes& attributes) { attributes.path.rlid = 42; });
    CHECK(bench.arrive(with_lid(42, 1)).empty()); // the peer's path bits are 2
    CHECK(bench.arrive(with_lid(40, 1)) == other_peer);
}

TEST_CASE("the completion of a datagram tells the path bits of the LID that it was for", "[unit][admission][lmc]") {
    Bench bench(false, [](Attributes& attributes) { attributes.type = QpType::ud; });
    bench.a.hca.set_lids(8, 2);
    for (const std::uint16_t bits : {0, 3, 1}) {
        CHECK(bench.arrive(with_lid(2, static_cast<std::uint16_t>(8 + bits))).empty());
        const auto done = bench.a.drain(bench.cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].path_bits == bits);
    }
}

TEST_CASE("a global route names the GIDs of both ends, under the subnet's prefix or the default one",
          "[unit][admission]") {
    Bench bench(false, [](Attributes& attributes) {
        attributes.path.grh = true;
        attributes.path.remote_gid = gid_of_node(2);
    });
    auto by_default = gid_of_node(1);
    by_default[0] = std::byte{0xfe}, by_default[1] = std::byte{0x80};

    CHECK(bench.arrive().empty());
    CHECK(bench.arrive([](Packet& packet) { packet.path.has_grh = false; }) == other_peer);
    CHECK(bench.arrive([](Packet& packet) { packet.path.source_gid = gid_of_node(3); }) == other_peer);
    CHECK(bench.arrive([](Packet& packet) { packet.path.destination_gid = gid_of_node(3); }) == other_gid);
    CHECK(bench.arrive([&](Packet& packet) { packet.path.destination_gid = by_default; }).empty());
    by_default[15] = std::byte{3};
    CHECK(bench.arrive([&](Packet& packet) { packet.path.destination_gid = by_default; }) == other_gid);
}

TEST_CASE("subnet management is reached at this end of the cable, and knows no partitions", "[unit][admission]") {
    Bench bench(false, [](Attributes& attributes) { attributes.type = QpType::qp0; });
    const auto to_qp0 = [](std::uint16_t lid, std::uint16_t pkey = 0xffff) {
        return [=](Packet& packet) {
            packet.rdma().destination = abi::Qpn{0};
            packet.path.destination_lid = lid;
            packet.rdma().pkey = pkey;
        };
    };
    CHECK(bench.arrive(to_qp0(abi::wire::permissive_lid)).empty());
    CHECK(bench.arrive(to_qp0(1)).empty());
    CHECK(bench.arrive(to_qp0(1, 0x0001)).empty());
    CHECK(bench.arrive(to_qp0(4)) == other_lid);
}

TEST_CASE("a connection is in the partition at its index of the table, as that stands when a packet comes",
          "[unit][admission]") {
    Bench bench(true, [](Attributes& attributes) { attributes.path.pkey_index = 1; });
    auto& pkeys = bench.a.hca.identity().pkeys;
    const auto with = [](std::uint16_t pkey) { return [pkey](Packet& packet) { packet.rdma().pkey = pkey; }; };

    CHECK(bench.arrive() == other_partition); // the table has one entry
    pkeys = {0xffff, 0x8001};
    CHECK(bench.arrive() == other_partition);
    CHECK(bench.arrive(with(0x8001)).empty());
    CHECK(bench.arrive(with(0x0001)).empty());
    pkeys[1] = 0x0001;
    CHECK(bench.arrive(with(0x0001)) == other_partition); // both limited
    CHECK(bench.arrive(with(0x8001)).empty());
    pkeys[1] = 0;
    CHECK(bench.arrive(with(0x8001)) == other_partition);
    CHECK(bench.arrive(with(0x8000)) == other_partition); // the invalid key is in no partition
    CHECK(bench.a.hca.counters().pkey_violations == 5);
}

TEST_CASE("packets carry the P_Key that the table has when they leave", "[unit][admission]") {
    Bench bench;
    for (const std::uint16_t pkey : {0xffff, 0x8001}) {
        bench.a.hca.identity().pkeys = {pkey};
        bench.send({.sges = {bench.to.sge()}, .remote = 0x1000, .rkey = abi::Key{1}});
        CHECK(bench.peer.take().at(0).header.rdma().pkey == pkey);
    }
}

TEST_CASE("two ports whose tables have become disjoint say no more to each other until they fit again",
          "[unit][admission]") {
    HcaPair pair;
    pair.connect();
    const auto from = pair.a.make_region(64, 1), to = pair.b.make_region(64);
    pair.a.hca.identity().pkeys = {0x8001};
    pair.b.hca.identity().pkeys = {0x8002};
    pair.send({.sges = {from.sge()}, .remote = to.address, .rkey = to.key});
    pair.run(100ms);
    CHECK(pair.a.drain(pair.a_cq).empty());
    CHECK(pair.b.bytes(to) == std::vector<std::byte>(64));
    CHECK(pair.b.hca.counters().pkey_violations != 0);

    pair.b.hca.identity().pkeys = {0x8001};
    pair.run(1s);
    REQUIRE(pair.a.drain(pair.a_cq).size() == 1);
    CHECK(pair.b.bytes(to) == pair.a.bytes(from));
}

TEST_CASE("QP1 is in every partition of its port's table", "[unit][admission]") {
    Bench bench(true, [](Attributes& attributes) { attributes.type = QpType::qp1; });
    bench.a.hca.identity().pkeys = {0xffff, 0x8001, 0x0002};
    const auto with = [](std::uint16_t pkey) {
        return [pkey](Packet& packet) {
            packet.rdma().destination = abi::Qpn{1};
            packet.rdma().pkey = pkey;
        };
    };
    CHECK(bench.arrive(with(0xffff)).empty());
    CHECK(bench.arrive(with(0x0001)).empty());
    CHECK(bench.arrive(with(0x8002)).empty());
    CHECK(bench.arrive(with(0x0002)) == other_partition);
    CHECK(bench.arrive(with(0x8003)) == other_partition);
}

TEST_CASE("requests for the initiator of an XRC connection, and answers for its target, are dropped",
          "[unit][admission][xrc]") {
    constexpr std::string_view wrong_side = "the wrong side of an XRC connection";
    Bench initiator(true, [](Attributes& attributes) { attributes.type = QpType::xrc; });
    CHECK(initiator.arrive() == wrong_side);

    Bench target(true, [](Attributes& attributes) {
        attributes.type = QpType::xrc;
        attributes.has_sq = false;
    });
    CHECK(target.arrive([](Packet& packet) {
        packet.rdma().operation = Operation::acknowledge;
        packet.payload.clear();
    }) == wrong_side);
}

TEST_CASE("a CNP counts from the peer of its connection alone", "[unit][admission][congestion]") {
    Bench bench;

    CHECK(bench.arrive([](Packet& packet) {
        packet.rdma().service = abi::wire::Service::cnp;
        packet.rdma().operation = static_cast<Operation>(1);
        packet.payload.clear();
        packet.path.source_gid = gid_of_node(3);
    }) == "a CNP of no connection");
}

TEST_CASE("exact bytes that are no packet are damaged, whatever stands beside them", "[unit][admission]") {
    Bench bench;

    CHECK_FALSE(bench.arrive([](Packet& packet) { packet.image.resize(20); }).empty());

    CHECK(bench.a.hca.counters().packets_damaged == 1);
}

TEST_CASE("every packet that a port takes in is reported", "[unit][admission]") {
    Bench bench;
    CHECK(bench.arrive().empty());

    const auto received = bench.a.events.all<traces::PacketReceived>();
    REQUIRE(received.size() == 1);
    CHECK(received[0].psn == OneHca::peer_psn);
    CHECK(received[0].destination_qpn == bench.qp.number.value);
}
