// The switch between its ports: routes by LID, multicast, management along the route it carries, and what it throws away.
#include "model/net/infiniband_switch.h"

#include "abi/wire/infiniband.h"
#include "model/hca/wire/builder.h"
#include "testbench/harness/test_ports.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

using namespace model::net;
using namespace abi::wire;
using abi::prm::PortState;
using harness::EventLog;
using model::port::Packet;
using model::port::Time;

namespace {

/// The sending side of a cable that keeps what is sent.
struct Kept final : model::port::Wire {
    Packet slot;
    std::vector<Packet> packets;
    bool can_send(Time) override { return true; }
    Packet& next() override {
        slot.clear();
        return slot;
    }
    Time send(Time at) override {
        packets.push_back(slot);
        ++traffic.packets;
        traffic.bytes += model::hca::wire::frame_length(slot);
        return at;
    }
    void settle() override {}
    model::port::Traffic sent() const override { return traffic; }
    model::port::Traffic traffic;
};

struct Bench {
    explicit Bench(bool is_managed = true) : device({.agent = {.ports = 4, .guid = 0x1234, .is_managed = is_managed}, .latency = {}}, {&log, 1}) {
        for (unsigned number = 1; number <= 3; ++number) // nothing is plugged into port 4
            device.connect(number, out[number]);
        if (!is_managed) {
            device.agent().set_route(10, 1);
            device.agent().set_route(11, 2);
            device.agent().flood_groups();
        }
    }
    void send(unsigned ingress, Packet packet) {
        device.receiver(ingress).receive(packet, {});
        device.receiver(ingress).received_all({});
    }
    static Packet packet(std::uint16_t to) {
        Packet p;
        p.path.encapsulation = model::port::Encapsulation::infiniband;
        p.path.source_lid = 10;
        p.path.destination_lid = to;
        p.destination = abi::Qpn{0x55};
        p.payload.append_copy(std::vector(16, std::byte{7}));
        return p;
    }
    using Mad = std::array<std::byte, mad_bytes>;
    static abi::View<MadHeader> header(Mad& mad) { return abi::View<MadHeader>(std::span<std::byte, mad_bytes>(mad).first<MadHeader::size>()); }
    static Mad mad(SmAttribute attribute, std::uint32_t modifier = 0, MadMethod method = MadMethod::get) {
        Mad m{};
        header(m)
            .set<"base_version">(1)
            .set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::subnet_directed_route))
            .set<"class_version">(1)
            .set<"method">(static_cast<std::uint8_t>(method))
            .set<"hop_ptr">(1)
            .set<"hop_cnt">(1)
            .set<"attr_id">(static_cast<std::uint16_t>(attribute))
            .set<"attr_mod">(modifier);
        return m;
    }
    static Packet management(const Mad& mad, std::uint16_t to = permissive_lid) {
        Packet p = packet(to);
        p.service = Service::ud;
        p.operation = Operation::send_only;
        p.destination = abi::Qpn{0};
        p.payload.clear();
        p.payload.append_copy(mad);
        return p;
    }
    Mad answer(unsigned port) {
        REQUIRE(out[port].packets.size() == 1);
        Mad m{};
        REQUIRE(out[port].packets[0].payload.size() == m.size());
        out[port].packets[0].payload.copy_to(m);
        out[port].packets.clear();
        return m;
    }
    /// Sets and gets an attribute from port 1; returns the answer's data.
    template <class L> abi::View<L> exchange(Mad& m) {
        send(1, management(m));
        m = answer(1);
        return data<L>(m);
    }
    template <class L> static abi::View<L> data(Mad& m) { return abi::View<L>(std::span(m).subspan(0x40, L::size)); }
    static unsigned status(Mad& m) { return header(m).get<"status">() & ~unsigned{smp_direction}; }
    std::vector<std::string_view> reasons() const {
        std::vector<std::string_view> all;
        for (const auto& dropped : log.all<traces::PacketDropped>())
            all.push_back(dropped.reason);
        return all;
    }
    void bring_up(unsigned port) {
        for (const auto state : {PortState::armed, PortState::active}) {
            auto m = mad(SmAttribute::port_info, port, MadMethod::set);
            data<PortInfo>(m).set<"port_state">(static_cast<std::uint32_t>(state));
            exchange<PortInfo>(m);
            REQUIRE(status(m) == 0);
        }
    }

    EventLog log;
    std::array<Kept, 5> out;
    InfinibandSwitch device;
};

} // namespace

