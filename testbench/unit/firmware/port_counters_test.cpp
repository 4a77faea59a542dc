// QUERY_VPORT_COUNTER and the register PPCNT: what a driver reads of the traffic of its port.
#include "testbench/harness/command_bench.h"

#include "abi/wire/infiniband.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using model::port::Packet;
using prm::Opcode;

namespace {

struct Bench : CommandBench {
    explicit Bench(const model::hca::HcaConfig& config = infiniband()) : CommandBench(config) { REQUIRE(initialize()); }
    static constexpr std::uint16_t config_lid = 1;
    static model::hca::HcaConfig infiniband() {
        auto config = untimed();
        config.is_ethernet = false;
        return config;
    }
    /// A datagram of 20 bytes for nobody, of 8 + 12 + 8 + 20 + 4 bytes from the LRH to the ICRC.
    void receive(abi::Qpn to, bool is_damaged = false, bool is_turned = false) {
        Packet packet;
        packet.path.encapsulation = model::port::Encapsulation::infiniband;
        packet.path.has_grh = to.value == 0xffffff;
        packet.path.destination_lid = to.value == 0xffffff ? std::uint16_t{0xc000} : config_lid;
        packet.rdma().service = abi::wire::Service::ud;
        packet.rdma().destination = to;
        packet.payload.append_copy(std::vector<std::byte>(20));
        if (is_damaged)
            packet.image.assign(60, std::byte{0x11});
        if (is_turned)
            hca.receive_turned(packet, clock.now());
        else
            hca.receive(packet, clock.now());
    }
    Output<prm::QueryVportCounterOut> vport(bool clear = false) {
        const auto out = run<prm::QueryVportCounterOut>(
            Input<prm::QueryVportCounterIn>(Opcode::query_vport_counter).set<"clear">(clear));
        REQUIRE(out.is_ok());
        return out;
    }
    template <class L> abi::Block<L> ppcnt(std::uint32_t group, bool clear = false) {
        Input<prm::AccessRegIn> in(Opcode::access_reg, static_cast<std::uint16_t>(prm::RegisterAction::read));
        in.set<"register_id">(static_cast<std::uint32_t>(prm::RegisterId::ppcnt));
        abi::Block<prm::PpcntReg> reg;
        reg.view().set<"local_port">(1).set<"grp">(group).set<"clr">(clear);
        in.bytes.insert(in.bytes.end(), reg.bytes.begin(), reg.bytes.end());
        const auto out = run<prm::AccessRegOut>(in, in.bytes.size());
        REQUIRE(out.is_ok());
        abi::Block<L> counters;
        std::copy_n(out.bytes.begin() + prm::AccessRegOut::size + 8, L::size, counters.bytes.begin());
        return counters;
    }
};
constexpr abi::Qpn nobody{0x1234}, multicast{0xffffff};

} // namespace

TEST_CASE("the vport counts packets and octets, multicast apart", "[unit][firmware][counters]") {
    Bench bench;
    bench.receive(nobody);
    bench.receive(nobody);
    bench.receive(multicast);

    const auto out = bench.vport();

    CHECK(out.view().sub<"received_ib_unicast">().get<"packets">() == 2);
    CHECK(out.view().sub<"received_ib_unicast">().get<"octets">() == 2 * 52);
    CHECK(out.view().sub<"received_ib_multicast">().get<"packets">() == 1);
    CHECK(out.view().sub<"received_ib_multicast">().get<"octets">() == 52 + 40);
    CHECK(out.view().sub<"transmitted_ib_unicast">().get<"packets">() == 0);
    CHECK(out.view().sub<"received_errors">().get<"packets">() == 0);
}

TEST_CASE("counters of the vport that are cleared begin anew, and those of the port go on",
          "[unit][firmware][counters]") {
    Bench bench;
    bench.receive(nobody);
    CHECK(bench.vport(true).view().sub<"received_ib_unicast">().get<"packets">() == 1);
    bench.receive(nobody);

    CHECK(bench.vport().view().sub<"received_ib_unicast">().get<"packets">() == 1);
    CHECK(bench.ppcnt<prm::IbExtendedPortCounters>(0x21).view().get<"port_rcv_pkts_low">() == 2);
}

TEST_CASE("counters that were cleared do not come back when the driver goes", "[unit][firmware][counters]") {
    Bench bench;
    bench.receive(nobody);
    bench.vport(true);
    bench.ppcnt<prm::IbExtendedPortCounters>(0x21, true);

    REQUIRE(bench.run<prm::TeardownHcaOut>(Input<prm::TeardownHcaIn>(Opcode::teardown_hca)).is_ok());
    REQUIRE(bench.run<prm::DisableHcaOut>(Input<prm::DisableHcaIn>(Opcode::disable_hca)).is_ok());
    bench.receive(nobody);
    REQUIRE(bench.initialize());

    CHECK(bench.ppcnt<prm::IbExtendedPortCounters>(0x21).view().get<"port_rcv_pkts_low">() == 1);
    CHECK(bench.vport().view().sub<"received_ib_unicast">().get<"packets">() == 1);
}

