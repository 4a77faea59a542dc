#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using namespace model::gpu::memory;
using abi::gpu::Register;

namespace {

constexpr auto at_register = [](Register first, unsigned number = 0) {
    return static_cast<std::uint32_t>(first) + 4 * number;
};

/// A wave polls a UC page with all bits set, and the value it waits for came by PCIe behind a line of GL2.
struct Stuck : GpuBench {
    std::unique_ptr<MemoryView> poller;

    explicit Stuck(Mechanism mechanism = Mechanism::m1) : GpuBench(MemoryConfig::of(Profile::rdna3_text, mechanism)) {
        poller = wave();
        poller->begin_kernel(Scope::system, {});
        poll();
        write(0x100, 1);
        pass(10us);
    }
    std::uint32_t poll() { return load(*poller, vram_uc + 0x100, all_bits, now()); }
};

} // namespace

TEST_CASE("a poll is released by engine 17, flush type 2 and any bit of the mask, and by no other request",
          "[unit][gpu][registers]") {
    for (unsigned engine = 0; engine < abi::gpu::engines; ++engine)
        for (unsigned type = 0; type < 8; ++type)
            for (const unsigned mask : {0u, 1u, 1u << GpuBench::vmid, 1u << 15}) {
                CAPTURE(engine, type, mask);
                Stuck bench;
                REQUIRE(bench.poll() == 0);
                bench.poke(at_register(Register::invalidate0_req, engine), type << 16 | mask);
                REQUIRE(bench.poll() == (engine == 17 && type == 2 && mask != 0 ? 1u : 0u));
                REQUIRE(bench.peek(at_register(Register::invalidate0_ack, engine)) == mask);
            }
}

