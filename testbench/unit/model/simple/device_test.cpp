// The simple HCA through its registers and its port alone, by software and a peer that keep no rule.
#include "testbench/harness/packets.h"
#include "testbench/unit/model/simple/bare.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

using namespace abi::simple;
using namespace harness;

TEST_CASE("registers say what the device is, and are not changed by writes", "[unit][simple]") {
    Bare bare({.log_max_qp = 5, .log_max_cq = 6, .log_max_region = 7, .memory_bytes = 1 << 20});
    for (std::uint64_t offset = 0; offset < 0x30; offset += 4)
        bare.write(offset, 0xffff'ffff);

    CHECK(bare.read(0x00) == 0x41434853);
    CHECK(bare.read(0x04) == 1);
    CHECK(bare.read(0x08) == (5u | 6u << 8 | 7u << 16 | 15u << 24));
    CHECK(bare.read(0x0c) == (30u | 16u << 8));
    CHECK(bare.read(0x18) == 1 << 20);
    CHECK(bare.read(0x20) == 1 << 20);
    CHECK(bare.read(0xf00) == 0);
    bare.write(0x34, 0x11223344); // of the GID
    CHECK(bare.read(0x34) == 0x11223344);
}

TEST_CASE("writes that are not aligned, or of another size, have no effect", "[unit][simple]") {
    Bare bare;
    const std::array<std::byte, 16> ones{std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}};

    for (const auto size : {1u, 2u, 3u, 5u, 16u})
        bare.host.mmio_write(0, 0x80, std::span(ones).first(size));
    bare.host.mmio_write(0, 0x82, std::span(ones).first(4));
    bare.host.mmio_write(0, 0x84, std::span(ones).first(8));

    for (std::uint64_t offset = 0x80; offset < 0x90; offset += 4)
        CHECK(bare.read(offset) == 0);
    bare.host.mmio_write(0, 0x88, std::span(ones).first(8));
    CHECK(bare.read(0x88) == 0x01010101);
}

TEST_CASE("a command takes its time, and another one meanwhile is none", "[unit][simple]") {
    Bare bare({.command = 5us});
    bare.write(0x40, 99);

    CHECK((bare.read(0x44) & 1) == 1);
    bare.write(0x40, 0);
    bare.run(bare.clock.now() + 6us);

    CHECK(bare.read(0x44) == static_cast<std::uint32_t>(Status::bad_command) << 8);
}

TEST_CASE("each argument that a command does not take is refused, and nothing is made", "[unit][simple]") {
    Bare bare({.memory_bytes = 64 << 10});
    const auto cqn = bare.make_cq();
    const auto free = bare.read(0x20);

    const auto region = [&](auto change) {
        auto arguments = bare.region_arguments();
        change(arguments.view());
        return bare.run(Command::create_region, arguments);
    };
    CHECK(region([](auto in) { in.template set<"log_page_size">(11); }) == Status::bad_argument);
    CHECK(region([](auto in) { in.template set<"log_page_size">(31); }) == Status::bad_argument);
    CHECK(region([](auto in) { in.template set<"length">(0); }) == Status::bad_argument);
    CHECK(region([](auto in) { in.template set<"iova">(~std::uint64_t{0} - 8); }) == Status::bad_argument);
    CHECK(region([](auto in) { in.template set<"pd">(1 << 24); }) == Status::bad_argument);
    CHECK(region([](auto in) { in.template set<"page_list">(0x40004); }) == Status::bad_argument);
    CHECK(region([](auto in) { in.template set<"log_page_size">(13); }) == Status::bad_argument); // pages of 4 KiB
    CHECK(region([](auto in) { in.template set<"page_list">(1ull << 60); }) == Status::unreadable);
    CHECK(region([](auto in) { in.template set<"length">(1ull << 40); }) == Status::no_memory);
    CHECK(region([](auto in) { in.template set<"length">(~std::uint64_t{0} - 0x6000); }) == Status::no_memory);
    const auto queue_pair = [&](auto change) {
        auto arguments = bare.qp_arguments(cqn);
        change(arguments.view());
        return bare.run(Command::create_qp, arguments);
    };
    CHECK(queue_pair([](auto in) { in.template set<"log_sends">(16); }) == Status::bad_argument);
    CHECK(queue_pair([](auto in) { in.template set<"log_receives">(16); }) == Status::bad_argument);
    CHECK(queue_pair([](auto in) { in.template set<"send_ring">(0x20020); }) == Status::bad_argument);
    CHECK(queue_pair([](auto in) { in.template set<"receive_ring">(8); }) == Status::bad_argument);
    CHECK(queue_pair([](auto in) { in.template set<"pd">(1 << 24); }) == Status::bad_argument);
    CHECK(queue_pair([](auto in) { in.template set<"send_cqn">(9); }) == Status::no_object);
    CHECK(queue_pair([](auto in) { in.template set<"receive_cqn">(~0u); }) == Status::no_object);
    abi::Block<CreateCq> cq;
    cq.view().set<"log_entries">(23);
    CHECK(bare.run(Command::create_cq, cq) == Status::bad_argument);
    cq.view().set<"log_entries">(3).set<"ring">(0x10020);
    CHECK(bare.run(Command::create_cq, cq) == Status::bad_argument);
    for (const auto command : {Command::destroy_region, Command::destroy_cq, Command::destroy_qp, Command::fail_qp,
                               Command::query_qp, Command::connect_qp})
        for (const auto number : {0x7777u, ~0u})
            CHECK(bare.run_with(command, number) == Status::no_object);
    CHECK(bare.read(0x20) == free);
}

