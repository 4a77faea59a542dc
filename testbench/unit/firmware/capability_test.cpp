#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using prm::CapabilityMode;
using prm::CapabilityType;
using prm::Opcode;
using prm::Status;

namespace {

Output<prm::QueryHcaCapOut> query(CommandBench& bench, CapabilityType type, CapabilityMode mode) {
    return bench.run<prm::QueryHcaCapOut>(Input<prm::QueryHcaCapIn>(
        Opcode::query_hca_cap,
        static_cast<std::uint16_t>(static_cast<unsigned>(type) << 1 | static_cast<unsigned>(mode))));
}
template <class L> abi::ConstView<L> page(const Output<prm::QueryHcaCapOut>& out) {
    return abi::ConstView<L>(std::span(out.bytes).subspan(16));
}
/// SET_HCA_CAP with a copy of the current page, changed by `edit`: what the stock driver does.
template <class Edit> Output<prm::SetHcaCapOut> set_general(CommandBench& bench, Edit&& edit) {
    Input<prm::SetHcaCapIn> in(Opcode::set_hca_cap);
    const auto current = query(bench, CapabilityType::general, CapabilityMode::current);
    std::ranges::copy(std::span(current.bytes).subspan(16), in.bytes.begin() + 16);
    edit(abi::View<prm::CmdHcaCap>(in.view().sub<"capability">().bytes()));
    return bench.run<prm::SetHcaCapOut>(in);
}
Output<prm::SetHcaCapOut> set_atomic_mode(CommandBench& bench, std::uint32_t mode) {
    Input<prm::SetHcaCapIn> in(Opcode::set_hca_cap, static_cast<std::uint16_t>(CapabilityType::atomic) << 1);
    abi::View<prm::AtomicCaps>(in.view().sub<"capability">().bytes()).set<"atomic_req_8b_endianness_mode">(mode);
    return bench.run<prm::SetHcaCapOut>(in);
}

} // namespace

TEST_CASE("a capability page goes as far as the driver gives room", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.initialize());

    // What rdma-core's tests give: the structure of the general page and its head.
    const auto out = bench.run<prm::CommandOut>(Input<prm::QueryHcaCapIn>(Opcode::query_hca_cap, 1), 16 + 0x800);

    REQUIRE(out.is_ok());
    CHECK(abi::ConstView<prm::CmdHcaCap>(std::span(out.bytes).subspan(16)).get<"log_max_qp">() ==
          bench.hca.config().log_max_qp);
}

TEST_CASE("the general page says what the configuration says", "[unit][firmware][capability]") {
    auto config = untimed();
    config.log_max_qp = 9;
    config.log_max_cq_size = 11;
    config.max_q_counters = 77;
    config.max_wqe_size_sq = 512;
    config.internal_timer_khz = 156'250;
    config.blue_flame = true;
    CommandBench bench(config);
    REQUIRE(bench.boot());
    const auto out = query(bench, CapabilityType::general, CapabilityMode::maximum);
    const auto cap = page<prm::CmdHcaCap>(out);

    CHECK(cap.get<"log_max_qp">() == 9);
    CHECK(cap.get<"log_max_cq_sz">() == 11);
    CHECK(cap.get<"max_qp_cnt">() == 77);
    CHECK(cap.get<"max_wqe_sz_sq">() == 512);
    CHECK(cap.get<"device_frequency_khz">() == 156'250);
    CHECK(cap.get<"log_bf_reg_size">() == 9);
    CHECK(cap.get<"bf">());
    CHECK(cap.get<"num_ports">() == 1);
}

TEST_CASE("the transport services are advertised, and nothing that is not built", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.boot());
    const auto out = query(bench, CapabilityType::general, CapabilityMode::maximum);
    const auto cap = page<prm::CmdHcaCap>(out);

    for (const auto service : {cap.get<"rc">(), cap.get<"uc">(), cap.get<"ud">(), cap.get<"xrc">()})
        CHECK(service == 1);
    CHECK(cap.get<"atomic">() == 1);
    for (const auto off :
         {cap.get<"dct">(), cap.get<"uctx_cap">(), cap.get<"umem_uid_0">(), cap.get<"eth_net_offloads">(),
          cap.get<"nic_flow_table">(), cap.get<"eswitch_manager">(), cap.get<"cqe_compression">()})
        CHECK(off == 0);
}

TEST_CASE("what each service may leave to a page fault is told, or that nothing may wait",
          "[unit][firmware][capability]") {
    for (const bool has_paging : {true, false}) {
        auto config = untimed();
        config.on_demand_paging = has_paging;
        CommandBench bench(config);
        REQUIRE(bench.boot());
        const auto general = query(bench, CapabilityType::general, CapabilityMode::maximum),
                   odp = query(bench, CapabilityType::odp, CapabilityMode::maximum);
        const auto scheme = page<prm::OdpCap>(odp).sub<"transport_page_fault_scheme_cap">();

        CHECK(page<prm::CmdHcaCap>(general).get<"pg">() == has_paging);
        for (const auto connected : {scheme.sub<"rc_odp_caps">(), scheme.sub<"xrc_odp_caps">()})
            for (const auto may : {connected.get<"send">(), connected.get<"receive">(), connected.get<"write">(),
                                   connected.get<"read">(), connected.get<"atomic">(), connected.get<"srq_receive">()})
                CHECK(may == has_paging);
        CHECK(scheme.sub<"ud_odp_caps">().get<"send">() == has_paging);
        CHECK(scheme.sub<"ud_odp_caps">().get<"srq_receive">() == 0);
        CHECK(scheme.sub<"uc_odp_caps">().get<"send">() == 0);
        CHECK(page<prm::OdpCap>(odp).get<"mem_page_fault">() == 0);
    }
}

