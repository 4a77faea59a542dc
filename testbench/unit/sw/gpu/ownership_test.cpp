// What software says of who has which memory: see sw/transport/ownership_listener.h.
#include "sw/gpu/gpu.h"
#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

using sw::gpu::Gpu;
using sw::gpu::Placement;
using sw::gpu::vram_block;

namespace {

constexpr std::uint64_t base = 0x38'0000'0000;

/// A GPU whose machine wants to hear it.
struct Watched final : testbench::FakeTransport, private sw::transport::OwnershipListener {
    std::vector<std::string> heard;

    Watched() {
        config_write(0x18, 4, 0xc);
        bars[2].resize(8 * vram_block);
        bar_addresses[2] = base;
    }
    sw::transport::OwnershipListener* ownership_listener() override { return this; }
    /// Since the last call.
    std::vector<std::string> take() { return std::exchange(heard, {}); }

private:
    void own(std::uint64_t bus, std::uint64_t bytes, std::string_view who) override {
        heard.push_back(fmt::format("{:#x}+{:#x} {}", bus - base, bytes, who));
    }
    void own_memory(const std::byte*, std::uint64_t bytes, std::string_view who) override {
        heard.push_back(fmt::format("memory+{:#x} {}", bytes, who));
    }
    void disown(std::uint64_t bus, std::uint64_t bytes) override {
        heard.push_back(fmt::format("{:#x}+{:#x} free", bus - base, bytes));
    }
    void map(std::uint16_t, std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void unmap(std::uint16_t, std::uint64_t, std::uint64_t) override {}
    void attach(std::uint16_t, std::uint16_t) override {}
    void detach(std::uint16_t) override {}
};

using Heard = std::vector<std::string>;

} // namespace

TEST_CASE("a buffer's memory is its owner's from its allocation to its end", "[unit][gpu][ownership]") {
    Watched card;
    auto gpu = Gpu::open(card, 2);
    REQUIRE(gpu);
    {
        const auto buffer = gpu->allocate(vram_block);
        REQUIRE(buffer);
        CHECK(card.take() == Heard{"0x0+0x10000 buffer 1 of the GPU, generation 1"});
    }
    CHECK(card.take() == Heard{"0x0+0x10000 free"});
}

TEST_CASE("a buffer that was taken back is another generation when the call returns, once", "[unit][gpu][ownership]") {
    Watched card;
    auto gpu = Gpu::open(card, 2);
    REQUIRE(gpu);
    const auto buffer = gpu->allocate(vram_block);
    REQUIRE(buffer);
    card.take();
    REQUIRE(gpu->revoke(*buffer)); // nothing was exported
    CHECK(card.take().empty());

    auto exported = gpu->export_buffer(*buffer);
    REQUIRE(exported);
    REQUIRE(gpu->revoke(*buffer));
    REQUIRE(gpu->revoke(*buffer));
    CHECK(card.take() == Heard{"0x0+0x10000 buffer 1 of the GPU, generation 2"});

    auto again = gpu->export_buffer(*buffer);
    REQUIRE(again);
    REQUIRE(gpu->revoke(*buffer));
    CHECK(card.take() == Heard{"0x0+0x10000 buffer 1 of the GPU, generation 3"});
}

TEST_CASE("a buffer that moves has its new place at once", "[unit][gpu][ownership]") {
    Watched card;
    auto gpu = Gpu::open(card, 2);
    REQUIRE(gpu);
    const auto buffer = gpu->allocate(vram_block);
    REQUIRE(buffer);
    card.take();

    auto moving = gpu->migrate(*buffer, Placement::system);
    REQUIRE(moving);
    CHECK(card.take() == Heard{"memory+0x10000 buffer 1 of the GPU, generation 1"});
}
