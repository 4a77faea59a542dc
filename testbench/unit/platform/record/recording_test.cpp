// A recording of a run: its head, what came before that was complete, who watches, and a disk that is full.
#include "platform/record/recording.h"

#include "platform/record/replay.h"
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <memory>

using namespace platform::record;
using Catch::Matchers::ContainsSubstring;
using model::port::Encapsulation;
using model::port::Time;
using trace_bench::Bytes;
using trace_bench::MemoryDestination;
using trace_bench::MemorySource;
namespace codec = traces::codec;

namespace {

/// Gives the bytes to a destination that outlives the recording.
struct Lent final : codec::Destination {
    explicit Lent(MemoryDestination& whose) : to(whose) {}
    Outcome write(std::span<const std::byte> bytes) override { return to.write(bytes); }
    MemoryDestination& to;
};

Recording::Options options(std::vector<Subject> subjects) {
    return {.revision = "test", .seed = 42, .configuration = "timed = true\n", .subjects = std::move(subjects)};
}
const Subject hca{.path = "A.root0.hca0", .functions = 2, .ports = {Encapsulation::infiniband}};

std::unique_ptr<Recording> recording_into(MemoryDestination& to, Recording::Options options) {
    return std::make_unique<Recording>(std::move(options), std::make_unique<Lent>(to), "memory");
}

Bytes payload(std::size_t count) {
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + i / 253);
    return bytes;
}

struct Seen {
    std::uint64_t number;
    codec::Mark mark;
    Bytes payload;
    bool operator==(const Seen&) const = default;
};
Seen seen(const codec::Record& record) {
    return {record.number, record.mark, {record.payload.begin(), record.payload.end()}};
}

struct Read {
    codec::Head head;
    std::vector<Seen> records;
    std::optional<codec::Fault> fault;
};
Read read(const Bytes& trace) {
    Read all;
    MemorySource source(trace);
    codec::Reader reader(source);
    if (const auto head = reader.open(); !head) {
        all.fault = head.error();
        return all;
    }
    all.head = reader.head();
    for (;;) {
        const auto record = reader.next();
        if (!record)
            all.fault = record.error();
        if (!record || *record == nullptr)
            return all;
        all.records.push_back(seen(**record));
    }
}

struct Notes final : Watcher {
    codec::Head head;
    std::vector<Seen> records;
    bool has_ended = false;
    void begin(const codec::Head& complete) override { head = complete; }
    void on(const codec::Record& record) override { records.push_back(seen(record)); }
    void end() override { has_ended = true; }
};

/// A write of a device, and the end of it.
void write(Boundary& boundary, std::span<const std::byte> bytes) {
    boundary.link(0).write(codec::Direction::outbound, 0x10004, bytes, Time(5));
}

} // namespace

TEST_CASE("a recording has an interface for each function and port of its devices, and one for events",
          "[unit][record]") {
    MemoryDestination destination;
    auto recording = recording_into(
        destination,
        options({hca, {.path = "B.gpu0"}, {.path = "B.hca0", .functions = 0, .ports = {Encapsulation{}}}}));

    recording->begin({"cable", "A.hca0"});
    REQUIRE(recording->close());

    using enum codec::InterfaceKind;
    const auto head = read(destination.bytes).head;
    CHECK(head.interfaces == std::vector<codec::Interface>{{pcie, "A.root0.hca0"},
                                                           {pcie, "A.root0.hca0.f1"},
                                                           {infiniband, "A.root0.hca0.port1"},
                                                           {pcie, "B.gpu0"},
                                                           {ethernet, "B.hca0.port1"},
                                                           {events, "events"}});
    CHECK(head.identity.seed == 42);
    CHECK(head.configuration == "timed = true\n");
    CHECK(head.names == std::vector<std::string>{"cable", "A.hca0"});
    CHECK(recording->boundary("B.gpu0") != nullptr);
    CHECK(recording->boundary("B.gpu1") == nullptr);
}

TEST_CASE("what a device does before the platform is built is recorded, too", "[unit][record]") {
    MemoryDestination destination;
    auto recording = recording_into(destination, options({hca}));
    const auto bytes = payload(100);

    write(*recording->boundary(hca.path), bytes);
    recording->begin({});
    write(*recording->boundary(hca.path), bytes);
    REQUIRE(recording->close());

    const auto all = read(destination.bytes);
    REQUIRE(all.records.size() == 2);
    CHECK(all.records[0].number == 1);
    CHECK(all.records[0].payload == bytes);
    CHECK(all.records[1].payload == bytes);
    CHECK(!all.fault);
}

