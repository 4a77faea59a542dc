// Orders that queues do not allow, each beside the one that they do: what goes wrong, and that it is noticed.
#include "testbench/scenario/gpu_queue_memory.h"
#include "testbench/unit/model/gpu/wave/flat_memory.h"
#include "testbench/unit/sw/gpu/small_drive.h"
#include "testbench/unit/sw/gpu/small_hca.h"

#include "sw/gpu/queue.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using namespace testbench;
using namespace model::gpu::wave;
using sw::gpu::Fence;
using sw::gpu::Fences;

namespace {

constexpr sw::gpu::RdmaRings rings{.sends = 0,
                                   .completions = 0x1000,
                                   .send_record = 0x2000,
                                   .completion_record = 0x2080,
                                   .doorbell = 0xf000,
                                   .blocks = 4,
                                   .entries = 4,
                                   .qpn = 7};

/// Memory with an HCA's doorbell in it.
struct Rdma {
    FlatMemory memory;
    SmallHca hca;
    explicit Rdma(Time looks_after = 500ns) : hca(memory.memory, rings, looks_after) {
        for (std::uint32_t i = 0; i < rings.entries; ++i)
            memory.memory[rings.completions + i * 64 + abi::prm::cqe_op_own_offset] = std::byte{0xf0};
    }
    void run(Grid& grid) {
        std::size_t seen = 0;
        grid.launch(Time{});
        while (!grid.is_over()) {
            const auto now = std::min(grid.next_due(), hca.next_due());
            if (hca.next_due() <= now)
                hca.run();
            grid.run(now);
            for (; seen < memory.stores.size(); ++seen)
                if (memory.stores[seen].address == rings.doorbell)
                    hca.ring(now);
        }
    }
};

struct Report {
    unsigned ended = 0;
    unsigned wrong_syndromes = 0;
};

/// Requests as fast as the ring has room for them, each to a place of its own.
Task<> write_all(Thread& thread, GpuQueueRules rules, unsigned requests, const SmallHca* hca, Report* report) {
    sw::gpu::RdmaQueue queue(GpuQueueMemory(thread, rules), rings);
    for (unsigned i = 0; i < requests || queue.under_way() != 0;) {
        if (i < requests && !queue.is_full()) {
            co_await queue.write({.address = 0, .key = 1}, {.address = 0x100 + i, .key = 2}, 8);
            co_await queue.ring();
            ++i;
            continue;
        }
        const sw::gpu::RdmaResult result = co_await queue.wait();
        ++report->ended;
        report->wrong_syndromes += !result.is_ok && result.syndrome != hca->syndrome_of(result.counter);
    }
}

GridConfig adversary(unsigned seed) {
    return {.seed = seed, .stuck_after = 100us, .stores = {.is_adversarial = true, .hold_max = 2us}};
}

/// How many of 60 seeds find a mistake.
unsigned failures(Fences omitted, bool fails = false) {
    unsigned failed = 0;
    for (unsigned seed = 1; seed <= 60; ++seed) {
        Rdma rdma;
        rdma.hca.fails = fails;
        Report report;
        Grid grid(adversary(seed), {&rdma.memory}, [&](Thread& t) {
            return write_all(t, {.read = model::gpu::memory::plain, .omitted = omitted, .awaits_ring = false}, 20,
                             &rdma.hca, &report);
        });
        rdma.run(grid);
        failed += grid.state() != State::ended || report.wrong_syndromes != 0 || rdma.hca.mistakes != 0 ||
                  rdma.hca.places.size() != 20;
    }
    return failed;
}

} // namespace

TEST_CASE("of a send queue's fences none is too many: under the worst legal order all are enough, and none can go",
          "[unit][gpu][scenario]") {
    CHECK(failures({}) == 0);
    CHECK(failures({}, true) == 0);
    CHECK(failures({Fence::request_before_record}) > 0);
    CHECK(failures({Fence::record_before_doorbell}) > 0);
    CHECK(failures({Fence::owner_before_syndrome}, true) > 0);
}

TEST_CASE("a doorbell before its record leaves the request behind", "[unit][gpu][scenario]") {
    const bool is_right = GENERATE(true, false);
    Rdma rdma(0ns);
    Report report;
    Grid grid({.stuck_after = 100us}, {&rdma.memory}, [&](Thread& t) -> Task<> {
        GpuQueueMemory memory(t);
        sw::gpu::RdmaQueue queue(memory, rings);
        co_await queue.write({}, {.address = 0x100}, 8);
        if (is_right) {
            co_await queue.ring();
        } else {
            co_await memory.ring(rings.doorbell, std::uint64_t{1});
            const std::array counter{std::byte{}, std::byte{}, std::byte{}, std::byte{1}};
            co_await memory.write(rings.send_record + 4, counter);
        }
        const sw::gpu::RdmaResult result = co_await queue.wait();
        report.ended += result.is_ok;
    });

    rdma.run(grid);

    CHECK((grid.state() == State::ended) == is_right);
    CHECK(report.ended == (is_right ? 1u : 0u));
}

TEST_CASE("a record before its request lets an HCA that is at work fetch what is not there", "[unit][gpu][scenario]") {
    const bool is_right = GENERATE(true, false);
    Rdma rdma;
    Grid grid({.stuck_after = 100us}, {&rdma.memory}, [&](Thread& t) -> Task<> {
        GpuQueueMemory memory(t);
        sw::gpu::RdmaQueue queue(memory, rings);
        co_await queue.write({}, {.address = 0x100}, 8);
        co_await queue.ring();
        if (!is_right) { // while the HCA has not looked yet
            const std::array counter{std::byte{}, std::byte{}, std::byte{}, std::byte{2}};
            co_await memory.write(rings.send_record + 4, counter);
            co_await t.sleep(2us);
        }
        co_await queue.write({}, {.address = 0x101}, 8);
        co_await queue.ring();
        while (queue.under_way() != 0)
            co_await queue.wait();
    });

    rdma.run(grid);

    CHECK((rdma.hca.mistakes == 0) == is_right);
    CHECK((grid.state() == State::ended) == is_right);
}