TEST_CASE("one flush frees what was complete then, and the next completion needs another", "[unit][gpu][registers]") {
    Stuck bench;
    bench.poke(at_register(Register::invalidate0_req, 17), 0x0002'0001);
    CHECK(bench.poll() == 1);
    bench.write(0x100, 2);
    bench.pass(10us);
    CHECK(bench.poll() == 1);
    bench.poke(at_register(Register::invalidate0_req, 17), 0x0002'0001);
    CHECK(bench.poll() == 2);
}

TEST_CASE("a translation is used until its invalidation ends, which is acknowledged then", "[unit][gpu][registers]") {
    auto config = MemoryConfig::of(Profile::rdna3_text);
    config.invalidation = 5us;
    GpuBench bench(config);
    bench.write(0x100, 1);
    bench.write(0x1100, 2);
    bench.pass(10us);
    const auto wave = bench.wave();
    const auto found = [&] { return load(*wave, GpuBench::vram_uc + 0x100, all_bits, bench.now()); };
    REQUIRE(found() == 1);

    bench.tables.set(GpuBench::vram_uc, GpuTables::entry(0x1000, false, Mtype::uc));
    bench.poke(at_register(Register::invalidate0_req, 5), 0x00f8'0100);
    bench.pass(4us);
    CHECK(found() == 1);
    CHECK(bench.peek(at_register(Register::invalidate0_ack, 5)) == 0);
    CHECK_FALSE(bench.gpu.is_quiet());
    bench.pass(1us);
    CHECK(found() == 2);
    CHECK(bench.peek(at_register(Register::invalidate0_ack, 5)) == 0x100);
    CHECK(bench.gpu.is_quiet());
}

TEST_CASE("page tables are the same before and after a flush that releases", "[unit][gpu][registers]") {
    Stuck bench;
    const std::vector before(bench.gpu.bytes().begin() + GpuBench::tables_at, bench.gpu.bytes().end());
    bench.poke(at_register(Register::invalidate0_req, 17), 0x0002'0001);
    CHECK(std::equal(before.begin(), before.end(), bench.gpu.bytes().begin() + GpuBench::tables_at));
}

TEST_CASE("the multimedia hub acknowledges and releases nothing", "[unit][gpu][registers]") {
    Stuck bench;
    for (unsigned engine = 0; engine < abi::gpu::engines; ++engine) {
        bench.poke(at_register(Register::mm_invalidate0_req, engine), 0x00fa'0100);
        CHECK(bench.peek(at_register(Register::mm_invalidate0_ack, engine)) == 0x100);
    }
    CHECK(bench.poll() == 0);
}

TEST_CASE("a request to flush the host data path is done at once and releases nothing", "[unit][gpu][registers]") {
    Stuck bench;
    bench.poke(at_register(Register::hdp_flush_req), 0xffff'ffff);
    CHECK(bench.peek(at_register(Register::hdp_flush_req)) == 0xffff'ffff);
    CHECK(bench.peek(at_register(Register::hdp_flush_done)) == 0xfff);
    CHECK(bench.poll() == 0);
    bench.poke(abi::gpu::remap_page + abi::gpu::hdp_mem_flush, 0);
    CHECK(bench.poll() == 0);
}

TEST_CASE("ACQUIRE_MEM releases a poll when it invalidates GL2, and not without", "[unit][gpu][registers]") {
    using abi::gpu::CacheControl;
    Stuck bench;
    const auto acquire = [&](CacheControl control) {
        bench.gpu.block().acquire(static_cast<std::uint32_t>(control.value()), bench.now());
        return bench.poll();
    };
    CHECK(acquire(CacheControl{}.set<"glv_inv">(true).set<"gl1_inv">(true).set<"glk_inv">(true)) == 0);
    CHECK(acquire(CacheControl{}.set<"gl2_wb">(true)) == 0);
    CHECK(acquire(CacheControl{}.set<"gl2_inv">(true).set<"gl2_wb">(true)) == 1);
}

TEST_CASE("a changed cache control register under a kernel resets the GPU", "[unit][gpu][registers]") {
    for (const auto which : {Register::gcr_general_cntl, Register::l2_cntl2}) {
        Stuck bench;
        const auto other = bench.wave(3);
        store(*bench.poller, GpuBench::vram_nc + 0x800, 7); // dirty, and lost
        bench.poke(at_register(which), 0);                  // the value it has
        CHECK(bench.poller->is_valid());

        bench.write(0x900, 5); // rests in the host data path

        bench.poke(at_register(which), 2);

        CHECK(bench.in_vram(0x900) == 5);
        CHECK(bench.gpu.block().resets() == 1);
        CHECK(bench.gpu.block().running_kernels() == 0);
        for (auto* wave : {bench.poller.get(), other.get()}) {
            Outcome outcome;
            CHECK_FALSE(wave->is_valid());
            load(*wave, GpuBench::vram_uc, plain, {}, &outcome);
            CHECK(outcome.status == Status::gpu_reset);
            CHECK(store(*wave, GpuBench::vram_uc, 1).status == Status::gpu_reset);
        }
        bench.poller->end_kernel(Scope::system, {});
        bench.poller.reset(); // counts as ended already
        CHECK(bench.gpu.block().running_kernels() == 0);
        CHECK(bench.in_vram(0x800) == 0);
        CHECK(bench.read(0x100) == 1);
        Outcome outcome;
        load(*bench.wave(), GpuBench::vram_uc, plain, {}, &outcome);
        CHECK(outcome.status == Status::page_fault); // contexts are off
        bench.attach();
        CHECK(load(*bench.wave(), GpuBench::vram_uc + 0x100, plain) == 1);
    }
}

TEST_CASE("without a kernel the cache control registers can be set up", "[unit][gpu][registers]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text));
    bench.poke(at_register(Register::l2_cntl2), 3);
    CHECK(bench.peek(at_register(Register::l2_cntl2)) == 3);
    CHECK(bench.gpu.block().resets() == 0);
}

TEST_CASE("a semaphore of an engine is taken by the first reader until it is given back", "[unit][gpu][registers]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text));
    CHECK(bench.peek(at_register(Register::invalidate0_sem, 17)) == 1);
    CHECK(bench.peek(at_register(Register::invalidate0_sem, 17)) == 0);
    CHECK(bench.peek(at_register(Register::invalidate0_sem, 16)) == 1);
    bench.poke(at_register(Register::invalidate0_sem, 17), 0);
    CHECK(bench.peek(at_register(Register::invalidate0_sem, 17)) == 1);
}

TEST_CASE("a context is set up by its registers", "[unit][gpu][registers]") {
    GpuBench bench(MemoryConfig::of(Profile::coherent));
    const unsigned vmid = 9;
    const auto root = bench.tables.root();
    bench.poke(at_register(Register::context0_base, 2 * vmid), static_cast<std::uint32_t>(root));
    bench.poke(at_register(Register::context0_base, 2 * vmid + 1), static_cast<std::uint32_t>(root >> 32));
    bench.poke(at_register(Register::context0_end, 2 * vmid), 0xffff'ffff);
    bench.poke(at_register(Register::context0_end, 2 * vmid + 1), 0xf);
    bench.poke(at_register(Register::context0_cntl, vmid), 1 | 3 << 1);
    bench.write(0x40, 6);

    CHECK(load(*bench.gpu.block().make_view(0, vmid), GpuBench::vram_uc + 0x40, plain) == 6);
    CHECK(bench.peek(at_register(Register::context0_end, 2 * vmid + 1)) == 0xf);
    bench.poke(at_register(Register::context0_base, 2 * 15 + 1), 0x77); // the last one, beside the next row
    CHECK(bench.gpu.block().spaces().context(15).base == std::uint64_t{0x77} << 32);
    CHECK(bench.peek(at_register(Register::context0_start)) == 0);
}

TEST_CASE("a GPU has the knobs that its settings name", "[unit][gpu][registers]") {
    model::gpu::GpuConfig config;
    CHECK(config.knobs() == MemoryConfig::of(Profile::rdna3_text, Mechanism::m1));
    for (auto& setting : config.settings())
        CHECK_FALSE(setting.help.empty());
    config.profile = 2, config.mechanism = 3, config.seed = 7, config.timed = false;
    auto expected = MemoryConfig::of(Profile::adversarial);
    expected.seed = 7;
    expected.timed = false;
    CHECK(config.knobs() == expected);
    config.profile = 0, config.timed = true;
    CHECK(config.knobs().mechanism == Mechanism::m3);
    config.memory = MemoryConfig::of(Profile::coherent);
    CHECK(config.knobs() == MemoryConfig::of(Profile::coherent));
}

TEST_CASE("accesses of any length and place to the register BAR are answered", "[unit][gpu][registers]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text));
    std::array<std::byte, 64> bytes{};
    bytes.fill(std::byte{0xff});
    for (std::uint64_t offset = 0; offset + bytes.size() <= model::gpu::Gpu::register_bytes; offset += 61)
        for (const std::size_t length : {1u, 3u, 4u, 7u, 64u}) {
            bench.gpu.bar_write(5, offset, std::span(bytes).first(length), bench.now());
            std::array<std::byte, 64> read{};
            bench.gpu.bar_read(5, offset, std::span(read).first(length), bench.now());
        }
    bench.gpu.bar_write(0, GpuBench::vram_bytes - 4, bytes, bench.now()); // beyond the end of VRAM
    bench.gpu.bar_read(0, GpuBench::vram_bytes - 4, bytes, bench.now());
    CHECK(bytes[3] == std::byte{0xff});
    CHECK(bytes[4] == std::byte{0});
}
