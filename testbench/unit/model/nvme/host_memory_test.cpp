// The host memory buffer as a driver meets it: Identify, Set Features and Get Features 0Dh, reads and writes.
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;

namespace {

constexpr std::uint32_t feature = 0x0d, enable = 1, returned = 2;
constexpr std::uint64_t list = 0x8000, lent = 0x4000000, lent_bytes = 64 << 10;

NvmeConfig borrowing(bool is_timed = false) {
    auto config = small();
    config.timed = is_timed;
    config.space.namespaces[0].bytes = 16 << 20;
    config.space.capacity = 1 << 30;
    config.flash.map_memory = 8 * 512; // 8 lines, of 64 that the namespace has
    config.flash.host_buffer = lent_bytes;
    config.flash.host_buffer_minimum = 8192;
    return config;
}

struct Host : Bench {
    explicit Host(const NvmeConfig& config = borrowing()) : Bench(config) {
        std::array<std::byte, 16> descriptor{};
        abi::store<std::uint64_t, abi::Endian::little>(descriptor.data(), lent);
        abi::store<std::uint32_t, abi::Endian::little>(descriptor.data() + 8, lent_bytes / 4096);
        memory.poke(list, descriptor);
        Bench::enable();
        create_pair(1);
    }
    Status set_feature(std::uint32_t attributes, std::uint32_t pages = lent_bytes / 4096, std::uint32_t count = 1) {
        auto block = command(static_cast<std::uint8_t>(AdminOpcode::set_features), 0, feature, attributes, pages);
        block.view().set<"cdw13">(static_cast<std::uint32_t>(list)).set<"cdw15">(count);
        return submit(0, block).view().get<"status">();
    }
    abi::Block<abi::nvme::Completion> get_feature() {
        return submit(0, command(static_cast<std::uint8_t>(AdminOpcode::get_features), 0, feature));
    }
    /// Reads of all lines of the table, so that the drive's own memory has none of them for long.
    void read_everywhere() {
        for (std::uint32_t lba = 0; lba < 32768; lba += 512)
            REQUIRE(ask(1, IoOpcode::read, 1, lba) == Status::success);
    }
    std::size_t accesses(model::port::MemoryDma::Kind kind) const {
        return static_cast<std::size_t>(std::ranges::count_if(memory.log(), [&](const auto& access) {
            return access.kind == kind && access.address >= lent && access.address < lent + lent_bytes;
        }));
    }
    std::size_t reads() const { return accesses(model::port::MemoryDma::Kind::read); }
    std::size_t writes() const { return accesses(model::port::MemoryDma::Kind::write); }
};

} // namespace

TEST_CASE("a drive asks for host memory only where its configuration says so", "[unit][nvme]") {
    for (const bool is_asking : {false, true}) {
        auto config = borrowing();
        if (!is_asking)
            config.flash.host_buffer = 0;
        Host host(config);
        REQUIRE(host.ask(0, AdminOpcode::identify, 0, 1) == Status::success);
        const auto page = host.memory.peek(Bench::buffer, 4096);
        const abi::ConstView<abi::nvme::IdentifyController> identity{std::span<const std::byte>(page)};
        CHECK(identity.get<"hmpre">() == (is_asking ? 16 : 0));
        CHECK(identity.get<"hmmin">() == (is_asking ? 2 : 0));
        CHECK(identity.get<"hmmaxd">() == (is_asking ? 64 : 0));
        CHECK(host.set_feature(enable) == (is_asking ? Status::success : Status::invalid_field));
        CHECK(host.get_feature().view().get<"status">() == (is_asking ? Status::success : Status::invalid_field));
    }
}

TEST_CASE("Get Features says of the host memory buffer what was set", "[unit][nvme]") {
    Host host;
    CHECK(host.get_feature().view().get<"dw0">() == 0);
    REQUIRE(host.set_feature(enable) == Status::success);

    CHECK(host.get_feature().view().get<"dw0">() == 1);
    const auto page = host.memory.peek(Bench::buffer, 4096);
    const abi::ConstView<abi::nvme::HostMemoryAttributes> attributes{std::span<const std::byte>(page)};
    CHECK(attributes.get<"hsize">() == 16);
    CHECK(attributes.get<"hmdlal">() == list);
    CHECK(attributes.get<"hmdlau">() == 0);
    CHECK(attributes.get<"hmdlec">() == 1);
    CHECK(host.set_feature(enable) == Status::command_sequence_error);
    CHECK(host.set_feature(0) == Status::success);
    CHECK(host.get_feature().view().get<"dw0">() == 0);
    CHECK(host.set_feature(enable, 1) == Status::invalid_field);
    CHECK(host.set_feature(enable | 1u << 31) == Status::success); // bits that mean nothing
}

