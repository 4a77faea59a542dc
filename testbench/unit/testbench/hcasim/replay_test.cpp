// What `hcasim replay` makes of a recording: its devices, the first difference, and what is told of it.
#include "testbench/unit/testbench/hcasim/recorded_session.h"

#include "testbench/hcasim/replay_text.h"
#include "testbench/planted/planted.h"
#include "testbench/program/status.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace hcasim_replay;
using Catch::Matchers::ContainsSubstring;
using planted::Mistake;
using planted::PlantedDevices;
using Kind = Divergence::Kind;

namespace {

struct Found {
    planted::MistakePlace place;
    Divergence divergence;
    DivergenceReport report;
};
/// Plays A's HCA with a mistake at the so-many-th thing of its kind.
Found find(Mistake mistake, std::uint64_t number, ReplayMode mode = ReplayMode::strict,
           std::vector<std::string> overrides = {}) {
    const auto& trace = recorded();
    const auto part = bench_of(trace, std::move(overrides)).parts.at(0);
    const auto place = planted::find_place(opened(trace), part, mistake, number);
    if (!place)
        FAIL(place.error());
    PlantedDevices devices(mistake, place->ordinal);
    const auto result = played(trace, part, mode, [&](const auto& device, const auto& ports, const auto& at) {
        return devices.make(device, ports, at);
    });
    REQUIRE(result.divergence);
    return {*place, *result.divergence, make_report(opened(trace), part, *result.divergence)};
}
const FieldRow& row(const DivergenceReport& report, std::string_view name) {
    const auto found = std::ranges::find(report.rows, name, &FieldRow::name);
    if (found == report.rows.end())
        FAIL("no row " << name);
    return *found;
}
std::string text_of(const DivergenceReport& report) {
    return print_text({.trace = "t", .part = "p", .again = "hcasim replay t", .divergence = report});
}

} // namespace

TEST_CASE("each device of a recording plays as it was, by the configuration in the recording", "[unit][replay]") {
    const auto bench = bench_of(recorded());

    REQUIRE(bench.parts.size() == 2);
    CHECK(bench.parts[0].path == "A.root.switch.hca");
    CHECK(bench.parts[1].path == "B.root.switch.hca");
    CHECK(bench.differences.empty());
    for (const auto& part : bench.parts) {
        const auto result = played(recorded(), part);
        CHECK(result.is_same());
        CHECK(result.calls > 100);
    }
}

TEST_CASE("a completion with another field is found at its write, by the name of the field", "[unit][replay]") {
    const auto found = find(Mistake::cqe_field, GENERATE(0u, 3u));

    CHECK(found.report.kind == Kind::field);
    CHECK(found.report.record == found.place.record);
    CHECK(found.report.field == "cqe64.byte_cnt");
    CHECK(row(found.report, "cqe64.byte_cnt").differs());
    CHECK_FALSE(row(found.report, "cqe64.qpn").differs());
    CHECK_THAT(found.report.expected, ContainsSubstring("CQE in CQ"));
    REQUIRE(found.report.chain.size() > 2);
    CHECK(found.report.chain[0].record == found.place.record);
    CHECK_THAT(found.report.chain[0].why, ContainsSubstring("It completes the work request that record"));
    CHECK_THAT(found.report.chain.back().why, ContainsSubstring("Software did this"));
}

TEST_CASE("a packet with another PSN is found at its frame", "[unit][replay]") {
    const auto found = find(Mistake::psn, GENERATE(0u, 2u)); // in a message of several packets, too

    CHECK(found.report.kind == Kind::field);
    CHECK(found.report.record == found.place.record);
    CHECK(found.report.field == "bth.psn");
    CHECK_FALSE(row(found.report, "bth.opcode").differs());
}

TEST_CASE("a field is named by itself where its time is another, too, and nobody compares times", "[unit][replay]") {
    const auto found = find(Mistake::psn, 0, ReplayMode::untimed, {"hca.wqe_latency_ns=300"});

    CHECK(found.report.record == found.place.record);
    CHECK(row(found.report, "time").differs());
    CHECK(found.report.field == "bth.psn");
}

TEST_CASE("an event that is not written is missing, though the interrupt comes", "[unit][replay]") {
    const auto found = find(Mistake::dropped_event, 0);

    CHECK(found.report.kind == Kind::missing);
    CHECK(found.report.record == found.place.record);
    CHECK_THAT(found.report.expected, ContainsSubstring("EQE in EQ"));
    CHECK(found.report.field == "");
}

TEST_CASE("a DMA that comes later differs in time alone", "[unit][replay]") {
    const auto found = find(Mistake::later_dma, 0);

    CHECK(found.report.kind == Kind::time);
    CHECK(found.report.record == found.place.record);
    CHECK(found.report.field == "time");
}

TEST_CASE("two writes in another order are found at the one that came first", "[unit][replay]") {
    // The one completion that is followed by an event in the same call.
    const auto& trace = recorded();
    const auto part = bench_of(trace).parts.at(0);
    std::optional<Found> found;
    for (std::uint64_t number = 0; number < 8 && (!found || found->report.kind != Kind::order); ++number)
        if (planted::find_place(opened(trace), part, Mistake::other_order, number))
            found = find(Mistake::other_order, number);

    REQUIRE(found);
    CHECK(found->report.kind == Kind::order);
    CHECK(found->report.record == found->place.record);
    CHECK(found->report.other > found->report.record);
    CHECK_THAT(text_of(found->report),
               ContainsSubstring("which record " + std::to_string(found->report.other) + " did"));
}

