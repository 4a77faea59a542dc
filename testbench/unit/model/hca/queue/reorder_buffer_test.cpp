// Packets that are kept until their turn comes (selective repeat).
#include "model/hca/queue/reorder_buffer.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>

using abi::Psn;
using model::hca::queue::ReorderBuffer;

TEST_CASE("each packet of a window has a place of its own, also where sequence numbers wrap", "[unit][selective]") {
    for (const std::uint32_t window : {2u, 3u, 100u, 1000u}) {
        const Psn first{Psn::mask + 1 - window / 2};
        ReorderBuffer held(window);
        for (std::uint32_t i = 0; i < window; ++i) {
            model::port::Packet packet;
            packet.rdma().psn = first + i;
            held.hold(packet);
        }

        for (std::uint32_t i = 0; i < window; ++i) {
            INFO("packet " << i << " of " << window);
            REQUIRE(held.find(first + i) != nullptr);
            CHECK(held.find(first + i)->rdma().psn == first + i);
        }
        held.drop(first);
        CHECK(held.find(first) == nullptr);
        CHECK(held.first_after(first + 1) == first + 1);
    }
}

TEST_CASE("what is held of packets whose turn is past goes when one behind them is asked for", "[unit][selective]") {
    ReorderBuffer held(8);
    for (const std::uint32_t psn : {10u, 11u, 13u}) {
        model::port::Packet packet;
        packet.rdma().psn = Psn{psn};
        held.hold(packet);
    }

    CHECK(held.first_after(Psn{12}) == Psn{13});

    CHECK(held.find(Psn{10}) == nullptr);
    CHECK(held.find(Psn{11}) == nullptr);
    CHECK(held.find(Psn{13}) != nullptr);
}
