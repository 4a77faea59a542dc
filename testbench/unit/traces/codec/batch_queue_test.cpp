// A writer whose batches are compressed and written by a thread: the same trace, bounded, and exact about what is lost.
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace trace_bench;

namespace {

/// Slow, and knows how many batches were handed over when it gets one.
struct SlowDestination final : Destination {
    std::atomic<std::size_t> handed_over = 0, written = 0, most_on_their_way = 0;
    Outcome write(std::span<const std::byte> /*bytes*/) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        most_on_their_way = std::max<std::size_t>(most_on_their_way, handed_over - written);
        ++written;
        return {};
    }
};

/// Fails once, as a disk that somebody else fills and empties.
struct FailingOnce final : Destination {
    std::size_t calls = 0, written = 0;
    Outcome write(std::span<const std::byte> /*bytes*/) override {
        if (++calls == 2)
            return std::unexpected("no space left");
        ++written;
        return {};
    }
};

} // namespace

TEST_CASE("a trace that a thread writes is the same, byte for byte", "[unit][traces]") {
    std::mt19937_64 one(1), other(1);

    const auto at_once = make_sample(3000, {.batch_bytes = 2000}, one);
    const auto by_thread = make_sample(3000, {.batch_bytes = 2000, .most_waiting = 3}, other);

    CHECK(at_once.records == by_thread.records);
    CHECK(at_once.destination.bytes == by_thread.destination.bytes);
}

TEST_CASE("who records waits when as many batches are on their way as may be", "[unit][traces]") {
    SlowDestination destination;
    {
        BatchQueue queue(destination, FrameWriter::plain, 3);
        for (std::uint64_t i = 0; i < 40; ++i) {
            Bytes batch(100);
            queue.put(batch, i, FrameWriter::Frame::goes_on);
            ++destination.handed_over; // counts it late, never early
        }
    }
    CHECK(destination.written == 40); // what was put is written before the queue ends
    CHECK(destination.most_on_their_way <= 3);
}

TEST_CASE("who puts a batch gets memory for the next one, as much or that of one that was written", "[unit][traces]") {
    MemoryDestination destination;
    BatchQueue queue(destination, FrameWriter::plain, 2);
    for (int i = 0; i < 10; ++i) {
        Bytes batch(1000);
        queue.put(batch, 1, FrameWriter::Frame::goes_on);
        CHECK(batch.empty());
        CHECK(batch.capacity() == 1000);
        REQUIRE(queue.wait());
    }
}

TEST_CASE("a disk that is full while a thread writes loses what is said, and no more", "[unit][traces]") {
    const auto start = testbench::random_seed();
    INFO("HCA_SEED=" << start);
    std::mt19937_64 random(start);
    Sample sample;
    sample.destination.room = 20'000 + random() % 50'000;
    Writer writer(sample.destination, small_head(),
                  {.level = FrameWriter::plain, .batch_bytes = 2000, .most_waiting = 4});
    for (int i = 0; i < 2000; ++i)
        record(writer, sample, random);

    CHECK_FALSE(writer.close());
    CHECK_FALSE(writer.is_good());
    CHECK(writer.kept_records() > 0);
    CHECK(writer.kept_records() + writer.lost_records() == 2000);
    const auto story = read_all(sample.destination.bytes);
    CHECK(story.confirmed == writer.kept_records());
    CHECK(story.records.size() == writer.kept_records());
}

TEST_CASE("nothing is written behind a batch that is lost", "[unit][traces]") {
    FailingOnce destination;
    BatchQueue queue(destination, FrameWriter::plain, 2);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        Bytes batch(100);
        queue.put(batch, i, FrameWriter::Frame::goes_on);
    }
    CHECK_FALSE(queue.wait());
    CHECK(queue.has_failed());
    CHECK(queue.kept_records() == 1);
    CHECK(destination.written == 1);
}

TEST_CASE("what was flushed is in the destination, whoever writes it", "[unit][traces]") {
    std::mt19937_64 random(1);
    Sample sample;
    Writer writer(sample.destination, small_head(), {.batch_bytes = SIZE_MAX / 2, .most_waiting = 4});
    CHECK(read_all(sample.destination.bytes).head.configuration == small_head().configuration);
    for (int i = 0; i < 20; ++i) {
        record(writer, sample, random);
        REQUIRE(writer.flush());
        REQUIRE(read_all(sample.destination.bytes).records.size() == sample.records.size());
    }
}
