#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using prm::Opcode;
using prm::RegisterAction;
using prm::RegisterId;

namespace {

struct Port : CommandBench {
    explicit Port(bool is_ethernet) : CommandBench(config(is_ethernet)) { REQUIRE(initialize()); }
    static model::hca::HcaConfig config(bool is_ethernet) {
        auto c = untimed();
        c.is_ethernet = is_ethernet;
        c.node_guid = 0x0002c90300aabbcc;
        c.lid = 7;
        return c;
    }
    /// Reads or writes a register; the answer is the register's bytes.
    template <class L>
    Output<prm::AccessRegOut> access(RegisterId id, RegisterAction action, const abi::Block<L>& reg) {
        Input<prm::AccessRegIn> in(Opcode::access_reg, static_cast<std::uint16_t>(action));
        in.set<"register_id">(static_cast<std::uint32_t>(id));
        in.bytes.insert(in.bytes.end(), reg.bytes.begin(), reg.bytes.end());
        return run<prm::AccessRegOut>(in, in.bytes.size());
    }
};
template <class L> abi::Block<L> port_1() {
    abi::Block<L> reg;
    reg.view().template set<"local_port">(1);
    return reg;
}
template <class L> abi::ConstView<L> reg(const Output<prm::AccessRegOut>& out) {
    return abi::ConstView<L>(std::span(out.bytes).subspan(prm::AccessRegOut::size));
}

} // namespace

TEST_CASE("an InfiniBand port is active and has LID, GUIDs, one GID and one P_Key", "[unit][firmware][port]") {
    Port bench(false);
    const auto out =
        bench.run<prm::QueryHcaVportContextOut>(Input<prm::QueryHcaVportContextIn>(Opcode::query_hca_vport_context));
    const auto context = out.view().sub<"hca_vport_context">();
    CHECK(context.get<"vport_state">() == prm::PortState::active);
    CHECK(context.get<"port_physical_state">() == prm::PortPhysicalState::link_up);
    CHECK(context.get<"lid">() == 7);
    CHECK(context.get<"node_guid">() == 0x0002c90300aabbcc);

    const auto gids = bench.run<prm::QueryHcaVportGidOut>(
        Input<prm::QueryHcaVportGidIn>(Opcode::query_hca_vport_gid).set<"gid_index">(0xffffu), 16 + 8 * 16);
    CHECK(gids.get<"gids_num">() == 8);
    CHECK(abi::load<std::uint64_t, std::endian::big>(gids.bytes.data() + 16) == 0xfe80000000000000);
    CHECK(abi::load<std::uint64_t, std::endian::big>(gids.bytes.data() + 24) == 0x0002c90300aabbcc);
    CHECK(abi::load<std::uint64_t, std::endian::big>(gids.bytes.data() + 40) == 0);

    const auto pkeys = bench.run<prm::QueryHcaVportPkeyOut>(
        Input<prm::QueryHcaVportPkeyIn>(Opcode::query_hca_vport_pkey).set<"pkey_index">(0xffffu), 16 + 128 * 4);
    REQUIRE(pkeys.is_ok());
    CHECK(abi::load<std::uint32_t, std::endian::big>(pkeys.bytes.data() + 16) == 0xffff);
    CHECK(abi::load<std::uint32_t, std::endian::big>(pkeys.bytes.data() + 20) == 0);
}

TEST_CASE("the registers of an InfiniBand port speak of lanes, lanes' speed and 4096 bytes", "[unit][firmware][port]") {
    Port bench(false);
    const auto ptys = bench.access(RegisterId::ptys, RegisterAction::read, port_1<prm::PtysReg>());
    CHECK(reg<prm::PtysReg>(ptys).get<"ib_link_width_oper">() == 4);
    CHECK(reg<prm::PtysReg>(ptys).get<"ib_proto_oper">() == 0x20);
    CHECK(reg<prm::PtysReg>(ptys).get<"eth_proto_oper">() == 0);
    const auto pmtu = bench.access(RegisterId::pmtu, RegisterAction::read, port_1<prm::PmtuReg>());
    CHECK(reg<prm::PmtuReg>(pmtu).get<"max_mtu">() == 4096);
    CHECK(reg<prm::PmtuReg>(pmtu).get<"oper_mtu">() == 4096);
    const auto pvlc = bench.access(RegisterId::pvlc, RegisterAction::read, port_1<prm::PvlcReg>());
    CHECK(reg<prm::PvlcReg>(pvlc).get<"vl_hw_cap">() == 1);
}