TEST_CASE("a packet goes where the table sends its LID", "[unit][switch]") {
    Bench bench(false);
    bench.send(1, Bench::packet(11));
    REQUIRE(bench.out[2].packets.size() == 1);
    CHECK(bench.out[2].packets[0].destination == abi::Qpn{0x55});
    CHECK(bench.out[2].packets[0].payload.size() == 16);
    CHECK(bench.out[3].packets.empty());

    bench.send(1, Bench::packet(12)); // unknown
    bench.send(2, Bench::packet(11)); // back where it came from
    bench.device.agent().set_route(13, 4);
    bench.send(1, Bench::packet(13)); // nothing is plugged in
    CHECK(bench.reasons() == std::vector<std::string_view>(3, "no route to the LID"));
}

TEST_CASE("a READ response is the switch's own copy", "[unit][switch]") {
    Bench bench(false);
    std::vector<std::byte> memory(64, std::byte{1});
    auto packet = Bench::packet(11);
    packet.operation = Operation::read_response_only;
    packet.payload.clear();
    packet.payload.lend(memory);
    bench.send(1, packet);
    std::ranges::fill(memory, std::byte{2});
    CHECK(bench.out[2].packets.at(0).payload.pieces()[0][0] == std::byte{1});
}

TEST_CASE("multicast goes to every port of the group but the one it came from", "[unit][switch]") {
    Bench bench(false);
    bench.send(1, Bench::packet(0xc005));
    CHECK(bench.out[1].packets.empty());
    CHECK(bench.out[2].packets.size() == 1);
    CHECK(bench.out[3].packets.size() == 1);

    Bench managed;
    for (unsigned port = 1; port <= 3; ++port)
        managed.bring_up(port);
    auto m = Bench::mad(SmAttribute::multicast_forwarding, 0, MadMethod::set);
    abi::store<std::uint16_t, abi::Endian::big>(m.data() + 0x40 + 2 * 5, 1u << 3);
    managed.exchange<PortInfo>(m);
    CHECK(Bench::status(m) == 0);
    managed.send(1, Bench::packet(0xc005));
    managed.send(1, Bench::packet(0xc006));
    CHECK(managed.out[2].packets.empty());
    CHECK(managed.out[3].packets.size() == 1);
}

TEST_CASE("a port that is not armed carries management only", "[unit][switch]") {
    Bench bench;
    bench.device.agent().set_route(11, 2);
    bench.send(1, Bench::packet(11));
    bench.bring_up(1);
    bench.send(1, Bench::packet(11));
    CHECK(bench.reasons() == std::vector<std::string_view>(2, "the port is not armed"));
    bench.bring_up(2);
    bench.send(1, Bench::packet(11));
    CHECK(bench.out[2].packets.size() == 1);
}

TEST_CASE("the last hop of a route is answered by the switch, back to the port it came from", "[unit][switch][smp]") {
    Bench bench;
    auto m = Bench::mad(SmAttribute::node_info);
    bench.send(2, Bench::management(m));
    m = bench.answer(2);
    CHECK(Bench::header(m).get<"method">() == 0x81);
    CHECK(Bench::header(m).get<"status">() == smp_direction);
    CHECK(Bench::header(m).get<"hop_ptr">() == 1);
    CHECK(m[0xc1] == std::byte{2}); // the return path
    const auto info = Bench::data<NodeInfo>(m);
    CHECK(info.get<"node_type">() == 2);
    CHECK(info.get<"num_ports">() == 4);
    CHECK(info.get<"local_port_num">() == 2);
    CHECK(info.get<"node_guid">() == 0x1234);
}

TEST_CASE("a longer route goes on through the port it names, and back by the one it came from", "[unit][switch][smp]") {
    Bench bench;
    auto m = Bench::mad(SmAttribute::node_info);
    Bench::header(m).set<"hop_cnt">(2);
    m[0x82] = std::byte{3};
    bench.send(1, Bench::management(m));
    m = bench.answer(3);
    CHECK(Bench::header(m).get<"hop_ptr">() == 2);
    CHECK(m[0xc1] == std::byte{1});

    Bench::header(m).set<"status">(smp_direction).set<"method">(0x81);
    bench.send(3, Bench::management(m));
    m = bench.answer(1);
    CHECK(Bench::header(m).get<"hop_ptr">() == 1);
}

