#include "testbench/unit/model/gpu/wave/flat_memory.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>

using namespace std::chrono_literals;
using namespace testbench;
using namespace model::gpu::wave;
using model::gpu::memory::Mtype;
using model::gpu::memory::Order;
using model::gpu::memory::Scope;

namespace {

constexpr unsigned seeds = 60;

GridConfig adversarial(std::uint64_t seed, unsigned threads = 1) {
    return {.threads = threads, .seed = seed, .stores = {.is_adversarial = true, .hold_max = 500ns}};
}

/// Runs a program of one thread with each seed and counts in how many runs `holds` of the stores that memory saw.
template <class Holds> unsigned count_runs(Grid::Program program, Holds&& holds, Mtype mtype = Mtype::uc) {
    unsigned count = 0;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        FlatMemory memory;
        memory.mtype = mtype;
        Grid grid(adversarial(seed), {&memory}, program);
        run_all(grid);
        count += holds(memory);
    }
    return count;
}
const auto is_in_order = [](const FlatMemory& memory) {
    return std::ranges::is_sorted(memory.stores, {}, &FlatMemory::Store::value);
};

} // namespace

TEST_CASE("stores of one thread to different lines arrive in any order without a wait", "[unit][gpu][wave]") {
    const auto in_order = count_runs(
        [](Thread& t) -> Task<> {
            co_await t.store(0, 1u);
            co_await t.store(128, 2u);
        },
        is_in_order);

    CHECK(in_order > 0);
    CHECK(in_order < seeds);
}

TEST_CASE("a wait for stores, a release and an atomic behind one keep the order", "[unit][gpu][wave]") {
    const auto how = GENERATE(0, 1, 2);
    const auto in_order = count_runs(
        [how](Thread& t) -> Task<> {
            co_await t.store(0, 1u);
            if (how == 0)
                co_await t.wait_stores();
            if (how == 1)
                co_await t.fence(Order::release);
            if (how == 2)
                co_await t.fence(Order::acquire_release, Scope::agent);
            co_await t.store(128, 2u);
        },
        is_in_order);

    CHECK(in_order == seeds);
}

TEST_CASE("an acquire alone orders no stores", "[unit][gpu][wave]") {
    const auto in_order = count_runs(
        [](Thread& t) -> Task<> {
            co_await t.store(0, 1u);
            co_await t.fence(Order::acquire);
            co_await t.store(128, 2u);
        },
        is_in_order);

    CHECK(in_order < seeds);
}

TEST_CASE("stores of one thread to the same bytes keep their order", "[unit][gpu][wave]") {
    const auto last = count_runs(
        [](Thread& t) -> Task<> {
            for (std::uint32_t i = 1; i <= 4; ++i)
                co_await t.store(0, i);
            co_await t.store<std::uint64_t>(0, 5);
            co_await t.store<std::uint8_t>(1, 6);
        },
        [](const FlatMemory& memory) { return memory.at<std::uint64_t>(0) == 0x605 && memory.stores.size() == 6; });

    CHECK(last == seeds);
}

TEST_CASE("a wait keeps the order of stores to the same bytes, too", "[unit][gpu][wave]") {
    const auto last = count_runs(
        [](Thread& t) -> Task<> {
            for (std::uint32_t i = 1; i <= 5; ++i)
                co_await t.store(0, i);
            co_await t.wait_stores();
        },
        is_in_order);

    CHECK(last == seeds);
}