TEST_CASE("what a port sends to itself crosses no cable: the vport counts it both ways, the port not at all",
          "[unit][firmware][counters]") {
    Bench bench;
    bench.receive(nobody, false, true);
    bench.receive(multicast, false, true);

    const auto out = bench.vport();
    CHECK(out.view().sub<"received_ib_unicast">().get<"packets">() == 1);
    CHECK(out.view().sub<"transmitted_ib_unicast">().get<"packets">() == 1);
    CHECK(out.view().sub<"transmitted_ib_unicast">().get<"octets">() == 52);
    CHECK(out.view().sub<"received_ib_multicast">().get<"packets">() == 1);
    const auto port = bench.ppcnt<prm::IbExtendedPortCounters>(0x21);
    CHECK(port.view().get<"port_rcv_pkts_low">() == 0);
    CHECK(port.view().get<"port_rcv_data_low">() == 0);
    CHECK(port.view().get<"port_xmit_pkts_low">() == 0);
}

TEST_CASE("a port tells what it could not send, and for how long it had no credit, in times of 8 bytes",
          "[unit][firmware][counters]") {
    Bench bench;
    bench.wire.was_hindered = {.discarded = 3, .waited = std::chrono::microseconds{64}}; // at 100 Gbit/s 640 ps each

    const auto counters = bench.ppcnt<prm::IbPortCounters>(0x20, true);
    CHECK(counters.view().get<"port_xmit_discards">() == 3);
    CHECK(counters.view().get<"port_xmit_wait">() == 100'000);
    CHECK(bench.ppcnt<prm::IbPortCounters>(0x20).view().get<"port_xmit_wait">() == 0);
}

TEST_CASE("a damaged packet is an error of the port and no packet", "[unit][firmware][counters]") {
    Bench bench;
    bench.receive(nobody, true);

    CHECK(bench.ppcnt<prm::IbPortCounters>(0x20).view().get<"port_rcv_errors">() == 1);
    CHECK(bench.vport().view().sub<"received_errors">().get<"packets">() == 1);
    CHECK(bench.vport().view().sub<"received_ib_unicast">().get<"packets">() == 0);
    bench.ppcnt<prm::IbPortCounters>(0x20, true);
    CHECK(bench.ppcnt<prm::IbPortCounters>(0x20).view().get<"port_rcv_errors">() == 0);
}

TEST_CASE("an Ethernet port has the counters of errors that mlx5_ib reads", "[unit][firmware][counters]") {
    auto config = Bench::infiniband();
    config.is_ethernet = true;
    Bench bench(config);
    Packet packet;
    packet.image.assign(60, std::byte{0x11});
    bench.hca.receive(packet, bench.clock.now());

    CHECK(bench.ppcnt<prm::IbPortCounters>(0x20).view().get<"port_rcv_errors">() == 1);
}

TEST_CASE("a packet for another LID is an error of the port and no packet", "[unit][firmware][counters]") {
    Bench bench;
    Packet packet;
    packet.path.encapsulation = model::port::Encapsulation::infiniband;
    packet.path.destination_lid = Bench::config_lid + 1;
    bench.hca.receive(packet, bench.clock.now());

    CHECK(bench.ppcnt<prm::IbPortCounters>(0x20).view().get<"port_rcv_errors">() == 1);
    CHECK(bench.vport().view().sub<"received_ib_unicast">().get<"packets">() == 0);
}

TEST_CASE("the extended group tells bytes, the management agent words of the same", "[unit][firmware][counters]") {
    Bench bench;
    bench.receive(nobody);

    const auto group = bench.ppcnt<prm::IbExtendedPortCounters>(0x21);
    CHECK(group.view().get<"port_rcv_data_low">() == 52);
    CHECK(group.view().get<"port_unicast_rcv_pkts_low">() == 1);
    auto in = CommandBench::mad_input(
        abi::wire::MadMethod::get, static_cast<abi::wire::SmAttribute>(abi::wire::PmAttribute::port_counters_extended));
    in.bytes[0x11] = static_cast<std::byte>(abi::wire::MadClass::performance);
    in.bytes[0x10 + 0x41] = std::byte{1}; // port
    const auto out = bench.run<prm::MadIfcOut>(in);
    const abi::ConstView<abi::wire::PortCountersExtended> data(
        std::span(out.bytes).subspan(0x10 + 0x40, abi::wire::PortCountersExtended::size));
    CHECK(data.get<"port_rcv_data">() == 13);
    CHECK(data.get<"port_unicast_rcv_packets">() == 1);
}

TEST_CASE("PortInfo tells EDR, as PTYS does", "[unit][firmware][mad]") {
    Bench bench;

    const auto out = bench.run<prm::MadIfcOut>(
        CommandBench::mad_input(abi::wire::MadMethod::get, abi::wire::SmAttribute::port_info));

    const auto data = std::span(out.bytes).subspan(0x10 + 0x40, 64);
    CHECK(std::to_integer<unsigned>(data[62]) ==
          0x23); // active EDR; supported FDR and EDR (Linux mlx5_ib reads it there)
    CHECK(std::to_integer<unsigned>(data[63]) == 3);
    CHECK((std::to_integer<unsigned>(data[22]) & 0x40) != 0); // CapabilityMask bit 14: extended speeds
    CHECK(std::to_integer<unsigned>(data[35]) >> 4 == 4);     // and 10 Gbit/s for who knows no others
}
