#include "testbench/harness/gpu_bench.h"
#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <random>

using namespace harness;
using namespace model::gpu::memory;

namespace {

MemoryConfig without_hold(Profile profile, Mechanism mechanism = Mechanism::m1) {
    auto config = MemoryConfig::of(profile, mechanism);
    config.hdp_hold = {};
    return config;
}
const auto text_m1 = without_hold(Profile::rdna3_text);
const auto text_m2 = without_hold(Profile::rdna3_text, Mechanism::m2);
const auto text_m3 = without_hold(Profile::rdna3_text, Mechanism::m3);
const auto coherent = without_hold(Profile::coherent);
const auto adversarial = without_hold(Profile::adversarial);

Modifiers modifiers_of(unsigned bits) {
    return {.glc = (bits & 1) != 0, .slc = (bits & 2) != 0, .dlc = (bits & 4) != 0};
}

/// What a load sees after memory was changed by PCIe behind a line that an equal load had brought in.
std::uint32_t after_inbound_write(const MemoryConfig& config, std::uint64_t page, Modifiers modifiers,
                                  Outcome* outcome = nullptr) {
    GpuBench bench(config);
    const auto wave = bench.wave();
    bench.write(0x100, 1);
    REQUIRE(load(*wave, page + 0x100, modifiers, 0ns) == 1);
    bench.clock.set(1us);
    bench.write(0x100, 2);
    return load(*wave, page + 0x100, modifiers, 2us, outcome);
}

} // namespace

TEST_CASE("no combination of modifier bits leaves GL2 out for an NC page", "[unit][gpu][memory]") {
    const auto bits = GENERATE(range(0u, 8u));
    CAPTURE(bits);
    Outcome outcome;

    CHECK(after_inbound_write(text_m1, GpuBench::vram_nc, modifiers_of(bits), &outcome) == 1);

    CHECK(outcome.is_stale);
    CHECK(outcome.stale_address == 0x100);
    CHECK(outcome.overtaken_by == Writer::inbound);
    CHECK(outcome.overtaken_at == 1us);
    CHECK(outcome.filled == 0ns);
    CHECK((outcome.stale_level == Level::gl2) == ((bits & 3) != 0)); // glc passes GL0 and GL1, slc leaves nothing there
    CHECK(after_inbound_write(text_m2, GpuBench::vram_nc, modifiers_of(bits)) == 1);
    CHECK(after_inbound_write(adversarial, GpuBench::vram_nc, modifiers_of(bits)) == 1);
}

TEST_CASE("a UC load that passes GL0 and GL1 hits a line of GL2 by mechanism 1 alone", "[unit][gpu][memory]") {
    const auto bits = GENERATE(1u, 3u, 5u, 7u); // all with glc
    Outcome outcome;

    CHECK(after_inbound_write(text_m1, GpuBench::vram_uc, modifiers_of(bits), &outcome) == 1);
    CHECK(outcome.stale_level == Level::gl2);
    CHECK(after_inbound_write(text_m2, GpuBench::vram_uc, modifiers_of(bits)) == 2);
    CHECK(after_inbound_write(text_m3, GpuBench::vram_uc, modifiers_of(bits), &outcome) == 1);
    CHECK(outcome.stale_level == Level::unnamed);
    CHECK(after_inbound_write(adversarial, GpuBench::vram_uc, modifiers_of(bits)) == 2);
    CHECK(after_inbound_write(coherent, GpuBench::vram_uc, modifiers_of(bits)) == 2);
}

TEST_CASE("GL0 and GL1 keep what a plain load of a UC page has brought in", "[unit][gpu][memory]") {
    Outcome outcome;
    CHECK(after_inbound_write(text_m2, GpuBench::vram_uc, plain, &outcome) == 1);
    CHECK(outcome.stale_level == Level::gl0);
    CHECK(after_inbound_write(coherent, GpuBench::vram_uc, plain) == 1);

    auto strict = coherent;
    strict.probes_upper = true;
    CHECK(after_inbound_write(strict, GpuBench::vram_uc, plain) == 2);
    auto lean = text_m2;
    lean.keeps_uc_upper = false;
    CHECK(after_inbound_write(lean, GpuBench::vram_uc, plain) == 2);
}

