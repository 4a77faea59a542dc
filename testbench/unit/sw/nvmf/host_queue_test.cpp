// A host's queue, and a controller that does not keep to the rules.
#include "abi/nvme/completion.h"
#include "testbench/unit/sw/nvmf/fabric_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace sw::nvmf;
using abi::nvme::Status;
using testbench::Fabric;
using testbench::has;
using testbench::must;

namespace {

/// What a test makes of a controller: it answers as it is told, whatever was asked.
struct Liar {
    static constexpr std::uint16_t entries = 4;
    Fabric fabric;
    std::unique_ptr<HostQueue> queue = must(HostQueue::make(fabric.host_end.port, 1, entries, 0));
    std::unique_ptr<Channel> channel = must(
        Channel::make(fabric.target_end.port, {.sends = 16, .receives = 16, .capsule_bytes = 64, .sent_bytes = 64}));
    std::array<Response, 8> found;

    Liar() {
        fabric.is_served = false;
        must(channel->connect(queue->self()));
        must(queue->connect({.is_accepted = true, .peer = channel->self()}));
    }
    std::uint16_t ask() {
        HostQueue::Command flush;
        return must(queue->submit(flush));
    }
    void answer(std::uint16_t id, std::uint32_t bytes = abi::nvme::response_bytes) {
        abi::Block<abi::nvme::Completion> response;
        response.view().set<"cid">(id);
        std::ranges::copy(response.bytes, channel->sent().begin());
        const auto sge = channel->sent_element(0, bytes);
        must(channel->post({.sge = &sge,
                            .sge_count = 1,
                            .operation = sw::mlx::SendOperation::send,
                            .flags = sw::mlx::send_flag::signaled},
                           1));
        fabric.let(20);
    }
};

} // namespace

TEST_CASE("a command that is answered twice has ended once", "[unit][nvmf]") {
    Liar liar;
    const auto id = liar.ask();
    liar.answer(id);
    liar.answer(id);

    REQUIRE(liar.queue->poll(liar.found) == 1);
    CHECK(liar.found[0].id == id);
    CHECK(liar.found[0].is_ok());
    CHECK(liar.queue->strays() == 1);
    CHECK(liar.queue->room() == Liar::entries - 1);
    CHECK(liar.queue->under_way() == 0);
}

TEST_CASE("an answer to a command that nobody has given is none", "[unit][nvmf]") {
    Liar liar;
    liar.ask();
    for (const auto id : {Liar::entries, std::uint16_t{0xffff}})
        liar.answer(id);

    CHECK(liar.queue->poll(liar.found) == 0);
    CHECK(liar.queue->strays() == 2);
    CHECK(liar.queue->under_way() == 1);
    CHECK(liar.queue->is_connected());
}

TEST_CASE("a capsule that is no response ends the connection, and every command with it", "[unit][nvmf]") {
    for (const std::uint32_t bytes : {1u, 15u}) {
        CAPTURE(bytes);
        Liar liar;
        const auto first = liar.ask(), second = liar.ask();
        liar.answer(first, bytes);

        REQUIRE(liar.queue->poll(liar.found) == 2);
        for (const auto& one : std::span(liar.found).first(2)) {
            CHECK((one.id == first || one.id == second));
            CHECK(one.status == Status::host_path_error);
        }
        CHECK(!liar.queue->is_connected());
        CHECK(has(liar.queue->why(), "is no response"));
        CHECK(liar.queue->poll(liar.found) == 0);
    }
}

TEST_CASE("a response that is longer than one ends the connection", "[unit][nvmf]") {
    Liar liar;
    liar.ask();
    liar.answer(0, abi::nvme::response_bytes + 1);

    REQUIRE(liar.queue->poll(liar.found) == 1);
    CHECK(liar.found[0].status == Status::host_path_error);
    CHECK(!liar.queue->is_connected());
}
