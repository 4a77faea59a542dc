// Management on the wire while no software has QP0 and QP1: the agents of the card answer (IBA 13.5, 14.2.2).
#include "testbench/harness/address.h"
#include "testbench/harness/command_bench.h"

#include "abi/wire/infiniband.h"

#include <catch2/catch_test_macros.hpp>

#include <string_view>
#include <utility>

using namespace harness;
using namespace abi::wire;
using model::management::Datagram;
using model::port::Packet;

namespace {

struct Bench : CommandBench {
    Bench() : CommandBench(infiniband()) {}
    static model::hca::HcaConfig infiniband() {
        auto config = untimed();
        config.is_ethernet = false;
        config.is_managed = true;
        return config;
    }
    static abi::View<MadHeader> header(Datagram& mad) {
        return abi::View<MadHeader>(std::span(mad).first<MadHeader::size>());
    }
    template <class L> static abi::View<L> data(Datagram& mad) {
        return abi::View<L>(std::span(mad).subspan(0x40, L::size));
    }
    static Datagram request(SmAttribute attribute, MadClass mad_class = MadClass::subnet_directed_route,
                            MadMethod method = MadMethod::get) {
        Datagram mad{};
        header(mad)
            .set<"base_version">(1)
            .set<"mgmt_class">(static_cast<std::uint8_t>(mad_class))
            .set<"class_version">(1)
            .set<"method">(static_cast<std::uint8_t>(method))
            .set<"tid">(0x1234)
            .set<"attr_id">(static_cast<std::uint16_t>(attribute));
        if (mad_class == MadClass::subnet_directed_route)
            header(mad).set<"hop_ptr">(2).set<"hop_cnt">(2); // a switch lies between
        return mad;
    }
    /// Comes in by the cable; returns whether an answer left.
    bool receive(const Datagram& mad, unsigned qpn = 0, std::uint32_t key = 0, std::uint16_t to = permissive_lid) {
        const auto before = wire.sent().packets;
        Packet packet;
        packet.path.encapsulation = model::port::Encapsulation::infiniband;
        packet.path.source_lid = to == permissive_lid ? permissive_lid : 10;
        packet.path.destination_lid = to;
        packet.rdma().service = Service::ud;
        packet.rdma().operation = Operation::send_only;
        packet.rdma().destination = abi::Qpn{qpn};
        packet.rdma().deth = {.qkey = key, .source_qpn = abi::Qpn{qpn}};
        packet.payload.append_copy(mad);
        hca.receive(packet, clock.now());
        hca.received_all(clock.now());
        return wire.sent().packets != before;
    }
    Datagram answer() const {
        Datagram mad{};
        REQUIRE(wire.last().payload.size() == mad.size());
        wire.last().payload.copy_to(mad);
        return mad;
    }
    /// The subnet manager gives the port a LID.
    void give_lid(std::uint16_t lid) {
        auto set = request(SmAttribute::port_info, MadClass::subnet_directed_route, MadMethod::set);
        data<PortInfo>(set).set<"lid">(lid).set<"sm_lid">(10).set<"subnet_timeout">(10).set<"gid_prefix">(
            0xfe80000000000000);
        REQUIRE(receive(set));
    }
    std::string_view reason() const { return log.all<traces::PacketDropped>().back().reason.text(); }
};

} // namespace

TEST_CASE("a card without a driver answers a directed route, back the way it came", "[unit][firmware][port_agent]") {
    Bench bench;

    REQUIRE(bench.receive(Bench::request(SmAttribute::node_info)));

    auto mad = bench.answer();
    CHECK(Bench::header(mad).get<"method">() == 0x81);
    CHECK(Bench::header(mad).get<"status">() == smp_direction);
    CHECK(Bench::header(mad).get<"hop_ptr">() == 2);
    CHECK(Bench::header(mad).get<"tid">() == 0x1234);
    CHECK(mad[0xc2] == std::byte{1}); // the return path: in at port 1
    CHECK(Bench::data<NodeInfo>(mad).get<"port_guid">() == bench.hca.config().node_guid);
    CHECK(bench.wire.last().rdma().destination == abi::Qpn{0});
    CHECK(bench.wire.last().path.destination_lid == permissive_lid);
}

