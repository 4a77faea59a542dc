// MAD_IFC and the agents behind it (IBA chapters 14 and 16).
#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

using namespace harness;
using abi::wire::MadClass;
using abi::wire::MadHeader;
using abi::wire::MadMethod;
using abi::wire::MadStatus;
using abi::wire::NodeInfo;
using abi::wire::PortInfo;
using abi::wire::SmAttribute;

namespace {

struct Bench : CommandBench {
    Bench() : CommandBench(infiniband()) { REQUIRE(initialize()); }
    static model::hca::HcaConfig infiniband() {
        auto config = untimed();
        config.is_ethernet = false;
        config.lid = 7;
        return config;
    }
    std::vector<std::byte> process(const Input<prm::MadIfcIn>& in) {
        const auto out = run<prm::MadIfcOut>(in);
        REQUIRE(out.is_ok());
        return {out.bytes.begin() + 0x10, out.bytes.begin() + 0x110};
    }
    std::vector<std::byte> get(SmAttribute attribute) { return process(mad_input(MadMethod::get, attribute)); }
};
std::uint16_t status(std::span<const std::byte> mad) {
    return abi::ConstView<MadHeader>(mad.first(MadHeader::size)).get<"status">();
}
template <class L> abi::ConstView<L> data(std::span<const std::byte> mad) {
    return abi::ConstView<L>(mad.subspan(0x40, L::size));
}
abi::View<PortInfo> port_info(Input<prm::MadIfcIn>& in) {
    return abi::View<PortInfo>(std::span(in.bytes).subspan(0x50, PortInfo::size));
}
/// A Set(PortInfo) that changes nothing of what the port has.
Input<prm::MadIfcIn> same_port(Bench& bench) {
    auto in = CommandBench::mad_input(MadMethod::set, SmAttribute::port_info);
    const auto now = bench.get(SmAttribute::port_info);
    std::ranges::copy(std::span(now).subspan(0x40, 64), in.bytes.begin() + 0x50);
    port_info(in).set<"port_state">(0u);
    return in;
}

} // namespace

TEST_CASE("NodeInfo tells a channel adapter with one port", "[unit][firmware][mad]") {
    Bench bench;
    const auto mad = bench.get(SmAttribute::node_info);
    CHECK(status(mad) == 0);
    CHECK(abi::ConstView<MadHeader>(std::span(mad).first(24)).get<"method">() == 0x81);
    const auto info = data<NodeInfo>(mad);
    CHECK(info.get<"node_type">() == 1);
    CHECK(info.get<"num_ports">() == 1);
    CHECK(info.get<"port_guid">() == bench.hca.config().node_guid);
    CHECK(info.get<"partition_cap">() == 128);
}

TEST_CASE("PortInfo and the vport context say the same", "[unit][firmware][mad]") {
    Bench bench;
    const auto mad = bench.get(SmAttribute::port_info);
    const auto info = data<PortInfo>(mad);
    const auto context = bench.run<prm::QueryHcaVportContextOut>(
        Input<prm::QueryHcaVportContextIn>(prm::Opcode::query_hca_vport_context));
    const auto vport = context.view().sub<"hca_vport_context">();
    CHECK(info.get<"lid">() == 7);
    CHECK(vport.get<"lid">() == 7);
    CHECK(info.get<"port_state">() == static_cast<unsigned>(vport.get<"vport_state">()));
}

TEST_CASE("a subnet manager moves the port, and the wire follows", "[unit][firmware][mad]") {
    Bench bench;
    auto in = same_port(bench);
    port_info(in).set<"lid">(std::uint16_t{42}).set<"gid_prefix">(0xfec0000000000001u);
    CHECK(status(bench.process(in)) == 0);

    CHECK(bench.hca.identity().lid == 42);
    CHECK(abi::load<std::uint64_t, std::endian::big>(bench.hca.identity().gids[0].gid.data()) == 0xfec0000000000001);
}

