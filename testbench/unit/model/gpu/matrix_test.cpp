// A wave gives a drive commands by a queue pair and polls for completions: which placement, page types, loads and
// flushes come to an end, by profile.
#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>

using namespace harness;
using namespace model::gpu::memory;

namespace {

constexpr std::uint64_t submission = 0x1000, completion = 0x2000, doorbell = 0x8'0000;
constexpr std::uint32_t phase = 0x1'0000;

enum class Result : std::uint8_t { ok, stuck, bad, reset };
constexpr auto ok = Result::ok, stuck = Result::stuck, bad = Result::bad, reset = Result::reset;

struct Setup {
    Mtype submission_type = Mtype::uc, completion_type = Mtype::uc;
    std::optional<Mtype> doorbell_type{}; ///< nothing: as the profile imports it
    bool on_host = false;                 ///< the queues lie in memory of the host
    Modifiers poll = all_bits;
    std::function<void(GpuBench&)> flush = [](GpuBench&) {}; ///< between two polls
};

/// A drive without a medium: it looks at its doorbell, reads the commands, and answers each with its identifier.
struct Drive {
    GpuBench& bench;
    bool on_host;
    std::uint32_t head = 0;
    bool has_run_old_commands = false;

    void run() {
        for (const auto tail = bench.on_bus(doorbell); head < tail; ++head) {
            const auto command = on_host ? bench.on_bus(submission + head * 64) : bench.read(submission + head * 64);
            has_run_old_commands |= command != head + 1;
            const auto entry = phase | command;
            if (on_host)
                bench.set_on_bus(completion + head * 16, entry);
            else
                bench.write(completion + head * 16, entry);
        }
    }
};

/// Three commands, one after another, by one wave that does not end.
Result run(const MemoryConfig& config, const Setup& setup) {
    GpuBench bench(config);
    Drive drive{.bench = bench, .on_host = setup.on_host};
    const auto page = [&](Mtype type) {
        const bool is_kept = type == Mtype::nc;
        return setup.on_host ? (is_kept ? GpuBench::bus_nc : GpuBench::bus_uc)
                             : (is_kept ? GpuBench::vram_nc : GpuBench::vram_uc);
    };
    const auto commands = page(setup.submission_type) + submission, answers = page(setup.completion_type) + completion;
    const auto bell =
        (setup.doorbell_type.value_or(config.import_mtype) == Mtype::nc ? GpuBench::bus_nc : GpuBench::bus_uc) +
        doorbell;
    const auto wave = bench.wave();
    wave->begin_kernel(Scope::system, bench.now());
    load(*wave, answers, setup.poll, bench.now()); // the queue is looked at before the first command
    for (std::uint32_t command = 1; command <= 3; ++command) {
        store(*wave, commands + (command - 1) * 64, command, {}, bench.now());
        bench.pass(wave->fence(Order::release, Scope::system, bench.now()) - bench.now());
        store(*wave, bell, command, volatile_store, bench.now());
        bench.pass(wave->fence(Order::release, Scope::system, bench.now()) - bench.now());
        std::uint32_t entry = 0;
        for (const auto deadline = bench.now() + config.hold_max; (entry & phase) == 0;) {
            drive.run();
            bench.pass(config.hold_max / 16);
            setup.flush(bench);
            if (!wave->is_valid())
                return reset;
            entry = load(*wave, answers + (command - 1) * 16, setup.poll, bench.now());
            if ((entry & phase) == 0 && bench.now() >= deadline)
                return stuck;
        }
        if ((entry & 0xffff) != command || drive.has_run_old_commands)
            return bad;
    }
    return ok;
}

struct Outcomes {
    Result text_m1, text_m2, coherent, adversarial;
    bool operator==(const Outcomes&) const = default;
};
/// What GL2 may keep, the worst GPU here keeps to the end.
MemoryConfig worst() {
    auto config = MemoryConfig::of(Profile::adversarial);
    config.evict_hold = {};
    return config;
}
Outcomes run_all(const Setup& setup) {
    return {run(MemoryConfig::of(Profile::rdna3_text, Mechanism::m1), setup),
            run(MemoryConfig::of(Profile::rdna3_text, Mechanism::m2), setup),
            run(MemoryConfig::of(Profile::coherent), setup), run(worst(), setup)};
}
auto poke(abi::gpu::Register which, unsigned number, std::uint32_t value) {
    return [=](GpuBench& bench) { bench.poke(static_cast<std::uint32_t>(which) + 4 * number, value); };
}
using abi::gpu::Register;

} // namespace

