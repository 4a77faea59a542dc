// Stores that the profile delays on their way to memory.
#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace harness;
using namespace model::gpu::memory;

TEST_CASE("a store that is under way is seen by its own CU alone, until it is acknowledged", "[unit][gpu][memory]") {
    const auto modifiers = GENERATE(relaxed_atomic_load, plain);
    GpuBench bench(MemoryConfig::of(Profile::adversarial));
    const auto own = bench.wave(0), neighbour = bench.wave(1), far = bench.wave(4);
    const auto done = store(*own, GpuBench::vram_uc + 0x700, 1, {}, bench.now()).done;
    REQUIRE(done > bench.now());

    Outcome outcome;
    CHECK(load(*own, GpuBench::vram_uc + 0x700, modifiers, bench.now(), &outcome) == 1);
    CHECK_FALSE(outcome.is_stale);
    CHECK(load(*own, GpuBench::vram_uc + 0x700, modifiers, bench.now(), &outcome) == 1);
    CHECK_FALSE(outcome.is_stale); // from GL0, where plain loads leave it
    for (const auto* other : {&neighbour, &far})
        CHECK(load(**other, GpuBench::vram_uc + 0x700, plain, bench.now()) == 0);
    load(*own, GpuBench::vram_nc + 0x700, relaxed_atomic_load, bench.now()); // brings a line into GL2 for everybody
    for (const auto* other : {&neighbour, &far}) {
        CHECK(load(**other, GpuBench::vram_uc + 0x700, relaxed_atomic_load, bench.now()) == 0);
        CHECK(load(**other, GpuBench::vram_nc + 0x700, relaxed_atomic_load, bench.now()) == 0);
    }
    std::array<std::byte, 4> copied{};
    bench.gpu.block().caches().read_by_client(Physical::vram(0x700), copied, Mtype::uc, model::port::Purpose::payload,
                                              bench.now());
    CHECK(GpuBench::value_of(copied) == 0);

    bench.pass(done - bench.now());
    CHECK(bench.in_vram(0x700) == 1);
    CHECK(load(*own, GpuBench::vram_uc + 0x700, plain, bench.now()) == 1);
    for (const auto* other : {&neighbour, &far})
        CHECK(load(**other, GpuBench::vram_uc + 0x700, relaxed_atomic_load, bench.now()) == 1);
}
