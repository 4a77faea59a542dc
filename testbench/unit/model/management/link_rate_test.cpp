// What ports say of the rate of their cable. Codes of PTYS: Linux's enum mlx5_ptys_width, ib_port_speed,
// mlx5e_link_mode and mlx5e_ext_link_mode.
#include "model/management/link_rate.h"
#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::wire::PortInfo;
using abi::wire::PortInfoExtended;

namespace {

struct Bench : CommandBench {
    Bench(double gbps, bool is_ethernet) : CommandBench(config(gbps, is_ethernet)) { REQUIRE(initialize()); }
    static model::hca::HcaConfig config(double gbps, bool is_ethernet) {
        auto config = untimed();
        config.is_ethernet = is_ethernet;
        config.port_rate_gbps = gbps;
        return config;
    }
    abi::Block<prm::PtysReg> ptys() {
        Input<prm::AccessRegIn> in(prm::Opcode::access_reg, static_cast<std::uint16_t>(prm::RegisterAction::read));
        in.set<"register_id">(static_cast<std::uint32_t>(prm::RegisterId::ptys));
        abi::Block<prm::PtysReg> reg;
        reg.view().set<"local_port">(1);
        in.bytes.insert(in.bytes.end(), reg.bytes.begin(), reg.bytes.end());
        const auto out = run<prm::AccessRegOut>(in, 0x10 + prm::PtysReg::size);
        REQUIRE(out.is_ok());
        std::copy_n(out.bytes.begin() + 0x10, reg.bytes.size(), reg.bytes.begin());
        return reg;
    }
};

} // namespace

TEST_CASE("an InfiniBand port says the fastest speed that is no faster than its cable", "[unit][management][rate]") {
    struct Row {
        double gbps;
        unsigned ptys_width, ptys_speed;
        unsigned width, speed, extended;
    };
    for (const auto& row :
         {Row{0.001, 1, 1, 1, 1, 0}, Row{10, 4, 1, 2, 1, 0}, Row{25, 1, 0x20, 1, 4, 2}, Row{40, 4, 4, 2, 4, 0},
          Row{56, 4, 0x10, 2, 4, 1}, Row{99, 4, 0x10, 2, 4, 1}, Row{100, 4, 0x20, 2, 4, 2}, Row{0, 4, 0x20, 2, 4, 2},
          Row{200, 4, 0x40, 2, 4, 4}, Row{400, 4, 0x80, 2, 4, 8}, Row{3200, 4, 0x80, 2, 4, 8}}) {
        INFO(row.gbps << " Gbit/s");
        Bench bench(row.gbps, false);
        const auto ptys = bench.ptys();
        CHECK(ptys.view().get<"ib_link_width_oper">() == row.ptys_width);
        CHECK(ptys.view().get<"ib_proto_oper">() == row.ptys_speed);
        const auto out = bench.run<prm::MadIfcOut>(
            CommandBench::mad_input(abi::wire::MadMethod::get, abi::wire::SmAttribute::port_info));
        const std::span<const std::byte> data = std::span(out.bytes).subspan(0x50, 64);
        const abi::ConstView<PortInfo> info(data.first<PortInfo::size>());
        const abi::ConstView<PortInfoExtended> rest(data.first<PortInfoExtended::size>());
        CHECK(info.get<"link_width_active">() == row.width);
        CHECK(info.get<"link_speed_active">() == row.speed);
        CHECK(rest.get<"link_speed_ext_active">() == row.extended);
        // Linux believes HDR and NDR only of ports that say so in their second mask (mlx5_ib, mad.c).
        CHECK((rest.get<"cap_mask2">() >> 5 & 1) == (row.extended >= 4));
        CHECK((rest.get<"cap_mask2">() >> 10 & 1) == (row.extended >= 8));
        CHECK((info.get<"cap_mask">() >> 15 & 1) == (row.extended >= 4));
    }
}

TEST_CASE("an Ethernet port says the fastest mode that is no faster than its cable", "[unit][management][rate]") {
    struct Row {
        double gbps;
        std::uint32_t plain, extended;
    };
    for (const auto& row : {Row{0.5, 1u << 1, 0}, Row{10, 1u << 12, 0}, Row{25, 1u << 27, 0}, Row{26, 1u << 27, 0},
                            Row{40, 1u << 6, 0}, Row{50, 1u << 30, 0}, Row{100, 1u << 20, 0}, Row{0, 1u << 20, 0},
                            Row{200, 0, 1u << 12}, Row{400, 0, 1u << 16}, Row{800, 0, 1u << 16}}) {
        INFO(row.gbps << " Gbit/s");
        Bench bench(row.gbps, true);
        const auto ptys = bench.ptys();
        CHECK(ptys.view().get<"eth_proto_oper">() == row.plain);
        CHECK(ptys.view().get<"ext_eth_proto_oper">() == row.extended);
        CHECK(ptys.view().get<"ext_eth_proto_capability">() == row.extended);
    }
}
