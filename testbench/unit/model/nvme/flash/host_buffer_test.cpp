#include "model/nvme/flash/host_buffer.h"

#include "model/nvme/flash/mapping.h"
#include "model/port/memory_dma.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>

using namespace std::chrono_literals;
using model::port::MemoryDma;
using model::port::Time;
using namespace model::nvme;

namespace {

constexpr std::uint64_t list = 0x1000, first = 0x10000, second = 0x20000, line = 256 << 10;

/// Two pieces of host memory, of 4 and 8 KiB: 24 lines.
struct Bench {
    Bench() {
        place(0, first, 1), place(1, second, 2);
        memory.set_latency(1us);
    }
    void place(std::uint64_t index, std::uint64_t address, std::uint32_t pages) {
        std::array<std::byte, 16> bytes{};
        abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), address);
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data() + 8, pages);
        memory.poke(list + index * 16, bytes);
    }
    Refusal enable(bool is_returned = false, HostBuffer::Attributes attributes = {3, list, 2}) {
        Time at{};
        return lent.enable(attributes, is_returned, 4096, at);
    }
    /// Accesses that have touched what the host has lent.
    std::size_t accesses() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            memory.log(), [](const MemoryDma::Access& access) { return access.address >= first; }));
    }

    MemoryDma memory;
    HostBuffer lent{memory, 8192, 77};
};

} // namespace

TEST_CASE("what was written into lent memory is found again, and nothing else is", "[unit][nvme]") {
    Bench b;
    REQUIRE(b.enable().is_ok());

    CHECK_FALSE(b.lent.read(5, 0us).is_good);
    for (const std::uint64_t number : {5, 7, 8, 23}) // in both pieces
        b.lent.write(number * 64, number * 64 + 64, 0us);
    for (const std::uint64_t number : {5, 7, 8, 23}) {
        const auto found = b.lent.read(number, 10us);
        CHECK(found.is_good);
        CHECK(found.done == 11us);
    }
    CHECK_FALSE(b.lent.read(5 + 24, 0us).is_good); // of the same place
    b.lent.write((5 + 24) * 64, (5 + 24) * 64 + 64, 0us);
    CHECK_FALSE(b.lent.read(5, 0us).is_good);
    CHECK(b.lent.account().cache == model::time::CacheCounters{.hits = 4, .misses = 3});
    for (const auto& access : b.memory.log())
        CHECK((access.address == list || (access.address >= first && access.address + access.length <= first + 4096) ||
               (access.address >= second && access.address + access.length <= second + 8192)));
}

TEST_CASE("an entry that the host has changed is no entry, whichever byte it is", "[unit][nvme]") {
    Bench b;
    REQUIRE(b.enable().is_ok());
    b.lent.write(0, 64, 0us);

    for (std::size_t byte = 0; byte < 512; ++byte) {
        const auto good = b.memory.peek(first + byte, 1);
        b.memory.poke(first + byte, std::array{good[0] ^ std::byte{0x10}});
        CHECK_FALSE(b.lent.read(0, 0us).is_good);
        b.memory.poke(first + byte, good);
    }
    CHECK(b.lent.read(0, 0us).is_good);
    b.memory.fail(first, first + 4096, model::port::DmaStatus::unsupported_request);
    CHECK_FALSE(b.lent.read(0, 0us).is_good);
}

TEST_CASE("memory that is returned has what it had; memory that is not counts as empty", "[unit][nvme]") {
    Bench b;
    REQUIRE(b.enable().is_ok());
    b.lent.write(0, 64, 0us);

    b.lent.disable(0us);
    REQUIRE(b.enable(true).is_ok());
    CHECK(b.lent.read(0, 0us).is_good);
    b.lent.reset();
    REQUIRE(b.enable(true).is_ok());
    CHECK(b.lent.read(0, 0us).is_good);
    b.lent.disable(0us);
    REQUIRE(b.enable(false).is_ok());
    CHECK_FALSE(b.lent.read(0, 0us).is_good);
    b.lent.write(0, 64, 0us);
    b.lent.disable(0us);
    b.lent.forget(); // the table has changed meanwhile
    REQUIRE(b.enable(true).is_ok());
    CHECK_FALSE(b.lent.read(0, 0us).is_good);
}

TEST_CASE("a disable ends with the last access, and none comes after it", "[unit][nvme]") {
    Bench b;
    REQUIRE(b.enable().is_ok());
    b.lent.write(0, 64, 0us);
    b.lent.read(0, 30us);

    CHECK(b.lent.disable(10us) == 31us);
    const auto before = b.accesses();
    CHECK_FALSE(b.lent.read(0, 40us).is_good);
    b.lent.write(0, 64, 40us);
    CHECK(b.accesses() == before);
    CHECK(b.lent.disable(50us) == 50us);
}