TEST_CASE("with queues of NC pages a wave is stuck, unless GL2 is probed", "[unit][gpu][matrix]") {
    const Setup setup{.submission_type = Mtype::nc, .completion_type = Mtype::nc, .poll = volatile_load};
    CHECK(run_all(setup) == Outcomes{stuck, stuck, ok, stuck});
}

TEST_CASE("a fence does not bring a command in an NC page to the drive", "[unit][gpu][matrix]") {
    const Setup setup{.submission_type = Mtype::nc, .doorbell_type = Mtype::uc};
    CHECK(run_all(setup) == Outcomes{stuck, bad, ok, bad});
}

TEST_CASE("with queues of UC pages and all bits set a wave is stuck without a flush", "[unit][gpu][matrix]") {
    CHECK(run_all({}) == Outcomes{stuck, stuck, ok, stuck});
}

TEST_CASE("with a BAR mapped as UC it is mechanism 1 alone that holds a wave", "[unit][gpu][matrix]") {
    CHECK(run_all({.doorbell_type = Mtype::uc}) == Outcomes{stuck, ok, ok, ok});
    CHECK(run(MemoryConfig::of(Profile::rdna3_text, Mechanism::m3), {.doorbell_type = Mtype::uc}) == stuck);
}

TEST_CASE("a heavy flush by engine 17, again and again, lets a wave go on", "[unit][gpu][matrix]") {
    for (const auto mask : {1u, 0x100u, 0x8000u})
        CHECK(run_all({.flush = poke(Register::invalidate0_req, 17, 2u << 16 | mask)}) == Outcomes{ok, ok, ok, stuck});
    CHECK(run(MemoryConfig::of(Profile::rdna3_text, Mechanism::m3),
              {.flush = poke(Register::invalidate0_req, 17, 2u << 16 | 1)}) == ok);
}

