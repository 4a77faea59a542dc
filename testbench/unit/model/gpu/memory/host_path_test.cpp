#include "model/gpu/memory/host_path.h"
#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <map>
#include <random>
#include <span>
#include <vector>

using namespace harness;
using namespace model::gpu::memory;

TEST_CASE("an inbound write rests in the host data path until its time has come", "[unit][gpu][memory]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text, Mechanism::m2));
    const auto wave = bench.wave();
    bench.write(0x100, 1);

    CHECK(load(*wave, GpuBench::vram_uc + 0x100, all_bits, bench.now()) == 0);
    CHECK(bench.clock.next() == 1us);
    CHECK_FALSE(bench.gpu.is_quiet());
    bench.pass(1us);
    CHECK(bench.gpu.is_quiet());
    CHECK(load(*wave, GpuBench::vram_uc + 0x100, all_bits, bench.now()) == 1);
}

TEST_CASE("a read behind inbound writes brings them out, and so does the flush of the remap page",
          "[unit][gpu][memory]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text));
    bench.write(0x100, 1);
    CHECK(bench.in_vram(0x100) == 0);
    CHECK(bench.read(0x800) == 0);
    CHECK(bench.in_vram(0x100) == 1);

    bench.write(0x100, 2);
    bench.poke(abi::gpu::remap_page + abi::gpu::hdp_reg_flush, 0); // flushes registers, not memory
    bench.peek(static_cast<std::uint32_t>(abi::gpu::Register::hdp_flush_done));
    CHECK(bench.in_vram(0x100) == 1);
    bench.poke(abi::gpu::remap_page + abi::gpu::hdp_mem_flush, 0);
    CHECK(bench.in_vram(0x100) == 2);
}

TEST_CASE("an inbound write shows when it arrives, to waves and to reads of the BAR, and not when it was sent",
          "[unit][gpu][memory]") {
    auto config = MemoryConfig::of(GENERATE(Profile::rdna3_text, Profile::coherent), Mechanism::m2);
    config.hdp_hold = {};
    GpuBench bench(config);
    const auto wave = bench.wave();
    const std::uint32_t value = 7;
    const auto bytes = std::as_bytes(std::span(&value, 1));
    std::array<std::byte, 4> seen{};
    const auto read_at = [&](Time at) {
        bench.gpu.bar_read(model::gpu::Gpu::vram_bar, 0x100, seen, at);
        return GpuBench::value_of(seen);
    };

    bench.gpu.bar_write(model::gpu::Gpu::vram_bar, 0x100, bytes, 5us);

    CHECK(bench.in_vram(0x100) == 0);
    CHECK(read_at(5us - Time{1}) == 0);
    CHECK(load(*wave, GpuBench::vram_uc + 0x100, all_bits, bench.now()) == 0);
    CHECK(read_at(5us) == 7); // which is asked for now, and arrives behind the write
    CHECK(bench.in_vram(0x100) == 0);
    CHECK(bench.clock.next() == 5us); // whoever waits is looked after
    bench.pass(5us);
    CHECK(bench.in_vram(0x100) == 7);
    CHECK(load(*wave, GpuBench::vram_uc + 0x100, all_bits, bench.now()) == 7);
}

TEST_CASE("a read behind an inbound write finds it, though GL2 has older dirty bytes there", "[unit][gpu][memory]") {
    GpuBench bench(MemoryConfig::of(Profile::coherent));
    const auto wave = bench.wave();
    store(*wave, GpuBench::vram_nc + 0x100, 1);
    store(*wave, GpuBench::vram_nc + 0x104, 1);
    const std::uint32_t value = 2;
    std::array<std::byte, 8> seen{};

    bench.gpu.bar_write(model::gpu::Gpu::vram_bar, 0x100, std::as_bytes(std::span(&value, 1)), 5us);
    bench.gpu.bar_read(model::gpu::Gpu::vram_bar, 0x100, seen, 6us);

    CHECK(GpuBench::value_of(seen) == 2);
    CHECK(GpuBench::value_of(std::span(seen).subspan(4)) == 1); // dirty, and nobody has written since
}

