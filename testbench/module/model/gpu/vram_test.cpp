#include "model/gpu/vram.h"
#include "model/tlm/time.h"
#include "platform/card/card_module.h"
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace model;
using namespace testbench;
using abi::BusAddress;

namespace {
/// A scratch card and a GPU in the slots of one host.
struct Pair {
    platform::host::Host host;
    ScratchCard card{"card", 1};
    platform::card::CardModule gpu;
    explicit Pair(const gpu::VramConfig& config = {}, bool timed = false)
        : host("host", {.timed = timed}), gpu("gpu", config, {}) {
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

TEST_CASE("a completion in VRAM shows when its bytes have crossed the links, and what follows it no earlier",
          "[module][gpu][order]") {
    Pair pair({}, true);
    auto& dma = pair.card.endpoint.dma();
    const auto bar = pair.found().bars[gpu::Vram::vram_bar].address;
    const auto begin = model::tlm::kernel_now();
    const auto at = [&](std::size_t offset) { return std::to_integer<int>(pair.vram().bytes()[offset]); };
    REQUIRE(dma.write(BusAddress{bar + 128}, std::array{std::byte{3}}, begin, port::Purpose::payload).is_ok());
    const auto completion = dma.write(BusAddress{bar}, std::array{std::byte{1}}, begin);
    const auto data = dma.write(BusAddress{bar + 64}, std::array{std::byte{2}}, begin, port::Purpose::payload);

    CHECK(at(128) == 3); // payload alone is not copied twice
    CHECK(completion.done > begin);
    CHECK(data.done >= completion.done);
    std::array<std::byte, 1> seen{};
    CHECK(dma.read(BusAddress{bar}, seen, begin).is_ok());
    CHECK(seen[0] == std::byte{1}); // a read does not pass the writes of its function
    CHECK(pair.host.root_complex().processor().fetch(bar, seen, begin, port::Purpose::control).is_ok());
    CHECK(seen[0] == std::byte{0});
    CHECK(dma.lend(BusAddress{bar}, 1, begin).data == nullptr);
    while (at(0) == 0 && at(64) == 0)
        sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_NS));
    CHECK(at(0) == 1);
    CHECK(model::tlm::kernel_now() + std::chrono::nanoseconds(101) >= completion.done); // those of 100 ns show together
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_US));
    CHECK(at(64) == 2);
    CHECK(dma.lend(BusAddress{bar}, 1, model::tlm::kernel_now()).data != nullptr);
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
