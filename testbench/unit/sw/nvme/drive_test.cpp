// The driver and the model of a drive on each other, without a bus.
#include "model/nvme/config.h"
#include "sw/nvme/namespace.h"
#include "testbench/harness/direct_function.h"
#include "testbench/scenario/nvme.h"
#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <vector>

using namespace sw::nvme;
using harness::DirectFunction;
using model::nvme::NvmeConfig;

namespace {

NvmeConfig drive(bool is_timed) {
    NvmeConfig config;
    config.timed = is_timed;
    return config;
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        made[i] = static_cast<std::byte>(i * 29 + i / 253 + seed);
    return made;
}

/// One open controller with one queue pair and the first namespace.
struct Bench {
    DirectFunction function;
    std::unique_ptr<Controller> controller;
    std::unique_ptr<QueuePair> queue;
    std::optional<Namespace> space;
    std::optional<sw::memory::Buffer> memory;

    explicit Bench(const NvmeConfig& config, const ControllerOptions& options = {}, const QueueOptions& queues = {})
        : function(config) {
        auto opened = Controller::open(function, options);
        INFO((opened ? "" : opened.error().what));
        REQUIRE(opened.has_value());
        controller = std::move(*opened);
        make_queue(queues);
        space = Namespace::open(*controller, 1).value();
        memory = sw::memory::Buffer::allocate(function, 2 << 20).value();
    }
    void make_queue(const QueueOptions& options) {
        auto made = controller->create_queue_pair(options);
        INFO((made ? "" : made.error().what));
        REQUIRE(made.has_value());
        queue = std::move(*made);
    }
    /// Whether what is written to the drive from `data` comes back.
    bool comes_back(const std::vector<Segment>& data, Scheme scheme = Scheme::prp, std::uint64_t block = 64) {
        std::size_t bytes = 0;
        for (const auto& segment : data)
            bytes += segment.bytes;
        const auto made = pattern(bytes, static_cast<unsigned>(bytes + block));
        auto from = made.begin();
        for (const auto& segment : data) {
            std::copy_n(from, segment.bytes, reinterpret_cast<std::byte*>(function.memory.at(segment.bus)));
            from += static_cast<std::ptrdiff_t>(segment.bytes);
        }
        if (const auto written = space->write(*queue, block, data, scheme); !written)
            FAIL(written.error().what);
        std::ranges::fill(memory->bytes(), std::byte{0xee});
        if (const auto read = space->read(*queue, block, data, scheme); !read)
            FAIL(read.error().what);
        from = made.begin();
        for (const auto& segment : data) {
            const auto* there = function.memory.at(segment.bus);
            if (!std::equal(there, there + segment.bytes, from) || there[segment.bytes] != std::byte{0xee})
                return false;
            from += static_cast<std::ptrdiff_t>(segment.bytes);
        }
        return true;
    }
};

} // namespace

TEST_CASE("the driver brings a drive up and down, and leaves no memory with it", "[unit][nvme][drive]") {
    for (const bool is_timed : {false, true}) {
        CAPTURE(is_timed);
        DirectFunction function(drive(is_timed));
        auto controller = Controller::open(function).value();

        CHECK(controller->facts().version == abi::nvme::version_2_0);
        CHECK(controller->facts().model == NvmeConfig{}.model);
        CHECK(controller->facts().serial == NvmeConfig{}.serial);
        CHECK(controller->active_namespaces() == std::vector<std::uint32_t>{1});
        CHECK(controller->close().has_value());
        controller.reset();
        CHECK(function.live_allocations == 0);
        CHECK(function.device->is_quiet());
    }
}

TEST_CASE("data come back from a drive by PRP entries, lists and SGLs", "[unit][nvme][drive]") {
    for (const bool is_timed : {false, true}) {
        CAPTURE(is_timed);
        Bench bench(drive(is_timed), {}, {.vector = 1});
        const auto bus = bench.memory->bus();

        for (const auto scheme : {Scheme::prp, Scheme::sgl}) {
            CHECK(bench.comes_back({{bus, 512}}, scheme));
            CHECK(bench.comes_back({{bus + 0x204, 4096}}, scheme));
            CHECK(bench.comes_back({{bus + 0xe00, 512}, {bus + 0x3000, 0x2000}}, scheme));
            CHECK(bench.comes_back({{bus + 0x204, 128 << 10}}, scheme));
            CHECK(bench.comes_back({{bus, 1 << 20}}, scheme));
        }
        CHECK(bench.comes_back({{bus + 3, 300}, {bus + 0x1001, 200}, {bus + 0x5000, 12}}, Scheme::sgl));
        CHECK(bench.space->flush(*bench.queue).has_value());
        CHECK(bench.queue->strays() == 0);
    }
}

TEST_CASE("a drive refuses blocks behind its end, and goes on", "[unit][nvme][drive]") {
    Bench bench(drive(false));
    const std::array data{Segment{bench.memory->bus(), 512}};

    const auto done = bench.space->read(*bench.queue, bench.space->blocks(), data);

    REQUIRE(!done);
    CHECK(done.error().what.find("LBA Out of Range") != std::string::npos);
    CHECK(bench.space->read(*bench.queue, bench.space->blocks() - 1, data).has_value());
}