TEST_CASE("writes of several devices show in the order of their arrival", "[unit][gpu][memory]") {
    auto config = MemoryConfig::of(Profile::coherent);
    GpuBench bench(config);
    const std::array<std::uint32_t, 2> values{1, 2};
    for (const auto i : {0u, 1u}) // the later one is handed over first
        bench.gpu.bar_write(model::gpu::Gpu::vram_bar, 0x100, std::as_bytes(std::span(values).subspan(i, 1)),
                            i == 0 ? 9us : 4us);
    bench.pass(5us);
    CHECK(bench.in_vram(0x100) == 2);
    bench.pass(5us);
    CHECK(bench.in_vram(0x100) == 1);
}

TEST_CASE("without timing nothing rests in the host data path", "[unit][gpu][memory]") {
    auto config = MemoryConfig::of(Profile::adversarial);
    config.timed = false;
    GpuBench bench(config);
    bench.write(0x100, 1);
    CHECK(bench.in_vram(0x100) == 1);
    CHECK(bench.gpu.is_quiet());
}

TEST_CASE("pieces of one inbound write come in any order, and writes one behind another", "[unit][gpu][memory]") {
    auto config = MemoryConfig::of(Profile::adversarial);
    bool is_shuffled = false;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        HostPath path(config, random);
        std::vector<std::pair<std::uint64_t, unsigned>> came;
        Time before{};
        const auto note = [&](std::uint64_t offset, std::span<const std::byte> bytes, Time at) {
            REQUIRE(at >= before);
            before = at;
            came.emplace_back(offset, std::to_integer<unsigned>(bytes[0]));
        };
        for (unsigned i = 0; i < 4; ++i)
            path.write(0x1000, std::vector<std::byte>(200, static_cast<std::byte>(i)), Time{});
        Time last{};
        while (path.next_due() != model::port::never) {
            REQUIRE(path.next_due() >= last);
            last = path.next_due();
            path.advance(last, note);
        }

        REQUIRE(last <= config.hdp_hold);
        REQUIRE(came.size() == 16);
        std::map<std::uint64_t, unsigned> offsets;
        for (std::size_t i = 0; i < came.size(); ++i) {
            REQUIRE(came[i].second == i / 4);
            ++offsets[came[i].first];
            is_shuffled |= i > 0 && i % 4 != 0 && came[i].first < came[i - 1].first;
        }
        REQUIRE(offsets == std::map<std::uint64_t, unsigned>{{0x1000, 4}, {0x1040, 4}, {0x1080, 4}, {0x10c0, 4}});
    }
    CHECK(is_shuffled);
}

TEST_CASE("a flood of inbound writes pushes the first ones out", "[unit][gpu][memory]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text));
    std::vector<std::byte> block(4096, std::byte{7});
    for (unsigned i = 0; i < 17; ++i)
        bench.gpu.bar_write(0, i * 4096, block, bench.now());
    CHECK(bench.in_vram(0) == 0x07070707);
    CHECK(bench.in_vram(4096) == 0);
    block.resize(HostPath::capacity + 1);
    bench.gpu.bar_write(0, 0, block, bench.now());
    CHECK(bench.in_vram(0x1000) == 0);
    CHECK(bench.in_vram(16 * 4096 + 4) == 0x07070707); // it was before
}

TEST_CASE("a write that arrives before the one that has pushed others out pushes them out earlier",
          "[unit][gpu][memory]") {
    auto config = MemoryConfig::of(Profile::rdna3_text);
    config.hdp_hold = 1ms;
    std::mt19937_64 random;
    HostPath path(config, random);
    const std::vector<std::byte> half(HostPath::capacity / 2);
    path.write(0, half, 100ns);
    path.write(0, half, 200ns);
    const auto little = std::span(half).first(64);
    path.write(0, little, 300ns);
    CHECK(path.next_due() == 300ns);

    path.write(0, little, 400ns);
    CHECK(path.next_due() == 300ns);
    path.write(0, little, 250ns);
    CHECK(path.next_due() == 250ns);
}

