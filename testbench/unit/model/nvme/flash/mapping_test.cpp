#include "model/nvme/flash/mapping.h"

#include "model/port/memory_dma.h"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using model::port::Time;
using namespace model::nvme;

namespace {

constexpr std::uint64_t line = 256 << 10;

/// Two dies; a table of 4096 lines, or of 1 GiB.
struct Bench {
    explicit Bench(std::uint64_t own)
        : config{.channels = 1, .dies = 2, .channel_rate = 0, .read = 50us, .map_latency = 100ns, .map_memory = own} {}

    FlashConfig config;
    model::port::MemoryDma memory;
    Dies dies{config};
    HostBuffer lent{memory, 4096, 1};
    Mapping mapping{config, 1 << 30, dies, lent};
};

} // namespace

TEST_CASE("a table that the drive has room for is read without a die", "[unit][nvme][time]") {
    for (const std::uint64_t memory : {0, 2 << 20}) {
        Bench b(memory);
        CHECK(b.mapping.look_up({0, 4096}, 0us) == 100ns);
        CHECK(b.mapping.look_up({line - 1, line + 1}, 1us) == 1200ns); // two lines, one after the other
        CHECK(b.mapping.update({0, 4096}, 2us) == 2100ns);
    }
}

TEST_CASE("a line that the drive has no room for comes from a die, once", "[unit][nvme][time]") {
    Bench b(8 * 512);

    CHECK(b.mapping.look_up({0, 4096}, 0us) == 50100ns);
    CHECK(b.mapping.look_up({8192, 9000}, 10us) == 50100ns); // which is under way
    CHECK(b.mapping.look_up({0, 4096}, 100us) == 100100ns);
    for (std::uint64_t i = 1; i <= 8; ++i)
        b.mapping.look_up({i * line, i * line + 1}, 200us);
    CHECK(b.mapping.look_up({0, 4096}, 1ms) == 1050100ns); // others have taken its place
}

TEST_CASE("what is cleared need not be known before, but at its ends", "[unit][nvme][time]") {
    Bench b(8 * 512);

    CHECK(b.mapping.clear({line, 101 * line}, 0us) == 98 * 100ns);
    CHECK(b.mapping.clear({0, 4096}, 1ms) == 1050100ns);
    CHECK(b.mapping.clear({500 * line, 600 * line + 4096}, 2ms) > 2050us);
}
