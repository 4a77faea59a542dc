// The zstd side of a trace file: bombs, windows, files that others have compressed, sources that fail.
#include "testbench/unit/traces/codec/trace_bench.h"
#include "traces/codec/file.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <zstd.h>

#include <cstdio>
#include <unistd.h>

using namespace trace_bench;
using Catch::Matchers::ContainsSubstring;

namespace {

Bytes compress(std::span<const std::byte> bytes, int window_log = 0) {
    auto* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    Bytes out(ZSTD_compressBound(bytes.size()));
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    // In two steps: of bytes that come at once, zstd takes the size for the window.
    ZSTD_compressStream2(context, &to, &in, ZSTD_e_flush);
    ZSTD_compressStream2(context, &to, &in, ZSTD_e_end);
    ZSTD_freeCCtx(context);
    out.resize(to.pos);
    return out;
}

/// The same bytes again and again, and how often they were asked for.
struct Repeating final : Source {
    Bytes bytes;
    std::uint64_t given = 0;
    explicit Repeating(Bytes what) : bytes(std::move(what)) {}
    std::expected<std::size_t, std::string> read(std::span<std::byte> into) override {
        const auto count = std::min(bytes.size(), into.size());
        std::ranges::copy(std::span(bytes).first(count), into.begin());
        given += count;
        return count;
    }
};

struct Failing final : Source {
    Bytes bytes;
    bool has_given = false;
    std::expected<std::size_t, std::string> read(std::span<std::byte> into) override {
        if (std::exchange(has_given, true))
            return std::unexpected("the cable is out");
        std::ranges::copy(bytes, into.begin());
        return bytes.size();
    }
};

struct Scratch {
    std::string path = "/tmp/hcasim-codec-" + std::to_string(getpid()) + ".pcapng";
    ~Scratch() { std::remove(path.c_str()); }
};

} // namespace

TEST_CASE("a decompression bomb is refused after 64 MiB and 4096 times its size", "[unit][traces]") {
    Repeating source(compress(Bytes(8 << 20)));
    FrameReader frames(source);
    Bytes chunk(1 << 20);
    std::uint64_t total = 0;

    for (std::size_t got = chunk.size(); got == chunk.size(); total += got)
        got = frames.read(chunk);

    REQUIRE(frames.fault());
    CHECK(frames.fault()->kind == FaultKind::excessive);
    CHECK(total >= free_growth_bytes);
    CHECK(total < free_growth_bytes + source.given * most_growth);
    CHECK(total < std::uint64_t{1} << 30);
}

TEST_CASE("a bomb inside of a trace is refused as a trace, too", "[unit][traces]") {
    std::mt19937_64 random(1);
    auto bytes = make_sample(3, {}, random, false).destination.bytes;
    const auto bomb = compress(Bytes(std::size_t{300} << 20));
    bytes.insert(bytes.end(), bomb.begin(), bomb.end());

    const auto story = read_all(bytes);

    REQUIRE(story.fault); // zeros are no block: it need not be unpacked at all
    CHECK(story.fault->kind == FaultKind::corrupt);
    CHECK_THAT(story.why(), ContainsSubstring("cannot have 0 bytes"));
}

TEST_CASE("no trace grows as much as a bomb: frames of zeros, as long as they may be", "[unit][traces]") {
    MemoryDestination destination;
    Writer writer(destination, small_head(), {.level = GENERATE(1, 3)});
    const Bytes zeros(most_record_bytes - RecordMark::size);
    for (int i = 0; i < 6000; ++i)
        writer.write(1, i, {.kind = RecordKind::frame, .direction = Direction::inbound}, zeros);
    REQUIRE(writer.close());
    INFO(writer.written_bytes() << " bytes have become " << destination.bytes.size());

    MemorySource source(destination.bytes);
    Reader reader(source);
    REQUIRE(reader.open());
    auto record = reader.next();
    while (record && *record != nullptr)
        record = reader.next();

    CHECK(record);
    CHECK(reader.confirmed_records() == 6000);
    CHECK(writer.written_bytes() < destination.bytes.size() * most_growth);
}

TEST_CASE("a frame that refers further back than 8 MiB is refused", "[unit][traces]") {
    const auto window_log = GENERATE(23, 24, 27);
    std::mt19937_64 random(1);
    const auto sample = make_sample(10, {.level = FrameWriter::plain}, random);

    const auto story = read_all(compress(sample.destination.bytes, window_log));

    if (window_log == 23) {
        CHECK(story.why() == "");
    } else {
        REQUIRE(story.fault);
        CHECK(story.fault->kind == FaultKind::excessive);
    }
}

