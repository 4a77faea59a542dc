#include "model/gpu/wave/grid.h"

#include "testbench/unit/model/gpu/wave/flat_memory.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <stdexcept>

using namespace std::chrono_literals;
using namespace testbench;
using namespace model::gpu::wave;
using model::gpu::memory::AtomicOp;
using model::gpu::memory::Order;

namespace {

Task<> sleep(Thread& thread, Time span) { co_await thread.sleep(span); }
Task<std::uint32_t> sum(Thread& thread, unsigned depth) {
    const auto value = co_await thread.load<std::uint32_t>(depth * 4ull);
    if (depth == 0)
        co_return value;
    const auto rest = co_await sum(thread, depth - 1);
    co_return value + rest;
}

/// Each thread notes itself in the next place of a shared list: the order in which they came.
std::vector<std::uint32_t> order_of(std::uint64_t seed, Time jitter = {}) {
    FlatMemory memory;
    Grid grid({.threads = 16, .wave_size = 4, .seed = seed, .jitter = jitter}, {&memory}, [](Thread& t) -> Task<> {
        for (unsigned i = 0; i < 4; ++i) {
            const auto place = co_await t.atomic<std::uint32_t>(AtomicOp::add, 0, 1u);
            co_await t.store(1024 + place * 4ull, t.index());
        }
    });
    run_all(grid);
    std::vector<std::uint32_t> order;
    for (unsigned i = 0; i < 64; ++i)
        order.push_back(memory.at<std::uint32_t>(1024 + i * 4ull));
    return order;
}

} // namespace

TEST_CASE("threads of a grid run to their end, and the kernel begins and ends once", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({.threads = 100}, {&memory}, [](Thread& t) -> Task<> {
        co_await t.atomic<std::uint64_t>(AtomicOp::add, 8, 1ull << t.index() / 32);
        CHECK(t.count() == 100);
    });

    run_all(grid);

    CHECK(grid.state() == State::ended);
    CHECK(memory.at<std::uint64_t>(8) == 32 + 32 * 2 + 32 * 4 + 4 * 8);
    CHECK(memory.kernels_begun == 1);
    CHECK(memory.kernels_ended == 1);
    CHECK(grid.record(99).end == End::returned);
    CHECK(grid.next_due() == model::port::never);
}

TEST_CASE("a load costs its latency, a store only its issue, and a wait the acknowledgement", "[unit][gpu][wave]") {
    FlatMemory memory;
    std::vector<Time> seen;
    Grid grid({}, {&memory}, [&](Thread& t) -> Task<> {
        seen.push_back(t.now());
        co_await t.load<std::uint32_t>(0);
        seen.push_back(t.now());
        co_await t.store<std::uint32_t>(0, 1u);
        seen.push_back(t.now());
        co_await t.wait_stores();
        seen.push_back(t.now());
        co_await t.sleep(7ns);
        seen.push_back(t.now());
    });

    run_all(grid);

    CHECK(seen == std::vector<Time>{1ns, 101ns, 102ns, 151ns, 158ns});
}

TEST_CASE("loads that are left outstanding overlap; a wait for n leaves the youngest n", "[unit][gpu][wave]") {
    FlatMemory memory;
    for (std::uint32_t i = 0; i < 4; ++i)
        memory.set(i * 4, i + 1);
    std::array<std::uint32_t, 4> value{};
    std::vector<Time> seen;
    Grid grid({}, {&memory}, [&](Thread& t) -> Task<> {
        for (unsigned i = 0; i < 4; ++i)
            co_await t.issue_load(i * 4ull, std::as_writable_bytes(std::span{&value[i], 1}));
        CHECK(value == std::array<std::uint32_t, 4>{}); // the registers have not been written yet
        co_await t.wait_loads(2);
        seen.push_back(t.now());
        CHECK(value == std::array<std::uint32_t, 4>{1, 2, 0, 0});
        co_await t.wait_loads();
        seen.push_back(t.now());
        CHECK(value == std::array<std::uint32_t, 4>{1, 2, 3, 4});
    });

    run_all(grid);

    CHECK(seen == std::vector<Time>{102ns, 104ns});
}

TEST_CASE("loads return in order: a fast one waits for a slow one before it", "[unit][gpu][wave]") {
    FlatMemory memory;
    Time end{};
    std::uint32_t slow = 0, fast = 0;
    Grid grid({}, {&memory}, [&](Thread& t) -> Task<> {
        memory.load_latency = 500ns;
        co_await t.issue_load(0, std::as_writable_bytes(std::span{&slow, 1}));
        memory.load_latency = 10ns;
        fast = co_await t.load<std::uint32_t>(4);
        end = t.now();
    });

    run_all(grid);

    CHECK(end == 501ns);
}