TEST_CASE("a subnet manager gives a card without a driver its LID and makes it active",
          "[unit][firmware][port_agent]") {
    Bench bench;
    auto set = Bench::request(SmAttribute::port_info, MadClass::subnet_directed_route, MadMethod::set);
    for (const auto state : {prm::PortState::armed, prm::PortState::active}) {
        Bench::data<PortInfo>(set)
            .set<"lid">(7)
            .set<"sm_lid">(1)
            .set<"gid_prefix">(0xfe80000000000000)
            .set<"port_state">(static_cast<std::uint32_t>(state));
        REQUIRE(bench.receive(set));
    }

    REQUIRE(bench.receive(Bench::request(SmAttribute::port_info, MadClass::subnet_lid_routed), 0, 0, 7));

    auto mad = bench.answer();
    CHECK(Bench::data<PortInfo>(mad).get<"lid">() == 7);
    CHECK(Bench::data<PortInfo>(mad).get<"port_state">() == static_cast<unsigned>(prm::PortState::active));
    CHECK(bench.wire.last().path.source_lid == 7);
    CHECK(bench.wire.last().path.destination_lid == 10);
    CHECK(bench.hca.identity().lid == 7);
}

TEST_CASE("what a subnet manager made of the port outlives the driver, and ends with a reset of the card",
          "[unit][firmware][port_agent]") {
    Bench bench;
    REQUIRE(bench.initialize());
    auto set = Bench::request(SmAttribute::port_info, MadClass::subnet_directed_route, MadMethod::set);
    Bench::data<PortInfo>(set).set<"lid">(7).set<"port_state">(static_cast<std::uint32_t>(prm::PortState::armed));
    REQUIRE(bench.receive(set));
    auto pkeys = Bench::request(SmAttribute::pkey_table, MadClass::subnet_directed_route, MadMethod::set);
    pkeys[0x40] = pkeys[0x41] = std::byte{0xff};
    pkeys[0x42] = std::byte{0x80}, pkeys[0x43] = std::byte{1};
    REQUIRE(bench.receive(pkeys));
    const auto port = [&] {
        REQUIRE(bench.receive(Bench::request(SmAttribute::port_info)));
        auto mad = bench.answer();
        return std::pair<unsigned, unsigned>(Bench::data<PortInfo>(mad).get<"lid">(),
                                             Bench::data<PortInfo>(mad).get<"port_state">());
    };

    REQUIRE(bench.run<prm::TeardownHcaOut>(Input<prm::TeardownHcaIn>(prm::Opcode::teardown_hca)).is_ok());

    CHECK(port() == std::pair(7u, 3u));
    CHECK(bench.hca.identity().lid == 7);
    CHECK(bench.hca.identity().pkey(1) == 0x8001);
    bench.device.reset();
    CHECK(port() == std::pair(0u, 2u));
    CHECK(bench.hca.identity().pkeys.size() == 1);
}

TEST_CASE("a port that is disabled from afar answers before it lets its link go", "[unit][firmware][port_agent]") {
    Bench bench;
    auto set = Bench::request(SmAttribute::port_info, MadClass::subnet_directed_route, MadMethod::set);
    Bench::data<PortInfo>(set).set<"port_state">(1).set<"physical_state">(3);

    REQUIRE(bench.receive(set));

    auto mad = bench.answer();
    CHECK(Bench::data<PortInfo>(mad).get<"port_state">() == 1);
    CHECK(Bench::data<PortInfo>(mad).get<"physical_state">() == 3);
    CHECK_FALSE(bench.wire.is_on);
    CHECK(bench.wire.sent_before_change == bench.wire.sent().packets);
    bench.wire.has_room = false; // an answer that is lost changes nothing of what was decided
    Bench::data<PortInfo>(set).set<"physical_state">(2);
    CHECK_FALSE(bench.receive(set));
    CHECK(bench.wire.is_on);
    CHECK(bench.device.state().port.infiniband.managed.state == prm::PortState::init);
}