TEST_CASE("a probed GL2 has what PCIe wrote, with dirty bytes of its own beside it", "[unit][gpu][memory]") {
    GpuBench bench(coherent);
    const auto wave = bench.wave();
    store(*wave, GpuBench::vram_nc + 0x100, 1);
    store(*wave, GpuBench::vram_nc + 0x104, 5);

    bench.write(0x100, 2);

    CHECK(load(*wave, GpuBench::vram_nc + 0x100, volatile_load) == 2);
    CHECK(load(*wave, GpuBench::vram_nc + 0x104, volatile_load) == 5);
    CHECK(bench.read(0x104) == 5); // an inbound read is probed, too
    CHECK(bench.in_vram(0x104) == 0);
    bench.gpu.block().caches().rinse({});
    CHECK(bench.in_vram(0x100) == 2); // the older store does not come back
    CHECK(bench.in_vram(0x104) == 5);
}

TEST_CASE("an inbound read does not see what is dirty in GL2", "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto wave = bench.wave();

    CHECK(store(*wave, GpuBench::vram_nc + 0x200, 7).level == Level::gl2);
    wave->fence(Order::release, Scope::system, {}); // waits; writes nothing back

    CHECK(bench.read(0x200) == 0);
    CHECK(load(*wave, GpuBench::vram_nc + 0x200, volatile_load) == 7);
    CHECK(bench.wave(5)->is_valid());
    CHECK(load(*bench.wave(5), GpuBench::vram_nc + 0x200, volatile_load) == 7);
    wave->end_kernel(Scope::agent, {});
    CHECK(bench.read(0x200) == 0);
    wave->end_kernel(Scope::system, {});
    CHECK(bench.read(0x200) == 7);
}

TEST_CASE("a store to a UC page is in memory when it is acknowledged", "[unit][gpu][memory]") {
    for (const auto& config : {text_m1, text_m2, coherent}) {
        GpuBench bench(config);
        const auto wave = bench.wave();
        CHECK(store(*wave, GpuBench::vram_uc + 0x200, 7).level == Level::vram);
        CHECK(bench.read(0x200) == 7);
        CHECK(store(*wave, GpuBench::bus_uc + 0x40, 9).level == Level::bus);
        CHECK(bench.on_bus(0x40) == 9);
        CHECK(load(*wave, GpuBench::vram_uc + 0x200, all_bits) == 7);
    }
}

TEST_CASE("a doorbell behind an NC page stays in GL2 until it is rinsed", "[unit][gpu][memory]") {
    GpuBench bench(text_m2);
    const auto wave = bench.wave();
    store(*wave, GpuBench::bus_nc + 0x1008, 3, volatile_store, 5us);
    wave->fence(Order::release, Scope::system, 5us);

    CHECK(bench.bus.log().empty()); // nor was the line read: the store knows its own bytes
    const auto held = bench.gpu.block().caches().dirty_lines();
    REQUIRE(held.size() == 1);
    CHECK(held[0].address.is_bus());
    CHECK(held[0].address.address() == GpuBench::bus_base + 0x1000);
    CHECK(held[0].bytes == 4);
    CHECK(held[0].since == 5us);

    bench.gpu.block().caches().rinse(6us);
    REQUIRE(bench.bus.log().size() == 1);
    CHECK(bench.bus.log()[0].address == GpuBench::bus_base + 0x1008);
    CHECK(bench.bus.log()[0].length == 4);
    CHECK(bench.on_bus(0x1008) == 3);
    CHECK(bench.gpu.block().caches().dirty_lines().empty());
}

TEST_CASE("a load through an NC page of PCIe may be old, through a UC page it asks the device", "[unit][gpu][memory]") {
    GpuBench bench(coherent); // PCIe has no probes: this holds for every profile
    const auto wave = bench.wave();
    bench.set_on_bus(0x80, 1);
    CHECK(load(*wave, GpuBench::bus_nc + 0x80, all_bits) == 1);
    CHECK(load(*wave, GpuBench::bus_uc + 0x80, plain) == 1);
    bench.set_on_bus(0x80, 2);

    CHECK(load(*wave, GpuBench::bus_nc + 0x80, all_bits) == 1);
    CHECK(load(*wave, GpuBench::bus_uc + 0x80, plain) == 2);
    bench.bus.clear_log();
    load(*wave, GpuBench::bus_uc + 0x80, plain);
    REQUIRE(bench.bus.log().size() == 1);
    CHECK(bench.bus.log()[0].length == 4); // registers beside it are not touched
}