TEST_CASE("another engine, another type, no mask, the other hub and the host data path do not", "[unit][gpu][matrix]") {
    const Outcomes none{stuck, stuck, ok, stuck};
    CHECK(run_all({.flush = poke(Register::invalidate0_req, 16, 0x00fa'0100)}) == none);
    CHECK(run_all({.flush = poke(Register::invalidate0_req, 17, 0x00f9'0100)}) == none);
    CHECK(run_all({.flush = poke(Register::invalidate0_req, 17, 0x00fa'0000)}) == none);
    CHECK(run_all({.flush = poke(Register::mm_invalidate0_req, 17, 0x00fa'0100)}) == none);
    CHECK(run_all({.flush = poke(Register::hdp_flush_req, 0, 0xfff)}) == none);
}

TEST_CASE("two control registers end it all by a reset", "[unit][gpu][matrix]") {
    for (const auto which : {Register::gcr_general_cntl, Register::l2_cntl2})
        CHECK(run_all({.flush = poke(which, 0, 1)}) == Outcomes{reset, reset, reset, reset});
}

TEST_CASE("submissions of another program let a wave go on", "[unit][gpu][matrix]") {
    const auto render = [](GpuBench& bench) {
        const auto control = abi::gpu::CacheControl{}.set<"gl2_inv">(true).set<"gl2_wb">(true).value();
        bench.gpu.block().acquire(static_cast<std::uint32_t>(control), bench.now());
    };
    CHECK(run_all({.flush = render}) == Outcomes{ok, ok, ok, ok});
}

TEST_CASE("plain loads in a loop are held by GL0 and GL1, whatever is flushed", "[unit][gpu][matrix]") {
    const Setup setup{
        .doorbell_type = Mtype::uc, .poll = plain, .flush = poke(Register::invalidate0_req, 17, 2u << 16 | 1)};
    CHECK(run_all(setup) == Outcomes{stuck, stuck, stuck, stuck});
    auto strict = MemoryConfig::of(Profile::coherent);
    strict.probes_upper = true;
    CHECK(run(strict, setup) == ok);
}

TEST_CASE("queues in memory of the host work by UC pages, and by no others", "[unit][gpu][matrix]") {
    CHECK(run_all({.doorbell_type = Mtype::uc, .on_host = true, .poll = relaxed_atomic_load}) ==
          Outcomes{ok, ok, ok, ok});
    CHECK(
        run_all(
            {.completion_type = Mtype::nc, .doorbell_type = Mtype::uc, .on_host = true, .poll = relaxed_atomic_load}) ==
        Outcomes{stuck, stuck, stuck, stuck});
}

TEST_CASE("a flush that rinses commands of NC pages brings them to memory before or behind the doorbell",
          "[unit][gpu][matrix]") {
    const Setup setup{.submission_type = Mtype::nc,
                      .completion_type = Mtype::nc,
                      .flush = poke(Register::invalidate0_req, 17, 2u << 16 | 1)};
    const auto outcomes = run_all(setup);
    CHECK((outcomes.text_m1 == ok || outcomes.text_m1 == bad));
    CHECK((outcomes.text_m2 == ok || outcomes.text_m2 == bad));
    CHECK(outcomes.coherent == ok);
    CHECK(outcomes.adversarial == stuck);
}

TEST_CASE("data in an NC page that a kernel has touched is old behind a fresh completion", "[unit][gpu][matrix]") {
    constexpr std::uint64_t data = 0x4000;
    for (const auto profile : {Profile::rdna3_text, Profile::coherent, Profile::adversarial}) {
        GpuBench bench(profile == Profile::adversarial ? worst() : MemoryConfig::of(profile, Mechanism::m2));
        const auto wave = bench.wave();
        load(*wave, GpuBench::vram_nc + data, plain, bench.now());
        bench.write(data, 0x600d); // a drive writes the data, then the completion
        bench.write(completion, phase | 1);
        bench.pass(1ms);

        CHECK(load(*wave, GpuBench::vram_uc + completion, all_bits, bench.now()) == (phase | 1));
        wave->fence(Order::acquire, Scope::system, bench.now());
        CHECK(load(*wave, GpuBench::vram_nc + data, plain, bench.now()) == (profile == Profile::coherent ? 0x600d : 0));
    }
}

TEST_CASE("a drive reads old bytes from an NC page that a kernel has written", "[unit][gpu][matrix]") {
    for (const auto profile : {Profile::rdna3_text, Profile::coherent, Profile::adversarial}) {
        GpuBench bench(MemoryConfig::of(profile));
        const auto wave = bench.wave();
        store(*wave, GpuBench::vram_nc + 0x4000, 0x600d);
        wave->fence(Order::release, Scope::system, bench.now());
        CHECK(bench.read(0x4000) == (profile == Profile::coherent ? 0x600d : 0));
    }
}

TEST_CASE("a kernel that rings once and ends needs no flush", "[unit][gpu][matrix]") {
    for (const auto mechanism : {Mechanism::m1, Mechanism::m2}) {
        const auto config = MemoryConfig::of(Profile::rdna3_text, mechanism);
        GpuBench bench(config);
        Drive drive{.bench = bench, .on_host = true};
        bench.set_on_bus(submission, 1);
        const auto wave = bench.wave();
        wave->begin_kernel(Scope::system, bench.now());
        const auto bell = config.import_mtype == Mtype::nc ? GpuBench::bus_nc : GpuBench::bus_uc;
        store(*wave, bell + doorbell, 1, volatile_store, bench.now());
        wave->end_kernel(Scope::system, bench.now());
        drive.run();
        CHECK(bench.on_bus(completion) == (phase | 1));
    }
}

TEST_CASE("what PCIe reads while a wave is stuck says which mechanism holds it", "[unit][gpu][matrix]") {
    for (const auto mechanism : {Mechanism::m1, Mechanism::m2, Mechanism::m3}) {
        const auto config = MemoryConfig::of(Profile::rdna3_text, mechanism);
        GpuBench bench(config);
        Drive drive{.bench = bench, .on_host = false};
        const auto wave = bench.wave();
        const auto bell = config.import_mtype == Mtype::nc ? GpuBench::bus_nc : GpuBench::bus_uc;
        load(*wave, GpuBench::vram_uc + completion, all_bits, bench.now());
        store(*wave, GpuBench::vram_uc + submission, 1, {}, bench.now());
        store(*wave, bell + doorbell, 1, volatile_store, bench.now());
        drive.run();
        bench.pass(1ms);
        Outcome outcome;
        CHECK(load(*wave, GpuBench::vram_uc + completion, all_bits, bench.now(), &outcome) == 0);

        const bool is_doorbell_held = mechanism == Mechanism::m2;
        CHECK(bench.read(completion) == (is_doorbell_held ? 0 : phase | 1));
        CHECK(drive.head == (is_doorbell_held ? 0 : 1));
        CHECK(outcome.is_stale != is_doorbell_held);
        CHECK(bench.gpu.block().caches().dirty_lines().size() == (is_doorbell_held ? 1 : 0));
    }
}