TEST_CASE("performance datagrams to QP1 are answered with the well-known Q_Key", "[unit][firmware][port_agent]") {
    Bench bench;
    bench.give_lid(7);
    auto ask = Bench::request(static_cast<SmAttribute>(PmAttribute::port_counters), MadClass::performance);
    Bench::data<PortCounters>(ask).set<"port_select">(1);

    REQUIRE(bench.receive(ask, 1, 0x80010000, 7));

    auto mad = bench.answer();
    CHECK(bench.wire.last().rdma().deth.qkey == 0x80010000);
    CHECK(Bench::data<PortCounters>(mad).get<"port_rcv_packets">() == 2);
    CHECK(Bench::data<PortCounters>(mad).get<"port_xmit_packets">() == 1);
    CHECK(Bench::data<PortCounters>(mad).get<"port_xmit_data">() == (8 + 12 + 8 + 256 + 4) / 4);
    CHECK_FALSE(bench.receive(ask, 1, 0x11, 7)); // another Q_Key
    CHECK(bench.reason() == "no management datagram");
}

TEST_CASE("what wants no answer or leads nowhere gets none", "[unit][firmware][port_agent]") {
    Bench bench;
    auto mad = Bench::request(SmAttribute::node_info);

    Bench::header(mad).set<"method">(0x81);
    CHECK_FALSE(bench.receive(mad));
    CHECK(bench.reason() == "no agent for this datagram");
    CHECK_FALSE(
        bench.receive(Bench::request(SmAttribute::node_info, MadClass::subnet_directed_route, MadMethod::trap)));
    CHECK_FALSE(bench.receive(Bench::request(SmAttribute::node_info, MadClass::performance))); // at QP0
    CHECK_FALSE(bench.receive(Bench::request(SmAttribute::node_info), 1, 0x80010000));         // at QP1
    for (unsigned hop_ptr = 0; hop_ptr < 256; ++hop_ptr)
        for (const auto direction : {std::uint16_t{0}, smp_direction}) {
            mad = Bench::request(SmAttribute::node_info);
            Bench::header(mad).set<"hop_ptr">(static_cast<std::uint8_t>(hop_ptr)).set<"status">(direction);
            CHECK(bench.receive(mad) == (hop_ptr == 2 && direction == 0));
        }
    Packet whatever;
    whatever.path.encapsulation = model::port::Encapsulation::infiniband;
    whatever.path.destination_lid = permissive_lid;
    whatever.rdma().destination = abi::Qpn{0};
    bench.hca.receive(whatever, {});
    CHECK(bench.reason() == "no management datagram");
}

TEST_CASE("an answer that finds no room on the cable is lost and counted", "[unit][firmware][port_agent]") {
    Bench bench;
    bench.wire.has_room = false;

    CHECK_FALSE(bench.receive(Bench::request(SmAttribute::node_info)));

    CHECK(bench.reason() == "no room for the answer of an agent");
    CHECK(bench.hca.counters().management_dropped == 1);
}

TEST_CASE("a driver's QP0 comes first once it can receive", "[unit][firmware][port_agent]") {
    Bench bench;
    REQUIRE(bench.initialize());
    auto attributes = model::hca::queue::QueuePairAttributes{};
    attributes.type = model::hca::queue::QpType::qp0;
    attributes.mtu = 5;
    attributes.receive_cq = attributes.send_cq = abi::Cqn{0x80};
    bench.hca.create_cq(attributes.receive_cq, {});
    auto& qp = bench.hca.create_qp(abi::Qpn{0x40}, attributes);

    CHECK(bench.receive(Bench::request(SmAttribute::node_info))); // not ready yet
    bench.hca.modify_qp(qp, attributes, model::hca::queue::QpState::rtr, bench.clock.now(), true);
    CHECK_FALSE(bench.receive(Bench::request(SmAttribute::node_info)));

    CHECK(bench.reason() == "no receive work request");
}