TEST_CASE("a read that PCIe refuses gives ones, and no cache keeps them", "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto wave = bench.wave();
    bench.bus.fail(GpuBench::bus_base, GpuBench::bus_base + 0x1000, model::port::DmaStatus::unsupported_request);
    for (const auto page : {GpuBench::bus_nc, GpuBench::bus_uc}) {
        Outcome outcome;
        CHECK(load(*wave, page + 0x80, plain, {}, &outcome) == 0xffff'ffff);
        CHECK(outcome.status == Status::bus_error);
    }
    bench.bus.clear_faults();
    bench.set_on_bus(0x80, 4);
    CHECK(load(*wave, GpuBench::bus_nc + 0x80, plain) == 4);
}

TEST_CASE("zeroes that are dirty come over a completion when they are rinsed", "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto wave = bench.wave();
    store(*wave, GpuBench::vram_nc + 0x300, 0); // the queue is cleared, and the kernel goes on
    store(*wave, GpuBench::vram_nc + 0x304, 0);
    bench.write(0x304, 0x0001'0000); // the completion
    bench.write(0x308, 0x1234);      // not cleared before

    bench.gpu.block().caches().rinse({});

    CHECK(bench.read(0x304) == 0);
    CHECK(bench.read(0x308) == 0x1234);

    GpuBench clean(text_m1);
    const auto careful = clean.wave();
    store(*careful, GpuBench::vram_nc + 0x304, 0);
    careful->end_kernel(Scope::system, {});
    clean.write(0x304, 0x0001'0000);
    clean.gpu.block().caches().rinse({});
    CHECK(clean.read(0x304) == 0x0001'0000);
}

TEST_CASE("a line that is two laps old looks valid to a poller that moves", "[unit][gpu][memory]") {
    GpuBench bench(text_m2);
    const auto first = bench.wave(0), second = bench.wave(4); // another shader array
    bench.write(0x400, 0x1'0001);                             // phase 1, command 1
    CHECK(load(*first, GpuBench::vram_uc + 0x400, plain) == 0x1'0001);
    bench.write(0x400, 0x0'0002); // the second lap is seen by another wave
    CHECK(load(*second, GpuBench::vram_uc + 0x400, plain) == 0x0'0002);

    // The third lap has phase 1 again and has not happened. The first wave is taken in, one that passes GL0 is not.
    Outcome outcome;
    CHECK(load(*first, GpuBench::vram_uc + 0x400, plain, {}, &outcome) == 0x1'0001);
    CHECK(outcome.is_stale);
    CHECK(outcome.stale_level == Level::gl0);
    CHECK(load(*first, GpuBench::vram_uc + 0x400, relaxed_atomic_load) == 0x0'0002);
    first->fence(Order::acquire, Scope::agent, {});
    CHECK(load(*first, GpuBench::vram_uc + 0x400, plain) == 0x0'0002);
}

TEST_CASE("an acquire fence clears GL1 before GL0, one of a work-group GL0 alone", "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto reader = bench.wave(0), neighbour = bench.wave(1), far = bench.wave(4);
    CHECK(load(*reader, GpuBench::vram_nc + 0x500, plain) == 0);
    CHECK(load(*neighbour, GpuBench::vram_nc + 0x500, plain) == 0);
    store(*far, GpuBench::vram_nc + 0x500, 8);
    Outcome outcome;
    CHECK(load(*reader, GpuBench::vram_nc + 0x500, plain, {}, &outcome) == 0);
    CHECK(outcome.is_stale);

    reader->fence(Order::acquire, Scope::workgroup, {});
    CHECK(load(*reader, GpuBench::vram_nc + 0x500, plain, {}, &outcome) == 0); // from GL1
    CHECK(outcome.level == Level::gl1);
    CHECK(outcome.is_stale);
    reader->fence(Order::acquire, Scope::agent, {});
    CHECK(load(*reader, GpuBench::vram_nc + 0x500, plain) == 8);
    CHECK(load(*neighbour, GpuBench::vram_nc + 0x500, plain) == 8); // the other CU of the WGP
}

TEST_CASE("a copy of an old line is as old as the line", "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto first = bench.wave(0), second = bench.wave(4);
    load(*first, GpuBench::vram_nc + 0x700, plain, 1us);
    bench.clock.set(2us);
    bench.write(0x700, 1);
    Outcome outcome;

    for (const auto level : {Level::gl2, Level::gl0}) {
        CHECK(load(*second, GpuBench::vram_nc + 0x700, plain, 3us, &outcome) == 0);
        CHECK(outcome.stale_level == level);
        CHECK(outcome.filled == 1us);
        CHECK(outcome.overtaken_by == Writer::inbound);
        CHECK(outcome.overtaken_at == 2us);
    }
}

TEST_CASE("a delayed store does not come over a younger one that was written back", "[unit][gpu][memory]") {
    GpuBench bench(adversarial);
    const auto wave = bench.wave();
    store(*wave, GpuBench::vram_uc + 0x700, 1);
    REQUIRE(bench.in_vram(0x700) == 0);
    store(*wave, GpuBench::vram_nc + 0x700, 2);

    bench.gpu.block().caches().write_back({});
    CHECK(bench.in_vram(0x700) == 2);
    bench.pass(1ms);
    CHECK(bench.in_vram(0x700) == 2);
}

TEST_CASE("the scalar cache does not see stores of its own CU", "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto wave = bench.wave();
    std::array<std::byte, 4> bytes{};
    wave->scalar_load(GpuBench::vram_nc + 0x540, bytes, plain, {});
    store(*wave, GpuBench::vram_nc + 0x540, 6);

    wave->fence(Order::acquire_release, Scope::system, {});
    const auto outcome = wave->scalar_load(GpuBench::vram_nc + 0x540, bytes, plain, {});
    CHECK(GpuBench::value_of(bytes) == 0);
    CHECK(outcome.level == Level::scalar);
    CHECK(outcome.is_stale);
    wave->invalidate_scalar({});
    wave->scalar_load(GpuBench::vram_nc + 0x540, bytes, plain, {});
    CHECK(GpuBench::value_of(bytes) == 6);
}

TEST_CASE("an atomic executes in GL2 for NC, in memory for UC, and nowhere for a BAR", "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto wave = bench.wave();
    bench.write(0x600, 10);
    bench.write(0x680, 10);
    std::uint64_t old = 0;

    CHECK(wave->atomic(AtomicOp::add, GpuBench::vram_nc + 0x600, 4, 5, 0, old, {.glc = true}, {}).is_ok());
    CHECK(old == 10);
    CHECK(bench.read(0x600) == 10);
    CHECK(load(*wave, GpuBench::vram_nc + 0x600, plain) == 15);

    CHECK(wave->atomic(AtomicOp::compare_swap, GpuBench::vram_uc + 0x680, 4, 77, 10, old, {.glc = true}, {}).is_ok());
    CHECK(old == 10);
    CHECK(bench.read(0x680) == 77);
    CHECK(wave->atomic(AtomicOp::compare_swap, GpuBench::vram_uc + 0x680, 4, 78, 10, old, {.glc = true}, {}).is_ok());
    CHECK(old == 77);
    CHECK(bench.read(0x680) == 77);

    CHECK(wave->atomic(AtomicOp::swap, GpuBench::bus_uc + 0x8, 8, 1, 0, old, {.glc = true}, {}).status ==
          Status::bus_error);
    CHECK(old == ~std::uint64_t{0});
    CHECK(bench.on_bus(0x8) == 0);
    CHECK(wave->atomic(AtomicOp::swap, GpuBench::vram_nc + 0x602, 4, 1, 0, old, {}, {}).status == Status::page_fault);
}

TEST_CASE("a load with slc leaves no line in GL1 either, also when it hits there", "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto first = bench.wave(0), second = bench.wave(1); // of one shader array
    Outcome outcome;
    load(*first, GpuBench::vram_nc + 0x100, plain);

    load(*second, GpuBench::vram_nc + 0x100, {.slc = true}, {}, &outcome);
    CHECK(outcome.level == Level::gl1);
    load(*second, GpuBench::vram_nc + 0x100, {.slc = true}, {}, &outcome);
    CHECK(outcome.level == Level::gl2);
}

TEST_CASE("whether a load is old is decided byte by byte: dirty ones by GL2, all others by memory",
          "[unit][gpu][memory]") {
    GpuBench bench(text_m1);
    const auto wave = bench.wave();
    std::array<std::byte, 8> bytes{};
    const auto look = [&](std::uint64_t offset, Modifiers modifiers) {
        return wave->load(GpuBench::vram_nc + offset, bytes, modifiers, bench.now());
    };

    // GL2 has four dirty bytes, and no others of the line: nobody else has written.
    bench.write(0x1004, 0xaaaa);
    look(0x1000, plain);
    bench.gpu.block().caches().rinse({}); // GL0 and GL1 keep it
    store(*wave, GpuBench::vram_nc + 0x1000, 0x1111);
    const auto beside = look(0x1000, plain);
    CHECK(beside.level == Level::gl0);
    CHECK_FALSE(beside.is_stale);

    // Clean bytes beside dirty ones are old when memory has others.
    look(0x2000, volatile_load);
    store(*wave, GpuBench::vram_nc + 0x2000, 0x1111);
    CHECK_FALSE(look(0x2000, volatile_load).is_stale);
    bench.clock.set(1us);
    bench.write(0x2004, 0x2222);
    const auto old = look(0x2000, volatile_load);
    CHECK(old.is_stale);
    CHECK(old.overtaken_by == Writer::inbound);

    // Dirty bytes are old when PCIe has written the same ones since, and not when it has written others.
    store(*wave, GpuBench::vram_nc + 0x3000, 0x1111, {}, bench.now());
    store(*wave, GpuBench::vram_nc + 0x3004, 0x1111, {}, bench.now());
    bench.write(0x3008, 0x3333);
    CHECK_FALSE(look(0x3000, volatile_load).is_stale);
    bench.write(0x3004, 0x3333);
    CHECK(look(0x3000, volatile_load).is_stale);
    store(*wave, GpuBench::vram_nc + 0x3004, 0x4444, {}, bench.now());
    CHECK_FALSE(look(0x3000, volatile_load).is_stale);
}

TEST_CASE("MALL never lies, unless a profile that no document allows makes it", "[unit][gpu][memory]") {
    for (const bool lies : {false, true}) {
        auto config = text_m2;
        config.mall_lies = lies;
        CHECK(after_inbound_write(config, GpuBench::vram_uc, relaxed_atomic_load) == (lies ? 1 : 2));
        CHECK(after_inbound_write(config, GpuBench::vram_uc, volatile_load) == 2); // dlc: nothing was allocated
    }
}

TEST_CASE("a wave alone reads what it wrote, by every profile and memory type", "[unit][gpu][memory]") {
    const auto seed = testbench::random_seed();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    for (auto config : {text_m1, text_m2, text_m3, coherent, adversarial}) {
        config.seed = seed;
        config.gl2 = {.bytes = 4096, .ways = 2};
        config.evict_hold = config.is_adversarial ? 20us : 0us;
        GpuBench bench(config);
        const auto wave = bench.wave();
        constexpr std::size_t area = 16 << 10;
        std::array<std::vector<std::byte>, 4> expected;
        expected.fill(std::vector<std::byte>(area));
        // VRAM by both types, but different bytes of it; the bus likewise.
        const std::array pages{GpuBench::vram_nc, GpuBench::vram_uc + area, GpuBench::bus_nc, GpuBench::bus_uc + area};
        for (unsigned step = 0; step < 4000; ++step) {
            bench.pass(Time{random() % 1'000'000});
            const auto which = random() % pages.size();
            const auto length = 1 + random() % 300, begin = random() % (area - length);
            const auto modifiers = modifiers_of(random() % 8);
            if (random() % 2) {
                std::vector<std::byte> bytes(length, static_cast<std::byte>(step));
                REQUIRE(wave->store(pages[which] + begin, bytes, modifiers, bench.now()).is_ok());
                std::ranges::copy(bytes, expected[which].begin() + static_cast<long>(begin));
            } else {
                std::vector<std::byte> bytes(length);
                REQUIRE(wave->load(pages[which] + begin, bytes, modifiers, bench.now()).is_ok());
                REQUIRE(std::equal(bytes.begin(), bytes.end(), expected[which].begin() + static_cast<long>(begin)));
            }
        }
        wave->end_kernel(Scope::system, bench.now());
        REQUIRE(std::equal(expected[0].begin(), expected[0].end(), bench.gpu.bytes().begin()));
        REQUIRE(std::equal(expected[1].begin(), expected[1].end(), bench.gpu.bytes().begin() + area));
        REQUIRE(bench.bus.peek(GpuBench::bus_base, area) == expected[2]);
        REQUIRE(bench.bus.peek(GpuBench::bus_base + area, area) == expected[3]);
    }
}