TEST_CASE("an enable that is wrong says how, and changes nothing", "[unit][nvme]") {
    using Attributes = HostBuffer::Attributes;
    Bench b;
    const auto status = [&](const Attributes& attributes) { return b.enable(false, attributes).status; };

    CHECK(status({1, list, 1}) == Status::invalid_field); // less than the minimum
    CHECK(status({0, list, 2}) == Status::invalid_field);
    CHECK(status({4, list, 2}) == Status::invalid_field); // more than the list has
    CHECK(status({2, list, 2}) == Status::invalid_field); // less
    CHECK(status({3, list + 8, 2}) == Status::invalid_field);
    CHECK(status({3, 0, 2}) == Status::invalid_field);
    CHECK(status({3, list, 0}) == Status::invalid_field);
    CHECK(status({3, list, 65}) == Status::invalid_field);
    b.place(1, second + 512, 2);
    CHECK(status({3, list, 2}) == Status::invalid_field);
    b.place(1, second, 0);
    CHECK(status({3, list, 2}) == Status::invalid_field);
    b.place(1, second, 2);
    b.place(0, ~std::uint64_t{0xfff}, 1); // to the end of all addresses, and over it
    CHECK(status({3, list, 2}) == Status::invalid_field);
    b.place(0, first, 1);
    b.memory.fail(list, list + 32, model::port::DmaStatus::unsupported_request);
    CHECK(status({3, list, 2}) == Status::data_transfer_error);
    b.memory.clear_faults();
    CHECK_FALSE(b.lent.is_on());
    CHECK(status({3, list, 2}) == Status::success);
    CHECK(status({3, list, 2}) == Status::command_sequence_error);
}

TEST_CASE("a line that the drive has no room for comes from lent memory, and from a die if that is wrong",
          "[unit][nvme][time]") {
    Bench b;
    const FlashConfig config{
        .channels = 1, .dies = 2, .channel_rate = 0, .read = 50us, .map_latency = 0us, .map_memory = 8 * 512};
    Dies dies(config);
    Mapping mapping(config, 1 << 30, dies, b.lent);
    REQUIRE(b.enable().is_ok());
    const auto push_out = [&] { // of the drive's own memory, not of the host's
        for (std::uint64_t i = 1; i <= 8; ++i)
            mapping.look_up({i * line, i * line + 1}, 1ms);
    };

    CHECK(mapping.look_up({0, 4096}, 0us) == 51us); // found nothing there, and brings it there
    push_out();
    CHECK(mapping.look_up({0, 4096}, 10ms) == 10001us);
    push_out();
    b.memory.poke(first + 100, std::array{std::byte{0x55}});
    CHECK(mapping.look_up({0, 4096}, 20ms) == 20051us);
    push_out();
    CHECK(mapping.look_up({0, 4096}, 30ms) == 30001us); // which has put it right
}

TEST_CASE("what is written elsewhere is told to lent memory, or that is forgotten when it is much", "[unit][nvme]") {
    Bench b;
    const FlashConfig config{.channels = 1, .dies = 2, .channel_rate = 0, .read = 50us};
    Dies dies(config);
    Mapping mapping(config, 1 << 30, dies, b.lent);
    REQUIRE(b.enable().is_ok());

    mapping.update({0, line + 4096}, 0us);
    CHECK(b.lent.writes() == 2);
    CHECK(b.lent.read(0, 0us).is_good);
    mapping.clear({0, 3 * line}, 0us);
    CHECK(b.lent.writes() == 5);
    mapping.clear({0, 1000 * line}, 0us);
    CHECK(b.lent.writes() == 5);
    CHECK_FALSE(b.lent.read(0, 0us).is_good);
}

TEST_CASE("what was written elsewhere meanwhile is not believed of memory that is returned", "[unit][nvme]") {
    Bench b;
    const FlashConfig config{.channels = 1, .dies = 2, .channel_rate = 0, .read = 50us};
    Dies dies(config);
    Mapping mapping(config, 1 << 30, dies, b.lent);
    REQUIRE(b.enable().is_ok());
    mapping.update({0, line}, 0us);
    b.lent.disable(0us);

    mapping.update({0, 4096}, 0us);
    REQUIRE(b.enable(true).is_ok());
    CHECK_FALSE(b.lent.read(0, 0us).is_good);
}
