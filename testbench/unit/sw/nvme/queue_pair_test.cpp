// A queue pair against a controller of a few lines, which does exactly what a test says.
#include "sw/nvme/queue_pair.h"

#include "abi/nvme/completion.h"
#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cerrno>
#include <vector>

using namespace sw::nvme;
using abi::nvme::Status;
using namespace std::chrono_literals;

namespace {

constexpr std::uint16_t number = 3;
constexpr std::uint64_t tail_doorbell = 0x1000 + 2 * number * 4, head_doorbell = tail_doorbell + 4;

struct Ring {
    std::uint64_t offset;
    std::uint32_t value;
    bool operator==(const Ring&) const = default;
};

struct Bench {
    testbench::FakeTransport transport;
    std::vector<Ring> rings;
    std::array<std::uint32_t, 1024> doorbells{}, events{};
    std::unique_ptr<QueuePair> queue;
    std::uint32_t posted = 0;

    explicit Bench(QueueOptions options = {.entries = 4}, bool is_shadowed = false) {
        transport.bars[0].resize(0x4000);
        transport.bars[2].resize(0x4000);
        transport.bar_addresses[2] = 0xe000'0000;
        transport.on_write = [this](unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
            if (bar == 0)
                rings.push_back({offset, abi::load<std::uint32_t, abi::Endian::little>(from.data())});
        };
        ShadowDoorbells shadow;
        if (is_shadowed)
            shadow = {reinterpret_cast<std::byte*>(doorbells.data()), reinterpret_cast<std::byte*>(events.data())};
        queue = QueuePair::make(transport, number, 0, shadow, options).value();
    }
    std::uint16_t submit() {
        QueuePair::Command command;
        return queue->submit(command).value();
    }
    /// As the controller posts it.
    void post(std::uint16_t id, Status status = Status::success, std::uint16_t from = number) {
        abi::Block<abi::nvme::Completion> entry;
        auto view = entry.view();
        view.set<"sqid">(from);
        view.set<"cid">(id);
        view.set<"status">(status);
        view.set<"dw0">(0x100u + posted);
        view.set<"p">(posted / queue->entries() % 2 == 0);
        queue->completions().store(posted++ % queue->entries() * entry.bytes.size(), entry.bytes);
    }
    std::vector<Completion> poll() {
        std::array<Completion, 8> found;
        const auto count = queue->poll(found);
        return {found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count)};
    }
};

} // namespace

TEST_CASE("commands are in the queue before the doorbell says so, once for all of them", "[unit][nvme][driver]") {
    Bench bench;

    const auto first = bench.submit(), second = bench.submit();
    CHECK(first != second);
    CHECK(bench.rings.empty());
    bench.queue->ring();
    bench.queue->ring();

    CHECK(bench.rings == std::vector<Ring>{{tail_doorbell, 2}});
    const auto memory = bench.transport.at(bench.queue->submissions().bus, 128);
    CHECK(abi::ConstView<abi::nvme::Command>(memory.subspan(64)).get<"cid">() == second);
}

TEST_CASE("each command and each completion costs its driver's processor time", "[unit][nvme][driver]") {
    using sw::transport::Work;
    Bench bench;
    std::vector<std::pair<Work, std::size_t>> spent;
    bench.transport.on_spend = [&](Work work, std::size_t count) { spent.emplace_back(work, count); };
    bench.post(bench.submit());
    bench.post(bench.submit());
    bench.queue->ring();
    CHECK(bench.poll().size() == 2);
    CHECK(spent == std::vector<std::pair<Work, std::size_t>>{{Work::post, 1}, {Work::post, 1}, {Work::poll, 2}});
}

TEST_CASE("one command less than the queue has entries can be under way", "[unit][nvme][driver]") {
    Bench bench;
    for (int i = 0; i < 3; ++i)
        bench.submit();

    QueuePair::Command command;
    CHECK(bench.queue->submit(command).error().code == EAGAIN);
    CHECK(bench.queue->under_way() == 3);
    bench.queue->ring();
    bench.post(0);
    CHECK(bench.poll().size() == 1);
    CHECK(bench.queue->submit(command).has_value());
}

TEST_CASE("completions are taken turn after turn, each once", "[unit][nvme][driver]") {
    Bench bench;
    for (unsigned i = 0; i < 23; ++i) {
        CAPTURE(i);
        const auto id = bench.submit();
        bench.queue->ring();
        CHECK(bench.poll().empty());
        bench.post(id, Status::lba_out_of_range);

        const auto done = bench.poll();

        REQUIRE(done.size() == 1);
        CHECK(done[0].id == id);
        CHECK(done[0].result == 0x100 + i);
        CHECK(done[0].status == Status::lba_out_of_range);
        CHECK(bench.rings.back() == Ring{head_doorbell, (i + 1) % 4});
    }
    CHECK(bench.poll().empty());
    CHECK(bench.queue->strays() == 0);
}

TEST_CASE("a completion of no command, of an ended one, or of another queue is counted, and nothing else",
          "[unit][nvme][driver]") {
    Bench bench;
    const auto id = bench.submit();
    bench.queue->ring();

    bench.post(77);
    bench.post(id, Status::success, number + 1);
    bench.post(id);
    const auto done = bench.poll();
    REQUIRE(done.size() == 1);
    CHECK(done[0].result == 0x102); // the third one
    bench.post(id);

    CHECK(bench.poll().empty());
    CHECK(bench.queue->strays() == 3);
    CHECK(bench.queue->under_way() == 0);
}

