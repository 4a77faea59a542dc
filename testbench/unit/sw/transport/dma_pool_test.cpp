#include "sw/transport/dma_pool.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

using sw::transport::DmaChunk;
using sw::transport::DmaMemory;
using sw::transport::DmaPool;

namespace {

constexpr std::size_t page = DmaPool::page;

/// Chunks of plain memory; what is mapped at the moment, by bus address.
struct Bench {
    std::map<std::uint64_t, std::size_t> mapped;
    std::size_t refuse_above = SIZE_MAX;
    sw::memory::IovaSpace space{0x1'0000'0000, 0x2'0000'0000};
    DmaPool pool{space, [this](std::uint64_t bus, std::size_t size) -> sw::Result<std::unique_ptr<DmaChunk>> {
                     if (size > refuse_above)
                         return sw::failure(ENOMEM, "the device maps no more");
                     return std::make_unique<Chunk>(*this, bus, size);
                 }};

    struct Chunk final : DmaChunk {
        Chunk(Bench& owner, std::uint64_t address, std::size_t size) : bench(owner), bus(address), memory(size) {
            bench.mapped.emplace(bus, size);
        }
        ~Chunk() override { bench.mapped.erase(bus); }
        std::span<std::byte> bytes() const override { return memory; }
        Bench& bench;
        std::uint64_t bus;
        mutable std::vector<std::byte> memory;
    };
};

bool is_zero(const DmaMemory& memory) {
    return std::ranges::all_of(memory.bytes(), [](std::byte b) { return b == std::byte{0}; });
}

} // namespace

TEST_CASE("many small pieces of DMA memory are one mapping of the device", "[unit][transport]") {
    Bench bench;
    std::vector<DmaMemory> pieces;

    for (unsigned i = 0; i < DmaPool::chunk_bytes / page; ++i)
        pieces.push_back(bench.pool.allocate(page, page).value());

    CHECK(bench.mapped == std::map<std::uint64_t, std::size_t>{{0x1'0000'0000, DmaPool::chunk_bytes}});
    std::ranges::sort(pieces, {}, &DmaMemory::bus);
    for (std::size_t i = 1; i < pieces.size(); ++i) {
        REQUIRE(pieces[i].bus == pieces[i - 1].bus + page);
        REQUIRE(pieces[i].data == pieces[i - 1].data + page);
    }
}

TEST_CASE("DMA memory is zeroed, also what somebody had before", "[unit][transport]") {
    Bench bench;
    const auto first = bench.pool.allocate(3 * page, page).value();
    CHECK(is_zero(first));
    std::ranges::fill(first.bytes(), std::byte{0x5a});
    bench.pool.release(first);

    const auto second = bench.pool.allocate(5 * page, page).value();

    CHECK(second.bus == first.bus);
    CHECK(is_zero(second));
}

TEST_CASE("DMA memory is aligned as asked, and what is larger than a chunk has its own", "[unit][transport]") {
    Bench bench;
    bench.pool.allocate(page, page).value();

    const auto aligned = bench.pool.allocate(page, 1 << 20).value();
    const auto large = bench.pool.allocate(DmaPool::chunk_bytes + 1, 8 << 20).value();

    CHECK(aligned.bus % (1 << 20) == 0);
    CHECK(large.bus % (8 << 20) == 0);
    CHECK(large.size == DmaPool::chunk_bytes + 1);
    CHECK(bench.mapped.at(large.bus) == DmaPool::chunk_bytes + page);
}

TEST_CASE("a chunk that nobody uses is unmapped, and its addresses are used again", "[unit][transport]") {
    Bench bench;
    const auto small = bench.pool.allocate(page, page).value();
    const auto large = bench.pool.allocate(2 * DmaPool::chunk_bytes, page).value();
    REQUIRE(bench.mapped.size() == 2);

    bench.pool.release(large);

    CHECK(bench.mapped.size() == 1);
    CHECK(bench.pool.allocate(2 * DmaPool::chunk_bytes, page).value().bus == large.bus);
    CHECK(bench.pool.find(small.bus, page).data() == small.data);
}

TEST_CASE("an address of the device leads to our bytes, within one chunk", "[unit][transport]") {
    Bench bench;
    const auto memory = bench.pool.allocate(2 * page, page).value();

    CHECK(bench.pool.find(memory.bus + 5, 100).data() == memory.data + 5);
    CHECK(bench.pool.find(memory.bus - 1, 1).empty());
    CHECK(bench.pool.find(memory.bus, DmaPool::chunk_bytes).size() == DmaPool::chunk_bytes);
    CHECK(bench.pool.find(memory.bus + 1, DmaPool::chunk_bytes).empty());
    CHECK(bench.pool.find(memory.bus + 1, UINT64_MAX).empty());
}

TEST_CASE("memory that cannot be had is an error that says how much", "[unit][transport]") {
    Bench bench;
    bench.refuse_above = DmaPool::chunk_bytes;

    const auto much = bench.pool.allocate(64 << 20, page);
    const auto odd = bench.pool.allocate(page, 3);
    const auto none = bench.pool.allocate(0, page);

    REQUIRE_FALSE(much);
    CHECK(much.error().code == ENOMEM);
    CHECK(much.error().what == "allocate 67108864 bytes of DMA memory aligned to 4096: the device maps no more");
    CHECK_FALSE(odd);
    CHECK_FALSE(none);
    CHECK(bench.space.used_ranges() == 0);
}
