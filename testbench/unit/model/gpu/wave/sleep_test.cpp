// Threads that wait for memory to change, beside threads that look again and again: the same things happen at the same
// times, and far fewer loads are made.
#include "testbench/harness/gpu_bench.h"
#include "model/gpu/wave/grid.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <functional>
#include <numeric>

using namespace std::chrono_literals;
using namespace model::gpu::wave;
using harness::GpuBench;
using model::gpu::memory::Mechanism;
using model::gpu::memory::MemoryConfig;
using model::gpu::memory::Profile;
using model::port::Time;

namespace {

constexpr std::uint64_t flag = 0x2000; ///< offset in VRAM

struct Deed {
    Time at;
    std::function<void(GpuBench&)> act;
};
struct Course {
    State state{};
    Record record{};
    Time seen{}; ///< when the thread had what it waited for
    std::uint64_t loads = 0;
};

/// One thread polls the flag while the deeds are done; a second one does `beside`.
Course run(const MemoryConfig& config, bool waits, std::vector<Deed> deeds, const Grid::Program& beside = {},
           unsigned unit = 1) {
    GpuBench b(config);
    Course course;
    const auto first = b.wave(0), second = b.wave(unit);
    Grid grid({.threads = beside ? 2u : 1u, .wave_size = 1, .stuck_after = 1ms}, {first.get(), second.get()},
              [&](Thread& t) -> Task<> {
                  if (t.index() != 0) {
                      co_await beside(t);
                      co_return;
                  }
                  for (;;) {
                      const auto value =
                          co_await t.load<std::uint32_t>(GpuBench::vram_uc + flag, model::gpu::memory::volatile_load);
                      if (value != 0)
                          break;
                      if (waits)
                          co_await t.wait_for_change(100ns);
                      else
                          co_await t.sleep(100ns);
                  }
                  course.seen = t.now();
              });
    grid.launch(b.now());
    auto deed = deeds.begin();
    while (!grid.is_over()) {
        const auto due = std::min({grid.next_due(), b.clock.next(), deed == deeds.end() ? Time::max() : deed->at});
        b.pass(due - b.now());
        for (; deed != deeds.end() && deed->at <= due; ++deed)
            deed->act(b);
        grid.run(due);
    }
    course.state = grid.state();
    course.record = grid.record(0);
    const auto& loads = b.gpu.block().counters().loads;
    course.loads = std::accumulate(loads.begin(), loads.end(), std::uint64_t{0});
    return course;
}

void write_flag(GpuBench& b) { b.write(flag, 1); }
void flush(GpuBench& b) { b.poke(static_cast<std::uint32_t>(abi::gpu::Register::invalidate0_req) + 17 * 4, 0x20001); }

/// Both ways, which end alike.
std::pair<Course, Course> run_both(const MemoryConfig& config, const std::vector<Deed>& deeds,
                                   const Grid::Program& beside = {}, unsigned unit = 1) {
    const auto looking = run(config, false, deeds, beside, unit), waiting = run(config, true, deeds, beside, unit);
    CHECK(looking.state == waiting.state);
    CHECK(looking.record.end == waiting.record.end);
    // Each look that is left out is rounded to a picosecond.
    CHECK(std::chrono::abs(looking.record.at - waiting.record.at) < 1ns);
    CHECK(std::chrono::abs(looking.seen - waiting.seen) < 1ns);
    return {looking, waiting};
}

} // namespace

