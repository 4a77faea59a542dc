#include "sw/gpu/gpu.h"
#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <vector>

using sw::gpu::vram_block;

namespace {

constexpr std::uint16_t bar_register(unsigned bar) { return static_cast<std::uint16_t>(0x10 + 4 * bar); }
constexpr std::uint32_t io = 1, memory_64 = 4, prefetchable_64 = 0xc, prefetchable_32 = 8; // bits 3..0 of a BAR

struct Machine {
    testbench::FakeTransport transport;
    std::vector<std::pair<std::uint64_t, std::size_t>> writes;
    Machine() {
        transport.config_write(0, 4, 0x23301ac1);
        transport.config_write(bar_register(2), 4, prefetchable_64);
        transport.bars[0].resize(4096);
        transport.bars[2].resize(8 * vram_block);
        transport.bar_addresses[2] = 0x38'0000'0000;
        transport.on_write = [this](unsigned, std::uint64_t offset, std::span<const std::byte> from) {
            writes.emplace_back(offset, from.size());
        };
    }
};

std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + 1);
    return bytes;
}

} // namespace

TEST_CASE("opening a GPU enables the function and takes its 64-bit prefetchable BAR as VRAM, registers may be larger",
          "[unit][gpu]") {
    Machine machine;
    machine.transport.bars[0].resize(16 * vram_block);

    auto gpu = sw::gpu::Gpu::open(machine.transport);

    REQUIRE(gpu);
    CHECK(gpu->vram_bar() == 2);
    CHECK(gpu->vram_bytes() == 8 * vram_block);
    CHECK((machine.transport.config_read(4, 2) & 0x6) == 0x6);
}

TEST_CASE("of several BARs the VRAM is the largest that is memory, prefetchable and of 64 bits", "[unit][gpu]") {
    Machine machine;
    auto& transport = machine.transport;
    transport.config_write(bar_register(0), 4, prefetchable_64);
    transport.config_write(bar_register(1), 4,
                           prefetchable_64); // an address above 4 GiB whose upper half looks like a BAR
    transport.bars[0].resize(vram_block);
    transport.bars[1].resize(9 * vram_block);
    transport.config_write(bar_register(4), 4, prefetchable_32);
    transport.bars[4].resize(9 * vram_block);
    transport.config_write(bar_register(5), 4, io);
    transport.bars[5].resize(9 * vram_block);

    CHECK(sw::gpu::Gpu::open(transport)->vram_bar() == 2);
    CHECK(sw::gpu::Gpu::open(transport, 0)->vram_bar() == 0);

    transport.config_write(bar_register(0), 4, memory_64);
    transport.config_write(bar_register(2), 4, memory_64);
    const auto none = sw::gpu::Gpu::open(transport);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == ENODEV);
}

TEST_CASE("a copy through the BAR crosses the ranges of a buffer in aligned transactions of at most 8 bytes",
          "[unit][gpu]") {
    Machine machine;
    auto gpu = sw::gpu::Gpu::open(machine.transport);
    REQUIRE(gpu);
    auto low = gpu->allocate(vram_block);
    auto middle = gpu->allocate(vram_block);
    auto rest = gpu->allocate(6 * vram_block);
    REQUIRE((low && middle && rest));
    low = sw::failure(0, ""); // two holes: block 0 and blocks 2..7
    rest = sw::failure(0, "");
    auto buffer = gpu->allocate(7 * vram_block);
    REQUIRE(buffer);
    REQUIRE(buffer->ranges().size() == 2);
    const auto data = pattern(29);
    machine.writes.clear();

    REQUIRE(gpu->upload(*buffer, vram_block - 13, data));
    std::vector<std::byte> back(29);
    REQUIRE(gpu->download(*buffer, vram_block - 13, back));

    CHECK(back == data);
    CHECK(machine.transport.bars[2][vram_block - 13] == data[0]);
    CHECK(machine.transport.bars[2][2 * vram_block] == data[13]);
    std::size_t total = 0;
    for (const auto& [offset, size] : machine.writes) {
        CHECK((size == 1 || size == 2 || size == 4 || size == 8));
        CHECK(offset % size == 0);
        total += size;
    }
    CHECK(total == 29);
    CHECK_FALSE(gpu->upload(*buffer, 7 * vram_block - 28, data));
}

TEST_CASE("an export keeps the memory until the last holder lets go", "[unit][gpu]") {
    Machine machine;
    auto gpu = sw::gpu::Gpu::open(machine.transport);
    REQUIRE(gpu);
    auto buffer = gpu->allocate(100);
    REQUIRE(buffer);

    auto handle = gpu->export_buffer(*buffer);
    REQUIRE(handle);
    CHECK((*handle)->size() == vram_block);
    CHECK(gpu->export_buffer(*buffer) == *handle);
    buffer = sw::failure(0, "");
    CHECK(gpu->free_bytes() == 7 * vram_block);
    handle->reset();

    CHECK(gpu->free_bytes() == 8 * vram_block);
}

TEST_CASE("a function that reads all ones is no GPU", "[unit][gpu]") {
    Machine machine;
    machine.transport.config_write(0, 4, 0xffffffff);

    const auto gpu = sw::gpu::Gpu::open(machine.transport);

    REQUIRE_FALSE(gpu);
    CHECK(gpu.error().code == ENODEV);
}