TEST_CASE("one load more than may be outstanding waits for the oldest", "[unit][gpu][wave]") {
    FlatMemory memory;
    std::array<std::uint32_t, 20> value{};
    std::vector<Time> seen;
    for (std::uint32_t i = 0; i < 20; ++i)
        memory.set(i * 4, i + 1);
    Grid grid({}, {&memory}, [&](Thread& t) -> Task<> {
        for (unsigned i = 0; i < 20; ++i) {
            co_await t.issue_load(i * 4ull, std::as_writable_bytes(std::span{&value[i], 1}));
            seen.push_back(t.now());
        }
        co_await t.wait_loads();
    });

    run_all(grid);

    CHECK(seen[14] == 16ns);
    CHECK(seen[15] == 101ns);
    CHECK(value[0] == 1);
    CHECK(value[19] == 20);
}

TEST_CASE("a fence waits for loads, and a release for stores as well", "[unit][gpu][wave]") {
    const auto order = GENERATE(Order::acquire, Order::release);
    FlatMemory memory;
    memory.store_latency = 300ns;
    std::uint32_t value = 0;
    Time end{};
    Grid grid({}, {&memory}, [&](Thread& t) -> Task<> {
        co_await t.store<std::uint32_t>(0, 1u);
        co_await t.issue_load(0, std::as_writable_bytes(std::span{&value, 1}));
        co_await t.fence(order);
        CHECK(value == 1);
        end = t.now();
    });

    run_all(grid);

    CHECK(end == (order == Order::acquire ? 102ns : 301ns));
}

TEST_CASE("interleavings differ by seed and repeat by seed, with all threads at the same times", "[unit][gpu][wave]") {
    CHECK(order_of(1) == order_of(1));
    CHECK(order_of(1) != order_of(2));
    CHECK(order_of(1, 5ns) == order_of(1, 5ns));
    CHECK(order_of(1, 5ns) != order_of(2, 5ns));
    CHECK(order_of(1, 5ns) != order_of(1));
}

TEST_CASE("who is ready earlier goes first, whatever the seed", "[unit][gpu][wave]") {
    const auto seed = GENERATE(range(1u, 20u));
    FlatMemory memory;
    Grid grid({.threads = 8, .seed = seed}, {&memory}, [](Thread& t) -> Task<> {
        co_await t.sleep((8 - t.index()) * 10ns);
        co_await t.store(0, t.index());
    });

    run_all(grid);

    for (unsigned i = 0; i < 8; ++i)
        CHECK(memory.stores[i].value == 7 - i);
}

TEST_CASE("nothing happens before it is due", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({}, {&memory}, [](Thread& t) -> Task<> {
        co_await t.sleep(100ns);
        co_await t.store(0, 1u);
    });
    grid.launch(1000ns);

    grid.run(1100ns);
    CHECK(memory.stores.empty());
    CHECK(grid.next_due() == 1101ns);
    grid.run(1101ns);
    CHECK(memory.stores.size() == 1);
    CHECK(memory.stores[0].at == 1101ns);
}

TEST_CASE("functions of a program call each other; their frames lie in the thread's own memory", "[unit][gpu][wave]") {
    FlatMemory memory;
    for (std::uint32_t i = 0; i < 8; ++i)
        memory.set(i * 4, i);
    std::uint32_t total = 0;
    Grid grid({.frame_bytes = 8192}, {&memory}, [&](Thread& t) -> Task<> {
        for (unsigned round = 0; round < 100; ++round) {
            co_await sleep(t, 1ns);
            const auto one = co_await sum(t, 7);
            total += one;
        }
    });

    run_all(grid);

    CHECK(total == 2800);
    CHECK(grid.frame_overflows() == 0);
}

TEST_CASE("frames that find no room are made elsewhere, and the program goes on", "[unit][gpu][wave]") {
    FlatMemory memory;
    memory.set<std::uint32_t>(0, 5);
    std::uint32_t total = 0;
    Grid grid({.frame_bytes = 600}, {&memory}, [&](Thread& t) -> Task<> { total = co_await sum(t, 20); });

    run_all(grid);

    CHECK(total == 5);
    CHECK(grid.frame_overflows() > 0);
}

TEST_CASE("what a program throws comes out where the grid is run", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({.threads = 2}, {&memory}, [](Thread& t) -> Task<> {
        co_await sleep(t, 1ns);
        if (t.index() == 1)
            throw std::runtime_error("program");
    });

    CHECK_THROWS_AS(run_all(grid), std::runtime_error);
}