TEST_CASE("the memory of the card is taken, used up, and given back", "[unit][simple]") {
    Bare bare({.memory_bytes = 4096, .outstanding = 4});
    const auto cqn = bare.make_cq();
    CHECK(bare.read(0x20) == 4096 - 64);
    const auto qpn = bare.make_qp(cqn);
    CHECK(bare.read(0x20) == 4096 - 64 - (512 + 4 * 64 + 1024));
    const auto second = bare.make_qp(cqn);
    CHECK(bare.run(Command::create_qp, bare.qp_arguments(cqn)) == Status::no_memory);
    CHECK(bare.run(Command::create_region, bare.region_arguments()) == Status::ok);
    CHECK(bare.read(0x20) == 4096 - 64 - 2 * (512 + 4 * 64 + 1024) - 128); // 64 and 4 pages of 8, in units of 64
    const auto key = bare.result();

    CHECK(bare.run_with(Command::destroy_cq, cqn) == Status::busy);
    CHECK(bare.run_with(Command::destroy_qp, qpn) == Status::ok);
    CHECK(bare.run_with(Command::destroy_qp, second) == Status::ok);
    CHECK(bare.run_with(Command::destroy_cq, cqn) == Status::ok);
    CHECK(bare.run_with(Command::destroy_region, key ^ 1) == Status::no_object);
    CHECK(bare.run_with(Command::destroy_region, key) == Status::ok);
    CHECK(bare.read(0x20) == 4096);
}

TEST_CASE("all numbers are given once, and then no more", "[unit][simple]") {
    Bare bare({.log_max_qp = 4, .log_max_cq = 4, .log_max_region = 4});
    std::vector<std::uint32_t> keys;
    for (int i = 0; i < 15; ++i) {
        REQUIRE(bare.run(Command::create_region, bare.region_arguments()) == Status::ok);
        keys.push_back(bare.result());
    }
    CHECK(bare.run(Command::create_region, bare.region_arguments()) == Status::no_number);
    CHECK(bare.run_with(Command::destroy_region, keys[3]) == Status::ok);
    REQUIRE(bare.run(Command::create_region, bare.region_arguments()) == Status::ok);
    CHECK(bare.result() >> 8 == keys[3] >> 8);
    CHECK(bare.result() != keys[3]);
    std::ranges::sort(keys);
    CHECK(std::ranges::adjacent_find(keys) == keys.end());

    const auto cqn = bare.make_cq();
    for (int i = 2; i < 16; ++i)
        CHECK(bare.make_qp(cqn) == static_cast<std::uint32_t>(i));
    CHECK(bare.run(Command::create_qp, bare.qp_arguments(cqn)) == Status::no_number);
    for (int i = 1; i < 16; ++i)
        bare.make_cq();
    abi::Block<CreateCq> cq;
    CHECK(bare.run(Command::create_cq, cq) == Status::no_number);
}

