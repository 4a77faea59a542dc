#include "testbench/scenario/gpu_queue_memory.h"
#include "testbench/unit/model/gpu/wave/flat_memory.h"
#include "testbench/unit/sw/gpu/small_drive.h"

#include "sw/gpu/queue.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace std::chrono_literals;
using namespace testbench;
using namespace model::gpu::wave;
using sw::gpu::NvmeQueue;
using sw::gpu::NvmeResult;
using sw::gpu::NvmeRings;

namespace {

constexpr unsigned queues = 4;
constexpr std::uint32_t entries = 4;
constexpr std::uint64_t queue_bytes = 4096, doorbells = 0xf000;

NvmeRings rings_of(unsigned queue) {
    return {.submissions = queue * queue_bytes,
            .completions = queue * queue_bytes + 2048,
            .submission_doorbell = doorbells + queue * 8,
            .completion_doorbell = doorbells + queue * 8 + 4,
            .entries = entries};
}

/// Memory with doorbells of drives in it; a drive looks at memory when a doorbell store arrives, not when it is issued.
class Machine {
public:
    Machine() {
        for (unsigned i = 0; i < queues; ++i)
            drives.emplace_back(std::span(memory.memory).subspan(rings_of(i).submissions, entries * 64),
                                std::span(memory.memory).subspan(rings_of(i).completions, entries * 16), entries);
    }
    void run(Grid& grid) {
        grid.launch(Time{});
        for (Time now{}; !grid.is_over();) {
            now = std::min(grid.next_due(), next_completion_);
            grid.run(now);
            look(now);
            if (now < next_completion_)
                continue;
            next_completion_ = model::port::never;
            for (auto& drive : drives) {
                if (drive.has_work() && is_on)
                    drive.complete();
                if (drive.has_work())
                    next_completion_ = now + 1us;
            }
        }
    }
    unsigned mistakes() const {
        unsigned sum = 0;
        for (const auto& drive : drives)
            sum += drive.mistakes;
        return sum;
    }

    FlatMemory memory;
    std::vector<SmallDrive> drives;
    bool is_on = true;

private:
    void look(Time now) {
        for (; seen_ < memory.stores.size(); ++seen_) {
            const auto& store = memory.stores[seen_];
            if (store.address < doorbells)
                continue;
            auto& drive = drives[(store.address - doorbells) / 8];
            const auto value = static_cast<std::uint32_t>(store.value);
            (store.address % 8 == 0) ? drive.ring_tail(value) : drive.ring_head(value);
            if (drive.has_work())
                next_completion_ = std::min(next_completion_, now + 1us);
        }
    }
    std::size_t seen_ = 0;
    Time next_completion_ = model::port::never;
};

/// Each thread owns a pair and executes commands one after the other; returns how many came back right.
Task<> execute(Thread& thread, GpuQueueRules rules, unsigned commands, unsigned* right) {
    NvmeQueue queue(GpuQueueMemory(thread, rules), rings_of(thread.index()));
    for (unsigned i = 0; i < commands; ++i) {
        const auto number = thread.index() * 1000 + i;
        const NvmeResult result = co_await queue.execute(numbered(static_cast<std::uint16_t>(i), number));
        *right += result.cid == i && result.dw0 == number && result.is_ok();
    }
}

} // namespace

TEST_CASE("threads of a grid drive queue pairs of their own, over several laps", "[unit][gpu][scenario]") {
    Machine machine;
    unsigned right = 0;
    Grid grid({.threads = queues}, {&machine.memory}, [&](Thread& t) { return execute(t, {}, 11, &right); });

    machine.run(grid);

    CHECK(grid.state() == State::ended);
    CHECK(right == 11 * queues);
    CHECK(machine.mistakes() == 0);
    CHECK(machine.drives[2].rings == 11);
    CHECK(grid.frame_overflows() == 0);
}

TEST_CASE("a thread may have several commands under way behind one doorbell", "[unit][gpu][scenario]") {
    Machine machine;
    std::vector<std::uint32_t> results;
    Grid grid({}, {&machine.memory}, [&](Thread& t) -> Task<> {
        NvmeQueue queue(GpuQueueMemory{t}, rings_of(0));
        for (std::uint16_t i = 0; i < 12;) {
            while (!queue.is_full() && i < 12) {
                co_await queue.push(numbered(i, i));
                ++i;
            }
            co_await queue.ring();
            while (queue.under_way() > 0) {
                const NvmeResult result = co_await queue.wait();
                results.push_back(result.dw0);
            }
        }
    });

    machine.run(grid);

    CHECK(results == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    CHECK(machine.drives[0].rings == 4);
    CHECK(machine.mistakes() == 0);
}

TEST_CASE("with stores in the worst legal order a release before the doorbell is needed, and enough",
          "[unit][gpu][scenario]") {
    const auto omitted = GENERATE(sw::gpu::Fences{}, sw::gpu::Fences{sw::gpu::Fence::command_before_doorbell});
    unsigned failed = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
        Machine machine;
        unsigned right = 0;
        const GridConfig config{
            .threads = queues, .seed = seed, .stuck_after = 100us, .stores = {.is_adversarial = true, .hold_max = 2us}};
        Grid grid(config, {&machine.memory}, [&](Thread& t) { return execute(t, {.omitted = omitted}, 9, &right); });
        machine.run(grid);
        failed += grid.state() != State::ended || right != 9 * queues || machine.mistakes() != 0;
    }

    CHECK((failed == 0) == omitted.is_empty());
}

TEST_CASE("a thread whose drive is silent is stuck at the phase of its next completion", "[unit][gpu][scenario]") {
    Machine machine;
    machine.is_on = false;
    unsigned right = 0;
    Grid grid({.threads = 2, .stuck_after = 1ms}, {&machine.memory},
              [&](Thread& t) { return execute(t, {}, 1, &right); });

    machine.run(grid);

    CHECK(grid.state() == State::stuck);
    CHECK(grid.record(1).poll.address == rings_of(1).completions + 12);
    CHECK(grid.record(1).poll.value == 0);
    CHECK(right == 0);
}

TEST_CASE("a doorbell without a page ends its wave and leaves the other queues alone", "[unit][gpu][scenario]") {
    Machine machine;
    unsigned right = 0;
    Grid grid({.threads = 2, .wave_size = 1}, {&machine.memory}, [&](Thread& t) -> Task<> {
        auto rings = rings_of(t.index());
        if (t.index() == 0)
            rings.submission_doorbell = FlatMemory::bytes + 8;
        NvmeQueue queue(GpuQueueMemory{t}, rings);
        const NvmeResult result = co_await queue.execute(numbered(1, 77));
        right += result.dw0 == 77;
    });

    machine.run(grid);

    CHECK(grid.record(0).end == End::page_fault);
    CHECK(grid.record(0).address == FlatMemory::bytes + 8);
    CHECK(grid.record(0).is_write);
    CHECK(grid.record(1).end == End::returned);
    CHECK(right == 1);
}
