// A host, a target and its drive: data and statuses of commands.
#include "testbench/unit/sw/nvmf/fabric_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <map>

using namespace sw::nvmf;
using abi::nvme::IoOpcode;
using abi::nvme::Status;
using testbench::Connected;
using testbench::Fabric;
using testbench::has;
using testbench::must;

namespace {

HostQueue::Command command_of(std::uint8_t opcode, std::uint32_t nsid = 1) {
    HostQueue::Command command;
    command.view().set<"opcode">(opcode).set<"nsid">(nsid);
    return command;
}

} // namespace

TEST_CASE("a host learns what it is connected to", "[unit][nvmf]") {
    Connected fabric({.target = {.entries = 32, .largest_transfer = 64 << 10, .in_capsule_bytes = 8192}},
                     {.queues = 3});

    CHECK(fabric.host->facts().controller == 1);
    CHECK(fabric.host->facts().largest_transfer == 64 << 10);
    CHECK(fabric.host->facts().largest_queue == 32);
    CHECK(fabric.host->facts().in_capsule_bytes == 8192);
    CHECK(fabric.host->queues() == 3);
    CHECK(fabric.host->queue(2).entries() == 32);
    CHECK(must(fabric.host->active_namespaces()) == std::vector<std::uint32_t>{1});
    CHECK(fabric.space->block_bytes() == 512);
    CHECK(fabric.space->blocks() == (64 << 20) / 512);
    CHECK(must(fabric.host->property(abi::nvme::Register::vs)) == abi::nvme::version_2_0);
}

TEST_CASE("what is written over the wire comes back, in capsules and by key", "[unit][nvmf]") {
    Connected fabric;
    for (const std::uint32_t blocks : {1u, 8u, 9u, 256u}) {
        CAPTURE(blocks);
        const auto bytes = blocks * 512;
        const auto before = fabric.target->counters();
        fabric.fill(0x100, bytes, blocks);

        CHECK(fabric.write({77, blocks}, fabric.data(0x100, bytes)).is_ok());
        CHECK(fabric.read({77, blocks}, fabric.data(0x80000, bytes)).is_ok());

        CHECK(fabric.is_filled(0x80000, bytes, blocks));
        CHECK(fabric.buffer.bytes()[0x80000 + bytes] == std::byte{});
        const auto& after = fabric.target->counters();
        const bool is_in_capsule = bytes <= 4096;
        CHECK(after.in_capsule_bytes - before.in_capsule_bytes == (is_in_capsule ? bytes : 0));
        CHECK(after.fetched.bytes - before.fetched.bytes == (is_in_capsule ? 0 : bytes));
        CHECK(after.written.bytes - before.written.bytes == bytes);
        CHECK(after.sent.bytes - before.sent.bytes == bytes);
    }
    fabric.let();
    CHECK(fabric.target->payload().free() == fabric.target->payload().pieces());
}

TEST_CASE("commands without data are passed on, and those with ranges", "[unit][nvmf]") {
    Connected fabric;
    fabric.fill(0, 4096, 3);
    CHECK(fabric.write({0, 8}, fabric.data(0, 4096)).is_ok());

    auto compare = fabric.space->compare({0, 8});
    CHECK(fabric.execute(compare, fabric.data(0, 4096)).is_ok());
    CHECK(fabric.execute(fabric.space->write_zeroes({2, 1})).is_ok());
    CHECK(fabric.execute(compare, fabric.data(0, 4096)).status == Status::compare_failure);
    CHECK(fabric.execute(fabric.space->flush()).is_ok());
    CHECK(fabric.execute(command_of(0x00, abi::nvme::all_namespaces)).is_ok());

    // As Linux sends it: memory for 256 ranges, whatever there are.
    std::ranges::fill(fabric.buffer.bytes().first(4096), std::byte{});
    abi::View<abi::nvme::DsmRange>(fabric.buffer.bytes().first(16)).set<"nlb">(8).set<"slba">(0);
    auto discard = command_of(static_cast<std::uint8_t>(IoOpcode::dataset_management));
    abi::View<abi::nvme::DatasetManagement>(discard.bytes).set<"ad">(true);
    CHECK(fabric.execute(discard, fabric.data(0, 4096)).is_ok());
    CHECK(fabric.read({0, 8}, fabric.data(0x1000, 4096)).is_ok());
    CHECK(std::ranges::all_of(fabric.buffer.bytes().subspan(0x1000, 4096), [](auto b) { return b == std::byte{}; }));
}

