#include "model/gpu/memory/explain.h"
#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using namespace model::gpu::memory;

TEST_CASE("a stale load is explained by line, cache, age, writer and release", "[unit][gpu][memory]") {
    auto config = MemoryConfig::of(Profile::rdna3_text);
    config.hdp_hold = {};
    GpuBench bench(config);
    const auto wave = bench.wave();
    Outcome outcome;
    load(*wave, GpuBench::vram_uc + 0x1010, all_bits, 1us, &outcome);
    CHECK(explain(outcome, config).empty());
    bench.clock.set(3us);
    bench.write(0x1010, 1);

    load(*wave, GpuBench::vram_uc + 0x1010, all_bits, 4us, &outcome);

    CHECK(explain(outcome, config) ==
          "the line of VRAM offset 0x1000 was in GL2 since 1000 ns; PCIe wrote memory behind it at 3000 ns; the page "
          "is UC, and mechanism M1 lets its loads hit; released by ACQUIRE_MEM with GL2_INV, a heavy flush by engine "
          "17 of the graphics hub, or eviction");
}

TEST_CASE("a doorbell that GL2 holds back is named before other lines", "[unit][gpu][memory]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text, Mechanism::m2));
    const auto wave = bench.wave();
    store(*wave, GpuBench::vram_nc + 0x80, 1, {}, 1us);
    store(*wave, GpuBench::bus_nc + 0x1008, 1, {}, 2us);

    CHECK(explain_held(bench.gpu.block().caches(), 5us) ==
          "GL2 holds 4 bytes for PCIe address 0x2000001000 back, since 2000 ns (for 3000 ns)\n"
          "GL2 holds 4 bytes for VRAM offset 0x80 back, since 1000 ns (for 4000 ns)\n");
    bench.gpu.block().caches().rinse({});
    CHECK(explain_held(bench.gpu.block().caches(), 5us).empty());
}

TEST_CASE("accesses are counted by who answered them", "[unit][gpu][memory]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text));
    const auto wave = bench.wave();
    std::array<std::byte, 256> bytes{};
    wave->load(GpuBench::vram_nc + 0x1000, bytes, plain, {}); // two lines
    wave->load(GpuBench::vram_nc + 0x1000, bytes, plain, {});
    wave->load(GpuBench::vram_nc + 0x1000, bytes, volatile_load, {});
    store(*wave, GpuBench::vram_nc, 1);
    store(*wave, GpuBench::bus_uc, 1);

    const auto& counters = bench.gpu.block().counters();
    CHECK(counters.loads_from(Level::vram) == 2);
    CHECK(counters.loads_from(Level::gl0) == 2);
    CHECK(counters.loads_from(Level::gl2) == 2);
    CHECK(counters.stores_to(Level::gl2) == 1);
    CHECK(counters.stores_to(Level::bus) == 1);
    CHECK(counters.stale_loads == 0);
}

TEST_CASE("a configuration that cannot be built is refused, a profile is not", "[unit][gpu][memory]") {
    for (const auto profile : {Profile::rdna3_text, Profile::coherent, Profile::adversarial})
        CHECK(find_fault(MemoryConfig::of(profile)) == nullptr);
    const auto refuses = [](auto change) {
        auto config = MemoryConfig::of(Profile::adversarial);
        change(config);
        return find_fault(config) != nullptr;
    };
    CHECK(refuses([](MemoryConfig& config) { config.hdp_hold = config.hold_max + Time{1}; }));
    CHECK(refuses([](MemoryConfig& config) { config.hold_max = {}; }));
    CHECK(refuses([](MemoryConfig& config) {
        config.hold_max = config.hdp_hold = config.store_hold = config.rinse_hold = config.evict_hold = {};
    }));
    for (const auto hold :
         {&MemoryConfig::hdp_hold, &MemoryConfig::store_hold, &MemoryConfig::rinse_hold, &MemoryConfig::evict_hold}) {
        CHECK_FALSE(refuses([&](MemoryConfig& config) { config.*hold = config.hold_max; }));
        CHECK(refuses([&](MemoryConfig& config) { config.*hold = config.hold_max + Time{1}; }));
    }
    CHECK(refuses([](MemoryConfig& config) { config.units_per_array = 3; }));
    CHECK(refuses([](MemoryConfig& config) { config.arrays = 0; }));
    CHECK(refuses([](MemoryConfig& config) { config.gl1.line = 64; }));
    CHECK(refuses([](MemoryConfig& config) { config.gl2.line = 64; }));
    CHECK(refuses([](MemoryConfig& config) { config.gl2.ways = 0; }));
}