TEST_CASE("an Ethernet port has a MAC made of its GUID, an MTU to choose and RoCE to switch on",
          "[unit][firmware][port]") {
    Port bench(true);
    const auto query = [&] {
        return bench.run<prm::QueryNicVportContextOut>(
            Input<prm::QueryNicVportContextIn>(Opcode::query_nic_vport_context));
    };
    const auto before = query();
    CHECK(before.view().sub<"nic_vport_context">().sub<"permanent_address">().get<"mac_addr_47_32">() == 0x0002);
    CHECK(before.view().sub<"nic_vport_context">().sub<"permanent_address">().get<"mac_addr_31_0">() == 0xc9aabbcc);
    CHECK(before.view().sub<"nic_vport_context">().get<"roce_en">() == 0);

    Input<prm::ModifyNicVportContextIn> in(Opcode::modify_nic_vport_context);
    in.view().sub<"field_select">().set<"roce_en">(1).set<"mtu">(1).set<"permanent_address">(1);
    in.view().sub<"nic_vport_context">().set<"roce_en">(1).set<"mtu">(9000);
    in.view().sub<"nic_vport_context">().sub<"permanent_address">().set<"mac_addr_31_0">(0x01020304);
    REQUIRE(bench.run<prm::ModifyNicVportContextOut>(in).is_ok());
    const auto after = query();
    CHECK(after.view().sub<"nic_vport_context">().get<"roce_en">() == 1);
    CHECK(after.view().sub<"nic_vport_context">().get<"mtu">() == 9000);
    CHECK(bench.hca.identity().mac[5] == std::byte{4});

    auto mtu = port_1<prm::PmtuReg>();
    mtu.view().set<"admin_mtu">(4200);
    REQUIRE(bench.access(RegisterId::pmtu, RegisterAction::write, mtu).is_ok());
    const auto pmtu = bench.access(RegisterId::pmtu, RegisterAction::read, port_1<prm::PmtuReg>());
    CHECK(reg<prm::PmtuReg>(pmtu).get<"oper_mtu">() == 4200);
}

TEST_CASE("the port is switched off and on by PAOS", "[unit][firmware][port]") {
    Port bench(true);
    const auto state = [&] {
        return bench.run<prm::QueryVportStateOut>(Input<prm::QueryVportStateIn>(Opcode::query_vport_state))
            .get<"state">();
    };
    CHECK(state() == 1);
    for (const std::uint32_t status : {2u, 1u}) {
        auto paos = port_1<prm::PaosReg>();
        paos.view().set<"admin_status">(status);
        REQUIRE(bench.access(RegisterId::paos, RegisterAction::write, paos).is_ok());
        const auto out = bench.access(RegisterId::paos, RegisterAction::read, port_1<prm::PaosReg>());
        CHECK(reg<prm::PaosReg>(out).get<"oper_status">() == status);
        CHECK(state() == (status == 1 ? 1 : 0));
        CHECK(bench.wire.is_on == (status == 1));
    }
}

TEST_CASE("the node description is kept until the device is disabled", "[unit][firmware][port]") {
    Port bench(true);
    using Description = abi::Layout<"node_desc", 64, abi::Raw<"text", 0, 64>>;
    abi::Block<Description> text;
    text.bytes[0] = std::byte{'x'};
    REQUIRE(bench.access(RegisterId::node_desc, RegisterAction::write, text).is_ok());

    CHECK(bench.access(RegisterId::node_desc, RegisterAction::read, abi::Block<Description>{}).bytes[16] ==
          std::byte{'x'});
}

TEST_CASE("an entry of the RoCE address table is set, read and taken out", "[unit][firmware][port]") {
    Port bench(true);
    REQUIRE(bench.set_gid(3));
    const auto& entry = bench.hca.identity().gids[3];
    CHECK(entry.is_valid);
    CHECK(entry.is_ipv4);
    CHECK(entry.gid[15] == std::byte{4});
    CHECK(entry.mac == model::port::MacAddress{std::byte{0}, std::byte{0}, std::byte{0x11}, std::byte{0x22},
                                               std::byte{0x33}, std::byte{0x44}});

    const auto read = [&] {
        return bench.run<prm::QueryRoceAddressOut>(
            Input<prm::QueryRoceAddressIn>(Opcode::query_roce_address).set<"roce_address_index">(3u));
    };
    CHECK(read().view().sub<"roce_address">().get<"roce_version">() == 2);
    CHECK(read().view().sub<"roce_address">().get<"source_mac_31_0">() == 0x11223344);

    REQUIRE(bench
                .run<prm::SetRoceAddressOut>(
                    Input<prm::SetRoceAddressIn>(Opcode::set_roce_address).set<"roce_address_index">(3u))
                .is_ok());
    CHECK(!entry.is_valid);
    CHECK(read().view().sub<"roce_address">().get<"source_l3_address">() == model::port::Gid{});
}

TEST_CASE("a counter set gives its values, and zeros after it was cleared", "[unit][firmware][port]") {
    Port bench(true);
    const auto set =
        bench.run<prm::AllocQCounterOut>(Input<prm::AllocQCounterIn>(Opcode::alloc_q_counter)).get<"counter_set_id">();
    auto* counters = bench.hca.q_counters().find(set);
    REQUIRE(counters != nullptr);
    counters->rx_write_requests = 5;
    counters->out_of_sequence = 6;
    counters->req_cqe_flush_error = 7;
    const auto query = [&](std::uint32_t clear) {
        return bench.run<prm::QueryQCounterOut>(
            Input<prm::QueryQCounterIn>(Opcode::query_q_counter).set<"counter_set_id">(set).set<"clear">(clear));
    };

    CHECK(query(0).get<"rx_write_requests">() == 5);
    CHECK(query(0).get<"out_of_sequence">() == 6);
    CHECK(query(1).get<"req_cqe_flush_error">() == 7);
    CHECK(query(0).get<"rx_write_requests">() == 0);
}
