// The switch between its ports: routes by LID, multicast, management along the route it carries, and what it throws
// away.
#include "testbench/unit/model/net/switch_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

using namespace model::net;
using namespace abi::wire;
using abi::prm::PortPhysicalState;
using abi::prm::PortState;
using harness::SwitchBench;
using harness::Time;
using Bench = SwitchBench;

TEST_CASE("a packet goes where the table sends its LID", "[unit][switch]") {
    Bench bench(false);
    bench.send(1, Bench::packet(11));
    REQUIRE(bench.out[2].packets.size() == 1);
    CHECK(bench.out[2].packets[0].rdma().destination == abi::Qpn{0x55});
    CHECK(bench.out[2].packets[0].payload.size() == 16);
    CHECK(bench.out[3].packets.empty());

    bench.send(1, Bench::packet(12)); // unknown
    bench.send(2, Bench::packet(11)); // back where it came from
    bench.device.agent().set_route(13, 4);
    bench.send(1, Bench::packet(13)); // nothing is plugged in
    CHECK(bench.reasons() == std::vector<std::string_view>(3, "no route to the LID"));
}

TEST_CASE("a packet that goes on is told with its ports, one event each way out", "[unit][switch]") {
    Bench bench(false);
    bench.send(1, Bench::packet(11));
    bench.send(1, Bench::packet(0xc005));
    bench.send(1, Bench::packet(12)); // unknown

    const auto told = bench.log.all<traces::PacketForwarded>();
    REQUIRE(told.size() == 3);
    CHECK((told[0].ingress == 1 && told[0].egress == 2 && told[0].destination_lid == 11));
    CHECK((told[1].egress == 2 && told[2].egress == 3 && told[2].destination_lid == 0xc005));
}

TEST_CASE("what a switch sends on is still in its lender's book, at every port", "[unit][switch][loan]") {
    Bench bench(false);
    std::vector<std::byte> memory(64, std::byte{1});
    model::port::Loans loans;
    for (const auto to : {std::uint16_t{11}, std::uint16_t{0xc005}}) {
        auto packet = Bench::packet(to);
        packet.payload.clear();
        packet.payload.lend(memory, loans);
        bench.send(1, packet);
    }
    CHECK(bench.out[2].packets.at(0).payload.is_lent()); // nothing is copied without a reason

    loans.drain();
    std::ranges::fill(memory, std::byte{2});

    for (const auto* packet : {&bench.out[2].packets.at(0), &bench.out[2].packets.at(1), &bench.out[3].packets.at(0)})
        CHECK(packet->payload.pieces()[0][0] == std::byte{1});
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
    bench.send(1, Bench::management(Bench::mad(SmAttribute::node_info), 11)); // of a subnet manager, by LID
    CHECK(bench.out[2].packets.size() == 1);
    bench.out[2].packets.clear();
    bench.bring_up(2);
    bench.send(1, Bench::packet(11));
    CHECK(bench.out[2].packets.size() == 1);

    Bench managing; // by LID, as well as along a route
    managing.device.agent().set_route(11, 2);
    auto packet = Bench::packet(11);
    packet.rdma().destination = abi::Qpn{0};
    managing.send(1, packet);
    CHECK(managing.reasons().empty());
    CHECK(managing.out[2].packets.size() == 1);

    Bench other; // what comes in is data, too
    other.device.agent().set_route(11, 2);
    other.bring_up(2);
    other.send(1, Bench::packet(11));
    CHECK(other.reasons() == std::vector<std::string_view>{"the port is not armed"});
    CHECK(other.out[2].packets.empty());
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
                Bench::header(m)
                    .set<"hop_ptr">(static_cast<std::uint8_t>(hop_ptr))
                    .set<"hop_cnt">(static_cast<std::uint8_t>(hop_cnt))
                    .set<"status">(direction);
                bench.send(1, Bench::management(m));
                const auto sent =
                    bench.out[1].packets.size() + bench.out[2].packets.size() + bench.out[3].packets.size();
                CHECK(sent + bench.device.dropped() == 1);
            }
}