TEST_CASE("the drive's statuses come to the host as they are", "[unit][nvmf]") {
    Connected fabric;
    const auto beyond = fabric.read({fabric.space->blocks(), 1}, fabric.data(0, 512));
    CHECK(beyond.status == Status::lba_out_of_range);
    CHECK(beyond.do_not_retry);

    fabric.medium->make_latent({5 * 512, 6 * 512});
    CHECK(fabric.read({4, 4}, fabric.data(0, 2048)).status == Status::unrecovered_read_error);
    CHECK(fabric.read({8, 1}, fabric.data(0, 512)).is_ok());
    fabric.let();
    CHECK(fabric.target->payload().free() == fabric.target->payload().pieces());
}

TEST_CASE("commands that the target cannot carry are refused, and it goes on", "[unit][nvmf]") {
    Connected fabric({.target = {.largest_transfer = 64 << 10}});
    const auto refused = [&](const HostQueue::Command& command, const HostData& data = {}) {
        const auto done = fabric.execute(command, data);
        CHECK(done.do_not_retry);
        return done.status;
    };
    CHECK(refused(command_of(0x7e)) == Status::invalid_opcode);
    CHECK(refused(command_of(static_cast<std::uint8_t>(IoOpcode::copy)), fabric.data(0, 32)) == Status::invalid_opcode);
    CHECK(refused(command_of(0x02, 2), fabric.data(0, 512)) == Status::invalid_namespace);
    CHECK(refused(command_of(0x02, 0), fabric.data(0, 512)) == Status::invalid_namespace);
    // Data of another length than the blocks have, more and less, in capsule and by key.
    for (const std::uint32_t bytes : {512u, 2048u, 8192u}) {
        CHECK(refused(fabric.space->read({0, 2}), fabric.data(0, bytes)) == Status::invalid_data_sgl_length);
        CHECK(refused(fabric.space->write({0, 2}), fabric.data(0, bytes)) == Status::invalid_data_sgl_length);
    }
    CHECK(refused(fabric.space->read({0, 129}), fabric.data(0, 129 * 512)) == Status::invalid_field);
    auto fused = fabric.space->read({0, 1});
    fused.view().set<"fuse">(1);
    CHECK(refused(fused, fabric.data(0, 512)) == Status::invalid_field);
    auto property = command_of(0x7f, 0x04);
    CHECK(refused(property) == Status::invalid_opcode); // on an I/O queue
    CHECK(fabric.target->counters().refused == 13);

    CHECK(fabric.read({0, 2}, fabric.data(0, 1024)).is_ok());
}

TEST_CASE("commands wait for memory of the target, and each is answered once", "[unit][nvmf]") {
    Connected fabric({.target = {.entries = 32, .in_capsule_bytes = 0}, .payload_bytes = 2 * 128 << 10});
    auto& queue = fabric.host->queue(0);
    fabric.fill(0, 31 * 8192, 9);
    std::map<std::uint16_t, unsigned> answers;
    for (const bool is_write : {true, false}) {
        answers.clear();
        for (std::uint64_t i = 0; i < 31; ++i) {
            auto command = is_write ? fabric.space->write({i * 16, 16}) : fabric.space->read({i * 16, 16});
            answers[must(queue.submit(command, fabric.data(i * 8192, 8192)))] = 0;
        }
        auto one_more = fabric.space->flush();
        CHECK(queue.submit(one_more).error().code == EAGAIN);
        std::array<Response, 7> found;
        for (unsigned i = 0; i < 2000 && queue.under_way() != 0; ++i) {
            fabric.machines.b.relax();
            for (const auto& one : std::span(found).first(queue.poll(found))) {
                CHECK(one.is_ok());
                ++answers[one.id];
            }
        }
        CHECK(answers.size() == 31);
        for (const auto& [id, count] : answers)
            CHECK(count == 1);
        if (is_write)
            std::ranges::fill(fabric.buffer.bytes(), std::byte{});
    }
    CHECK(fabric.is_filled(0, 31 * 8192, 9));
    fabric.let();
    CHECK(fabric.target->under_way() == 0);
    CHECK(fabric.target->payload().free() == 2);
    CHECK(queue.strays() == 0);
}

TEST_CASE("a queue turns over many times", "[unit][nvmf]") {
    Connected fabric({.target = {.entries = 4}}, {.entries = 3});
    CHECK(fabric.host->queue(0).entries() == 3);
    for (std::uint32_t i = 0; i < 50; ++i) {
        fabric.fill(0, 1024, i);
        REQUIRE(fabric.write({i, 2}, fabric.data(0, 1024)).is_ok());
        REQUIRE(fabric.read({i, 2}, fabric.data(4096, 1024)).is_ok());
        REQUIRE(fabric.is_filled(4096, 1024, i));
    }
}