TEST_CASE("a route that leads nowhere ends, whatever it claims", "[unit][switch][smp]") {
    for (unsigned hop_ptr = 0; hop_ptr < 256; hop_ptr += 3)
        for (unsigned hop_cnt = 0; hop_cnt < 256; hop_cnt += 5)
            for (const auto direction : {std::uint16_t{0}, smp_direction}) {
                Bench bench;
                auto m = Bench::mad(SmAttribute::node_info);
                std::fill(m.begin() + 0x80, m.end(), static_cast<std::byte>(hop_ptr + hop_cnt));
                Bench::header(m).set<"hop_ptr">(static_cast<std::uint8_t>(hop_ptr)).set<"hop_cnt">(static_cast<std::uint8_t>(hop_cnt)).set<"status">(direction);
                bench.send(1, Bench::management(m));
                const auto sent = bench.out[1].packets.size() + bench.out[2].packets.size() + bench.out[3].packets.size();
                CHECK(sent + bench.device.dropped() == 1);
            }
}

TEST_CASE("the subnet manager's tables, read back", "[unit][switch][smp]") {
    Bench bench;
    auto m = Bench::mad(SmAttribute::linear_forwarding, 1, MadMethod::set);
    m[0x40 + 3] = std::byte{2};
    bench.exchange<PortInfo>(m);
    CHECK(bench.device.agent().route(67) == 2);
    m = Bench::mad(SmAttribute::linear_forwarding, 1);
    bench.exchange<PortInfo>(m);
    CHECK(m[0x43] == std::byte{2});
    m = Bench::mad(SmAttribute::linear_forwarding, 0x10000);
    bench.exchange<PortInfo>(m);
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_value));

    m = Bench::mad(SmAttribute::switch_info, 0, MadMethod::set);
    Bench::data<SwitchInfo>(m).set<"linear_fdb_top">(70).set<"port_state_change">(1);
    CHECK(bench.exchange<SwitchInfo>(m).get<"linear_fdb_top">() == 70);
    CHECK(Bench::data<SwitchInfo>(m).get<"port_state_change">() == 0);
    CHECK(Bench::data<SwitchInfo>(m).get<"linear_fdb_cap">() == 0xbfff);
    m = Bench::mad(SmAttribute::node_info, 0, MadMethod::set);
    bench.exchange<NodeInfo>(m);
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_attribute));
}

TEST_CASE("ports come up step by step, and one without a cable not at all", "[unit][switch][smp]") {
    Bench bench;
    const auto set = [&](unsigned port, PortState state) {
        auto m = Bench::mad(SmAttribute::port_info, port, MadMethod::set);
        Bench::data<PortInfo>(m).set<"port_state">(static_cast<std::uint32_t>(state));
        bench.exchange<PortInfo>(m);
        return Bench::status(m);
    };
    const auto get = [&](unsigned port) {
        auto m = Bench::mad(SmAttribute::port_info, port);
        return static_cast<PortState>(bench.exchange<PortInfo>(m).get<"port_state">());
    };
    CHECK(get(1) == PortState::init);
    CHECK(set(1, PortState::active) != 0);
    CHECK(set(1, PortState::armed) == 0);
    CHECK(set(1, PortState::active) == 0);
    CHECK(get(1) == PortState::active);
    CHECK(set(1, PortState::down) == 0);
    CHECK(get(1) == PortState::init);
    CHECK(get(4) == PortState::down);
    CHECK(set(4, PortState::init) != 0);
    CHECK(get(0) == PortState::active);
    CHECK(set(5, PortState::init) != 0);
}