TEST_CASE("the subnet manager's tables, read back", "[unit][switch][smp]") {
    Bench bench;
    auto m = Bench::mad(SmAttribute::linear_forwarding, 1, MadMethod::set);
    m[0x40 + 3] = std::byte{2};
    bench.exchange<PortInfo>(m);
    m = Bench::mad(SmAttribute::linear_forwarding, 1);
    bench.exchange<PortInfo>(m);
    CHECK(m[0x43] == std::byte{2});
    m = Bench::mad(SmAttribute::linear_forwarding, 0x10000);
    bench.exchange<PortInfo>(m);
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_value));

    m = Bench::mad(SmAttribute::switch_info, 0, MadMethod::set);
    Bench::data<SwitchInfo>(m).set<"linear_fdb_top">(70).set<"port_state_change">(1);
    CHECK(bench.exchange<SwitchInfo>(m).get<"linear_fdb_top">() == 70);
    CHECK(bench.device.agent().route(67) == 2);
    CHECK(Bench::data<SwitchInfo>(m).get<"port_state_change">() == 0);
    CHECK(Bench::data<SwitchInfo>(m).get<"linear_fdb_cap">() == 0xbfff);
    m = Bench::mad(SmAttribute::node_info, 0, MadMethod::set);
    bench.exchange<NodeInfo>(m);
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_attribute));
}