TEST_CASE("a thread sees its own stores at once", "[unit][gpu][wave]") {
    const auto seen = count_runs(
        [](Thread& t) -> Task<> {
            co_await t.store<std::uint64_t>(0, 0x1111'1111'1111'1111);
            co_await t.store<std::uint64_t>(4, 0x2222'2222'2222'2222);
            const auto loaded = co_await t.load<std::uint32_t>(8);
            co_await t.store(256, loaded);
            const auto old = co_await t.atomic<std::uint32_t>(model::gpu::memory::AtomicOp::add, 4, 1u);
            co_await t.store(512, old);
        },
        [](const FlatMemory& memory) {
            return memory.at<std::uint32_t>(0) == 0x1111'1111 && memory.at<std::uint32_t>(4) == 0x2222'2223 &&
                   memory.at<std::uint32_t>(256) == 0x2222'2222 && memory.at<std::uint32_t>(512) == 0x2222'2222;
        });

    CHECK(seen == seeds);
}

TEST_CASE("behind an acquire nothing is left of what stood beside a flag before", "[unit][gpu][wave]") {
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        FlatMemory memory;
        Grid grid(adversarial(seed, 2), {&memory}, [](Thread& t) -> Task<> {
            if (t.index() == 0) {
                co_await t.sleep(1us);
                co_await t.store(8, 42u); // beside the flag
                co_await t.fence(Order::release);
                co_await t.store(0, 1u);
                co_return;
            }
            while (co_await t.load<std::uint32_t>(0) == 0)
                co_await t.sleep(100ns);
            co_await t.fence(Order::acquire);
            const auto seen = co_await t.load<std::uint32_t>(8);
            co_await t.store(256, seen);
        });
        run_all(grid);
        CHECK(memory.at<std::uint32_t>(256) == 42);
    }
}

TEST_CASE("another thread sees a store within the bound", "[unit][gpu][wave]") {
    const auto seed = GENERATE(range(1u, 30u));
    CAPTURE(seed);
    FlatMemory memory;
    Grid grid(adversarial(seed), {&memory}, [](Thread& t) -> Task<> {
        co_await t.store(0, 1u);
        co_await t.sleep(10us);
    });

    run_all(grid);

    REQUIRE(memory.stores.size() == 1);
    CHECK(memory.stores[0].at >= 1ns);
    CHECK(memory.stores[0].at <= 501ns);
}

TEST_CASE("message passing through memory fails without a release, and holds with one", "[unit][gpu][wave]") {
    const bool releases = GENERATE(false, true);
    unsigned wrong = 0;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        FlatMemory memory;
        Grid grid(adversarial(seed, 2), {&memory}, [&](Thread& t) -> Task<> {
            if (t.index() == 0) {
                co_await t.store(0, 42u);
                if (releases)
                    co_await t.fence(Order::release);
                co_await t.store(4096, 1u);
                co_return;
            }
            for (std::uint32_t flag = 0; flag == 0;)
                flag = co_await t.load<std::uint32_t>(4096);
            co_await t.fence(Order::acquire);
            const auto value = co_await t.load<std::uint32_t>(0);
            wrong += value != 42;
        });
        run_all(grid);
        REQUIRE(grid.state() == State::ended);
    }

    CHECK((wrong == 0) == releases);
}

TEST_CASE("stores to combining pages merge when they repeat or follow; to others they never do", "[unit][gpu][wave]") {
    const auto mtype = GENERATE(Mtype::nc, Mtype::wc, Mtype::uc, Mtype::cc);
    const auto merged = count_runs(
        [](Thread& t) -> Task<> {
            co_await t.load<std::uint32_t>(0); // the page is known
            co_await t.store(0, 1u);
            co_await t.store(0, 2u);
            co_await t.store(4, 3u);
        },
        [](const FlatMemory& memory) {
            CHECK(memory.at<std::uint64_t>(0) == 0x3'0000'0002);
            return memory.stores.size() == 1;
        },
        mtype);

    CHECK((merged > 0) == (mtype == Mtype::nc || mtype == Mtype::wc));
}

TEST_CASE("a store does not merge under a younger one that covers it", "[unit][gpu][wave]") {
    const auto right = count_runs(
        [](Thread& t) -> Task<> {
            co_await t.load<std::uint32_t>(0);
            co_await t.store<std::uint64_t>(0, 1);
            co_await t.store<std::uint64_t>(4, 2); // does not merge: overlaps the end of the one before
            co_await t.store<std::uint32_t>(4, 3);
        },
        [](const FlatMemory& memory) {
            return memory.at<std::uint64_t>(0) == 0x3'0000'0001 && memory.at<std::uint32_t>(8) == 0;
        },
        Mtype::nc);

    CHECK(right == seeds);
}

TEST_CASE("a held store whose page is gone ends its wave later than it was issued", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid(adversarial(3), {&memory}, [](Thread& t) -> Task<> {
        co_await t.store(FlatMemory::bytes, 1u);
        co_await t.sleep(10us);
        co_await t.store(0, 1u);
    });

    run_all(grid);

    CHECK(grid.record(0).end == End::page_fault);
    CHECK(grid.record(0).at > 1ns);
    CHECK(grid.record(0).at <= 501ns);
    CHECK(memory.stores.empty());
}

TEST_CASE("more stores than can be held push the first ones out", "[unit][gpu][wave]") {
    FlatMemory memory;
    auto config = adversarial(1);
    config.stores.hold_max = 1s;
    Grid grid(config, {&memory}, [](Thread& t) -> Task<> {
        for (std::uint32_t i = 0; i < 400; ++i)
            co_await t.store(i * 128ull, i);
        CHECK(t.now() < 1ms);
    });

    run_all(grid);

    CHECK(memory.stores.size() == 400);
    CHECK_FALSE(is_in_order(memory));
}

TEST_CASE("without the adversary stores arrive as they are issued", "[unit][gpu][wave]") {
    FlatMemory memory;
    Grid grid({}, {&memory}, [](Thread& t) -> Task<> {
        for (std::uint32_t i = 0; i < 50; ++i)
            co_await t.store(i * 128ull, i);
    });

    run_all(grid);

    CHECK(is_in_order(memory));
    CHECK(memory.stores[49].at == 50ns);
}
