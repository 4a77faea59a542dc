#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using prm::Opcode;
using prm::QpState;
using prm::Status;

TEST_CASE("the start-up recipe leads from power-on to a queue pair that is ready to send", "[unit][firmware]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    REQUIRE(bench.set_gid());
    const auto objects = bench.make_objects();
    const auto qpn = bench.make_qp(objects);
    CHECK(qpn >= 0x40);
    CHECK(bench.state_of(qpn) == QpState::rst);

    REQUIRE(bench.transit(Opcode::rst2init_qp, qpn).is_ok());
    CHECK(bench.state_of(qpn) == QpState::init);
    const auto rtr = bench.transit(Opcode::init2rtr_qp, qpn);
    CHECK(rtr.refusal() == "");
    CHECK(bench.state_of(qpn) == QpState::rtr);
    REQUIRE(bench.transit(Opcode::rtr2rts_qp, qpn).is_ok());
    CHECK(bench.state_of(qpn) == QpState::rts);
}

TEST_CASE("the way back gives every page to the driver, exactly the addresses it lent", "[unit][firmware][pages]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    REQUIRE(bench.set_gid());
    const auto objects = bench.make_objects();
    bench.make_qp(objects);
    REQUIRE(bench.run<prm::TeardownHcaOut>(Input<prm::TeardownHcaIn>(Opcode::teardown_hca)).is_ok());

    std::vector<std::uint64_t> back;
    for (;;) {
        Input<prm::ManagePagesIn> in(Opcode::manage_pages, static_cast<std::uint16_t>(prm::PageAction::take));
        in.set<"input_num_entries">(13u);
        const auto out = bench.run<prm::ManagePagesOut>(in, 16 + 13 * 8, 31);
        REQUIRE(out.is_ok());
        const auto count = out.get<"output_num_entries">();
        if (count == 0)
            break;
        for (std::size_t i = 0; i < count; ++i)
            back.push_back(abi::load<std::uint64_t, std::endian::big>(out.bytes.data() + 16 + 8 * i));
    }

    std::vector<std::uint64_t> given;
    for (std::uint64_t i = 0; i < 16; ++i)
        given.push_back(0x40000000 + i * 4096);
    for (std::uint64_t i = 0; i < 64; ++i)
        given.push_back(0x50000000 + i * 4096);
    std::ranges::sort(back);
    CHECK(back == given);
    CHECK(bench.run<prm::DisableHcaOut>(Input<prm::DisableHcaIn>(Opcode::disable_hca), 12).is_ok());
    CHECK(bench.enable());
}