TEST_CASE("what the admin queue is asked is answered by the drive, or by the target where it is about the way",
          "[unit][nvmf]") {
    Connected fabric;
    const auto admin = [&](HostQueue::Command command, std::uint32_t bytes = 0) {
        return must(fabric.host->execute(command, bytes));
    };
    HostQueue::Command command;
    // SMART / health: 512 bytes.
    command.view().set<"opcode">(0x02).set<"nsid">(abi::nvme::all_namespaces);
    abi::View<abi::nvme::GetLogPage>(command.bytes).set<"lid">(2).set<"numdl">(127);
    CHECK(admin(command, 512).is_ok());
    CHECK(admin(command, 256).status == Status::invalid_data_sgl_length);
    abi::View<abi::nvme::GetLogPage>(command.bytes).set<"numdu">(1);
    CHECK(admin(command, 4096).status == Status::invalid_data_sgl_length);
    // Features of the drive can be looked at and not changed.
    command = {};
    command.view().set<"opcode">(0x0a).set<"cdw10">(0x06);
    CHECK(admin(command).is_ok());
    command.view().set<"opcode">(0x09);
    CHECK(admin(command).status == Status::feature_not_changeable);
    command.view().set<"opcode">(0x0a).set<"cdw10">(0x0e);
    CHECK(admin(command).status == Status::invalid_field);
    for (const std::uint8_t opcode : {0x00, 0x01, 0x04, 0x05, 0x0d, 0x7c, 0x80, 0x84})
        CHECK(admin(command_of(opcode)).status == Status::invalid_opcode);
    // More data than any admin command of this target has.
    command = {};
    command.view().set<"opcode">(0x06).set<"cdw10">(1);
    CHECK(must(fabric.host->admin().execute(command, fabric.data(0, 8192))).status == Status::invalid_data_sgl_length);
    // Only so many event requests wait; none is answered.
    auto& queue = fabric.host->admin();
    for (unsigned i = 0; i < TargetController::most_event_requests; ++i) {
        auto request = command_of(0x0c, 0);
        CHECK(queue.submit(request).has_value());
    }
    CHECK(admin(command_of(0x0c, 0)).status == Status::event_limit_exceeded);
    CHECK(queue.under_way() == TargetController::most_event_requests);
    CHECK(fabric.host->keep_alive().has_value());
}

TEST_CASE("a target that cannot be is refused before a host comes", "[unit][nvmf]") {
    Fabric fabric;
    const auto why = [&](const TargetOptions& options, PayloadMemory memory) {
        const auto target = Target::open(*fabric.controller, fabric.target_end.port, memory, options);
        REQUIRE(!target);
        CHECK(target.error().code == EINVAL);
        return target.error().what;
    };
    const auto memory = fabric.payload->memory();
    CHECK(has(why({.entries = 1}, memory), "2 to 4096"));
    CHECK(has(why({.largest_transfer = 96 << 10}, memory), "power of two"));
    CHECK(has(why({.largest_transfer = 64 << 20}, memory), "moves 1048576 at most"));
    CHECK(has(why({.in_capsule_bytes = 8}, memory), "units of 16"));
    CHECK(has(why({.largest_transfer = 4096, .in_capsule_bytes = 8192}, memory), "no more than a transfer"));
    auto small = memory;
    small.bytes = 4096;
    CHECK(has(why({}, small), "no room"));
}

TEST_CASE("a target has no queues that its drive has not", "[unit][nvmf]") {
    Fabric fabric;
    const auto why = [&](std::uint32_t queue_pairs, std::uint32_t entries) {
        model::nvme::NvmeConfig config;
        config.timed = false, config.queue_pairs = queue_pairs, config.queue_entries = entries;
        harness::DirectFunction function(config, fabric.machines.a);
        const auto drive = must(sw::nvme::Controller::open(function, {.has_interrupts = false}));
        const auto target = Target::open(*drive, fabric.target_end.port, fabric.payload->memory());
        REQUIRE(!target);
        CHECK(target.error().code == EINVAL);
        return target.error().what;
    };
    CHECK(has(why(8, 64), "128 entries, and the drive's have 64"));
    CHECK(has(why(1, 128), "one queue pair"));
}