TEST_CASE("a subnet manager that knows extended speeds says so in the modifier, and hears of EDR", "[unit][switch][smp]") {
    Bench bench;
    auto m = Bench::mad(SmAttribute::port_info, 0x8000'0001, MadMethod::set);
    Bench::data<PortInfo>(m).set<"port_state">(static_cast<std::uint32_t>(PortState::armed));
    bench.exchange<PortInfo>(m);

    CHECK(Bench::status(m) == 0);
    CHECK(Bench::data<PortInfo>(m).get<"port_state">() == static_cast<unsigned>(PortState::armed));
    CHECK(Bench::data<PortInfoExtended>(m).get<"link_speed_ext_active">() == 2);
    CHECK(Bench::data<PortInfo>(m).get<"cap_mask">() == 1u << 14);
}

TEST_CASE("management by LID reaches the switch, with the right key only", "[unit][switch][smp]") {
    Bench bench;
    auto m = Bench::mad(SmAttribute::port_info, 0, MadMethod::set);
    Bench::data<PortInfo>(m).set<"lid">(5).set<"mkey">(0x77);
    bench.exchange<PortInfo>(m);
    m = Bench::mad(SmAttribute::node_info);
    Bench::header(m).set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::subnet_lid_routed));
    bench.send(3, Bench::management(m, 5));
    CHECK(bench.device.dropped() == 1);
    abi::View<Smp>(std::span<std::byte, mad_bytes>(m)).set<"mkey">(0x77);
    bench.send(3, Bench::management(m, 5));
    REQUIRE(bench.out[3].packets.size() == 1);
    CHECK(bench.out[3].packets[0].path.destination_lid == 10);
    CHECK(bench.out[3].packets[0].path.source_lid == 5);
}

namespace {
/// A switch with the LID 5, and performance datagrams to it from LID 10 at port 1.
struct Counting : Bench {
    Counting() : Bench(false) {
        auto m = mad(SmAttribute::port_info, 0, MadMethod::set);
        data<PortInfo>(m).set<"lid">(5);
        exchange<PortInfo>(m);
        start = device.dropped();
    }
    static Mad counters(PmAttribute attribute, unsigned port, MadMethod method = MadMethod::get, std::uint16_t select = 0) {
        auto m = mad(static_cast<SmAttribute>(attribute), 0, method);
        header(m).set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::performance)).set<"hop_ptr">(0).set<"hop_cnt">(0);
        data<PortCounters>(m).set<"port_select">(static_cast<std::uint8_t>(port)).set<"counter_select">(select);
        return m;
    }
    static Packet service(const Mad& mad, std::uint32_t key = 0x80010000) {
        auto p = management(mad, 5);
        p.destination = abi::Qpn{1};
        p.deth = {.qkey = key, .source_qpn = abi::Qpn{1}};
        return p;
    }
    Mad ask(const Mad& m) {
        out[1].packets.clear();
        send(1, service(m));
        return answer(1);
    }
    std::uint64_t start = 0;
};
} // namespace

TEST_CASE("the performance agent of a switch counts what each port has carried", "[unit][switch][performance]") {
    Counting bench;
    bench.send(1, Bench::packet(11));     // 8 + 12 + 16 + 4 bytes from LRH to ICRC: ten words
    bench.send(1, Bench::packet(0xc005)); // to ports 2 and 3

    auto m = bench.ask(Counting::counters(PmAttribute::port_counters_extended, 2));
    const auto second = Bench::data<PortCountersExtended>(m);
    CHECK(Bench::status(m) == 0);
    CHECK(second.get<"port_select">() == 2);
    CHECK(second.get<"port_xmit_packets">() == 2);
    CHECK(second.get<"port_xmit_data">() == 20);
    CHECK(second.get<"port_unicast_xmit_packets">() == 1);
    CHECK(second.get<"port_multicast_xmit_packets">() == 1);
    CHECK(second.get<"port_rcv_packets">() == 0);
    m = bench.ask(Counting::counters(PmAttribute::port_counters, 1));
    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_packets">() == 5); // with the Set and the two questions
    CHECK(bench.device.dropped() == bench.start);
}

TEST_CASE("an answer of the performance agent goes from QP1 to the queue pair that asked", "[unit][switch][performance]") {
    Counting bench;
    auto packet = Counting::service(Counting::counters(PmAttribute::class_port_info, 0));
    packet.deth.source_qpn = abi::Qpn{0x77};
    bench.out[1].packets.clear();

    bench.send(1, packet);

    REQUIRE(bench.out[1].packets.size() == 1);
    const auto& answer = bench.out[1].packets[0];
    CHECK(answer.destination == abi::Qpn{0x77});
    CHECK(answer.deth.source_qpn == abi::Qpn{1});
    CHECK(answer.deth.qkey == 0x80010000);
    CHECK(answer.path.destination_lid == 10);
    CHECK(answer.path.source_lid == 5);
    auto m = bench.answer(1);
    CHECK(Bench::header(m).get<"method">() == 0x81);
    CHECK(Bench::data<ClassPortInfo>(m).get<"capability_mask">() == 0x300);
}