TEST_CASE("a block of P_Keys or GUIDs, or a port, that a switch does not have is a bad value", "[unit][switch][smp]") {
    Bench bench;
    const auto get = [&](SmAttribute attribute, std::uint32_t modifier, MadMethod method = MadMethod::get) {
        auto m = Bench::mad(attribute, modifier, method);
        bench.exchange<PortInfo>(m);
        return Bench::status(m);
    };
    constexpr auto bad_value = static_cast<unsigned>(MadStatus::bad_value);
    CHECK(get(SmAttribute::pkey_table, 0) == 0);
    CHECK(get(SmAttribute::pkey_table, 4u << 16) == 0);
    CHECK(get(SmAttribute::pkey_table, 5u << 16) == bad_value); // four ports
    CHECK(get(SmAttribute::pkey_table, 1) == bad_value);        // 32 P_Keys are one block
    CHECK(get(SmAttribute::pkey_table, 1, MadMethod::set) == bad_value);
    CHECK(get(SmAttribute::guid_info, 0) == 0);
    CHECK(get(SmAttribute::guid_info, 1) == bad_value);
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

TEST_CASE("a subnet manager that knows extended speeds says so in the modifier, and hears of EDR",
          "[unit][switch][smp]") {
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
    Bench::data<PortInfo>(m).set<"lid">(5).set<"mkey">(0x77).set<"mkey_protect">(2);
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

TEST_CASE("how far a port is protected says who may read it, and its key", "[unit][switch][smp]") {
    const auto level = GENERATE(0u, 1u, 2u, 3u);
    Bench bench;
    auto m = Bench::mad(SmAttribute::port_info, 0, MadMethod::set);
    Bench::data<PortInfo>(m).set<"mkey">(0x77).set<"mkey_protect">(level);
    bench.exchange<PortInfo>(m);

    bench.send(2, Bench::management(Bench::mad(SmAttribute::port_info, 0))); // shows no key

    REQUIRE(bench.out[2].packets.size() == (level <= 1 ? 1 : 0));
    if (level <= 1) {
        m = bench.answer(2);
        CHECK(Bench::data<PortInfo>(m).get<"mkey">() == (level == 0 ? 0x77 : 0));
    }
    bench.send(3, Bench::management(Bench::mad(SmAttribute::port_info, 0, MadMethod::set)));
    CHECK(bench.out[3].packets.empty()); // nobody changes it without the key
}

TEST_CASE("a port that cannot sleep does not say that it does", "[unit][switch][smp]") {
    Bench bench;
    auto m = Bench::mad(SmAttribute::port_info, 3, MadMethod::set);
    Bench::data<PortInfo>(m).set<"physical_state">(1u);
    bench.exchange<PortInfo>(m);
    CHECK(Bench::status(m) == static_cast<unsigned>(MadStatus::bad_value));
}

TEST_CASE("a port is disabled after the answer has left, and polls when it is enabled", "[unit][switch][smp]") {
    Bench bench;
    const auto set = [&](unsigned port, PortPhysicalState to) {
        auto m = Bench::mad(SmAttribute::port_info, port, MadMethod::set);
        Bench::data<PortInfo>(m).set<"port_state">(1u).set<"physical_state">(static_cast<std::uint32_t>(to));
        const auto info = bench.exchange<PortInfo>(m);
        CHECK(Bench::status(m) == 0);
        return std::pair(info.get<"port_state">(), info.get<"physical_state">());
    };
    const auto get = [&](unsigned port) {
        auto m = Bench::mad(SmAttribute::port_info, port);
        const auto info = bench.exchange<PortInfo>(m);
        return std::pair(info.get<"port_state">(), info.get<"physical_state">());
    };
    using State = std::pair<std::uint32_t, std::uint32_t>;
    bench.bring_up(1); // the way of the answers
    CHECK(set(1, PortPhysicalState::disabled) == State{1, 3});
    CHECK_FALSE(bench.out[1].is_on);
    CHECK(bench.out[1].sent_before_change == bench.out[1].traffic.packets);
    CHECK(get(1) == State{1, 3});
    CHECK(set(1, PortPhysicalState::polling) == State{1, 2});
    CHECK(bench.out[1].is_on);
    CHECK(get(1) == State{2, 5});

    bench.device.receiver(2).link_changed(false, {}); // the other end lets go
    CHECK(get(2) == State{1, 2});
    bench.device.receiver(2).link_changed(true, {});
    CHECK(get(2) == State{2, 5});
}

TEST_CASE("a damaged frame goes no further; a whole one is read and forwarded", "[unit][switch]") {
    Bench bench(false);
    auto packet = Bench::packet(11);
    model::wire::build(packet, packet.image);
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

TEST_CASE("a LID beyond LinearFDBTop has no route, whatever the table says there", "[unit][switch][smp]") {
    Bench bench;
    for (const unsigned port : {1u, 2u})
        bench.bring_up(port);
    auto m = Bench::mad(SmAttribute::linear_forwarding, 0, MadMethod::set);
    m[0x40 + 11] = m[0x40 + 12] = std::byte{2};
    bench.exchange<PortInfo>(m);
    m = Bench::mad(SmAttribute::switch_info, 0, MadMethod::set);
    Bench::data<SwitchInfo>(m).set<"linear_fdb_top">(11);
    bench.exchange<SwitchInfo>(m);

    bench.send(1, Bench::packet(11));
    bench.send(1, Bench::packet(12));

    CHECK(bench.out[2].packets.size() == 1);
    CHECK(bench.reasons() == std::vector<std::string_view>{"no route to the LID"});
}

TEST_CASE("a packet longer than NeighborMTU of the port that it is to leave by is discarded, and counted there",
          "[unit][switch]") {
    Bench bench;
    for (const unsigned port : {1u, 2u, 3u})
        bench.bring_up(port);
    bench.device.agent().set_route(11, 2);
    bench.device.agent().flood_groups();
    auto m = Bench::mad(SmAttribute::port_info, 2, MadMethod::set);
    Bench::data<PortInfo>(m).set<"neighbor_mtu">(3u); // 1024
    bench.exchange<PortInfo>(m);
    REQUIRE(Bench::status(m) == 0);
    const auto to = GENERATE(std::uint16_t{11}, std::uint16_t{0xc005});
    const auto send = [&](std::size_t bytes) {
        auto packet = Bench::packet(to);
        packet.payload.clear();
        packet.payload.append_copy(std::vector(bytes, std::byte{}));
        bench.send(1, packet);
    };

    send(1024);
    CHECK(bench.out[2].packets.size() == 1);
    CHECK(bench.device.discarded(2) == 0);
    send(1025);
    CHECK(bench.out[2].packets.size() == 1);
    CHECK(bench.out[3].packets.size() == (to == 11 ? 0 : 2)); // whose neighbour takes more
    CHECK(bench.device.discarded(2) == 1);
    CHECK(bench.reasons() == std::vector<std::string_view>{"longer than the MTU of the next link"});
}

TEST_CASE("a switch counts M_Keys that are wrong, and its protection ends with the lease unless its manager comes",
          "[unit][switch][smp]") {
    using namespace std::chrono_literals;
    Bench bench;
    constexpr std::uint64_t m_key = 0x77;
    const auto at = [&](Time when, MadMethod method, std::uint64_t key) -> std::optional<unsigned> {
        auto m = Bench::mad(SmAttribute::port_info, 0, method);
        abi::View<Smp>(std::span<std::byte, mad_bytes>(m)).set<"mkey">(key);
        Bench::data<PortInfo>(m)
            .set<"mkey">(m_key)
            .set<"mkey_protect">(2u)
            .set<"mkey_lease_period">(std::uint16_t{10})
            .set<"mkey_violations">(std::uint16_t{1});
        auto packet = Bench::management(m);
        bench.device.receiver(1).receive(packet, when);
        if (bench.out[1].packets.empty())
            return std::nullopt;
        m = bench.answer(1);
        return Bench::data<PortInfo>(m).get<"mkey_violations">();
    };
    REQUIRE(at(0s, MadMethod::set, 0) == 0);

    CHECK_FALSE(at(1s, MadMethod::get, 1)); // begins the lease
    CHECK_FALSE(at(10s, MadMethod::get, 1));
    CHECK(at(10s, MadMethod::get, m_key) == 2); // the manager is there
    CHECK_FALSE(at(12s, MadMethod::get, 1));
    CHECK_FALSE(at(22s - 1ns, MadMethod::set, 1));
    CHECK(at(22s, MadMethod::get, 1) == 4); // whoever comes may read now
    CHECK_FALSE(at(23s, MadMethod::set, 1));
}