TEST_CASE("a connection is made once, with an MTU and READs that there are", "[unit][simple]") {
    Bare bare;
    const auto qpn = bare.make_qp(bare.make_cq());
    const auto connect = [&](auto change) {
        auto arguments = Bare::connect_arguments(qpn);
        change(arguments.view());
        return bare.run(Command::connect_qp, arguments);
    };
    CHECK(connect([](auto in) { in.template set<"mtu">(0); }) == Status::bad_argument);
    CHECK(connect([](auto in) { in.template set<"mtu">(6); }) == Status::bad_argument);
    CHECK(connect([](auto in) { in.template set<"reads_sent">(0); }) == Status::bad_argument);
    CHECK(connect([](auto in) { in.template set<"reads_sent">(17); }) == Status::bad_argument);
    CHECK(connect([](auto in) { in.template set<"reads_taken">(17); }) == Status::bad_argument);
    CHECK(bare.run_with(Command::query_qp, qpn) == Status::ok);
    CHECK(bare.result() == 0);
    CHECK(connect([](auto) {}) == Status::ok);
    CHECK(connect([](auto) {}) == Status::bad_state);
    CHECK(bare.run_with(Command::query_qp, qpn) == Status::ok);
    CHECK(bare.result() == 1);
    CHECK(bare.run_with(Command::fail_qp, qpn) == Status::ok);
    CHECK(bare.result() == 2);
}