TEST_CASE("a tail that goes back makes a drive take the whole ring again", "[unit][gpu][scenario]") {
    const bool is_right = GENERATE(true, false);
    FlatMemory memory;
    SmallDrive drive(std::span(memory.memory).subspan(0, 4 * 64), std::span(memory.memory).subspan(0x1000, 64), 4);
    std::uint32_t tail = 0;
    // Two threads have one queue; each takes an entry, and rings for it.
    Grid grid({.threads = 2}, {&memory}, [&](Thread& t) -> Task<> {
        const auto own = tail++;
        const auto command = numbered(static_cast<std::uint16_t>(own), 100 + own);
        co_await t.store(own * 64, std::span<const std::byte>(command.bytes));
        co_await t.fence(model::gpu::memory::Order::release);
        // In the right order, or the one that came first last.
        co_await t.sleep((own == 0) == is_right ? 1us : 2us);
        co_await t.store<std::uint32_t>(0xf000, own + 1);
    });
    run_all(grid);
    for (const auto& store : memory.stores)
        if (store.address == 0xf000)
            drive.ring_tail(static_cast<std::uint32_t>(store.value));

    CHECK((drive.mistakes == 0) == is_right);
    CHECK((drive.fetched == std::vector<std::uint32_t>{100, 101}) == is_right);
}

TEST_CASE("completions that are given back before they are read are others by then", "[unit][gpu][scenario]") {
    const bool is_right = GENERATE(true, false);
    constexpr std::uint32_t entries = 4, doorbell = 0xf000;
    constexpr std::uint64_t completions = 0x1000;
    FlatMemory memory;
    SmallDrive drive(std::span(memory.memory).subspan(0, entries * 64),
                     std::span(memory.memory).subspan(completions, entries * 16), entries);
    std::vector<std::uint32_t> results;
    Grid grid({}, {&memory}, [&](Thread& t) -> Task<> {
        for (std::uint16_t i = 0; i < 6; ++i) {
            const auto command = numbered(i, 100u + i);
            co_await t.store(i % entries * 64u, std::span<const std::byte>(command.bytes));
            if (i % 3 == 2) {
                co_await t.store<std::uint32_t>(doorbell, (i + 1u) % entries);
                co_await t.sleep(10us);
            }
            if (i == 2 && !is_right)
                co_await t.store<std::uint32_t>(doorbell + 4, 3);
            if (i == 2 && is_right)
                for (unsigned k = 0; k < 3; ++k)
                    results.push_back(co_await t.load<std::uint32_t>(completions + k * 16));
        }
        if (!is_right)
            for (unsigned k = 0; k < 3; ++k)
                results.push_back(co_await t.load<std::uint32_t>(completions + k * 16));
    });
    grid.launch(Time{});
    for (std::size_t seen = 0; !grid.is_over();) {
        grid.run(grid.next_due());
        for (; seen < memory.stores.size(); ++seen) {
            const auto& store = memory.stores[seen];
            if (store.address == doorbell)
                drive.ring_tail(static_cast<std::uint32_t>(store.value));
            if (store.address == doorbell + 4)
                drive.ring_head(static_cast<std::uint32_t>(store.value));
        }
        while (drive.has_work())
            drive.complete();
    }

    CHECK((results == std::vector<std::uint32_t>{100, 101, 102}) == is_right);
}

TEST_CASE("a completion that is read before its phase is another one's", "[unit][gpu][scenario]") {
    constexpr std::uint32_t entries = 4;
    const auto run = [](Fences omitted) {
        unsigned wrong = 0;
        for (unsigned seed = 1; seed <= 40; ++seed) {
            FlatMemory memory;
            SmallDrive drive(std::span(memory.memory).subspan(0, entries * 64),
                             std::span(memory.memory).subspan(0x1000, entries * 16), entries);
            Grid grid(adversary(seed), {&memory}, [&](Thread& t) -> Task<> {
                sw::gpu::NvmeQueue queue(GpuQueueMemory(t, {.read = model::gpu::memory::plain, .omitted = omitted}),
                                         {.submissions = 0,
                                          .completions = 0x1000,
                                          .submission_doorbell = 0xf000,
                                          .completion_doorbell = 0xf004,
                                          .entries = entries});
                for (std::uint16_t i = 0; i < 9; ++i) {
                    const auto command = numbered(i, 100u + i);
                    const sw::gpu::NvmeResult result = co_await queue.execute(command);
                    wrong += result.dw0 != 100u + i;
                }
            });
            grid.launch(Time{});
            auto next = model::port::never;
            for (std::size_t seen = 0; !grid.is_over();) {
                const auto now = std::min(grid.next_due(), next);
                grid.run(now);
                for (; seen < memory.stores.size(); ++seen) {
                    const auto& store = memory.stores[seen];
                    if (store.address == 0xf000)
                        drive.ring_tail(static_cast<std::uint32_t>(store.value)), next = now + 3us;
                    if (store.address == 0xf004)
                        drive.ring_head(static_cast<std::uint32_t>(store.value));
                }
                if (now >= next && drive.has_work())
                    drive.complete(), next = model::port::never;
            }
        }
        return wrong;
    };
    CHECK(run({}) == 0);
    CHECK(run({Fence::phase_before_entry}) > 0);
}
