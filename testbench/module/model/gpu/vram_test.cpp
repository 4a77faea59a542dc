#include "model/gpu/vram.h"
#include "platform/card/card_module.h"
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace model;
using namespace testbench;
using abi::BusAddress;

namespace {
/// A scratch card and a GPU in the slots of one host.
struct Pair {
    platform::host::Host host{"host", {.timed = false}};
    ScratchCard card{"card", 1};
    platform::card::CardModule gpu;
    explicit Pair(const gpu::VramConfig& config = {}) : gpu("gpu", config, {}) {
        host.plug(0, card.endpoint);
        host.plug(1, gpu.endpoint);
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        host.root_complex().config_write(host.enumeration().find(0x1234, 1)->bdf, 4, 2, 6, {});
    }
    gpu::Vram& vram() { return gpu.as<gpu::Vram>(); }
    const platform::host::FunctionFound& found() const { return *host.enumeration().find(0x10de, 0x20b0); }
};
} // namespace

TEST_CASE("VRAM costs nothing until it is touched", "[module][gpu]") {
    Pair pair;
    CHECK(pair.found().bars[gpu::Vram::vram_bar].size == std::uint64_t{2} << 30);
    CHECK(pair.vram().memory().resident_bytes() == 0);

    const std::array bytes{std::byte{1}};
    const auto bar = pair.found().bars[gpu::Vram::vram_bar].address;
    REQUIRE(pair.card.endpoint.dma().write(BusAddress{bar + (1 << 30)}, bytes, {}).is_ok());

    CHECK(pair.vram().bytes()[1 << 30] == std::byte{1});
    CHECK(pair.vram().memory().resident_bytes() > 0);
    CHECK(pair.vram().memory().resident_bytes() <= 1 << 21);
}

TEST_CASE("a DMA into VRAM is one copy into its bytes, lent back without any", "[module][gpu]") {
    Pair pair;
    const auto bar = pair.found().bars[gpu::Vram::vram_bar].address;
    std::vector<std::byte> bytes(300'000, std::byte{0x5a});

    REQUIRE(pair.card.endpoint.dma().write(BusAddress{bar + 12345}, bytes, {}).is_ok());
    const auto loan = pair.card.endpoint.dma().lend(BusAddress{bar + 12345}, bytes.size(), {});

    CHECK(loan.data == pair.vram().bytes().data() + 12345);
    CHECK(std::equal(bytes.begin(), bytes.end(), loan.data));
    CHECK(loan.data[-1] == std::byte{});
    CHECK(loan.data[bytes.size()] == std::byte{});
}

TEST_CASE("a smaller VRAM BAR shows the first part of VRAM", "[module][gpu][rebar]") {
    Pair pair;
    auto& root = pair.host.root_complex();
    auto& dma = pair.card.endpoint.dma();
    const auto bdf = pair.found().bdf;
    const auto bar = pair.found().bars[gpu::Vram::vram_bar].address;
    const std::array bytes{std::byte{9}};
    REQUIRE(dma.write(BusAddress{bar + (1 << 29)}, bytes, {}).is_ok());
    REQUIRE(pair.card.endpoint.known_windows() == 1);

    // As an operating system resizes: memory space off, new size, memory space on.
    root.config_write(bdf, 4, 2, 0, {});
    root.config_write(bdf, 0x109, 1, 8, {}); // 256 MiB
    root.config_write(bdf, 4, 2, 2, {});

    CHECK(pair.card.endpoint.known_windows() == 0);
    CHECK(pair.card.fate(dma.write(BusAddress{bar + (1 << 29)}, bytes, {})) == port::DmaStatus::unsupported_request);
    CHECK(dma.write(BusAddress{bar + (1 << 28) - 1}, bytes, {}).is_ok());
    CHECK(dma.lend(BusAddress{bar + (1 << 28) - 1}, 2, {}).data == nullptr);
    CHECK(pair.vram().bytes()[(1 << 28) - 1] == std::byte{9});
}

TEST_CASE("VRAM survives a reset of the function", "[module][gpu]") {
    Pair pair;
    pair.vram().bytes()[77] = std::byte{3};

    pair.host.root_complex().config_write(pair.found().bdf, 0x69, 1, 0x80, {});
    pair.host.enumerate();

    std::array<std::byte, 1> back{};
    REQUIRE(pair.card.endpoint.dma()
                .read(BusAddress{pair.found().bars[gpu::Vram::vram_bar].address + 77}, back, {})
                .is_ok());
    CHECK(back[0] == std::byte{3});
}
