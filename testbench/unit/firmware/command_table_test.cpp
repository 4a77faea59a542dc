#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace harness;
using firmware::Phase;
using prm::Opcode;
using prm::Status;

namespace {

/// The life cycle, written down again (PRM "HCA initialization"). What is in none of these needs INIT_HCA.
const std::set<Opcode> when_disabled{Opcode::enable_hca};
const std::set<Opcode> when_enabled{Opcode::disable_hca, Opcode::query_issi, Opcode::set_issi, Opcode::query_pages,
                                    Opcode::manage_pages};
const std::set<Opcode> when_booted{
    Opcode::disable_hca,   Opcode::query_issi,  Opcode::set_issi,      Opcode::query_pages, Opcode::manage_pages,
    Opcode::query_hca_cap, Opcode::set_hca_cap, Opcode::query_adapter, Opcode::access_reg,  Opcode::init_hca};
const std::set<Opcode> not_when_initialized{Opcode::enable_hca, Opcode::disable_hca, Opcode::set_issi,
                                            Opcode::set_hca_cap, Opcode::init_hca};

bool is_expected(Opcode opcode, Phase phase) {
    switch (phase) {
    case Phase::disabled: return when_disabled.contains(opcode);
    case Phase::enabled: return when_enabled.contains(opcode);
    case Phase::booted: return when_booted.contains(opcode);
    case Phase::initialized: return !not_when_initialized.contains(opcode);
    }
    return false;
}
void bring(CommandBench& bench, Phase phase) {
    if (phase == Phase::enabled)
        REQUIRE(bench.enable());
    if (phase == Phase::booted)
        REQUIRE(bench.boot());
    if (phase == Phase::initialized)
        REQUIRE(bench.initialize());
    REQUIRE(bench.device.state().phase() == phase);
}
bool is_advertised(const firmware::Command& command, const CommandBench& bench) {
    return !command.advertised.is_on || command.advertised.is_on(bench.device.state().capabilities.general_maximum());
}
/// Zeros behind the header: enough to see which rule strikes first.
Output<prm::CommandOut> send(CommandBench& bench, Opcode opcode, std::size_t in_length, std::size_t out_length) {
    Input<prm::CommandIn> in(opcode);
    in.bytes.resize(in_length);
    return bench.run<prm::CommandOut>(in, out_length);
}

} // namespace

TEST_CASE("each command is legal in its phases and a bad system state in every other", "[unit][firmware][table]") {
    for (const auto phase : {Phase::disabled, Phase::enabled, Phase::booted, Phase::initialized})
        for (const bool is_ethernet : {true, false})
            for (const auto& command : firmware::commands()) {
                INFO(command.name() << " in phase " << static_cast<int>(phase));
                auto config = untimed();
                config.is_ethernet = is_ethernet;
                CommandBench bench(config);
                if (!is_advertised(command, bench))
                    continue;
                bring(bench, phase);
                const auto out = send(bench, command.opcode, command.in_size, command.out_size);

                CHECK((out.status() == Status::bad_system_state) == !is_expected(command.opcode, phase));
            }
}

TEST_CASE("each command refuses an input or output that is too short, by one byte and entirely",
          "[unit][firmware][table]") {
    for (const auto& command : firmware::commands()) {
        INFO(command.name());
        CommandBench bench;
        if (!is_advertised(command, bench))
            continue;
        for (const auto phase : {Phase::initialized, Phase::booted, Phase::enabled, Phase::disabled})
            if (is_expected(command.opcode, phase)) {
                bring(bench, phase);
                break;
            }
        CHECK(send(bench, command.opcode, command.in_size - 1, command.out_size).status() == Status::bad_input_length);
        CHECK(send(bench, command.opcode, 8, command.out_size).status() == Status::bad_input_length);
        CHECK(send(bench, command.opcode, command.in_size, command.out_least - 1).status() ==
              Status::bad_output_length);
        CHECK(send(bench, command.opcode, command.in_size, 8).status() == Status::bad_output_length);
        CHECK(send(bench, command.opcode, command.in_max + 8, command.out_size).status() == Status::bad_input_length);
    }
}

TEST_CASE("every opcode that has no row is a bad operation", "[unit][firmware][table]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    for (unsigned opcode = 0; opcode < 0x1000; ++opcode)
        if (firmware::find_command(static_cast<Opcode>(opcode)) == nullptr)
            CHECK(send(bench, static_cast<Opcode>(opcode), 64, 64).status() == Status::bad_operation);
}

TEST_CASE("a refusal says its status, its syndrome and its sentence, a success says none", "[unit][firmware][table]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    const auto out = bench.run<prm::DeallocPdOut>(Input<prm::DeallocPdIn>(Opcode::dealloc_pd).set<"pd">(99u));
    bench.alloc_pd();

    const auto executed = bench.log.all<traces::CommandExecuted>();
    const auto& refused = executed[executed.size() - 2];
    CHECK(out.status() == Status::bad_resource);
    CHECK(refused.syndrome == out.syndrome());
    CHECK(refused.command == "DEALLOC_PD");
    CHECK(refused.why == "pd names no protection domain");
    CHECK(executed.back().status == 0);
    CHECK(executed.back().syndrome == 0);
    CHECK(executed.back().why.empty());
}

TEST_CASE("the output of a refused command holds nothing but status and syndrome", "[unit][firmware][table]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    bench.memory.poke(CommandBench::out_box(0, 0), std::vector<std::byte>(512, std::byte{0xaa}));
    const auto out = bench.run<prm::QueryCqOut>(Input<prm::QueryCqIn>(Opcode::query_cq).set<"cqn">(1u));

    CHECK(out.status() == Status::bad_resource);
    for (std::size_t i = 8; i < 16; ++i)
        CHECK(out.bytes[i] == std::byte{0});
}
