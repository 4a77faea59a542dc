// Every refusal of the firmware has a mistake that provokes it, and each mistake gets its refusal and no other.
#include "testbench/harness/provocation.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_vector.hpp>

#include <set>
#include <string>

using namespace harness;

namespace {

const auto chapters = {life_cycle_mistakes, register_mistakes, queue_mistakes, mkey_mistakes,
                       qp_mistakes,         port_mistakes,     srq_mistakes,   user_context_mistakes};

void prepare(CommandBench& bench, Start start) {
    switch (start) {
    case Start::off: return;
    case Start::enabled: REQUIRE(bench.enable()); return;
    case Start::booted: REQUIRE(bench.boot()); return;
    case Start::initialized: REQUIRE(bench.initialize()); return;
    }
}

} // namespace

TEST_CASE("each mistake is refused for its own reason, and the log says which", "[conformance][firmware]") {
    for (const auto& chapter : chapters)
        for (const auto& mistake : chapter()) {
            INFO(mistake.refusal);
            auto config = untimed();
            if (mistake.configure)
                mistake.configure(config);
            CommandBench bench(config);
            prepare(bench, mistake.start);

            CHECK(mistake.make(bench) == mistake.refusal);

            const auto row = std::ranges::find(firmware::refusals(), mistake.refusal, &firmware::Refusal::name);
            REQUIRE(row != firmware::refusals().end());
            const auto executed = bench.log.all<traces::CommandExecuted>();
            REQUIRE(!executed.empty());
            CHECK(executed.back().why == row->why);
            CHECK(executed.back().status == static_cast<std::uint8_t>(row->status));
        }
}

TEST_CASE("no refusal is without a mistake that provokes it", "[conformance][firmware]") {
    std::set<std::string> provoked, defined;
    for (const auto& chapter : chapters)
        for (const auto& mistake : chapter())
            provoked.emplace(mistake.refusal);
    for (const auto& row : firmware::refusals())
        defined.emplace(row.name);

    CHECK(provoked == defined);
}

TEST_CASE("a refused command leaves the device as it was", "[conformance][firmware]") {
    for (const auto& chapter : {queue_mistakes, mkey_mistakes, qp_mistakes, user_context_mistakes})
        for (const auto& mistake : chapter()) {
            INFO(mistake.refusal);
            auto config = untimed();
            if (mistake.configure)
                mistake.configure(config);
            CommandBench bench(config);
            prepare(bench, mistake.start);
            mistake.make(bench);

            // Whatever was created on the way can be torn down, and the same recipe works again.
            REQUIRE(bench.run<prm::TeardownHcaOut>(Input<prm::TeardownHcaIn>(prm::Opcode::teardown_hca)).is_ok());
            CHECK(bench.device.state().pages.objects() == 0);
            REQUIRE(bench.run<prm::DisableHcaOut>(Input<prm::DisableHcaIn>(prm::Opcode::disable_hca), 12).is_ok());
            CHECK(bench.initialize());
        }
}
