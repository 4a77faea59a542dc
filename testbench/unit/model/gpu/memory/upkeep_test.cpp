// What the caches do without a wave: lines that leave at drawn times, and rinses that lead to rinses.
#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using namespace model::gpu::memory;

TEST_CASE("the worst GPU keeps a doorbell behind an NC page to the end, or lets it go at a drawn time",
          "[unit][gpu][memory]") {
    unsigned came = 0, imported_uc = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto config = MemoryConfig::of(Profile::adversarial);
        config.seed = seed;
        GpuBench bench(config);
        const auto wave = bench.wave();
        store(*wave, GpuBench::bus_nc + 0x1008, 3, volatile_store, bench.now());

        bench.pass(config.hold_max);

        const auto is_there = bench.on_bus(0x1008) == 3;
        CHECK(bench.gpu.block().caches().dirty_lines().empty() == is_there);
        came += is_there;
        imported_uc += config.mtype_of_import(0) == Mtype::uc;
        CHECK(config.mtype_of_import(seed) == config.mtype_of_import(seed)); // the seed alone decides
    }
    CHECK(came > 0);
    CHECK(came < 20);
    CHECK(imported_uc > 0);
    CHECK(imported_uc < 20);
    CHECK(MemoryConfig::of(Profile::rdna3_text, Mechanism::m1).mtype_of_import(5) == Mtype::uc);
    CHECK(MemoryConfig::of(Profile::rdna3_text, Mechanism::m2).mtype_of_import(5) == Mtype::nc);
}

TEST_CASE("two GPUs that rinse into each other's flush register come to an end", "[unit][gpu][memory]") {
    /// Writes arrive at the register BAR of the other GPU at once.
    struct Peer final : model::port::Dma {
        model::gpu::Gpu* to = nullptr;
        unsigned depth = 0, deepest = 0;
        model::port::DmaResult read(abi::BusAddress, std::span<std::byte> into, Time at,
                                    model::port::Purpose) override {
            std::ranges::fill(into, std::byte{});
            return {model::port::DmaStatus::ok, at};
        }
        model::port::DmaResult write(abi::BusAddress to_address, std::span<const std::byte> from, Time at,
                                     model::port::Purpose) override {
            deepest = std::max(deepest, ++depth);
            REQUIRE(depth < 10);
            to->bar_write(model::gpu::Gpu::register_bar, to_address.value - GpuBench::bus_base, from, at);
            --depth;
            return {model::port::DmaStatus::ok, at};
        }
        model::port::Loan lend(abi::BusAddress, std::size_t, Time, model::port::Purpose) override { return {}; }
    };
    constexpr auto flush = static_cast<std::uint32_t>(abi::gpu::Register::invalidate0_req) + 4 * 17;
    constexpr std::uint32_t heavy = 0x00fa'0100;
    TestClock clock;
    InterruptLog interrupts;
    std::array<Peer, 2> ports;
    auto config = GpuBench::small(MemoryConfig::of(Profile::rdna3_text, Mechanism::m2));
    config.timed = false;
    std::array<std::unique_ptr<model::gpu::Gpu>, 2> gpus;
    for (const auto i : {0u, 1u})
        gpus[i] = std::make_unique<model::gpu::Gpu>(
            "gpu", model::gpu::GpuConfig{.timed = false, .bytes = GpuBench::vram_bytes, .memory = config},
            model::pcie::DevicePorts{ports[i], clock, interrupts});
    for (const auto i : {0u, 1u}) {
        ports[i].to = gpus[1 - i].get();
        GpuTables tables(gpus[i]->bytes(), GpuBench::tables_at);
        tables.map(GpuBench::bus_nc, GpuBench::bus_base, GpuBench::mapped, true, Mtype::nc);
        gpus[i]->block().spaces().context(GpuBench::vmid) = {
            .control = static_cast<std::uint32_t>(
                abi::gpu::ContextControl{}.set<"enable_context">(true).set<"page_table_depth">(3).value()),
            .base = tables.root(),
            .first_page = 0,
            .last_page = (std::uint64_t{1} << 36) - 1};
        store(*gpus[i]->block().make_view(0, GpuBench::vmid), GpuBench::bus_nc + flush, heavy);
    }

    const auto bytes = std::as_bytes(std::span(&heavy, 1));
    gpus[0]->bar_write(model::gpu::Gpu::register_bar, flush, bytes, {});

    for (const auto i : {0u, 1u}) {
        CHECK(ports[i].deepest == 1); // each doorbell has left once
        CHECK(gpus[i]->block().caches().dirty_lines().empty());
    }
}
