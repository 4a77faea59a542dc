// Two HCA cores on an InfiniBand cable with little room at its ends: everything arrives, nothing is sent again.
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using abi::prm::WqeOpcode;

namespace {

/// How long both ports waited for credit while 256 KiB moved.
Time move(std::uint32_t credit_blocks, WqeOpcode opcode) {
    model::net::LinkConfig link;
    link.encapsulation = model::port::Encapsulation::infiniband;
    link.credit_blocks = credit_blocks;
    model::hca::HcaConfig config;
    config.is_ethernet = false;
    HcaPair pair(link, config);
    pair.remake([&](auto& attributes) { attributes.path.rlid = config.lid; }); // both have the same
    pair.connect();
    constexpr std::uint32_t bytes = 256 << 10;
    const auto here = pair.a.make_region(bytes, 1), there = pair.b.make_region(bytes, 2);
    const bool is_read = opcode == WqeOpcode::rdma_read;
    const auto expected = is_read ? pair.b.bytes(there) : pair.a.bytes(here);

    pair.a.post(pair.a_qp, {.opcode = opcode, .sges = {here.sge()}, .remote = there.address, .rkey = there.key});
    pair.a.ring(pair.a_qp, pair.clock.now());
    pair.run(1s);

    const auto done = pair.a.drain(pair.a_cq);
    REQUIRE(done.size() == 1);
    CHECK(done[0].is_ok());
    CHECK((is_read ? pair.a.bytes(here) : pair.b.bytes(there)) == expected);
    CHECK(pair.a.hca.counters().retries == 0);
    Time waited{};
    for (const unsigned direction : {0u, 1u}) {
        CHECK(pair.link.under_way(direction) == 0);
        waited += pair.link.counters(direction).waited;
    }
    return waited;
}

} // namespace

TEST_CASE("cards that lack credit wait and lose nothing", "[unit][link][credits]") {
    for (const auto opcode : {WqeOpcode::rdma_write, WqeOpcode::rdma_read}) {
        CHECK(move(2048, opcode) == 0ns);
        CHECK(move(66, opcode) > 10us);
    }
}
