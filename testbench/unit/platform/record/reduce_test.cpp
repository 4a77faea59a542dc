// Traces are made small as long as their difference stays the same: with calls that are numbers, and a difference that
// the test decides.
#include "platform/record/reduce.h"

#include "testbench/unit/traces/codec/trace_bench.h"
#include "traces/codec/signal.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <set>

using namespace platform::record;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using trace_bench::Bytes;
namespace codec = traces::codec;

namespace {

/// Call `n` is a store to page n, in the course of which the device writes to page n, too. Between them others do as
/// much on a link of theirs.
class Life {
public:
    explicit Life(unsigned calls) {
        codec::Writer writer(destination_, trace_bench::small_head(), {});
        const auto tell = [&](std::uint64_t address) {
            abi::Block<codec::SignalRecord> signal;
            signal.view().set<"code">(static_cast<std::uint16_t>(codec::Signal::bar_address)).set<"value">(address);
            writer.write(0, 0, {.kind = codec::RecordKind::signal, .direction = codec::Direction::inbound, .gate = 2},
                         signal.bytes);
        };
        const Bytes data(4);
        for (std::uint32_t n = 1; n <= calls; ++n) {
            if (n == 2)
                tell(0x1000);
            const codec::Mark call{.direction = codec::Direction::inbound, .gate = n};
            const auto number = writer.write(0, n, call, trace_bench::write_header(page(n), 4), data);
            writer.write(2, n, {.kind = codec::RecordKind::frame, .gate = n}, Bytes(60));
            writer.write(
                0, n, {.direction = codec::Direction::outbound, .gate = n, .cause = static_cast<std::uint32_t>(number)},
                trace_bench::write_header(page(n), 4), data);
            deeds.push_back(writer.records());
        }
        REQUIRE(writer.close());
    }
    static std::uint64_t page(std::uint32_t n) { return std::uint64_t{n} << 12; }
    static std::uint32_t page_of(const trace_bench::Kept& record) {
        const auto low = abi::load<std::uint32_t, abi::Endian::big>(record.head.data() + record.head.size() - 4);
        return low >> 12;
    }
    /// Record of what the device did in call `n`.
    std::uint64_t deed(std::uint32_t n) const { return deeds.at(n - 1); }
    OpenTrace open() const {
        return [this]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
            return std::make_unique<trace_bench::MemorySource>(destination_.bytes);
        };
    }

private:
    trace_bench::MemoryDestination destination_;
    std::vector<std::uint64_t> deeds;
};

trace_bench::Story story_of(codec::Source& trace) {
    Bytes bytes(1 << 20);
    std::size_t size = 0;
    for (;;) {
        const auto got = trace.read(std::span(bytes).subspan(size));
        REQUIRE(got);
        if (*got == 0)
            break;
        size += *got;
    }
    return trace_bench::read_all(std::span(bytes).first(size));
}

/// What a device does that errs in call `in` once it has seen the calls `after`.
class Erring {
public:
    Erring(std::uint32_t in, std::set<std::uint32_t> after) : in_(in), after_(std::move(after)) {}
    std::optional<Sighting> operator()(codec::Source& trace) {
        const auto story = story_of(trace);
        CHECK(story.why() == "");
        std::string pages;
        std::set<std::uint32_t> seen;
        std::optional<Sighting> sighting;
        for (std::size_t i = 0; i < story.records.size(); ++i) {
            const auto& record = story.records[i];
            if (record.mark.kind != codec::RecordKind::request)
                continue;
            const auto page = Life::page_of(record);
            pages += std::to_string(page) + ",";
            if (record.mark.direction == codec::Direction::inbound)
                seen.insert(page);
            else if (page == in_ && std::ranges::includes(seen, after_))
                sighting = {"field of a write", i + 1};
            else if (page == in_ && has_another)
                sighting = {another, another_record != 0 ? another_record : i + 1};
        }
        CHECK(played.insert(pages).second); // no trace twice
        return sighting;
    }
    std::set<std::string> played;
    bool has_another = false;
    std::string another;
    std::uint64_t another_record = 0;

private:
    std::uint32_t in_;
    std::set<std::uint32_t> after_;
};