TEST_CASE("what a switch could not relay, send or read is counted where it came in or should have left", "[unit][switch][performance]") {
    Counting bench;
    bench.send(2, Bench::packet(99)); // no route
    auto damaged = Bench::packet(11);
    model::hca::wire::build(damaged, damaged.image);
    damaged.image[20] ^= std::byte{1};
    bench.send(2, damaged);

    auto m = bench.ask(Counting::counters(PmAttribute::port_counters, 2));

    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_switch_relay_errors">() == 1);
    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_errors">() == 1);
    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_packets">() == 1);
}

TEST_CASE("counters are set back as selected, the wide ones apart from the others", "[unit][switch][performance]") {
    Counting bench;
    for (int i = 0; i < 3; ++i)
        bench.send(1, Bench::packet(11));

    auto m = bench.ask(Counting::counters(PmAttribute::port_counters, 2, MadMethod::set, 1 << 14)); // PortXmitPkts alone
    CHECK(Bench::data<PortCounters>(m).get<"port_xmit_packets">() == 0);
    CHECK(Bench::data<PortCounters>(m).get<"port_xmit_data">() == 30);
    bench.send(1, Bench::packet(11));
    m = bench.ask(Counting::counters(PmAttribute::port_counters, 2));
    CHECK(Bench::data<PortCounters>(m).get<"port_xmit_packets">() == 1);
    m = bench.ask(Counting::counters(PmAttribute::port_counters_extended, 2));
    CHECK(Bench::data<PortCountersExtended>(m).get<"port_xmit_packets">() == 4);
}

TEST_CASE("port 255 is the sum of all ports, and a port that is not there a bad value", "[unit][switch][performance]") {
    Counting bench;
    for (int i = 0; i < 2; ++i)
        bench.send(3, Bench::packet(11));

    auto m = bench.ask(Counting::counters(PmAttribute::port_counters, 255));
    CHECK(Bench::data<PortCounters>(m).get<"port_rcv_packets">() == 2 + 2); // a Set and this question at port 1
    m = bench.ask(Counting::counters(PmAttribute::port_counters, 0));
    CHECK(Bench::status(m) == 0);
    CHECK(Bench::data<PortCounters>(m).get<"port_xmit_packets">() == 0); // port 0 has no link
    m = bench.ask(Counting::counters(PmAttribute::port_counters, 5));
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_value));
}

TEST_CASE("what is no request of the performance class is not served by a switch", "[unit][switch][performance]") {
    Counting bench;
    auto m = Counting::counters(PmAttribute::port_counters, 1);
    bench.out[1].packets.clear();

    bench.send(1, Counting::service(m, 0x11)); // another Q_Key
    Bench::header(m).set<"method">(0x81);      // an answer
    bench.send(1, Counting::service(m));
    Bench::header(m).set<"method">(0x01).set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::subnet_administration));
    bench.send(1, Counting::service(m));

    CHECK(bench.out[1].packets.empty());
    CHECK(bench.device.dropped() == bench.start + 3);
    m = bench.ask(Counting::counters(static_cast<PmAttribute>(0x99), 1));
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_attribute));
    m = bench.ask(Counting::counters(PmAttribute::class_port_info, 1, MadMethod::set));
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_attribute));
}

TEST_CASE("a damaged frame goes no further; a whole one is read and forwarded", "[unit][switch]") {
    Bench bench(false);
    auto packet = Bench::packet(11);
    model::hca::wire::build(packet, packet.image);
    bench.send(1, packet);
    CHECK(bench.out[2].packets.size() == 1);
    packet.image[20] ^= std::byte{1};
    bench.send(1, packet);
    CHECK(bench.out[2].packets.size() == 1);
    CHECK(bench.device.dropped() == 1);
}

TEST_CASE("what is no datagram of management is thrown away", "[unit][switch][smp]") {
    Bench bench;
    auto packet = Bench::management(Bench::mad(SmAttribute::node_info));
    packet.payload.clear();
    packet.payload.append_copy(std::vector(100, std::byte{}));
    bench.send(1, packet);
    auto trap = Bench::mad(SmAttribute::node_info, 0, MadMethod::trap);
    bench.send(1, Bench::management(trap));
    CHECK(bench.device.dropped() == 2);
}