TEST_CASE("a subnet manager that knows extended speeds says so in the modifier", "[unit][firmware][mad]") {
    Bench bench;
    auto in = same_port(bench);
    abi::View<MadHeader>(std::span(in.bytes).subspan(0x10, 24)).set<"attr_mod">(0x8000'0001);
    CHECK(status(bench.process(in)) == 0);
    abi::View<MadHeader>(std::span(in.bytes).subspan(0x10, 24)).set<"attr_mod">(0x8000'0002);
    CHECK(status(bench.process(in)) == static_cast<std::uint16_t>(MadStatus::bad_value));
}

TEST_CASE("a port goes up one state at a time", "[unit][firmware][mad]") {
    Bench bench;
    const auto to = [&bench](unsigned state) {
        auto in = same_port(bench);
        port_info(in).set<"port_state">(state);
        return status(bench.process(in));
    };
    CHECK(to(1) == 0); // down: it initializes again
    CHECK(data<PortInfo>(bench.get(SmAttribute::port_info)).get<"port_state">() == 2);
    CHECK(to(4) == static_cast<std::uint16_t>(MadStatus::bad_value)); // not armed yet
    CHECK(to(3) == 0);
    CHECK(to(4) == 0);
    CHECK(data<PortInfo>(bench.get(SmAttribute::port_info)).get<"port_state">() == 4);
}

namespace {
using Change = std::pair<unsigned, unsigned>; ///< logical and physical state
Change states(Bench& bench) {
    const auto mad = bench.get(SmAttribute::port_info);
    const auto info = data<PortInfo>(mad);
    return {info.get<"port_state">(), info.get<"physical_state">()};
}
std::vector<unsigned> port_events(Bench& bench) {
    std::vector<unsigned> subtypes;
    for (const auto& event : bench.log.all<traces::EventWritten>())
        subtypes.push_back(event.subtype);
    return subtypes;
}
/// As ibportstate does it.
std::uint16_t set_link(Bench& bench, prm::PortPhysicalState to) {
    auto in = same_port(bench);
    port_info(in).set<"port_state">(1u).set<"physical_state">(static_cast<std::uint32_t>(to));
    return status(bench.process(in));
}
} // namespace

TEST_CASE("a port that is disabled has no link until it is enabled", "[unit][firmware][mad]") {
    Bench bench;
    REQUIRE(bench.run<prm::CreateEqOut>(CommandBench::eq_input(bench.alloc_uar(), 1u << 9)).is_ok());

    CHECK(set_link(bench, prm::PortPhysicalState::disabled) == 0);

    CHECK(states(bench) == Change{1, 3});
    CHECK_FALSE(bench.wire.is_on);
    const auto vport = bench.run<prm::QueryHcaVportContextOut>(
        Input<prm::QueryHcaVportContextIn>(prm::Opcode::query_hca_vport_context));
    CHECK(vport.view().sub<"hca_vport_context">().get<"port_physical_state">() == prm::PortPhysicalState::disabled);
    CHECK(set_link(bench, prm::PortPhysicalState::disabled) == 0); // again
    CHECK(port_events(bench) == std::vector<unsigned>{1});

    CHECK(set_link(bench, prm::PortPhysicalState::polling) == 0);

    CHECK(bench.wire.is_on);
    CHECK(states(bench) == Change{4, 5}); // without a subnet manager the platform arms it
    CHECK(port_events(bench) == std::vector<unsigned>{1, 4});
}

TEST_CASE("a port that is enabled polls until the other end is there", "[unit][firmware][mad]") {
    Bench bench;
    bench.wire.is_peer_on = false;
    set_link(bench, prm::PortPhysicalState::disabled);
    set_link(bench, prm::PortPhysicalState::polling);
    CHECK(states(bench) == Change{1, 2});
    bench.hca.link_changed(true, bench.clock.now());
    CHECK(states(bench) == Change{4, 5});
    bench.hca.link_changed(false, bench.clock.now());
    CHECK(states(bench) == Change{1, 2});
}

TEST_CASE("what an agent does not know gets the status of the specification", "[unit][firmware][mad]") {
    Bench bench;
    CHECK(status(bench.get(static_cast<SmAttribute>(0x7777))) == static_cast<std::uint16_t>(MadStatus::bad_attribute));
    CHECK(status(bench.process(CommandBench::mad_input(MadMethod::trap, SmAttribute::node_info))) ==
          static_cast<std::uint16_t>(MadStatus::bad_method));
    CHECK(status(bench.process(CommandBench::mad_input(MadMethod::set, SmAttribute::node_info))) ==
          static_cast<std::uint16_t>(MadStatus::bad_attribute));
    for (const auto of : {MadClass::subnet_lid_routed, MadClass::performance})
        for (const std::size_t version : {0x10, 0x12}) { // of the format, and of the class
            auto other = CommandBench::mad_input(MadMethod::get, SmAttribute::node_info);
            other.bytes[0x11] = static_cast<std::byte>(of);
            other.bytes[version] = std::byte{9};
            CHECK(status(bench.process(other)) == static_cast<std::uint16_t>(MadStatus::bad_version));
        }
}

TEST_CASE("P_Keys that a subnet manager sets are in the port's table", "[unit][firmware][mad]") {
    Bench bench;
    auto in = CommandBench::mad_input(MadMethod::set, SmAttribute::pkey_table);
    abi::store<std::uint16_t, std::endian::big>(in.bytes.data() + 0x50, 0xffff);
    abi::store<std::uint16_t, std::endian::big>(in.bytes.data() + 0x52, 0x8001);
    CHECK(status(bench.process(in)) == 0);
    CHECK(bench.hca.identity().pkey(1) == 0x8001);
}

TEST_CASE("the performance agent counts what the port moved", "[unit][firmware][mad]") {
    Bench bench;
    auto in = CommandBench::mad_input(MadMethod::get, static_cast<SmAttribute>(0x001d));
    abi::View<MadHeader>(std::span(in.bytes).subspan(0x10, 24))
        .set<"mgmt_class">(static_cast<std::uint8_t>(MadClass::performance));
    in.bytes[0x10 + 0x41] = std::byte{1}; // port
    CHECK(status(bench.process(in)) == 0);
    in.bytes[0x10 + 0x41] = std::byte{2};
    CHECK(status(bench.process(in)) == static_cast<std::uint16_t>(MadStatus::bad_value));
}

TEST_CASE("bad keys are counted in PortInfo until a manager sets the counters to 0", "[unit][firmware][mad]") {
    Bench bench;
    constexpr std::uint64_t m_key = 0x1234;
    const auto with_key = [](Input<prm::MadIfcIn> in) {
        abi::View<abi::wire::Smp>(std::span(in.bytes).subspan(0x10, abi::wire::Smp::size)).set<"mkey">(m_key);
        return in;
    };
    const auto counts = [&] {
        const auto mad = bench.process(with_key(CommandBench::mad_input(MadMethod::get, SmAttribute::port_info)));
        const auto info = data<PortInfo>(mad);
        return std::array<unsigned, 3>{info.get<"mkey_violations">(), info.get<"pkey_violations">(),
                                       info.get<"qkey_violations">()};
    };
    auto set = same_port(bench);
    port_info(set).set<"mkey">(m_key).set<"mkey_protect">(2u);
    bench.process(set);
    CHECK(counts() == std::array{0u, 0u, 0u});

    CHECK_FALSE(bench.run<prm::MadIfcOut>(CommandBench::mad_input(MadMethod::get, SmAttribute::node_info))
                    .is_ok()); // without the M_Key
    model::hca::queue::QueuePairAttributes attributes;
    attributes.type = model::hca::queue::QpType::ud;
    attributes.q_key = 5;
    attributes.send_cq = attributes.receive_cq = abi::Cqn{0x80};
    bench.hca.create_cq(attributes.receive_cq, {});
    bench.hca.modify_qp(bench.hca.create_qp(abi::Qpn{0x40}, attributes), attributes, model::hca::queue::QpState::rtr,
                        bench.clock.now(), true);
    model::port::Packet packet;
    packet.path.encapsulation = model::port::Encapsulation::infiniband;
    packet.path.destination_lid = 7;
    packet.rdma().service = abi::wire::Service::ud;
    packet.rdma().operation = abi::wire::Operation::send_only;
    packet.rdma().destination = abi::Qpn{0x40};
    packet.rdma().deth.qkey = 6;
    bench.hca.receive(packet, bench.clock.now());
    packet.rdma().pkey = 0x8001;
    for (int i = 0; i < 70'000; ++i) // more than the field holds
        bench.hca.receive(packet, bench.clock.now());
    CHECK(counts() == std::array{1u, 0xffffu, 1u});

    set = with_key(CommandBench::mad_input(MadMethod::set, SmAttribute::port_info));
    port_info(set)
        .set<"mkey">(m_key)
        .set<"lid">(std::uint16_t{7})
        .set<"pkey_violations">(std::uint16_t{3}); // the others are 0
    bench.process(set);
    CHECK(counts() == std::array{0u, 0xffffu, 0u});
    port_info(set).set<"pkey_violations">(std::uint16_t{0});
    bench.process(set);
    CHECK(counts() == std::array{0u, 0u, 0u});
}

TEST_CASE("the protection of a port ends with the lease that a wrong M_Key has begun, unless its manager comes",
          "[unit][firmware][mad]") {
    using namespace std::chrono_literals;
    Bench bench;
    constexpr std::uint64_t m_key = 0x1234;
    const auto is_answered = [&](model::port::Time at, std::uint64_t key) {
        auto in = CommandBench::mad_input(MadMethod::get, SmAttribute::node_info);
        abi::View<abi::wire::Smp>(std::span(in.bytes).subspan(0x10, abi::wire::Smp::size)).set<"mkey">(key);
        bench.clock.set(at);
        return bench.run<prm::MadIfcOut>(in).is_ok();
    };
    const auto begin = bench.clock.now();
    auto set = same_port(bench);
    port_info(set).set<"mkey">(m_key).set<"mkey_protect">(2u).set<"mkey_lease_period">(std::uint16_t{10});
    bench.process(set);

    CHECK_FALSE(is_answered(begin + 1s, 1)); // begins the lease
    CHECK(is_answered(begin + 10s, m_key));  // and the manager ends it
    CHECK_FALSE(is_answered(begin + 12s, 1));
    CHECK_FALSE(is_answered(begin + 21s, 1));
    CHECK(is_answered(begin + 23s, 1));
    CHECK(is_answered(begin + 24s, m_key));
}
