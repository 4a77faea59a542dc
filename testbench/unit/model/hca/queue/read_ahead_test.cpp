#include "model/hca/queue/read_ahead.h"

#include "model/port/memory_dma.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

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

namespace {

struct Reads {
    std::size_t count = 0, longest = 0;
};

/// The reads that are made by the time that each of `used` of 64 entries was used, in turn.
Reads use(const HcaConfig::WqePrefetch& limits, unsigned used) {
    model::port::MemoryDma dma;
    const memory::PagedBuffer buffer({abi::BusAddress{0x10000}}, 12, 0);
    queue::ReadAhead ahead;
    const queue::ReadAhead::Posted posted{
        .buffer = buffer, .entries = 64, .log_entry = 6, .producer = 64, .limits = limits};
    for (std::uint16_t index = 0; index != used; ++index) {
        if (ahead.find(index, 6).bytes.empty())
            ahead.fetch(dma, posted, index, Time{});
        REQUIRE_FALSE(ahead.find(index, 6).bytes.empty());
        ahead.read_on(dma, posted, static_cast<std::uint16_t>(index + 1), Time{});
    }
    Reads reads;
    for (const auto& access : dma.log())
        reads = {reads.count + 1, std::max(reads.longest, access.length)};
    return reads;
}

} // namespace

TEST_CASE("one read of a work queue brings as many bytes as it may", "[unit][queue]") {
    for (const auto& [bytes, reads] :
         {std::pair{0u, 64u}, {64u, 64u}, {127u, 64u}, {128u, 32u}, {256u, 16u}, {1024u, 4u}}) {
        INFO(bytes << " bytes");
        const auto found = use({.bytes = bytes, .reads = 1}, 64);
        CHECK(found.count == reads);
        CHECK(found.longest == 4096 / reads);
    }
}

TEST_CASE("as many reads of a work queue are ahead of its use as may be", "[unit][queue]") {
    CHECK(use({.bytes = 256, .reads = 0}, 1).count == 1);
    CHECK(use({.bytes = 256, .reads = 0}, 5).count == 2); // when it is needed
    CHECK(use({.bytes = 256, .reads = 1}, 1).count == 2);
    CHECK(use({.bytes = 256, .reads = 1}, 4).count == 3); // the entry used next is that of the second one
    CHECK(use({.bytes = 256, .reads = 3}, 1).count == 4);
    CHECK(use({.bytes = 256, .reads = 7}, 1).count == 8);
    for (std::uint32_t reads = 0; reads <= 7; ++reads)
        CHECK(use({.bytes = 256, .reads = reads}, 64).count == 16); // and no entry twice
}
