#include "testbench/unit/model/gpu/wave/flat_memory.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using namespace testbench;
using namespace model::gpu::wave;

namespace {

constexpr std::uint64_t unmapped = FlatMemory::bytes + 0x1000;

Task<> poll(Thread& thread, std::uint64_t address, std::uint32_t until) {
    for (;;) {
        const auto value = co_await thread.load<std::uint32_t>(address);
        if (value == until)
            co_return;
        co_await thread.sleep(50ns);
    }
}

} // namespace

TEST_CASE("a fault ends its wave with a record, and the rest of the grid goes on", "[unit][gpu][wave]") {
    const bool is_write = GENERATE(false, true);
    FlatMemory memory;
    Grid grid({.threads = 12, .wave_size = 4}, {&memory}, [&](Thread& t) -> Task<> {
        co_await t.sleep(10ns);
        if (t.index() == 6 && is_write)
            co_await t.store(unmapped, 1u);
        else if (t.index() == 6)
            co_await t.load<std::uint32_t>(unmapped);
        co_await t.sleep(100ns);
        co_await t.store(t.index() * 4ull, 1u);
    });

    run_all(grid);

    CHECK(grid.state() == State::ended);
    CHECK(memory.kernels_ended == 1);
    CHECK(memory.stores.size() == 8);
    for (unsigned i = 0; i < 12; ++i) {
        CAPTURE(i);
        CHECK(grid.record(i).end == (i / 4 == 1 ? End::page_fault : End::returned));
        CHECK(memory.at<std::uint32_t>(i * 4ull) == (i / 4 == 1 ? 0 : 1));
    }
    CHECK(grid.record(4).address == unmapped);
    CHECK(grid.record(4).is_write == is_write);
    CHECK(grid.record(4).faulting_thread == 6);
    CHECK(grid.record(4).at == 11ns);
}

TEST_CASE("an atomic, an outstanding load and a scalar load fault as well", "[unit][gpu][wave]") {
    const auto which = GENERATE(0, 1, 2);
    FlatMemory memory;
    std::uint32_t value = 0;
    Grid grid({}, {&memory}, [&](Thread& t) -> Task<> {
        if (which == 0)
            co_await t.atomic<std::uint32_t>(model::gpu::memory::AtomicOp::add, unmapped, 1u);
        if (which == 1)
            co_await t.issue_load(unmapped, std::as_writable_bytes(std::span{&value, 1}));
        if (which == 2)
            co_await t.scalar_load<std::uint32_t>(unmapped);
        co_await t.store(0, 1u);
    });

    run_all(grid);

    CHECK(grid.record(0).end == End::page_fault);
    CHECK(memory.stores.empty());
}

TEST_CASE("a reset of the GPU ends all waves, and stores that are on their way are lost", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({.threads = 64, .stores = {.is_adversarial = true, .hold_max = 1ms}}, {&memory}, [](Thread& t) -> Task<> {
        co_await t.store(t.index() * 8ull, 1u);
        co_await t.sleep(1s);
        co_await t.store(t.index() * 8ull, 2u);
    });
    grid.launch(Time{});
    grid.run(100ns);

    grid.reset(200ns);

    CHECK(grid.state() == State::gpu_reset);
    CHECK(grid.ended_at() == 200ns);
    CHECK(grid.next_due() == model::port::never);
    CHECK(grid.record(0).end == End::gpu_reset);
    CHECK(grid.record(63).at == 200ns);
    grid.run(10s);
    CHECK(memory.stores.size() < 64);
    CHECK(memory.kernels_ended == 0);
}

TEST_CASE("who finds the GPU reset at its next access takes the whole grid along", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({.threads = 3, .wave_size = 1}, {&memory}, [&](Thread& t) -> Task<> {
        co_await t.sleep((t.index() + 1) * 10ns);
        memory.is_reset = true;
        co_await t.load<std::uint32_t>(0);
    });

    run_all(grid);

    CHECK(grid.state() == State::gpu_reset);
    CHECK(grid.record(2).end == End::gpu_reset);
    CHECK(grid.record(2).at == 11ns);
}

TEST_CASE("a program may reset its own GPU", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid* self = nullptr;
    Grid grid({.threads = 2}, {&memory}, [&](Thread& t) -> Task<> {
        co_await t.sleep(5ns);
        if (t.index() == 0)
            self->reset(t.now());
        co_await t.store(0, 1u);
    });
    self = &grid;

    run_all(grid);

    CHECK(grid.state() == State::gpu_reset);
    CHECK(grid.record(0).end == End::gpu_reset);
}

TEST_CASE("a grid whose threads only poll what does not change is stuck, and says where", "[unit][gpu][wave]") {
    FlatMemory memory;
    memory.set<std::uint32_t>(0x40, 7);
    Grid grid({.threads = 3, .stuck_after = 1ms}, {&memory}, [](Thread& t) -> Task<> {
        co_await t.store(0x80, 1u);
        if (t.index() != 2)
            co_await poll(t, 0x40, 8);
    });

    run_all(grid);

    CHECK(grid.state() == State::stuck);
    CHECK(grid.ended_at() > 1ms);
    CHECK(grid.ended_at() < 1100us);
    CHECK(memory.kernels_ended == 0);
    CHECK(grid.record(2).end == End::returned);
    const auto& record = grid.record(1);
    CHECK(record.end == End::stuck);
    CHECK(record.poll.address == 0x40);
    CHECK(record.poll.length == 4);
    CHECK(record.poll.value == 7);
    CHECK(record.poll.count > 6000);
    CHECK(record.poll.since < 200ns);
    CHECK(record.poll.outcome.level == model::gpu::memory::Level::vram);
}

TEST_CASE("a poll that is answered in time is not stuck, however often it read the same", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({.threads = 2, .stuck_after = 1ms}, {&memory}, [](Thread& t) -> Task<> {
        if (t.index() == 0)
            co_return co_await poll(t, 0, 1);
        for (unsigned i = 0; i < 8; ++i) { // works for much longer than the bound
            co_await t.sleep(900us);
            co_await t.store(64, i);
        }
        co_await t.store(0, 1u);
    });

    run_all(grid);

    CHECK(grid.state() == State::ended);
}

TEST_CASE("threads that poll a few addresses in turn are stuck, too", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({.stuck_after = 1ms}, {&memory}, [](Thread& t) -> Task<> {
        for (unsigned i = 0;; ++i) {
            const auto value = co_await t.load<std::uint32_t>(i % 4 * 128);
            if (value != 0)
                break;
        }
    });

    run_all(grid);

    CHECK(grid.state() == State::stuck);
    CHECK(grid.ended_at() < 2ms);
}

TEST_CASE("an atomic that always finds the same is a poll", "[unit][gpu][wave]") {
    FlatMemory memory;
    memory.set<std::uint32_t>(0, 1);
    Grid grid({.stuck_after = 1ms}, {&memory}, [](Thread& t) -> Task<> {
        for (std::uint32_t old = 1; old != 0;)
            old = co_await t.atomic<std::uint32_t>(model::gpu::memory::AtomicOp::compare_swap, 0, 1u, 0u);
    });

    run_all(grid);

    CHECK(grid.state() == State::stuck);
}

TEST_CASE("a program that never ends is given up, even where it finds something new each time", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({.give_up_after = 100us}, {&memory}, [](Thread& t) -> Task<> {
        for (unsigned i = 0;; ++i)
            co_await t.store(i % 1000 * 4ull, i);
    });

    run_all(grid);

    CHECK(grid.state() == State::stuck);
    CHECK(grid.record(0).end == End::stuck);
    CHECK(grid.record(0).poll.count == 0);
}
