// What the writer was given, the reader gives back.
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace trace_bench;

TEST_CASE("a trace of random records is read as it was written", "[unit][traces][property]") {
    const auto level = GENERATE(FrameWriter::plain, 1, 19);
    const auto batch = GENERATE(std::size_t{1}, std::size_t{4096}, std::size_t{1} << 20);
    const auto start = testbench::random_seed();
    INFO("HCA_SEED=" << start << " level " << level << " batch " << batch);
    std::mt19937_64 random(start);

    const auto sample = make_sample(1000, {.level = level, .batch_bytes = batch}, random);
    const auto story = read_all(sample.destination.bytes);

    REQUIRE(story.why() == "");
    CHECK(story.head == small_head());
    CHECK(story.records == sample.records);
    CHECK(story.confirmed == 1000);
}

TEST_CASE("a trace is the same however few bytes its source gives at a time", "[unit][traces]") {
    const auto level = GENERATE(FrameWriter::plain, 1);
    std::mt19937_64 random(1);
    const auto sample = make_sample(100, {.level = level, .batch_bytes = 2000}, random);

    const auto story = read_all(sample.destination.bytes, 1);

    REQUIRE(story.why() == "");
    CHECK(story.records == sample.records);
}

TEST_CASE("a trace without records has its head", "[unit][traces]") {
    MemoryDestination destination;
    Head head = small_head();
    head.configuration.clear();
    head.names.clear();
    head.interfaces.clear();
    Writer writer(destination, head, {});
    REQUIRE(writer.close());

    const auto story = read_all(destination.bytes);

    CHECK(story.why() == "");
    CHECK(story.head == head);
    CHECK(story.records.empty());
}

TEST_CASE("a configuration that fills many blocks is one text", "[unit][traces]") {
    const auto bytes = GENERATE(std::size_t{128} << 10, (std::size_t{128} << 10) + 1, most_configuration_bytes);
    MemoryDestination destination;
    Head head = small_head();
    head.configuration.assign(bytes, 'x');
    head.configuration.back() = '\n';
    Writer writer(destination, head, {});
    REQUIRE(writer.close());

    const auto story = read_all(destination.bytes);

    CHECK(story.why() == "");
    CHECK(story.head == head);
}

TEST_CASE("a payload that comes again is written once", "[unit][traces]") {
    std::mt19937_64 random(2);
    const auto message = random_bytes(most_entry_bytes, random);
    const auto header = write_header(0x1'0000'0000, 4096);
    MemoryDestination destination;
    Writer writer(destination, small_head(), {.level = FrameWriter::plain});
    for (int i = 0; i < 100; ++i) {
        const auto reference = writer.refer(message);
        REQUIRE(reference);
        for (std::uint32_t at = 0; at < message.size(); at += 4096)
            REQUIRE(writer.write(0, i, {.direction = Direction::outbound}, header, reference->part(at, 4096)) != 0);
    }
    REQUIRE(writer.close());

    const auto story = read_all(destination.bytes);

    CHECK(destination.bytes.size() < message.size() + 1600 * 100 + 2000);
    REQUIRE(story.why() == "");
    REQUIRE(story.records.size() == 1600);
    for (std::size_t i = 0; i < story.records.size(); ++i)
        REQUIRE(std::ranges::equal(story.records[i].payload, std::span(message).subspan(i % 16 * 4096, 4096)));
}

