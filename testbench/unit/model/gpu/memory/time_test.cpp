// Time of memory: what is asked for at the same time shares rates, channels and places for misses.
#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using namespace model::gpu::memory;

namespace {

/// Waves on several CUs read VRAM at the same time; returns when the last byte has come.
Time read_all(const MemoryConfig& config, unsigned loads, std::vector<model::time::Account>* accounts = nullptr) {
    GpuBench bench(config);
    Time last{};
    for (unsigned i = 0; i < loads; ++i) {
        std::array<std::byte, 64> bytes{};
        const auto outcome = bench.wave(i % 8)->load(GpuBench::vram_nc + i * 128, bytes, plain, {});
        last = std::max(last, outcome.done);
    }
    if (accounts != nullptr)
        bench.gpu.accounts(*accounts);
    return last;
}

MemoryConfig base() { return MemoryConfig::of(Profile::coherent); }

} // namespace

TEST_CASE("a load that meets nobody takes the latency of who answers, and its bytes' time on the interface of VRAM",
          "[unit][gpu][time]") {
    auto config = base();
    config.vram_bytes_per_second = 1'000'000'000'000; // a byte a picosecond
    GpuBench bench(config);
    const auto wave = bench.wave();
    load(*wave, GpuBench::vram_nc, plain); // and walks the page tables
    Outcome outcome;
    load(*wave, GpuBench::vram_nc + 0x100, plain, 1us, &outcome);
    CHECK(outcome.done == 1us + config.latencies.vram + Time{128});

    config.timed = false;
    CHECK(read_all(config, 1) == Time{});
}

TEST_CASE("more memory, more channels and more places are never slower, and less of them never faster",
          "[unit][gpu][time]") {
    const auto usual = read_all(base(), 512);
    for (const auto factor : {2u, 8u, 64u}) {
        CAPTURE(factor);
        auto slow_memory = base(), few_channels = base(), slow_channels = base(), few_misses = base();
        slow_memory.vram_bytes_per_second /= factor;
        few_channels.gl2_channels = std::max(1u, few_channels.gl2_channels / factor);
        slow_channels.gl2_channel_bytes_per_second /= factor;
        few_misses.gl2_misses /= factor;
        auto more_channels = base(), more_misses = base();
        more_channels.gl2_channels *= factor;
        more_misses.gl2_misses *= factor;
        for (const auto& less : {slow_memory, few_channels, slow_channels, few_misses})
            CHECK(read_all(less, 512) >= usual);
        for (const auto& more : {more_channels, more_misses})
            CHECK(read_all(more, 512) <= usual);
    }
}

TEST_CASE("misses that find no place wait for one", "[unit][gpu][time]") {
    auto config = base();
    config.gl2_misses = 1;
    config.vram_bytes_per_second = 1'000'000'000'000;
    CHECK(read_all(config, 8) >= 8 * config.latencies.vram);
    config.gl2_misses = 8;
    CHECK(read_all(config, 8) < 2 * config.latencies.vram);
}

TEST_CASE("bytes of VRAM cross its interface at its rate, and no resource is busy for longer than there was time",
          "[unit][gpu][time]") {
    auto config = base();
    config.vram_bytes_per_second = 1'000'000'000;
    std::vector<model::time::Account> accounts;
    const auto last = read_all(config, 256, &accounts);

    CHECK(last >= Time{256 * 128 * 1000});
    bool is_vram_seen = false;
    for (const auto& account : accounts) {
        CAPTURE(account.name);
        CHECK(account.load(last) <= 1);
        is_vram_seen |= account.name == "vram" && account.bytes >= 256 * 128;
    }
    CHECK(is_vram_seen);
    CHECK(model::time::bottleneck(accounts)->name == "vram");
}

TEST_CASE("inbound traffic takes its share of VRAM from the waves", "[unit][gpu][time]") {
    auto config = base();
    config.vram_bytes_per_second = 1'000'000'000;
    GpuBench bench(config);
    std::array<std::byte, 4096> block{};
    bench.gpu.bar_read(model::gpu::Gpu::vram_bar, 0, block, {});
    Outcome outcome;
    load(*bench.wave(), GpuBench::vram_nc + 0x8000, plain, {}, &outcome);
    CHECK(outcome.done >= Time{4096 * 1000} + config.latencies.vram);
}