TEST_CASE("questions of the performance class are the card's even while a driver has QP1, answers are the driver's",
          "[unit][firmware][port_agent]") {
    Bench bench;
    REQUIRE(bench.initialize());
    auto attributes = model::hca::queue::QueuePairAttributes{};
    attributes.type = model::hca::queue::QpType::qp1;
    attributes.mtu = 5;
    attributes.q_key = 0x80010000;
    attributes.receive_cq = attributes.send_cq = abi::Cqn{0x80};
    bench.hca.create_cq(attributes.receive_cq, {});
    auto& qp = bench.hca.create_qp(abi::Qpn{0x40}, attributes);
    bench.give_lid(7);
    bench.hca.modify_qp(qp, attributes, model::hca::queue::QpState::rtr, bench.clock.now(), true);
    auto ask = Bench::request(static_cast<SmAttribute>(PmAttribute::class_port_info), MadClass::performance);

    CHECK(bench.receive(ask, 1, 0x80010000, 7));
    Bench::header(ask).set<"method">(0x81);
    CHECK_FALSE(bench.receive(ask, 1, 0x80010000, 7));
    CHECK(bench.reason() == "no receive work request");
    CHECK_FALSE(
        bench.receive(Bench::request(SmAttribute::node_info, MadClass::subnet_administration), 1, 0x80010000, 7));
    CHECK(bench.reason() == "no receive work request");
}

TEST_CASE("an Ethernet port has no agents on the wire", "[unit][firmware][port_agent]") {
    CommandBench bench;
    set_addresses(bench.hca.identity(), 1);
    Packet packet;
    packet.path.encapsulation = model::port::Encapsulation::roce_v2_ipv6;
    packet.path.destination_mac = mac_of_node(1);
    packet.path.destination_gid = gid_of_node(1);
    packet.rdma().service = Service::ud;
    packet.rdma().destination = abi::Qpn{1};
    packet.rdma().deth.qkey = 0x80010000;
    packet.payload.append_copy(Bench::request(SmAttribute::node_info, MadClass::performance));

    bench.hca.receive(packet, {});

    CHECK(bench.log.all<traces::PacketDropped>().back().reason.text() == "no such queue pair");
}

namespace {

/// A port with LID 7, whose manager is at LID 10.
struct TrapBench : Bench {
    static constexpr auto apart = std::chrono::nanoseconds{4096} * 1024; ///< SubnetTimeOut 10

    TrapBench() {
        give_lid(7);
        counted_ = wire.sent().packets;
    }
    /// A datagram to QP1 from partition 0x8001, which this port is not in.
    void offend(std::uint16_t from = 12) {
        Packet packet;
        packet.path.encapsulation = model::port::Encapsulation::infiniband;
        packet.path.source_lid = from;
        packet.path.destination_lid = 7;
        packet.path.service_level = 3;
        packet.rdma().service = Service::ud;
        packet.rdma().operation = Operation::send_only;
        packet.rdma().pkey = 0x8001;
        packet.rdma().destination = abi::Qpn{1};
        packet.rdma().deth = {.qkey = 0x80010000, .source_qpn = abi::Qpn{0x1234}};
        hca.receive(packet, clock.now());
        hca.received_all(clock.now());
    }
    std::uint64_t sent() { return std::exchange(counted_, wire.sent().packets) == wire.sent().packets ? 0 : 1; }
    /// Lets time pass until something is due; false: nothing is.
    bool wait() {
        if (clock.next() == model::port::never)
            return false;
        clock.set(clock.next());
        hca.wake(clock.now());
        device.wake(clock.now());
        return true;
    }
    /// What the manager answers the trap that left last with.
    Datagram repression() const {
        auto mad = answer();
        header(mad).set<"method">(static_cast<std::uint8_t>(MadMethod::trap_repress));
        return mad;
    }

private:
    std::uint64_t counted_ = 0;
};

} // namespace

TEST_CASE("a bad P_Key is told to the subnet manager", "[unit][firmware][port_agent][trap]") {
    TrapBench bench;
    bench.offend();

    CHECK(bench.reason() == "P_Key mismatch");
    REQUIRE(bench.sent() == 1);
    const auto& packet = bench.wire.last();
    CHECK(packet.path.source_lid == 7);
    CHECK(packet.path.destination_lid == 10);
    CHECK(packet.rdma().destination == abi::Qpn{0});
    CHECK(packet.rdma().deth.source_qpn == abi::Qpn{0});
    auto mad = bench.answer();
    CHECK(Bench::header(mad).get<"mgmt_class">() == 1);
    CHECK(Bench::header(mad).get<"method">() == 5);
    CHECK(Bench::header(mad).get<"attr_id">() == 2);
    const auto notice = Bench::data<Notice>(mad);
    CHECK(notice.get<"is_generic">() == 1);
    CHECK(notice.get<"type">() == 2);
    CHECK(notice.get<"producer_type">() == 1);
    CHECK(notice.get<"trap_number">() == 257);
    CHECK(notice.get<"issuer_lid">() == 7);
    const auto details = Bench::data<BadKeyNotice>(mad);
    CHECK(details.get<"lid1">() == 12);
    CHECK(details.get<"lid2">() == 7);
    CHECK(details.get<"key">() == 0x8001);
    CHECK(details.get<"sl">() == 3);
    CHECK(details.get<"qp1">() == 0x1234);
    CHECK(details.get<"qp2">() == 1);
}