TEST_CASE("a doorbell that cannot be fails the queue pair; one of no queue pair is passed over", "[unit][simple]") {
    const bool is_receive = GENERATE(false, true);
    const auto bad = GENERATE(17u, 0x8000'0000u, ~0u);
    Bare bare;
    const auto qpn = bare.make_qp(bare.make_cq());
    REQUIRE(bare.run(Command::connect_qp, Bare::connect_arguments(qpn)) == Status::ok);
    const auto place = doorbells_offset + qpn * 8 + (is_receive ? 4 : 0);
    bare.write(doorbells_offset + 999 * 8, 1);
    bare.write(doorbells_offset, 1); // number 0 is nobody's
    CHECK(bare.device().counters().bad_doorbells == 2);

    bare.write(place, bad);
    bare.run(bare.clock.now() + 10us);

    CHECK(bare.device().counters().bad_doorbells == 3);
    CHECK(bare.run_with(Command::query_qp, qpn) == Status::ok);
    CHECK(bare.result() == 2);
}

TEST_CASE("a doorbell may not take descriptors back", "[unit][simple]") {
    Bare bare;
    const auto qpn = bare.make_qp(bare.make_cq());
    REQUIRE(bare.run(Command::connect_qp, Bare::connect_arguments(qpn)) == Status::ok);
    bare.write(doorbells_offset + qpn * 8 + 4, 5);
    bare.write(doorbells_offset + qpn * 8 + 4, 5);
    CHECK(bare.device().counters().bad_doorbells == 0);

    bare.write(doorbells_offset + qpn * 8 + 4, 4);

    CHECK(bare.device().counters().bad_doorbells == 1);
}

TEST_CASE("a descriptor that says nonsense, or cannot be read, ends with an error and is not sent", "[unit][simple]") {
    const bool is_readable = GENERATE(true, false);
    Bare bare;
    const auto cqn = bare.make_cq();
    auto arguments = bare.qp_arguments(cqn);
    if (!is_readable)
        arguments.view().set<"send_ring">(1ull << 60);
    REQUIRE(bare.run(Command::create_qp, arguments) == Status::ok);
    const auto qpn = bare.result();
    REQUIRE(bare.run(Command::connect_qp, Bare::connect_arguments(qpn)) == Status::ok);
    const abi::View<Descriptor> descriptor(std::span(bare.host.memory.at(0x20000), 64));
    descriptor.set<"cookie">(5).set<"operation">(static_cast<Operation>(6)).set<"length">(8);

    bare.write(doorbells_offset + qpn * 8, 2);
    bare.run(bare.clock.now() + 10us);

    const abi::ConstView<Completion> first(std::span<const std::byte>(bare.host.memory.at(0x10000), 32));
    const abi::ConstView<Completion> second(std::span<const std::byte>(bare.host.memory.at(0x10020), 32));
    CHECK(first.get<"phase">() == 1);
    CHECK(first.get<"outcome">() == Outcome::local_operation_error);
    CHECK(first.get<"cookie">() == (is_readable ? 5 : 0));
    CHECK(second.get<"phase">() == 1);
    CHECK(second.get<"outcome">() == Outcome::flushed);
    CHECK(second.get<"index">() == 1);
    CHECK(bare.received.empty());
}

TEST_CASE("any packet leaves the device alive, and memory that no key leads to as it was", "[unit][simple]") {
    const auto seed = GENERATE(range(1u, 5u));
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Bare bare;
    const auto cqn = bare.make_cq();
    REQUIRE(bare.run(Command::create_region, bare.region_arguments()) == Status::ok);
    const abi::Key key{bare.result()};
    std::uint32_t qpn = 0;
    const auto connect_another = [&] {
        if (qpn != 0)
            REQUIRE(bare.run_with(Command::destroy_qp, qpn) == Status::ok);
        qpn = bare.make_qp(cqn);
        REQUIRE(bare.run(Command::connect_qp, Bare::connect_arguments(qpn)) == Status::ok);
        bare.write(doorbells_offset + qpn * 8 + 4, static_cast<std::uint32_t>(random() % 17));
        // Requests under way, so that answers meet something.
        for (unsigned i = 0; i < 16; ++i) {
            const abi::View<Descriptor> descriptor(std::span(bare.host.memory.at(0x20000 + i * 64), 64));
            descriptor.set<"operation">(static_cast<Operation>(random() % 6))
                .set<"is_signaled">(true)
                .set<"address">(0x5000)
                .set<"key">(key.value)
                .set<"length">(static_cast<std::uint32_t>(random() % 5000));
        }
        bare.write(doorbells_offset + qpn * 8, static_cast<std::uint32_t>(random() % 17));
    };
    connect_another();
    const auto operations = testbench::all_operations();
    auto& wire = bare.link.end(1);
    for (int i = 0; i < 20'000; ++i) {
        auto& packet = wire.next();
        testbench::fill_packet(packet, operations[random() % operations.size()],
                               model::port::Encapsulation::roce_v2_ipv6, false, 1024, random);
        auto& head = packet.rdma();
        if (random() % 8 != 0) { // as from the peer
            packet.path.destination_mac = sw::verbs::mac_of(0x02'00'00'00'00'01u);
            packet.path.source_gid = packet.path.destination_gid = {};
            head.destination = abi::Qpn{qpn};
            head.pkey = 0xffff;
            head.psn = abi::Psn{static_cast<std::uint32_t>(random() % 64) - 8};
            head.reth.rkey = random() % 4 != 0 ? key : abi::Key{static_cast<std::uint32_t>(random())};
            head.reth.address = 0x5000 + random() % 0x5000;
            head.reth.length = static_cast<std::uint32_t>(random() % 0x5000);
        }
        wire.send(bare.clock.now());
        if (i % 4 == 0)
            bare.run(bare.clock.now() + 2us);
        if (i % 64 == 0 && bare.run_with(Command::query_qp, qpn) == Status::ok && bare.result() == 2)
            connect_another();
    }

    CHECK(bare.read(0x00) == 0x41434853);
    CHECK(bare.device().counters().packets_received > 10'000);
    CHECK(bare.device().counters().naks_sent > 0);
    CHECK(bare.device().counters().duplicates > 0);
    const auto is_zero = [](std::byte byte) { return byte == std::byte{}; };
    CHECK(std::all_of(bare.host.memory.at(0xff000), bare.host.memory.at(0x100000), is_zero));
    CHECK(std::all_of(bare.host.memory.at(0x104000), bare.host.memory.at(0x200000), is_zero));
}

TEST_CASE("any write to any register leaves the device alive", "[unit][simple]") {
    const auto seed = GENERATE(range(1u, 5u));
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Bare bare({.log_max_qp = 6, .memory_bytes = 1 << 20});
    const auto number = [&]() -> std::uint64_t {
        switch (random() % 4) {
        case 0: return random();
        case 1: return random() % 20;
        case 2: return (random() % 64) * 0x1000;
        default: return 1ull << random() % 64;
        }
    };
    for (int i = 0; i < 30'000; ++i) {
        const auto size = random() % 2 == 0 ? 4u : 8u;
        std::array<std::byte, 8> bytes;
        abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), number());
        const auto place = random() % 3 == 0   ? 0x40
                           : random() % 2 == 0 ? 0x80 + random() % 0x40
                                               : 0x1000 + random() % 0x200;
        bare.host.mmio_write(0, place & ~std::uint64_t{size - 1}, std::span(bytes).first(size));
        if (i % 8 == 0)
            bare.run(bare.clock.now() + 3us);
    }

    CHECK(bare.read(0x00) == 0x41434853);
    bare.host.device->reset(bare.clock.now());
    CHECK(bare.read(0x20) == 1 << 20);
    CHECK(bare.make_qp(bare.make_cq()) == 2);
}