TEST_CASE("a thread waits for a write from PCIe, and goes on when it would have seen it", "[unit][gpu][wave]") {
    const auto profile = GENERATE(Profile::coherent, Profile::adversarial);
    const auto at = GENERATE(Time{50us}, Time{123'456ns}, Time{333'333'333});

    const auto [looking, waiting] = run_both(MemoryConfig::of(profile), {{at, write_flag}});

    CHECK(waiting.state == State::ended);
    CHECK(waiting.seen > at);
    CHECK(looking.loads > 100);
    CHECK(waiting.loads == 4);
}

TEST_CASE("a write that has not arrived wakes nobody before it does", "[unit][gpu][wave]") {
    auto config = MemoryConfig::of(Profile::rdna3_text, Mechanism::m2);
    config.hdp_hold = 5us; // in the host data path

    const auto [looking, waiting] = run_both(config, {{50us, write_flag}});

    CHECK(waiting.seen > 55us);
    CHECK(waiting.seen < 56us);
    CHECK(waiting.loads == 4);
}

TEST_CASE("a thread that looks at an old line looks on, until the line is released", "[unit][gpu][wave]") {
    const auto [looking, waiting] =
        run_both(MemoryConfig::of(Profile::rdna3_text, Mechanism::m1), {{50us, write_flag}, {70us, flush}});

    CHECK(waiting.state == State::ended);
    CHECK(waiting.seen > 70us);
    CHECK(waiting.loads > 50); // since the write: nothing tells the thread that its line is old
    CHECK(waiting.loads < looking.loads / 2);
}

TEST_CASE("a thread waits for what another one stores, or adds", "[unit][gpu][wave]") {
    const bool is_atomic = GENERATE(false, true);
    const auto store = [&](Thread& t) -> Task<> {
        co_await t.sleep(40us);
        if (is_atomic)
            co_await t.atomic<std::uint32_t>(model::gpu::memory::AtomicOp::add, GpuBench::vram_uc + flag, 1u);
        else
            co_await t.store(GpuBench::vram_uc + flag, 1u);
    };

    const auto [looking, waiting] = run_both(MemoryConfig::of(Profile::coherent), {}, store);

    CHECK(waiting.seen > 40us);
    CHECK(waiting.loads < 5);
}

TEST_CASE("a thread sees a store that is under way when it would have looked: at once on the same CU, else later",
          "[unit][gpu][wave]") {
    const auto unit = GENERATE(0u, 1u, 4u);
    auto config = MemoryConfig::of(Profile::adversarial);
    config.seed = GENERATE(1u, 2u, 3u);
    Time issued{}, acknowledged{};
    const auto store = [&](Thread& t) -> Task<> {
        co_await t.sleep(40us);
        issued = t.now();
        co_await t.store(GpuBench::vram_uc + flag, 1u);
        co_await t.fence(model::gpu::memory::Order::release);
        acknowledged = t.now();
    };

    const auto [looking, waiting] = run_both(config, {}, store, unit);

    REQUIRE(acknowledged > issued + 1us);
    const auto from = unit == 0 ? issued : acknowledged;
    CHECK(waiting.seen >= from);
    CHECK(waiting.seen < from + 1us);
    CHECK(waiting.loads < 7);
}

TEST_CASE("a write beside what a thread waits for lets it sleep", "[unit][gpu][wave]") {
    const auto [looking, waiting] =
        run_both(MemoryConfig::of(Profile::coherent), {{20us, [](GpuBench& b) { b.write(flag + 4, 1); }},
                                                       {30us, [](GpuBench& b) { b.write(flag - 4, 1); }},
                                                       {40us, [](GpuBench& b) { b.write(flag, 0); }},
                                                       {50us, write_flag}});

    CHECK(waiting.loads == 5); // the third write is one, though of the same value
}

TEST_CASE("a page that is taken away ends a thread that waits for it, and so does a reset", "[unit][gpu][wave]") {
    const std::function<void(GpuBench&)> unmap = [](GpuBench& b) {
        b.tables.set(GpuBench::vram_uc + flag, {});
        b.poke(static_cast<std::uint32_t>(abi::gpu::Register::invalidate0_req), 0xf80100);
    };
    const std::function<void(GpuBench&)> reset = [](GpuBench& b) { b.gpu.reset(b.now()); };
    const bool is_reset = GENERATE(false, true);

    const auto [looking, waiting] = run_both(MemoryConfig::of(Profile::coherent), {{50us, is_reset ? reset : unmap}});

    CHECK(waiting.record.end == (is_reset ? End::gpu_reset : End::page_fault));
    CHECK(waiting.loads <= 4);
}

TEST_CASE("a thread that waits for ever is stuck, and has found the same as often", "[unit][gpu][wave]") {
    const auto looking = run(MemoryConfig::of(Profile::coherent), false, {}),
               waiting = run(MemoryConfig::of(Profile::coherent), true, {});

    CHECK(waiting.state == State::stuck);
    CHECK(looking.loads > 2000);
    CHECK(waiting.loads == 4);
    CHECK(waiting.record.poll.address == GpuBench::vram_uc + flag);
    CHECK(waiting.record.poll.count + 1 >= looking.record.poll.count);
    CHECK(waiting.record.poll.count <= looking.record.poll.count + 1);
}

TEST_CASE("a grid that goes away leaves nobody who waits", "[unit][gpu][wave]") {
    GpuBench b(MemoryConfig::of(Profile::coherent));
    const auto view = b.wave();
    {
        Grid grid({}, {view.get()}, [&](Thread& t) -> Task<> {
            for (int looks = 0; looks < 5; ++looks) {
                co_await t.load<std::uint32_t>(GpuBench::vram_uc + flag, model::gpu::memory::volatile_load);
                co_await t.wait_for_change(100ns);
            }
        });
        grid.launch(b.now());
        grid.run(10us);
        CHECK(grid.next_due() > 10us);
        CHECK_FALSE(grid.is_over());
    }

    b.write(flag, 1);
    b.pass(1ms);

    CHECK(b.in_vram(flag) == 1);
}