TEST_CASE("queues turn over many times, polled, by interrupt and with shadow doorbells", "[unit][nvme][drive]") {
    for (const bool is_shadowed : {false, true})
        for (const bool is_polled : {false, true}) {
            CAPTURE(is_shadowed, is_polled);
            Bench bench(drive(true), {.shadow_doorbells = is_shadowed},
                        {.entries = 5,
                         .vector = is_polled ? std::nullopt : std::optional<std::uint16_t>(2),
                         .largest_transfer = 4096});
            CHECK(bench.controller->has_shadow_doorbells() == is_shadowed);
            for (std::uint64_t i = 0; i < 200; ++i)
                REQUIRE(bench.comes_back({{bench.memory->bus() + i % 4 * 512, 1024}}, Scheme::prp, i * 2));
            CHECK(bench.queue->strays() == 0);
        }
}

TEST_CASE("a drive forgets its queues at a reset, and keeps what was written", "[unit][nvme][drive]") {
    Bench bench(drive(false), {.shadow_doorbells = true});
    const auto made = pattern(4096, 3);
    std::ranges::copy(made, bench.memory->bytes().begin());
    const std::array data{Segment{bench.memory->bus(), 4096}};
    REQUIRE(bench.space->write(*bench.queue, 0, data).has_value());

    REQUIRE(bench.controller->reset().has_value());

    bench.make_queue({});
    std::ranges::fill(bench.memory->bytes(), std::byte{});
    REQUIRE(bench.space->read(*bench.queue, 0, data).has_value());
    CHECK(std::ranges::equal(bench.memory->bytes().first(4096), made));
}

TEST_CASE("queues may lie in the controller's own memory", "[unit][nvme][drive]") {
    auto config = drive(false);
    config.memory_buffer = 1 << 20;
    Bench bench(config);
    const auto buffer = bench.controller->enable_memory_buffer();
    INFO((buffer ? "" : buffer.error().what));
    REQUIRE(buffer.has_value());
    REQUIRE(buffer->takes_submissions);
    auto submissions = buffer->memory;
    submissions.size = 4096;
    REQUIRE(bench.controller->destroy(std::move(bench.queue)).has_value());

    bench.make_queue({.entries = 8, .vector = 1, .submissions = submissions});

    for (std::uint64_t i = 0; i < 20; ++i)
        CHECK(bench.comes_back({{bench.memory->bus(), 4096}}, Scheme::prp, i * 8));
}

TEST_CASE("both queues of a pair and its data may lie in the controller's own memory", "[unit][nvme][drive]") {
    auto config = drive(true);
    config.memory_buffer = 1 << 20;
    Bench bench(config);
    const auto buffer = bench.controller->enable_memory_buffer().value();
    REQUIRE(buffer.takes_completions);
    REQUIRE(buffer.takes_data);
    const auto part = [&](std::uint64_t at, std::size_t size) {
        auto memory = buffer.memory;
        memory.bus += at, memory.offset += at, memory.size = size;
        return memory;
    };
    REQUIRE(bench.controller->destroy(std::move(bench.queue)).has_value());
    bench.make_queue({.entries = 8, .submissions = part(0, 4096), .completions = part(4096, 4096)});
    const auto data = part(8192, 3 * 4096);

    for (std::uint64_t i = 0; i < 20; ++i) {
        const auto made = pattern(data.size, static_cast<unsigned>(i));
        data.store(0, made);
        const std::array there{Segment{data.bus, data.size}}, here{Segment{bench.memory->bus(), data.size}};
        REQUIRE(bench.space->write(*bench.queue, i * 24, there).has_value());
        data.store(0, std::vector<std::byte>(data.size));
        REQUIRE(bench.space->read(*bench.queue, i * 24, here).has_value());
        CHECK(std::ranges::equal(bench.memory->bytes().first(data.size), made));
        REQUIRE(bench.space->read(*bench.queue, i * 24, there, Scheme::sgl).has_value());
        std::vector<std::byte> back(data.size);
        data.load(0, back);
        CHECK(back == made);
    }
}

TEST_CASE("a queue of the drive may lie in memory of another function", "[unit][nvme][drive]") {
    Bench bench(drive(false));
    // A BAR of a peer, whose bytes the drive reaches by the same bus address as its driver does by the BAR.
    const auto peer = sw::memory::Buffer::allocate(bench.function, 8192).value();
    testbench::FakeTransport other;
    other.bars[2].resize(8192);
    other.on_write = [&](unsigned, std::uint64_t offset, std::span<const std::byte> from) {
        std::ranges::copy(from, peer.data() + offset);
    };
    other.on_read = [&](unsigned, std::uint64_t offset, std::span<std::byte> into) {
        std::copy_n(peer.data() + offset, into.size(), into.begin());
    };
    QueueMemory submissions{.bus = peer.bus(), .size = 4096, .function = &other, .bar = 2}, completions = submissions;
    completions.bus += 4096, completions.offset = 4096;

    bench.make_queue({.entries = 8, .submissions = submissions, .completions = completions});

    for (std::uint64_t i = 0; i < 20; ++i)
        CHECK(bench.comes_back({{bench.memory->bus(), 4096}}, Scheme::prp, i * 8));
}

TEST_CASE("a payload goes onto a drive and comes back by its own driver", "[unit][nvme][drive]") {
    DirectFunction function(drive(true));
    const auto payload = pattern(1'000'000, 5);
    scenario::NvmeReport report;

    const auto done = scenario::use_drive(function,
                                          {.payload = scenario::PayloadSource(payload),
                                           .command_bytes = 64 << 10,
                                           .queue_depth = 8,
                                           .queue_pairs = 2,
                                           .random_reads = 300},
                                          report);

    INFO((done ? "" : done.error().what));
    REQUIRE(done.has_value());
    for (const auto& step : report.steps)
        CHECK(step.is_verified);
    CHECK(function.live_allocations == 0);
}