TEST_CASE("a trap is sent again, no sooner than the subnet allows, until the manager has heard it",
          "[unit][firmware][port_agent][trap]") {
    TrapBench bench;
    bench.offend();
    REQUIRE(bench.sent() == 1);
    bench.offend(13); // only counted
    CHECK(bench.sent() == 0);
    for (int i = 1; i <= 3; ++i) {
        REQUIRE(bench.wait());
        CHECK(bench.clock.now() == i * TrapBench::apart);
        CHECK(bench.sent() == 1);
    }
    auto other = bench.repression();
    Bench::header(other).set<"tid">(0x7777);
    CHECK_FALSE(bench.receive(other, 0, 0, 7)); // another trap's
    REQUIRE(bench.wait());
    CHECK(bench.sent() == 1);

    CHECK_FALSE(bench.receive(bench.repression(), 0, 0, 7));
    while (bench.wait())
        CHECK(bench.sent() == 0);
    bench.offend(14); // the next one
    CHECK(bench.sent() == 1);
    auto mad = bench.answer();
    CHECK(Bench::data<BadKeyNotice>(mad).get<"lid1">() == 14);
}

TEST_CASE("a trap that nobody answers is given up", "[unit][firmware][port_agent][trap]") {
    TrapBench bench;
    bench.offend();
    std::uint64_t sendings = bench.sent();
    for (int i = 0; i < 1000 && bench.wait(); ++i)
        sendings += bench.sent();
    CHECK(sendings == 16);
    CHECK_FALSE(bench.wait());
}

TEST_CASE("a bad M_Key is told to the subnet manager, and so is a bad Q_Key", "[unit][firmware][port_agent][trap]") {
    TrapBench bench;
    REQUIRE(bench.initialize());
    auto attributes = model::hca::queue::QueuePairAttributes{};
    attributes.type = model::hca::queue::QpType::qp1;
    attributes.q_key = 0x80010000;
    attributes.receive_cq = attributes.send_cq = abi::Cqn{0x80};
    bench.hca.create_cq(attributes.receive_cq, {});
    auto& qp = bench.hca.create_qp(abi::Qpn{0x40}, attributes);
    bench.hca.modify_qp(qp, attributes, model::hca::queue::QpState::rtr, bench.clock.now(), true);
    REQUIRE(bench.receive(Bench::request(SmAttribute::node_info, MadClass::subnet_administration), 1, 0x11, 7));
    auto mad = bench.answer();
    CHECK(Bench::data<Notice>(mad).get<"trap_number">() == 258);
    CHECK(Bench::data<BadKeyNotice>(mad).get<"key">() == 0x11);

    auto set = Bench::request(SmAttribute::port_info, MadClass::subnet_directed_route, MadMethod::set);
    Bench::data<PortInfo>(set)
        .set<"mkey">(0x1234)
        .set<"mkey_protect">(2)
        .set<"lid">(7)
        .set<"sm_lid">(10)
        .set<"gid_prefix">(0xfe80000000000000);
    REQUIRE(bench.receive(set));
    bench.receive(Bench::request(SmAttribute::node_info, MadClass::subnet_lid_routed), 0, 0, 7);
    mad = bench.answer();
    CHECK(Bench::data<Notice>(mad).get<"trap_number">() == 256);
    const auto details = Bench::data<BadManagementKeyNotice>(mad);
    CHECK(details.get<"method">() == 1);
    CHECK(details.get<"attr_id">() == 0x11);
    CHECK(details.get<"mkey">() == 0);
}