TEST_CASE("a wait ends with the interrupt, or with its time", "[unit][nvme][driver]") {
    Bench bench({.entries = 4, .vector = 5});
    const auto id = bench.submit();
    bench.queue->ring();
    std::array<Completion, 1> one;

    CHECK(bench.queue->wait(one, 10us) == 0);
    bench.transport.on_relax = [&] {
        if (bench.transport.relaxed == 20) {
            bench.post(id);
            bench.transport.raised.insert(5);
        }
    };
    CHECK(bench.queue->wait(one, 1ms) == 1);
    CHECK(bench.transport.relaxed == 20);
}

TEST_CASE("a command that does not end is given up, and an old completion is not taken for it",
          "[unit][nvme][driver]") {
    Bench bench;
    QueuePair::Command command;

    CHECK(bench.queue->execute(command, {}, Scheme::prp, 10us).error().code == ETIMEDOUT);
    CHECK(bench.queue->under_way() == 1);
    bench.post(command.view().get<"cid">());
    CHECK(bench.queue->execute(command, {}, Scheme::prp, 10us).error().code == ETIMEDOUT);
}

TEST_CASE("with shadow doorbells a register is written only where the controller asks for it", "[unit][nvme][driver]") {
    Bench bench({.entries = 16}, true);
    auto& tail = bench.doorbells[2 * number];
    auto& asked = bench.events[2 * number];

    asked = 0; // it has seen nothing, and sleeps
    bench.submit();
    bench.queue->ring();
    CHECK(tail == 1);
    CHECK(bench.rings == std::vector<Ring>{{tail_doorbell, 1}});

    asked = 0; // still at work on that
    bench.submit(), bench.submit();
    bench.queue->ring();
    CHECK(tail == 3);
    CHECK(bench.rings.size() == 1);

    asked = 3; // it sleeps again
    bench.submit();
    bench.queue->ring();
    CHECK(tail == 4);
    CHECK(bench.rings.size() == 2);

    asked = 0xffff; // it looks by itself
    bench.submit();
    bench.queue->ring();
    CHECK(tail == 5);
    CHECK(bench.rings.size() == 2);
    CHECK(bench.queue->register_writes() == 2);
}

TEST_CASE("a new queue begins with its shadow doorbells at zero, and leaves those of others alone",
          "[unit][nvme][driver]") {
    Bench bench;
    bench.doorbells.fill(9);
    bench.events.fill(9);

    const auto queue = QueuePair::make(
        bench.transport, 1, 0,
        {reinterpret_cast<std::byte*>(bench.doorbells.data()), reinterpret_cast<std::byte*>(bench.events.data())}, {});

    REQUIRE(queue.has_value());
    CHECK(std::vector(bench.doorbells.begin(), bench.doorbells.begin() + 5) ==
          std::vector<std::uint32_t>{9, 9, 0, 0, 9});
    CHECK(std::vector(bench.events.begin(), bench.events.begin() + 5) == std::vector<std::uint32_t>{9, 9, 0, 0, 9});
}

TEST_CASE("queues may lie in a BAR, and an entry is there before the doorbell is rung", "[unit][nvme][driver]") {
    testbench::FakeTransport other;
    other.bars[2].assign(0x2000, std::byte{0xff}); // as somebody has left it
    std::vector<std::string> order;
    other.on_write = [&](unsigned, std::uint64_t, std::span<const std::byte>) { order.push_back("entry"); };
    other.on_read = [&](unsigned, std::uint64_t offset, std::span<std::byte>) {
        if (offset < 0x1000)
            order.push_back("read");
    };
    const QueueMemory all{.bus = 0xe000'0000, .size = 0x2000, .function = &other, .bar = 2};
    auto submissions = all, completions = all;
    submissions.size = completions.size = 0x1000;
    completions.bus += 0x1000, completions.offset = 0x1000;
    Bench bench({.entries = 4, .submissions = submissions, .completions = completions});
    CHECK(bench.poll().empty()); // what was there before is no completion

    for (int i = 0; i < 9; ++i) {
        order.clear();
        const auto rings = bench.rings.size();
        const auto id = bench.submit();
        CHECK(bench.rings.size() == rings);
        bench.queue->ring();
        CHECK(order.back() == "read"); // which does not pass the writes before it
        CHECK(bench.rings.size() == rings + 1);
        bench.post(id);
        CHECK(bench.poll().size() == 1);
    }
}

TEST_CASE("memory that cannot be a queue's is refused", "[unit][nvme][driver]") {
    Bench bench;
    const auto make = [&](const QueueOptions& options) {
        const auto made = QueuePair::make(bench.transport, 1, 0, {}, options);
        return made ? 0 : made.error().code;
    };
    std::array<std::byte, 8192> memory{};

    CHECK(make({.entries = 4, .submissions = {.bus = 0x1000, .size = 4096, .data = memory.data()}}) == 0);
    CHECK(make({.entries = 4, .submissions = {.bus = 0x1040, .size = 4096, .data = memory.data()}}) == EINVAL);
    CHECK(make({.entries = 65, .submissions = {.bus = 0x1000, .size = 4096, .data = memory.data()}}) == EINVAL);
    CHECK(make({.entries = 4, .completions = {.bus = 0x1000, .size = 4096}}) == EINVAL);
    CHECK(make({.entries = 1}) == EINVAL);
    CHECK(make({.entries = 0x10001}) == EINVAL);
    const auto before = bench.transport.allocated_bytes;
    bench.transport.memory_limit = before + 8192;
    CHECK(make({.entries = 64}) == ENOMEM);
    CHECK(bench.transport.allocated_bytes == before);
}