TEST_CASE("a trace that somebody compressed as one frame is read", "[unit][traces]") {
    std::mt19937_64 random(1);
    const auto sample = make_sample(500, {.level = FrameWriter::plain, .batch_bytes = 4096}, random);

    const auto story = read_all(compress(sample.destination.bytes), GENERATE(std::size_t{7}, SIZE_MAX));

    CHECK(story.why() == "");
    CHECK(story.records == sample.records);
}

TEST_CASE("behind its head a trace is one frame, however often it is flushed", "[unit][traces]") {
    // Wireshark 4.0 takes a file for damaged where a third frame begins too far behind.
    std::mt19937_64 random(1);
    const auto sample = make_sample(500, {.batch_bytes = 4096}, random);
    std::vector<std::size_t> frames;
    for (std::size_t at = 0; at < sample.destination.bytes.size();) {
        frames.push_back(at);
        const auto left = std::span(sample.destination.bytes).subspan(at);
        at += ZSTD_findFrameCompressedSize(left.data(), left.size());
    }

    REQUIRE(sample.destination.writes > 20);
    CHECK(frames.size() == 2);
    CHECK(read_all(sample.destination.bytes).records == sample.records);
}

TEST_CASE("a skippable frame is skipped", "[unit][traces]") {
    std::mt19937_64 random(1);
    const auto sample = make_sample(50, {}, random);
    Bytes bytes{std::byte{0x50}, std::byte{0x2a}, std::byte{0x4d}, std::byte{0x18}, std::byte{3},  std::byte{0},
                std::byte{0},    std::byte{0},    std::byte{'a'},  std::byte{'b'},  std::byte{'c'}};
    bytes.insert(bytes.end(), sample.destination.bytes.begin(), sample.destination.bytes.end());

    const auto story = read_all(bytes);

    CHECK(story.why() == "");
    CHECK(story.records == sample.records);
}

TEST_CASE("what follows the frames of a trace is refused", "[unit][traces]") {
    std::mt19937_64 random(1);
    auto bytes = make_sample(50, {}, random).destination.bytes;
    const auto size = bytes.size();
    const auto tail = bytes_of("something else");
    bytes.insert(bytes.end(), tail.begin(), tail.end());

    const auto story = read_all(bytes);

    REQUIRE(story.fault);
    CHECK(story.fault->kind == FaultKind::corrupt);
    CHECK(story.fault->file_offset == size);
}

TEST_CASE("a source that fails is reported in its own words", "[unit][traces]") {
    std::mt19937_64 random(1);
    Failing source;
    source.bytes = make_sample(10, {.level = GENERATE(FrameWriter::plain, 1)}, random).destination.bytes;
    source.bytes.resize(source.bytes.size() - 10);
    Reader reader(source);

    REQUIRE(reader.open());
    auto record = reader.next();
    while (record)
        record = reader.next();

    CHECK(record.error().kind == FaultKind::unreadable);
    CHECK_THAT(record.error().text(), ContainsSubstring("the cable is out"));
}

TEST_CASE("a trace goes to a file and comes from it", "[unit][traces]") {
    const auto outlives = GENERATE(FileDestination::Outlives::program, FileDestination::Outlives::machine);
    const Scratch scratch;
    {
        auto file = FileDestination::create(scratch.path, outlives);
        REQUIRE(file);
        Writer writer(*file, small_head(), {});
        writer.write(0, 5, {.direction = Direction::inbound}, read_header(0x1000, 64));
        REQUIRE(writer.close());
    }

    auto source = FileSource::open(scratch.path);
    REQUIRE(source);
    Reader reader(*source);
    REQUIRE(reader.open());
    const auto record = reader.next();

    REQUIRE(record);
    CHECK((*record)->time_ps == 5);
    CHECK(*reader.next() == nullptr);
}

TEST_CASE("a file that cannot be used is reported with its name and the reason", "[unit][traces]") {
    CHECK(FileSource::open("/nowhere/a").error() == "/nowhere/a: cannot be opened: No such file or directory");
    CHECK(FileDestination::create("/nowhere/a").error() == "/nowhere/a: cannot be created: No such file or directory");
    auto directory = FileSource::open("/tmp");
    REQUIRE(directory);
    Reader reader(*directory);
    const auto opened = reader.open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind == FaultKind::unreadable);
    CHECK_THAT(opened.error().text(), ContainsSubstring("/tmp: cannot be read: Is a directory"));
}

TEST_CASE("a full device is reported", "[unit][traces]") {
    auto full = FileDestination::create("/dev/full");
    REQUIRE(full);
    Writer writer(*full, small_head(), {});

    CHECK_FALSE(writer.is_good());
    CHECK(writer.close().error() == "/dev/full: cannot be written: No space left on device");
}
