#include "model/hca/queue/read_ahead.h"

#include "model/port/memory_dma.h"

#include <catch2/catch_test_macros.hpp>

using namespace model::hca;
using model::port::Time;

TEST_CASE("what was read ahead is not taken for entries of the same numbers, 65536 later", "[unit][queue]") {
    model::port::MemoryDma dma;
    const memory::PagedBuffer buffer({abi::BusAddress{0x10000}}, 12, 0);
    queue::ReadAhead ahead;
    const auto posted = [&](std::uint16_t producer) {
        return queue::ReadAhead::Posted{.buffer = buffer, .entries = 64, .log_entry = 6, .producer = producer};
    };
    REQUIRE(ahead.fetch(dma, posted(32), 0, Time{}).bytes.size() == 1024);
    ahead.read_on(dma, posted(32), 1, Time{}); // entries 16 to 31, beside those from 0 on
    REQUIRE_FALSE(ahead.find(31, 6).bytes.empty());

    SECTION("where one entry is read at a time from then on") {
        for (std::uint16_t index = 32; index != 0; ++index)
            ahead.fetch(dma, posted(static_cast<std::uint16_t>(index + 1)), index, Time{});
    }
    SECTION("where each comes with its doorbell from then on") {
        const std::vector<std::byte> entry(64);
        for (std::uint16_t index = 32; index != 0; ++index) {
            REQUIRE(ahead.find(index, 6).bytes.empty());
            ahead.put(index, index, entry, 6, Time{});
            REQUIRE_FALSE(ahead.find(index, 6).bytes.empty());
        }
    }
    for (std::uint16_t index = 0; index != 32; ++index)
        CHECK(ahead.find(index, 6).bytes.empty());
}