TEST_CASE("the kind of port decides between RoCE and InfiniBand capabilities", "[unit][firmware][capability]") {
    for (const bool is_ethernet : {true, false}) {
        auto config = untimed();
        config.is_ethernet = is_ethernet;
        CommandBench bench(config);
        REQUIRE(bench.boot());
        const auto out = query(bench, CapabilityType::general, CapabilityMode::current);

        CHECK(page<prm::CmdHcaCap>(out).get<"port_type">() == (is_ethernet ? 1 : 0));
        CHECK(page<prm::CmdHcaCap>(out).get<"roce">() == (is_ethernet ? 1 : 0));
        CHECK(page<prm::CmdHcaCap>(out).get<"ib_virt">() == (is_ethernet ? 0 : 1));
        CHECK((page<prm::RoceCap>(query(bench, CapabilityType::roce, CapabilityMode::current)).get<"roce_version">() !=
               0) == is_ethernet);
    }
}

TEST_CASE("the page of a feature that the device lacks is all zero", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.initialize());

    const auto out = query(bench, CapabilityType::dev_mem, CapabilityMode::current);

    REQUIRE(out.is_ok());
    CHECK(std::ranges::all_of(std::span(out.bytes).subspan(16), [](std::byte b) { return b == std::byte{}; }));
}

TEST_CASE("setting a copy of the current page changes nothing", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.boot());
    const auto before = query(bench, CapabilityType::general, CapabilityMode::current);
    REQUIRE(set_general(bench, [](auto) {}).is_ok());

    CHECK(query(bench, CapabilityType::general, CapabilityMode::current).bytes == before.bytes);
}

TEST_CASE("what a driver chooses is in force, the maximum stays", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.boot());
    REQUIRE(set_general(bench, [](abi::View<prm::CmdHcaCap> cap) { cap.set<"log_max_qp">(3).set<"roce">(0); }).is_ok());

    const auto current = query(bench, CapabilityType::general, CapabilityMode::current);
    CHECK(page<prm::CmdHcaCap>(current).get<"log_max_qp">() == 3);
    CHECK(page<prm::CmdHcaCap>(current).get<"roce">() == 0);
    CHECK(page<prm::CmdHcaCap>(query(bench, CapabilityType::general, CapabilityMode::maximum)).get<"log_max_qp">() ==
          17);

    REQUIRE(bench.give(0x50000000, bench.missing(prm::PageQuery::init)));
    REQUIRE(bench.run<prm::InitHcaOut>(Input<prm::InitHcaIn>(Opcode::init_hca)).is_ok());
    const auto objects = bench.make_objects();
    for (int i = 0; i < 4; ++i) // numbers 4 to 7
        CHECK(bench.run<prm::CreateQpOut>(CommandBench::qp_input(objects.pd, objects.uar, objects.cqn)).is_ok());
    CHECK(bench.run<prm::CreateQpOut>(CommandBench::qp_input(objects.pd, objects.uar, objects.cqn)).status() ==
          Status::limits_exceeded);
}

TEST_CASE("a field that is not the driver's to choose is left alone", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.boot());
    REQUIRE(set_general(bench, [](abi::View<prm::CmdHcaCap> cap) { cap.set<"dct">(1).set<"log_max_pd">(31); }).is_ok());

    const auto current = query(bench, CapabilityType::general, CapabilityMode::current);
    CHECK(page<prm::CmdHcaCap>(current).get<"dct">() == 0);
    CHECK(page<prm::CmdHcaCap>(current).get<"log_max_pd">() == 16);
}

TEST_CASE("a page of zeros but for the atomic mode is merged, not copied", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.boot());
    CHECK(page<prm::AtomicCaps>(query(bench, CapabilityType::atomic, CapabilityMode::current))
              .get<"atomic_req_8b_endianness_mode">() == 0);
    REQUIRE(set_atomic_mode(bench, 1).is_ok());

    const auto current = query(bench, CapabilityType::atomic, CapabilityMode::current);
    const auto cap = page<prm::AtomicCaps>(current);
    CHECK(cap.get<"atomic_req_8b_endianness_mode">() == 1);
    CHECK(cap.get<"supported_atomic_req_8b_endianness_mode_1">() == 1);
    CHECK(cap.get<"atomic_operations">() == 3);
    CHECK(cap.get<"atomic_size_qp">() == 8);
}

TEST_CASE("capabilities are set before INIT_HCA, and forgotten by DISABLE_HCA", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.boot());
    REQUIRE(set_atomic_mode(bench, 1).is_ok());
    REQUIRE(bench.run<prm::DisableHcaOut>(Input<prm::DisableHcaIn>(Opcode::disable_hca), 12).is_ok());
    REQUIRE(bench.initialize());

    CHECK(page<prm::AtomicCaps>(query(bench, CapabilityType::atomic, CapabilityMode::current))
              .get<"atomic_req_8b_endianness_mode">() == 0);
    CHECK(set_atomic_mode(bench, 1).status() == Status::bad_system_state);
}

TEST_CASE("the adapter has a vendor and a board", "[unit][firmware][capability]") {
    CommandBench bench;
    REQUIRE(bench.boot());
    const auto out = bench.run<prm::QueryAdapterOut>(Input<prm::QueryAdapterIn>(Opcode::query_adapter));

    CHECK(out.view().sub<"query_adapter_struct">().get<"ieee_vendor_id">() == 0x2c9);
    CHECK(out.view().sub<"query_adapter_struct">().get<"vsd_contd_psid">()[0] == std::byte{'H'});
}
