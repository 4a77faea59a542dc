// Which queue's commands come next (NVMe base 2.0 "Command Arbitration").
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <vector>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;

namespace {

NvmeConfig weighted() {
    auto config = small();
    config.timed = true; // doorbells are rung before the first command is fetched
    config.has_weighted_round_robin = true;
    return config;
}

} // namespace

TEST_CASE("commands are fetched by urgency, and then by the weights of their queues' priorities", "[unit][nvme]") {
    constexpr std::uint32_t weighted_round_robin = 1 << 11;
    constexpr std::uint32_t by_three_two_one = 2u << 24 | 1u << 16 | 0u << 8; // HPW, MPW, LPW; bursts of one
    constexpr std::uint16_t urgent = 1, high = 2, medium = 3, low = 4;
    EventLog log;
    Bench b(weighted(), {&log, 1});
    b.enable(0x0046'0001 | weighted_round_robin);
    for (const auto id : {urgent, high, medium, low}) {
        const std::uint64_t sq = 0x200000 + id * 0x20000ull, cq = sq + 0x10000;
        b.memory.poke(cq, std::vector<std::byte>(16 * 16));
        REQUIRE(b.create(AdminOpcode::create_cq, cq, 15u << 16 | id, std::uint32_t{id} << 16 | 3) == Status::success);
        const auto priority = std::uint32_t{id} - 1;
        REQUIRE(b.create(AdminOpcode::create_sq, sq, 15u << 16 | id, std::uint32_t{id} << 16 | priority << 1 | 1) ==
                Status::success);
        b.queues[id] = {.sq = sq, .cq = cq, .size = 16};
    }
    REQUIRE(b.ask(0, AdminOpcode::set_features, 0, 1, by_three_two_one) == Status::success);

    for (const auto id : {low, medium, high, urgent}) {
        for (int i = 0; i < (id == urgent ? 2 : 6); ++i)
            b.place(id, Bench::command(static_cast<std::uint8_t>(IoOpcode::flush), 1));
        b.ring(id);
    }
    b.run();

    std::vector<std::uint16_t> order;
    for (const auto& fetched : log.all<traces::NvmeCommandFetched>())
        if (fetched.sqid != 0)
            order.push_back(fetched.sqid);
    CHECK(order == std::vector<std::uint16_t>{urgent, urgent,                            //
                                              high,   high,   high, medium, medium, low, //
                                              high,   high,   high, medium, medium, low, //
                                              medium, medium, low,  low,    low,    low});
}