TEST_CASE("delayed stores of a wave keep their order to a line and to PCIe, and a fence waits for them",
          "[unit][gpu][memory]") {
    auto config = MemoryConfig::of(Profile::adversarial);
    bool is_reordered = false, is_awaited = false;
    for (unsigned seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        config.seed = seed;
        GpuBench bench(config);
        const auto wave = bench.wave();
        const auto first = store(*wave, GpuBench::vram_uc + 0x100, 1).done;
        const auto second = store(*wave, GpuBench::vram_uc + 0x200, 2).done;
        REQUIRE(store(*wave, GpuBench::vram_uc + 0x104, 3).done >= first);
        const auto doorbell = store(*wave, GpuBench::bus_uc + 0x8, 4).done;
        REQUIRE(store(*wave, GpuBench::bus_uc + 0x1000, 5).done >= doorbell);
        REQUIRE(second <= config.store_hold);
        is_reordered |= second < first;
        REQUIRE(load(*wave, GpuBench::vram_uc + 0x200, all_bits) == 2); // its own

        const auto done = wave->fence(Order::release, Scope::system, {});
        REQUIRE(done >= std::max(first, doorbell));
        is_awaited |= bench.bus.log().empty(); // it makes none of them arrive earlier
        bench.pass(done);
        REQUIRE(bench.in_vram(0x100) == 1);
        REQUIRE(bench.in_vram(0x200) == 2);
        REQUIRE(bench.bus.log().size() == 2);
        REQUIRE(bench.bus.log()[0].address == GpuBench::bus_base + 0x8);
    }
    CHECK(is_reordered);
    CHECK(is_awaited);
}

TEST_CASE("a delayed store happens at its time, whether or not anybody waits for it", "[unit][gpu][memory]") {
    GpuBench bench(MemoryConfig::of(Profile::adversarial));
    const auto wave = bench.wave();
    const auto done = store(*wave, GpuBench::bus_uc + 0x8, 4).done;
    REQUIRE(done > Time{1});
    bench.pass(done - Time{1});
    CHECK(bench.on_bus(0x8) == 0);
    bench.pass(Time{1});
    CHECK(bench.on_bus(0x8) == 4);
}

TEST_CASE("lines of GL2 that a seed evicts come to memory in bounded time", "[unit][gpu][memory]") {
    auto config = MemoryConfig::of(Profile::adversarial);
    config.evict_hold = 100us;
    unsigned evicted = 0;
    GpuBench bench(config);
    const auto wave = bench.wave();
    for (unsigned i = 0; i < 64; ++i)
        store(*wave, GpuBench::vram_nc + i * 128, i + 1);
    bench.pass(100us);
    for (unsigned i = 0; i < 64; ++i)
        evicted += bench.in_vram(i * 128) == i + 1;
    CHECK(evicted > 4);
    CHECK(evicted < 40);
}

TEST_CASE("an ACQUIRE_MEM that is delayed rinses when it begins", "[unit][gpu][memory]") {
    GpuBench bench(MemoryConfig::of(Profile::adversarial));
    const auto wave = bench.wave();
    store(*wave, GpuBench::vram_nc + 0x100, 1);
    const auto control = abi::gpu::CacheControl{}.set<"gl2_inv">(true).set<"gl2_wb">(true).value();
    const auto begin = bench.gpu.block().acquire(static_cast<std::uint32_t>(control), bench.now());
    REQUIRE(begin > Time{});
    CHECK(bench.in_vram(0x100) == 0);
    bench.pass(begin);
    CHECK(bench.in_vram(0x100) == 1);
}

TEST_CASE("the book of writers remembers the last ones and no more", "[unit][gpu][memory]") {
    Writers writers;
    writers.note(0x100, 4, Writer::inbound, 5us);
    writers.note(0x180, 300, Writer::gpu, 6us);

    CHECK(writers.find(0x17f, 5us).writer == Writer::inbound);
    CHECK(writers.find(0x17f, 5us).at == 5us);
    CHECK(writers.find(0x17f, 6us).writer == Writer::nobody);
    CHECK(writers.find(0x180 + 299, 1us).writer == Writer::gpu);
    CHECK(writers.find(0x380, 0us).writer == Writer::nobody);
    writers.note(0x100 + Writers::lines * Writers::line_bytes, 4, Writer::gpu, 7us); // the same place in the book
    CHECK(writers.find(0x100, 0us).writer == Writer::nobody);
    writers.note(0, std::size_t{1} << 40, Writer::inbound, 8us); // takes no longer than the book
    CHECK(writers.find((std::uint64_t{1} << 40) - 1, 8us).writer == Writer::inbound);
}
