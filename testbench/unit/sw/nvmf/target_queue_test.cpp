// Commands of one queue of a target: in which order they go on, and what becomes of those that wait.
#include "testbench/unit/sw/nvmf/fabric_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace sw::nvmf;
using abi::nvme::Status;
using testbench::Connected;
using testbench::must;

namespace {

std::uint16_t submit_read(Connected& fabric, unsigned queue, std::uint64_t block) {
    auto command = fabric.space->read({block, 1});
    return must(fabric.host->queue(queue).submit(command, fabric.data(block * 512, 512)));
}

/// What has been answered so far, in this order.
std::vector<Response> answers_of(HostQueue& queue) {
    std::vector<Response> all;
    std::array<Response, 8> found;
    for (std::size_t count = 1; count != 0;) {
        count = queue.poll(found);
        all.insert(all.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return all;
}

/// The target's end of the cable, which can lose what acknowledges.
struct Deaf final : model::port::Receiver {
    explicit Deaf(model::port::Receiver& device) : device_(device) {}
    void receive(model::port::Packet& packet, model::port::Time at) override {
        if (!is_deaf || packet.traits().kind != abi::wire::OperationTraits::Kind::acknowledge)
            device_.receive(packet, at);
    }
    void received_all(model::port::Time at) override { device_.received_all(at); }
    bool can_receive(model::port::Time at) override { return device_.can_receive(at); }
    void link_changed(bool is_up, model::port::Time at) override { device_.link_changed(is_up, at); }
    void ready(model::port::Time at) override { device_.ready(at); }
    bool is_deaf = false;

private:
    model::port::Receiver& device_;
};

/// One command at a time has memory.
testbench::FabricOptions with_one_piece() { return {.target = {.in_capsule_bytes = 0}, .payload_bytes = 128 << 10}; }

} // namespace

TEST_CASE("a command does not pass one that waits for memory", "[unit][nvmf]") {
    Connected fabric(with_one_piece());
    auto& queue = fabric.host->queue(0);
    fabric.is_served = false;
    const auto first = submit_read(fabric, 0, 0), second = submit_read(fabric, 0, 1);
    fabric.target->poll(); // the first one is answered, and its memory is not back yet
    const auto before = answers_of(queue);
    REQUIRE(before.size() == 1);
    CHECK(before[0].id == first);

    const auto third = submit_read(fabric, 0, 2);
    fabric.is_served = true;
    fabric.let();

    const auto after = answers_of(queue);
    REQUIRE(after.size() == 2);
    CHECK(after[0].id == second);
    CHECK(after[1].id == third);
}

TEST_CASE("queues have memory in turns", "[unit][nvmf]") {
    Connected fabric(with_one_piece(), {.queues = 2});
    constexpr std::size_t commands = 16;
    for (std::uint64_t i = 0; i < commands; ++i)
        for (const unsigned queue : {0u, 1u})
            submit_read(fabric, queue, i);
    std::array<std::size_t, 2> answered{};

    for (int i = 0; i < 1000 && answered[0] < commands; ++i) {
        fabric.machines.b.relax();
        for (const unsigned queue : {0u, 1u})
            answered[queue] += answers_of(fabric.host->queue(queue)).size();
    }

    CHECK(answered[0] == commands);
    CHECK(answered[1] + 2 >= commands);
}

TEST_CASE("an answer that waits for room in the send queue does not wait for commands that want its memory",
          "[unit][nvmf]") {
    Connected fabric(with_one_piece(), {.entries = 3});
    auto& queue = fabric.host->queue(0);
    fabric.fill(0, 1024, 0);
    Deaf deaf(*fabric.machines.a.device.receiver(0));
    fabric.machines.link.attach(0, deaf);
    fabric.is_served = false, deaf.is_deaf = true;
    for (unsigned i = 0; i < 3 * 3; ++i) { // what the send queue holds, none of it acknowledged
        auto flush = fabric.space->flush();
        must(queue.submit(flush));
        fabric.target->poll();
        REQUIRE(answers_of(queue).size() == 1);
    }
    submit_read(fabric, 0, 0);
    submit_read(fabric, 0, 1);
    fabric.target->poll();
    fabric.target->poll();
    CHECK(answers_of(queue).empty());

    fabric.is_served = true, deaf.is_deaf = false;
    fabric.let(10'000);

    const auto after = answers_of(queue);
    CHECK(after.size() == 2);
    for (const auto& one : after)
        CHECK(one.is_ok());
    fabric.machines.link.attach(0, *fabric.machines.a.device.receiver(0));
}

TEST_CASE("halves of a fused pair are refused, and the drive has neither", "[unit][nvmf]") {
    Connected fabric; // whose drive has fused commands
    auto& queue = fabric.host->queue(0);
    fabric.fill(0, 512, 1), fabric.fill(0x1000, 512, 2);
    REQUIRE(fabric.write({0, 1}, fabric.data(0, 512)).is_ok());
    auto compare = fabric.space->compare({0, 1}), write = fabric.space->write({0, 1});
    compare.view().set<"fuse">(1), write.view().set<"fuse">(2);
    const auto before = fabric.target->counters().written.commands;

    must(queue.submit(compare, fabric.data(0, 512)));
    must(queue.submit(write, fabric.data(0x1000, 512)));
    fabric.let();

    const auto answers = answers_of(queue);
    CHECK(answers.size() == 2);
    for (const auto& one : answers)
        CHECK(one.status == Status::invalid_field);
    CHECK(fabric.target->counters().written.commands == before);
    REQUIRE(fabric.read({0, 1}, fabric.data(0x2000, 512)).is_ok());
    CHECK(fabric.is_filled(0x2000, 512, 1));
}

TEST_CASE("event requests end when their controller is reset, and there is room for others", "[unit][nvmf]") {
    Connected fabric;
    auto& admin = fabric.host->admin();
    for (unsigned turn = 0; turn < admin.entries(); ++turn) {
        CAPTURE(turn);
        for (unsigned i = 0; i < TargetController::most_event_requests; ++i) {
            HostQueue::Command request;
            request.view().set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::async_event_request));
            must(admin.submit(request));
        }
        must(fabric.host->set_property(abi::nvme::Register::cc, 0));
        fabric.let(20);

        const auto ended = answers_of(admin);
        REQUIRE(ended.size() == TargetController::most_event_requests);
        for (const auto& one : ended)
            CHECK(one.status == Status::abort_requested);
        must(fabric.host->set_property(abi::nvme::Register::cc, 0x460001));
    }
    CHECK(fabric.target->under_way() == 0);
    CHECK(fabric.host->keep_alive().has_value());
}

TEST_CASE("data in a capsule begin at a dword, and none are read into it", "[unit][nvmf]") {
    Connected fabric;
    auto& queue = fabric.host->queue(0);
    fabric.medium->make_silent({0, 512});
    // Of a capsule that no host of ours would send, with the identifier of a command that never ends.
    const auto status_of = [&](HostQueue::Command command, std::uint32_t offset) {
        const auto id = submit_read(fabric, 0, 0);
        point_into_capsule(command.view(), 512);
        command.view().set<"cid">(id);
        using abi::nvme::SglDescriptor;
        abi::View<SglDescriptor>(std::span(command.bytes).subspan(abi::nvme::sgl1_offset, SglDescriptor::size))
            .set<"address">(offset);
        constexpr std::uint32_t place = 0x8000, command_bytes = 64;
        std::ranges::copy(command.bytes, fabric.buffer.bytes().begin() + place);
        const sw::mlx::Sge sge{fabric.region->iova().value + place, command_bytes + offset + 512,
                               fabric.region->lkey()};
        must(queue.channel().post({.wr_id = Channel::tag(Channel::Purpose::send, 0),
                                   .sge = &sge,
                                   .sge_count = 1,
                                   .operation = sw::mlx::SendOperation::send,
                                   .flags = sw::mlx::send_flag::signaled},
                                  1));
        fabric.let();
        const auto ended = answers_of(queue);
        REQUIRE(ended.size() == 1);
        CHECK(ended[0].id == id);
        return ended[0].status;
    };
    CHECK(status_of(fabric.space->write({8, 1}), 2) == Status::invalid_sgl_offset);
    CHECK(status_of(fabric.space->write({8, 1}), 4) == Status::success);
    CHECK(status_of(fabric.space->read({8, 1}), 0) == Status::invalid_sgl_type);
}