TEST_CASE("mistakes in time are none where times are not compared", "[unit][replay]") {
    const auto& trace = recorded();
    const auto part = bench_of(trace).parts.at(0);
    PlantedDevices devices(Mistake::later_dma,
                           planted::find_place(opened(trace), part, Mistake::later_dma, 0)->ordinal);

    const auto result =
        played(trace, part, ReplayMode::untimed,
               [&](const auto& device, const auto& ports, const auto& at) { return devices.make(device, ports, at); });

    CHECK(result.is_same());
}

TEST_CASE("the text of a divergence shows both sides, marks what differs, and says how to see it again",
          "[unit][replay]") {
    const auto text = text_of(find(Mistake::cqe_field, 1).report);

    CHECK_THAT(text, ContainsSubstring("class     field: the device does the same with another content"));
    CHECK_THAT(text, ContainsSubstring("  * cqe64.byte_cnt"));
    CHECK_THAT(text, ContainsSubstring("    cqe64.qpn"));
    CHECK_THAT(text, ContainsSubstring("What led there:"));
    CHECK_THAT(text, ContainsSubstring("doorbell of QP"));
    CHECK_THAT(text, ContainsSubstring("Before it:"));
    CHECK_THAT(text, ContainsSubstring("again: hcasim replay t"));
}

TEST_CASE("of an access of several TLPs, the one that differs is named", "[unit][replay]") {
    Step expected;
    expected.what = Step::What::write;
    expected.address = 0x1800;
    expected.length = 10000;
    expected.bytes.resize(10000);
    auto actual = expected;

    actual.bytes[0x7ff] = std::byte{1};
    CHECK(first_differing_piece(expected, actual) == 0);
    actual = expected;
    actual.bytes[0x800] = std::byte{1};
    CHECK(first_differing_piece(expected, actual) == 1);
    actual = expected;
    actual.bytes[9999] = std::byte{1};
    CHECK(first_differing_piece(expected, actual) == 2);
    CHECK(record_of(actual, 2).payload.back() == std::byte{1});
    CHECK(record_of(actual, 2).payload.size() == 10000 - 0x1800);
}

TEST_CASE("a verdict has its exit status, and the gravest counts", "[unit][replay]") {
    DeviceReplay replay;
    CHECK(status_of(replay) == status::good);
    replay.fault = codec::Fault{.kind = codec::FaultKind::truncated, .reason = {}};
    CHECK(status_of(replay) == status::damaged);
    CHECK(verdict(replay) == Verdict::truncated);
    replay.fault->kind = codec::FaultKind::corrupt;
    CHECK(status_of(replay) == status::damaged);
    CHECK(verdict(replay) == Verdict::unreadable);
    replay.divergence.emplace();
    CHECK(status_of(replay) == status::failed);

    CHECK(gravest(status::good, status::damaged) == status::damaged);
    CHECK(gravest(status::failed, status::refused) == status::failed);
    CHECK(gravest(status::refused, status::damaged) == status::refused);
}

TEST_CASE("words that a shell would take apart are quoted", "[unit][replay]") {
    CHECK(shell_word("run.trace") == "run.trace");
    CHECK(shell_word("my run") == "'my run'");
    CHECK(shell_word("it's") == "'it'\\''s'");
    CHECK(shell_word("") == "''");
}

TEST_CASE("an override of how links cut accesses is a link that was changed, and what was recorded stays",
          "[unit][replay]") {
    using model::pcie::TlpSizes;
    const auto usual = TlpSizes::of(512, 512);

    for (const auto& part : bench_of(recorded(), {"hca.wqe_latency_ns=300"}).parts)
        CHECK_FALSE(part.sizes.has_changed());
    for (const auto& part : bench_of(recorded(), {"pcie.device.mps=256", "hca.wqe_latency_ns=300"}).parts) {
        CHECK(part.sizes.recorded == usual);
        CHECK(part.sizes.played == TlpSizes::of(256, 512));
    }
    CHECK(bench_of(recorded(), {"pcie.device.mrrs=1024"}).parts[0].sizes.played == TlpSizes::of(512, 1024));
    // A path carries what each link on it carries.
    CHECK(bench_of(recorded(), {"pcie.upstream.mps=128"}).parts[1].sizes.played == TlpSizes::of(128, 512));
}

TEST_CASE("a TLP that another link makes is told as a TLP of the recorded link and one of the other",
          "[unit][replay]") {
    const auto& trace = recorded();
    const auto part = bench_of(trace, {"pcie.device.mps=256"}).parts.at(0);

    const auto result = played(trace, part);

    REQUIRE(result.divergence);
    const auto report = make_report(opened(trace), part, *result.divergence);
    CHECK(report.kind == Kind::field);
    CHECK(report.field == "length");
    CHECK(row(report, "length").expected == "512");
    CHECK(row(report, "length").actual == "256");
    CHECK_FALSE(row(report, "address").differs());
    CHECK(played(trace, part, ReplayMode::functional).is_same());
}