TEST_CASE("a payload that has left the dictionary is written again", "[unit][traces]") {
    auto head = small_head();
    head.identity.dictionary_bytes = 3 * (1000 + Dictionary::entry_overhead);
    std::mt19937_64 random(3);
    std::vector<Bytes> payloads;
    for (int i = 0; i < 4; ++i)
        payloads.push_back(random_bytes(1000, random));
    MemoryDestination destination;
    Writer writer(destination, head, {});
    std::vector<Bytes> written;
    for (const int which : {0, 1, 2, 0, 3, 0, 1, 2, 3, 3}) {
        const auto reference = writer.refer(payloads[static_cast<std::size_t>(which)]);
        REQUIRE(reference);
        writer.write(0, 0, {}, write_header(0, 1000), *reference);
        written.push_back(payloads[static_cast<std::size_t>(which)]);
    }
    REQUIRE(writer.close());

    const auto story = read_all(destination.bytes);

    REQUIRE(story.why() == "");
    REQUIRE(story.records.size() == written.size());
    for (std::size_t i = 0; i < written.size(); ++i)
        CHECK(story.records[i].payload == written[i]);
}

TEST_CASE("a payload for which the dictionary has no room stands in its record", "[unit][traces]") {
    auto head = small_head();
    head.identity.dictionary_bytes = 1000;
    MemoryDestination destination;
    Writer writer(destination, head, {});

    CHECK_FALSE(writer.refer(Bytes(1000)));
    CHECK(writer.write(0, 0, {}, write_header(0, 1000), Bytes(1000, std::byte{9})) == 1);
    REQUIRE(writer.close());

    const auto story = read_all(destination.bytes);
    REQUIRE(story.why() == "");
    CHECK(story.records.at(0).payload == Bytes(1000, std::byte{9}));
}

TEST_CASE("the head is in the destination before the first record", "[unit][traces]") {
    MemoryDestination destination;
    const Writer writer(destination, small_head(), {});

    const auto story = read_all(destination.bytes);

    CHECK(destination.kept == destination.bytes.size());
    CHECK(story.head == small_head());
    REQUIRE(story.fault);
    CHECK(story.fault->kind == FaultKind::truncated);
}

TEST_CASE("what was flushed is read, and what was not is not", "[unit][traces]") {
    const auto level = GENERATE(FrameWriter::plain, 1);
    std::mt19937_64 random(4);
    Sample sample;
    Writer writer(sample.destination, small_head(), {.level = level});
    for (int i = 0; i < 10; ++i)
        record(writer, sample, random);
    REQUIRE(writer.flush());
    const auto expected = sample.records;
    for (int i = 0; i < 10; ++i)
        record(writer, sample, random);

    const auto story = read_all(sample.destination.bytes);

    CHECK(story.records == expected);
    CHECK(story.confirmed == 10);
    REQUIRE(story.fault);
    CHECK(story.fault->kind == FaultKind::truncated);
    CHECK(writer.kept_records() == 10);
    CHECK(writer.records() == 20);
}

TEST_CASE("a full disk is reported with the number of records that are lost", "[unit][traces]") {
    std::mt19937_64 random(5);
    Sample sample;
    sample.destination.room = 20'000;
    Writer writer(sample.destination, small_head(), {.level = FrameWriter::plain, .batch_bytes = 4096});
    for (int i = 0; i < 1000; ++i)
        record(writer, sample, random);
    const auto outcome = writer.close();

    REQUIRE_FALSE(outcome);
    CHECK(outcome.error() == "no space left");
    CHECK_FALSE(writer.is_good());
    CHECK(writer.kept_records() + writer.lost_records() == 1000);
    const auto story = read_all(sample.destination.bytes);
    CHECK(story.records.size() == writer.kept_records());
    CHECK(std::ranges::equal(story.records, std::span(sample.records).first(story.records.size())));
    CHECK(story.fault->kind == FaultKind::truncated);
}

TEST_CASE("the writer holds a batch, however many records come", "[unit][traces]") {
    std::mt19937_64 random(6);
    Sample sample;
    Writer writer(sample.destination, small_head(), {.level = 1, .batch_bytes = 16384});
    std::size_t most = 0;
    for (int i = 0; i < 5000; ++i) {
        record(writer, sample, random);
        most = std::max(most, writer.batched_bytes());
    }
    CHECK(most < 16384 + most_record_bytes);
}