TEST_CASE("who watches sees the records that the file has, with or without a file", "[unit][record]") {
    MemoryDestination destination;
    auto filed = recording_into(destination, options({hca}));
    Recording bare(options({hca}));
    Notes beside, alone;
    filed->watch(beside);
    bare.watch(alone);

    for (auto* recording : {filed.get(), &bare}) {
        recording->begin({"A.hca0"});
        write(*recording->boundary(hca.path), payload(10'001)); // several TLPs, one entry of the dictionary
        write(*recording->boundary(hca.path), payload(13));
        REQUIRE(recording->close());
    }

    const auto all = read(destination.bytes);
    CHECK(all.records.size() == 4);
    CHECK(beside.records.size() == all.records.size());
    CHECK(std::ranges::equal(beside.records, all.records, [](Seen one, Seen other) {
        other.mark.flags &= static_cast<std::uint8_t>(~codec::by_reference); // how the file has it
        return one == other;
    }));
    CHECK(alone.records == beside.records);
    CHECK(alone.head.names == std::vector<std::string>{"A.hca0"});
    CHECK(alone.has_ended);
}

TEST_CASE("a payload of several TLPs stands once in the file, and again not at all", "[unit][record]") {
    MemoryDestination destination;
    auto wanted = options({hca});
    wanted.file.level = codec::FrameWriter::plain;
    auto recording = recording_into(destination, wanted);
    recording->begin({});
    const auto before = destination.bytes.size();

    for (unsigned i = 0; i < 3; ++i)
        write(*recording->boundary(hca.path), payload(60'000));
    REQUIRE(recording->close());

    CHECK(destination.bytes.size() - before > 60'000);
    CHECK(destination.bytes.size() - before < 70'000);
}

TEST_CASE("a full disk is told once, and at the end which records are missing", "[unit][record]") {
    MemoryDestination destination;
    auto wanted = options({hca});
    wanted.file = {.level = codec::FrameWriter::plain, .batch_bytes = 1000};
    auto recording = recording_into(destination, wanted);
    Notes notes;
    recording->watch(notes);
    std::vector<std::string> told;
    recording->on_failure([&](const std::string& why) { told.push_back(why); });
    recording->begin({});
    destination.room = destination.bytes.size() + 2500;

    for (unsigned i = 0; i < 100; ++i)
        write(*recording->boundary(hca.path), payload(20));
    const auto closed = recording->close();

    const auto kept = read(destination.bytes);
    REQUIRE(told.size() == 1);
    CHECK_THAT(told[0], ContainsSubstring("no space left; records from ") &&
                            ContainsSubstring(std::to_string(kept.records.size() + 1) + " on"));
    REQUIRE(!closed);
    CHECK_THAT(closed.error(),
               ContainsSubstring("records " + std::to_string(kept.records.size() + 1) + " to 100 are missing"));
    CHECK(kept.records.size() > 10);
    REQUIRE(kept.fault);
    CHECK(kept.fault->kind == codec::FaultKind::truncated);
    CHECK(notes.records.size() == 100); // who watches needs no disk
}

TEST_CASE("a disk that is full when a recording is flushed is told at once", "[unit][record]") {
    MemoryDestination destination;
    auto recording = recording_into(destination, options({hca}));
    unsigned told = 0;
    recording->on_failure([&](const std::string&) { ++told; });
    recording->begin({});
    destination.room = destination.bytes.size();
    write(*recording->boundary(hca.path), payload(20));

    recording->flush();

    CHECK(told == 1);
}

TEST_CASE("a recording that is closed twice ends once", "[unit][record]") {
    struct Ends final : Watcher {
        unsigned count = 0;
        void on(const codec::Record&) override {}
        void end() override { ++count; }
    } ends;
    Recording recording(options({hca}));
    recording.watch(ends);
    recording.begin({});

    CHECK(recording.close());
    CHECK(recording.close());

    CHECK(ends.count == 1);
}

TEST_CASE("what is flushed can be read though nobody closes the recording", "[unit][record]") {
    MemoryDestination destination;
    auto recording = recording_into(destination, options({hca}));
    recording->begin({});
    write(*recording->boundary(hca.path), payload(20));
    const auto before = read(destination.bytes).records.size();

    recording->flush();

    CHECK(before == 0);
    CHECK(read(destination.bytes).records.size() == 1);
    CHECK(recording->is_flushed());
}

TEST_CASE("an event is caused by the event that its stamp names, or by the call in whose course it happened",
          "[unit][record]") {
    Notes notes;
    Recording recording(options({hca}));
    recording.watch(notes);
    recording.begin({"A.hca0"});
    auto& journal = recording.journal();
    const traces::Events events(recording.events(), 0);

    {
        Journal::Call call(journal);
        call.is(
            recording.boundary(hca.path)->link(0).signal(codec::Direction::inbound, codec::Signal::wake, Time(1), {}));
        traces::Cause cause(events, traces::Access::timer);
        cause.becomes(events.emit(Time(2), traces::DoorbellRung{}));
        events.emit(Time(3), traces::DoorbellRung{});
    }
    events.emit(Time(4), traces::DoorbellRung{});

    REQUIRE(notes.records.size() == 4);
    CHECK(notes.records[1].mark.cause == 1); // the call
    CHECK(notes.records[2].mark.cause == 2); // the event
    CHECK(notes.records[3].mark.cause == 0);
    CHECK(notes.records[3].mark.kind == codec::RecordKind::event);
}

namespace {
const void* running = nullptr;
} // namespace

TEST_CASE("what a chain of calls does is not in the course of another one that waits", "[unit][record]") {
    Notes notes;
    Recording recording(options({hca, {.path = "B.hca0"}}));
    recording.watch(notes);
    recording.begin({});
    auto& journal = recording.journal();
    journal.tell_chains_apart([] { return running; });
    auto& a = recording.boundary(hca.path)->link(0);
    auto& b = recording.boundary("B.hca0")->link(0);
    using enum codec::Direction;
    const auto call = [&](Journal::Call& of, LinkLog& link) {
        of.is(link.signal(inbound, codec::Signal::wake, Time(1), {}));
    };
    const int one = 1, two = 2;

    running = &one;
    std::optional<Journal::Call> first(std::in_place, journal);
    call(*first, a); // record 1, and now it waits
    running = &two;
    std::optional<Journal::Call> second(std::in_place, journal);
    call(*second, b); // record 2
    running = &one;
    a.signal(outbound, codec::Signal::interrupt, Time(2), {}); // record 3
    first.reset();
    running = &two;
    b.signal(outbound, codec::Signal::interrupt, Time(2), {}); // record 4
    second.reset();

    REQUIRE(notes.records.size() == 4);
    CHECK(notes.records[1].mark.cause == 0);
    CHECK(notes.records[2].mark.cause == 1);
    CHECK(notes.records[2].mark.gate == notes.records[0].mark.gate);
    CHECK(notes.records[3].mark.cause == 2);
    CHECK(notes.records[3].mark.gate == notes.records[1].mark.gate);
    CHECK(notes.records[0].mark.gate != notes.records[1].mark.gate);
}

TEST_CASE("calls that end in another order than that of a stack are said, and refused when they are played",
          "[unit][record]") {
    MemoryDestination destination;
    auto recording = recording_into(destination, options({{.path = "gpu"}}));
    recording->begin({});
    auto& boundary = *recording->boundary("gpu");

    const auto outer = boundary.enter(), inner = boundary.enter();
    boundary.leave(inner);
    const auto after_a_stack = recording->records();
    const auto late = boundary.enter();
    boundary.leave(outer);
    boundary.leave(late);
    REQUIRE(recording->close());

    CHECK(after_a_stack == 0);
    struct Nothing final : model::pcie::Device {
        model::port::DmaResult bar_read(unsigned, std::uint64_t, std::span<std::byte>, Time at) override {
            return {model::port::DmaStatus::ok, at};
        }
        void bar_write(unsigned, std::uint64_t, std::span<const std::byte>, Time) override {}
        std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
        void reset(Time) override {}
    } device;
    MemorySource source(destination.bytes);
    codec::Reader reader(source);
    REQUIRE(reader.open());
    Replay replay(reader, {.functions = {0}, .ports = {}}, Replay::Mode::strict);
    const auto result = replay.run(device);
    REQUIRE(result.fault);
    CHECK_THAT(result.fault->text(), ContainsSubstring("cannot be played again"));
}
