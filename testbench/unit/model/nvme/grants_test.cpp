#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace nvme_test;
using abi::nvme::IoOpcode;
using model::port::Allowance;
using model::port::GrantKind;
using model::port::Purpose;
using model::port::Time;
using namespace std::chrono_literals;

namespace {

/// What was said last of each purpose, and everything that was said.
struct Heard final : model::port::GrantWatch {
    std::vector<Allowance> payload, control; ///< control: all of it
    void use(Purpose purpose, std::span<const Allowance> allowances) override {
        if (purpose == Purpose::payload)
            payload.assign(allowances.begin(), allowances.end());
        else
            control.insert(control.end(), allowances.begin(), allowances.end());
    }
    void give(std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void take(std::uint64_t) override {}
    bool has(GrantKind kind, std::uint64_t object, std::uint64_t address) const {
        return std::ranges::any_of(control, [&](const Allowance& one) {
            return one.grant.kind == kind && one.grant.object == object && one.address == address;
        });
    }
};

} // namespace

TEST_CASE("a watch hears by which entries of a command's data pointer the drive goes to memory, since the doorbell",
          "[unit][nvme][grants]") {
    Bench bench;
    Heard heard;
    bench.controller.set_watch(&heard);
    bench.enable();
    bench.create_pair(1);
    constexpr std::uint64_t list = 0x300000;
    std::array<std::byte, 16> entries{};
    abi::store<std::uint64_t, abi::Endian::little>(&entries[0], 0x400000);
    abi::store<std::uint64_t, abi::Endian::little>(&entries[8], 0x700000);
    bench.memory.poke(list, entries);
    auto read = Bench::command(static_cast<std::uint8_t>(IoOpcode::read), 1, 0, 0, 23); // 12 KiB
    read.view().set<"prp1">(Bench::buffer).set<"prp2">(list);
    bench.clock.set(5us);
    heard.control.clear();
    const auto cid = bench.next_cid;
    REQUIRE(bench.submit(1, read).view().get<"status">() == Status::success);

    REQUIRE(heard.payload.size() == 3);
    constexpr std::array<std::uint64_t, 3> places{Bench::buffer, 0x400000, 0x700000};
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& [grant, address, length, table] = heard.payload[i];
        CHECK(grant.kind == GrantKind::prp);
        CHECK(grant.object == cid);
        CHECK(grant.holder == 1);
        CHECK(grant.part == i + 1);
        CHECK(grant.since == Time{5us});
        CHECK(address == places[i]);
        CHECK(length == 4096);
        CHECK_FALSE(table);
    }
    CHECK(heard.has(GrantKind::prp, cid, list));
    CHECK(heard.has(GrantKind::submission_queue, 1, bench.queues[1].sq));
    CHECK(heard.has(GrantKind::completion_queue, 1, bench.queues[1].cq));
}

TEST_CASE("a data block of an SGL is a grant of its command", "[unit][nvme][grants]") {
    Bench bench;
    Heard heard;
    bench.controller.set_watch(&heard);
    bench.enable();
    bench.create_pair(1);
    auto read = Bench::command(static_cast<std::uint8_t>(IoOpcode::read), 1, 0, 0, 0);
    read.view().set<"psdt">(abi::nvme::DataPointerType::sgl_metadata_buffer).set<"prp1">(0x8000);
    abi::store<std::uint64_t, abi::Endian::little>(read.bytes.data() + prp2_offset, 512); // a data block
    REQUIRE(bench.submit(1, read).view().get<"status">() == Status::success);

    REQUIRE(heard.payload.size() == 1);
    CHECK(heard.payload[0].grant.kind == GrantKind::sgl);
    CHECK(heard.payload[0].address == 0x8000);
    CHECK(heard.payload[0].length == 512);
}

TEST_CASE("data that waited for the drive goes where its own doorbell granted it", "[unit][nvme][grants]") {
    auto config = small();
    config.timed = true;
    Bench bench(config);
    Heard heard;
    bench.controller.set_watch(&heard);
    bench.enable();
    bench.create_pair(1);
    const auto ring = [&](std::uint16_t cid, std::uint64_t lba, Time at) {
        auto read = Bench::command(static_cast<std::uint8_t>(IoOpcode::read), 1, static_cast<std::uint32_t>(lba));
        read.view().set<"cid">(cid).set<"prp1">(Bench::buffer + cid * 4096ull);
        bench.clock.set(at);
        bench.place(1, read), bench.ring(1);
        bench.clock.set(bench.clock.next()), bench.controller.wake(bench.clock.now());
    };
    const auto start = bench.clock.now();
    ring(1, 0, start + 1us);
    ring(2, 64, start + 20us);
    CHECK(heard.payload.empty()); // nothing of them is done yet

    std::vector<std::pair<std::uint64_t, Time>> moved;
    while (bench.clock.next() != model::port::never) {
        bench.clock.set(bench.clock.next()), bench.controller.wake(bench.clock.now());
        if (!heard.payload.empty())
            moved.emplace_back(heard.payload[0].grant.object, heard.payload[0].grant.since), heard.payload.clear();
    }
    CHECK(moved == std::vector<std::pair<std::uint64_t, Time>>{{1, start + 1us}, {2, start + 20us}});
}

TEST_CASE("each half of a fused pair goes by its own data pointer", "[unit][nvme][grants]") {
    struct All final : model::port::GrantWatch {
        std::vector<Allowance> payload;
        void use(Purpose purpose, std::span<const Allowance> allowances) override {
            if (purpose == Purpose::payload)
                payload.insert(payload.end(), allowances.begin(), allowances.end());
        }
        void give(std::uint64_t, std::uint64_t, std::uint64_t) override {}
        void take(std::uint64_t) override {}
    } all;
    Bench bench;
    bench.controller.set_watch(&all);
    bench.enable();
    bench.create_pair(1);
    all.payload.clear();
    const auto half = [&](IoOpcode opcode, std::uint16_t cid, std::uint32_t fuse, std::uint64_t at) {
        auto command = Bench::command(static_cast<std::uint8_t>(opcode), 1);
        command.view().set<"cid">(cid).set<"fuse">(fuse).set<"prp1">(at);
        bench.place(1, command);
    };
    bench.clock.set(bench.clock.now() + 5us);
    const auto since = bench.clock.now();
    half(IoOpcode::compare, 8, abi::nvme::fused_first, 0x400000), bench.ring(1), bench.run();
    bench.clock.set(since + 2us);
    half(IoOpcode::write, 9, abi::nvme::fused_second, 0x500000), bench.ring(1), bench.run();
    REQUIRE(bench.next(1)->view().get<"status">() == Status::success);

    REQUIRE(all.payload.size() == 2);
    CHECK(all.payload[0].grant.object == 8);
    CHECK(all.payload[0].address == 0x400000);
    CHECK(all.payload[0].grant.since == since);
    CHECK(all.payload[1].grant.object == 9);
    CHECK(all.payload[1].address == 0x500000);
    CHECK(all.payload[1].grant.since == since + 2us);
}