struct Result {
    Reduced reduced;
    trace_bench::Story story;
    std::vector<std::uint32_t> pages; ///< of the stores that are left
};
Result reduce_to(const Life& life, std::uint32_t in, Erring& device, ReduceOptions options = {}) {
    options.interfaces = {0};
    options.wanted = {"field of a write", life.deed(in)};
    if (options.deadline == std::chrono::steady_clock::time_point())
        options.deadline = std::chrono::steady_clock::now() + 60s;
    trace_bench::MemoryDestination into;
    const auto reduced = reduce(life.open(), options, std::ref(device), into);
    if (!reduced)
        FAIL(reduced.error());
    Result result{*reduced, trace_bench::read_all(into.bytes), {}};
    CHECK(result.story.why() == "");
    CHECK(result.story.records.size() == result.reduced.records);
    for (const auto& record : result.story.records)
        if (record.mark.direction == codec::Direction::inbound && record.mark.kind == codec::RecordKind::request)
            result.pages.push_back(Life::page_of(record));
    return result;
}
using Pages = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("of a life nothing is left but the call that errs, and the calls that it needs", "[unit][record]") {
    const Life life(500);
    Erring device(300, {3, 17, 170, 299, 300});

    const auto result = reduce_to(life, 300, device);

    CHECK(result.pages == Pages{3, 17, 170, 299, 300});
    CHECK(result.reduced.records_cut == 601);
    CHECK(result.reduced.records == 11);
    CHECK(result.reduced.record == 11);
    CHECK(result.reduced.plays < 200);
    CHECK_FALSE(result.reduced.is_out_of_time);
}

TEST_CASE("links of other devices leave the trace with their records", "[unit][record]") {
    const Life life(20);
    Erring device(20, {20});

    const auto result = reduce_to(life, 20, device);

    REQUIRE(result.story.head.interfaces.size() == 1);
    CHECK(result.story.head.interfaces[0].name == "host0.hca0");
    CHECK(result.story.head.configuration == trace_bench::small_head().configuration);
}

TEST_CASE("a record that is left names the record that led to it, and where BARs begin is never left out",
          "[unit][record]") {
    const Life life(50);
    Erring device(40, {8, 40});

    const auto result = reduce_to(life, 40, device);

    REQUIRE(result.story.records.size() == 5);
    CHECK(result.story.records[0].mark.kind == codec::RecordKind::signal);
    CHECK(result.story.records[2].mark.cause == 2u);
    CHECK(result.story.records[4].mark.cause == 4u);
    CHECK(result.story.records[4].mark.gate == 40u);
}

TEST_CASE("another difference at the same record, and the same one elsewhere, are not the one that is wanted",
          "[unit][record]") {
    const Life life(60);
    Erring device(50, {5, 50});
    device.has_another = true;

    device.another = "time";
    CHECK(reduce_to(life, 50, device).pages == Pages{5, 50});
    device.another = "field of a write";
    device.another_record = 1;
    device.played.clear();
    CHECK(reduce_to(life, 50, device).pages == Pages{5, 50});
}

TEST_CASE("when time is over, the smallest trace so far is kept", "[unit][record]") {
    const Life life(100);
    Erring device(90, {1, 90});

    const auto result = reduce_to(life, 90, device, {.deadline = std::chrono::steady_clock::now() - 1s});

    CHECK(result.reduced.is_out_of_time);
    CHECK(result.reduced.plays == 1);
    CHECK(result.pages.size() == 90);
}

TEST_CASE("who waits is told how small the trace is by now", "[unit][record]") {
    const Life life(64);
    Erring device(60, {60});
    std::vector<std::uint64_t> told;

    const auto result = reduce_to(life, 60, device, {.tell = [&](const ReduceProgress& progress) {
                                      CHECK(progress.plays == told.size() + 1);
                                      told.push_back(progress.records);
                                  }});

    CHECK(told.size() == result.reduced.plays);
    CHECK(std::ranges::is_sorted(told, std::greater()));
}

TEST_CASE("of a trace that is too long to be held the end and the others are cut off", "[unit][record]") {
    const Life life(500);
    Erring device(100, {100});

    const auto result = reduce_to(life, 100, device, {.most_bytes = 2000});

    CHECK(result.reduced.is_only_cut);
    CHECK(result.reduced.plays == 0);
    CHECK(result.pages.size() == 100);
    CHECK(result.reduced.record == 201);
}

TEST_CASE("a difference that does not come again is told", "[unit][record]") {
    const Life life(10);
    trace_bench::MemoryDestination into;

    const auto reduced = reduce(
        life.open(),
        {.interfaces = {0}, .wanted = {"field", life.deed(5)}, .deadline = std::chrono::steady_clock::now() + 60s},
        [](codec::Source&) -> std::optional<Sighting> { return std::nullopt; }, into);

    REQUIRE_FALSE(reduced);
    CHECK_THAT(reduced.error(), ContainsSubstring("does not come again"));
    CHECK(into.bytes.empty());
}