TEST_CASE("lines of the table that the drive has no room for come from the host's memory", "[unit][nvme]") {
    Host host;
    REQUIRE(host.set_feature(enable) == Status::success);
    host.read_everywhere();
    CHECK(host.writes() == 64); // it was empty
    const auto before = host.reads();

    host.read_everywhere();
    CHECK(host.reads() == before + 64);
    CHECK(host.writes() == 64);
    CHECK(host.ask(1, IoOpcode::write, 1, 5) == Status::success);
    CHECK(host.writes() == 65);
    CHECK(host.ask(1, IoOpcode::write_zeroes, 1, 5) == Status::success);
    CHECK(host.writes() == 66);
}

TEST_CASE("what the host does to memory that it has lent harms no data", "[unit][nvme]") {
    Host host;
    REQUIRE(host.set_feature(enable) == Status::success);
    std::vector<std::byte> data(512);
    for (std::uint32_t i = 0; i < 64; ++i) {
        std::ranges::fill(data, static_cast<std::byte>(i + 1));
        host.memory.poke(Bench::buffer, data);
        REQUIRE(host.ask(1, IoOpcode::write, 1, i * 512) == Status::success);
    }

    std::mt19937_64 random(5);
    for (unsigned round = 0; round < 20; ++round) {
        auto bytes = host.memory.peek(lent, lent_bytes);
        for (unsigned i = 0; i < 200; ++i)
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        if (round % 3 == 0) // whole lines in the place of others
            std::ranges::rotate(bytes, bytes.begin() + 512);
        host.memory.poke(lent, bytes);
        for (std::uint32_t i = 0; i < 64; ++i) {
            REQUIRE(host.ask(1, IoOpcode::read, 1, i * 512) == Status::success);
            REQUIRE(host.memory.peek(Bench::buffer, 1) == std::vector{static_cast<std::byte>(i + 1)});
        }
    }
    host.memory.fail(lent, lent + lent_bytes, model::port::DmaStatus::unsupported_request); // or takes it away
    host.read_everywhere();
    CHECK(host.get(Register::csts) == 1);
}

TEST_CASE("nothing touches memory that the drive has given back", "[unit][nvme]") {
    for (const auto how : {0, 1, 2}) {
        CAPTURE(how);
        Host host(borrowing(true));
        REQUIRE(host.set_feature(enable) == Status::success);
        host.read_everywhere();
        // Commands whose look-ups are still under way when the memory is taken back.
        for (std::uint32_t i = 0; i < 15; ++i)
            host.place(1, Bench::command(2, 1, i * 2048));
        host.ring(1);
        host.clock.set(host.clock.next()), host.controller.wake(host.clock.now());

        if (how == 0)
            REQUIRE(host.set_feature(0) == Status::success);
        else if (how == 1)
            host.set(Register::cc, 0x0046'0000);
        else
            host.controller.reset(host.clock.now());
        const auto given_back = host.clock.now();
        if (how == 0)
            for (const auto& access : host.memory.log())
                CHECK((access.address < lent || access.address >= lent + lent_bytes || access.at <= given_back));
        host.memory.clear_log();
        if (how == 0) {
            while (host.next(1))
                ;
        } else {
            host.Bench::enable();
            host.create_pair(1);
        }
        host.read_everywhere();
        CHECK(host.ask(1, IoOpcode::write, 1, 5) == Status::success);
        CHECK(host.reads() + host.writes() == 0);
        CHECK(host.get_feature().view().get<"dw0">() == 0);
    }
}

TEST_CASE("memory that is returned after a reset saves the reads of dies", "[unit][nvme]") {
    for (const bool is_returned : {false, true}) {
        Host host;
        REQUIRE(host.set_feature(enable) == Status::success);
        host.read_everywhere();
        host.set(Register::cc, 0x0046'0000);
        host.Bench::enable();
        host.create_pair(1);
        REQUIRE(host.set_feature(is_returned ? enable | returned : enable) == Status::success);
        host.memory.clear_log();

        host.read_everywhere();
        CHECK(host.writes() == (is_returned ? 0u : 64u));
    }
}

TEST_CASE("a look-up in the host's memory takes its time, less than that of a die", "[unit][nvme][time]") {
    const auto took = [](bool has_lent) {
        Host host(borrowing(true));
        host.memory.set_latency(1us);
        if (has_lent)
            REQUIRE(host.set_feature(enable) == Status::success);
        host.read_everywhere();
        const auto begin = host.clock.now();
        host.read_everywhere();
        return (host.clock.now() - begin) / 64;
    };

    CHECK(took(true) < 75us);
    CHECK(took(false) > 120us); // a die for the table, a die for the data
}
