#include "testbench/hcasim/baseline.h"
#include "testbench/hcasim/compare_report.h"
#include "testbench/result/comparison.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <stdexcept>

using namespace hcasim;

namespace {

/// A result with as little in it as one can have, and `more` of members.
std::string text_of(std::string_view more) {
    return R"({"kind": "hcasim result", "format": 1, "version": "0.1", "revision": "abc", "scenario": "gpudirect", )" +
           std::string(more) + "}";
}

ResultFile result_of(std::string_view more, const std::string& path = "A.json") {
    auto file = read_compared(text_of(more), path);
    if (!file)
        throw std::runtime_error(file.error());
    return file->results.front();
}

std::string refusal(std::string_view text) {
    const auto file = read_compared(text, "B.json");
    return file ? "read" : file.error();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::size_t differences(std::string_view before, std::string_view after,
                        std::initializer_list<const char*> allowed = {}) {
    std::vector<Tolerance> tolerances;
    for (const auto* one : allowed)
        tolerances.push_back(read_tolerance(one).value());
    return compare(result_of(before), result_of(after, "B.json"), tolerances).differences;
}

std::string report(std::string_view before, std::string_view after, bool shows_all = false) {
    return print_comparison(compare(result_of(before), result_of(after, "B.json"), {}), {}, shows_all);
}

} // namespace

TEST_CASE("every value of a result is compared, but for who ran it and how long that took", "[unit][hcasim]") {
    CHECK(differences(R"("retries": 1)", R"("retries": 1)") == 0);
    CHECK(differences(R"("retries": 1)", R"("retries": 2)") == 1);
    CHECK(differences(R"("failure": "a")", R"("failure": "b")") == 1);
    CHECK(differences(R"("hit_rate": null)", R"("hit_rate": 0.5)") == 1);
    CHECK(differences(R"("hit_rate": 1)", R"("hit_rate": 1.0)") == 0);
    CHECK(differences(R"("verified": true)", R"("verified": 1)") == 1);
    CHECK(differences(R"("wall_seconds": 1)", R"("wall_seconds": 9)") == 0);
    CHECK(differences(R"("payload_path": "/a")", R"("payload_path": "/b")") == 0);
    CHECK(differences(R"("configuration": {"scenario.payload": "a", "timed": true})",
                      R"("configuration": {"scenario.payload": "b", "timed": false})") == 1);
    CHECK(differences(R"("large": 18446744073709551615)", R"("large": 18446744073709551614)") == 1);
}

TEST_CASE("things of a list are found by name, wherever they stand, and a missing one differs", "[unit][hcasim]") {
    const auto* two = R"("transfers": [{"name": "WRITE", "bytes": 1}, {"name": "READ", "bytes": 2}])";
    CHECK(differences(two, R"("transfers": [{"name": "READ", "bytes": 2}, {"name": "WRITE", "bytes": 1}])") == 0);
    CHECK(differences(two, R"("transfers": [{"name": "READ", "bytes": 2}])") == 1);
    CHECK(differences(R"("transfers": [])", two) == 2);
    CHECK(differences(R"("queue_sums": [{"card": "A", "kind": "send", "events": 1}])",
                      R"("queue_sums": [{"card": "B", "kind": "send", "events": 1}])") == 2);
    CHECK(differences(R"("caches": [{"name": "x", "hits": 1}, {"name": "x", "hits": 2}])",
                      R"("caches": [{"name": "x", "hits": 1}, {"name": "x", "hits": 3}])") == 1);
    CHECK(differences(R"("events": {"DmaRead": 0, "Retried": 1})", R"("events": {"Retried": 1})") == 0);
    CHECK(differences(R"("events": {"DmaRead": 0})", R"("events": {"DmaRead": 1})") == 1);
}

TEST_CASE("a tolerance lets a value differ so far, and the closest one counts", "[unit][hcasim]") {
    const auto* before = R"("sim_time_ns": 100, "transfers": [{"name": "W", "sim_time_ns": 100}])";
    const auto* after = R"("sim_time_ns": 105, "transfers": [{"name": "W", "sim_time_ns": 106}])";
    CHECK(differences(before, after) == 2);
    CHECK(differences(before, after, {"sim_time_ns=5%"}) == 1);
    CHECK(differences(before, after, {"sim_time_ns=4.9%"}) == 2);
    CHECK(differences(before, after, {"sim_time_ns=6"}) == 0);
    CHECK(differences(before, after, {"sim_time_ns=any"}) == 0);
    CHECK(differences(before, after, {"sim_time_ns=5%", "transfers.sim_time_ns=6%"}) == 0);
    CHECK(differences(before, after, {"transfers.sim_time_ns=6%"}) == 1);
    CHECK(differences(before, after, {"transfers[W].sim_time_ns=0", "sim_time_ns=any", "transfers[W]=any"}) == 1);
    CHECK(differences(before, after, {"sim_time_ns=any", "sim_time_ns=5%"}) == 1);
    CHECK(differences(R"("retries": 0)", R"("retries": 1)", {"retries=50%"}) == 1);
    CHECK(differences(R"("wall_seconds": 1)", R"("wall_seconds": 9)", {"wall_seconds=20%"}) == 1);
    CHECK(differences(R"("event_digest": "a")", R"("event_digest": "b")", {"event_digest=5%"}) == 1);
}

TEST_CASE("a tolerance that is none, or for nothing, is refused with what there is", "[unit][hcasim]") {
    for (const auto* text : {"retries", "=5", "retries=", "retries=x", "retries=-1", "retries=5%%", "retries=nan",
                             "retries=inf", "retries=1e999", "retries=5 %"})
        CHECK_FALSE(read_tolerance(text));
    const auto result = result_of(R"("retries": 1, "caches": [{"name": "x", "hits": 1}])");
    const std::array results{&result};
    const auto applies = [&](const char* text) {
        const std::array one{read_tolerance(text).value()};
        return all_apply(one, results);
    };
    CHECK(applies("retries=1"));
    CHECK(applies("caches=1"));
    CHECK(applies("caches[x].hits=1"));
    CHECK_FALSE(applies("caches[y].hits=1"));
    CHECK(has(applies("retrys=1").error(), "did you mean 'retries'?"));
}

TEST_CASE("the report begins with the first difference and says which direction is the worse one", "[unit][hcasim]") {
    const auto* before = R"("event_digest": "aa", "retries": 0, "sim_time_ns": 1000, "wire_packets": 4,
        "transfers": [{"name": "W", "rate_bytes_per_second": 8, "sha256_target": "cc"}])";
    const auto* after = R"("event_digest": "ab", "retries": 3, "sim_time_ns": 900, "wire_packets": 5,
        "transfers": [{"name": "W", "rate_bytes_per_second": 9, "sha256_target": "cc"}])";

    const auto text = report(before, after);

    CHECK(has(text, "  first difference: run, retries: 0, then 3\n"));
    CHECK(has(text, "equal digests: 0 of 1 of the run, 1 of 1 of transfers\n"));
    const auto row = [&](std::string_view name) { // its cells with one space between them
        const auto begin = text.find(fmt::format("\n  {} ", name));
        std::string cells;
        for (const char c : text.substr(begin + 3, text.find('\n', begin + 1) - begin - 3))
            if (c != ' ' || cells.back() != ' ')
                cells += c;
        return cells;
    };
    CHECK(row("retries") == "retries 0 3 +3 from 0 worse differs");
    CHECK(row("sim_time_ns") == "sim_time_ns 1,000 900 -100 -10 % better differs");
    CHECK(row("wire_packets") == "wire_packets 4 5 +1 +25 % differs");
    CHECK(row("transfers: W: rate_bytes_per_second") ==
          "transfers: W: rate_bytes_per_second 8 9 +1 +12.5 % better differs");
    CHECK(has(text, "\n  5 values differ, 0 differ and may, 2 are equal\n"));
    CHECK_FALSE(has(text, "sha256_target"));
    CHECK(has(report(before, after, true), "sha256_target"));
    CHECK(has(report(before, before), "  0 values differ, 0 differ and may, 7 are equal\n"));
}

TEST_CASE("marks say up to which event two runs were the same", "[unit][hcasim]") {
    const auto with = [](std::string_view digest, std::string_view second) {
        return fmt::format(R"("event_digest": "{}", "event_marks": [
            {{"events": 16, "last_id": 20, "time_ps": 1000, "event_digest": "x"}},
            {{"events": 32, "last_id": 44, "time_ps": 2000, "event_digest": "{}"}}])",
                           digest, second);
    };

    const auto early = report(with("a", "y"), with("b", "z"));
    CHECK(has(early, "events: the first 16 (to id 20, "));
    CHECK(has(early, ") are equal, the first 32 (to id 44, "));
    CHECK(has(early, ") are not;"));
    const auto late = report(with("a", "y"), with("b", "y"));
    CHECK(has(late, "the first 32 (to id 44, "));
    CHECK(has(late, ") are equal, the difference is behind"));
    CHECK_FALSE(has(report(with("a", "y"), with("a", "y")), "events:"));
}

TEST_CASE("what is no result is refused with its line", "[unit][hcasim]") {
    CHECK(has(refusal("[]"), "B.json:1: this is a list"));
    CHECK(has(refusal("{}"), "'kind' is missing"));
    CHECK(has(refusal("{\n\"kind\": \"junit\"}"), "B.json:2: this is 'junit'"));
    CHECK(has(refusal("{\"kind\": 5}"), "'kind' is missing"));
    CHECK(has(refusal("{\"kind\": \"hcasim result\",\n\"format\": 2}"), "B.json:2: format 2; this program reads 1"));
    CHECK(has(refusal("{\"kind\": \"hcasim result\", \"format\": \"1\"}"), "'format' is missing, or no number"));
    CHECK(has(refusal(R"({"kind": "hcasim result", "format": 1})"), "'scenario' is missing"));
    CHECK(has(refusal(R"({"kind": "hcasim baseline", "format": 1})"), "an object 'runs'"));
    CHECK(has(refusal(R"({"kind": "hcasim baseline", "format": 1, "runs": {"a": 1}})"), "run 'a' is a number"));
    CHECK(has(refusal(R"({"kind": "hcasim baseline", "format": 2, "runs": {}})"), "format 2"));
    CHECK(has(refusal(text_of(R"("transfers": [5])")), "'transfers' has a number where a result has an object"));
    CHECK(has(refusal(text_of(R"("transfers": [{"bytes": 5}])")), "an object without a name"));
    CHECK(has(refusal(text_of(R"("transfers": [{"name": "W", "x": []}])")), "'x' of 'W' in 'transfers' is a list"));
    CHECK(has(refusal(text_of(R"("events": {"x": [1]})")), "'x' of 'events' is a list"));
    CHECK(has(refusal(text_of(R"("event_marks": {})")), "'event_marks' is an object, not a list"));
    CHECK(has(refusal(text_of(R"("event_marks": [{"events": 1}])")), "a mark has events"));
}

TEST_CASE("a baseline says the same of a result as the result, without what the machine makes", "[unit][hcasim]") {
    const auto* members = R"("verified": true, "wall_seconds": 0.5, "payload_path": "/x", "hit_rate": null,
        "transfers": [{"name": "W \"1\"", "bytes": 5, "rate_bytes_per_second": 12.5, "wall_seconds": 1}],
        "queue_sums": [{"card": "A", "kind": "send", "requests": 1}],
        "events": {"Retried": 2, "DmaRead": 0}, "configuration": {"timed": true}, "event_marks": [])";
    const auto fresh = result_of(members, "results/lossy.json");

    const auto text = print_baseline({fresh});

    CHECK(text == R"({
  "kind": "hcasim baseline",
  "format": 1,
  "runs": {
    "lossy": {
      "configuration": {
        "timed": true
      },
      "events": {
        "Retried": 2
      },
      "hit_rate": null,
      "queue_sums": {
        "A send": {"requests": 1}
      },
      "scenario": "gpudirect",
      "transfers": {
        "W \"1\"": {"bytes": 5, "rate_bytes_per_second": 12.5}
      },
      "verified": true
    }
  }
}
)");
    const auto again = read_compared(text, "base.json");
    REQUIRE(again);
    REQUIRE(again->is_baseline);
    CHECK(compare(again->results.front(), fresh, {}).differences == 0);
    CHECK(print_baseline(again->results) == text);
    CHECK(compare(again->results.front(), result_of(R"("verified": true)"), {}).differences == 6);
}

TEST_CASE("a baseline takes new results in the place of old ones and leaves the others", "[unit][hcasim]") {
    const auto merged = merge({result_of(R"("retries": 1)", "b.json"), result_of(R"("retries": 2)", "a.json")},
                              {result_of(R"("retries": 3)", "b.json"), result_of(R"("retries": 4)", "0.json")});

    const auto text = print_baseline(merged);

    CHECK(has(text, "\"retries\": 4"));
    CHECK(has(text, "\"retries\": 3"));
    CHECK(has(text, "\"retries\": 2"));
    CHECK_FALSE(has(text, "\"retries\": 1"));
    CHECK(text.find("\"0\"") < text.find("\"a\""));
    CHECK(text.find("\"a\"") < text.find("\"b\""));
}

TEST_CASE("JUnit has a case for each thing, a failure for each that differs, and no byte that XML does not allow",
          "[unit][hcasim]") {
    auto comparison =
        compare(result_of(R"("retries": 1, "caches": [{"name": "a<\u0001>\"&\uffff\n", "hits": 1}])"),
                result_of(R"("retries": 1, "caches": [{"name": "a<\u0001>\"&\uffff\n", "hits": 2}])", "B.json"), {});
    RunComparison absent;
    absent.name = "lossy";
    absent.why_not = "no result of it was given";

    const auto text = print_junit(std::vector{comparison, absent}, 86'400);

    CHECK(has(text,
              R"(<testsuite name="B" package="hcasim" id="0" timestamp="1970-01-02T00:00:00" hostname="localhost" )"
              R"(tests="2" failures="1" errors="0" skipped="0" time="0">)"));
    CHECK(has(text, R"(<testcase name="run" classname="hcasim.B.run" time="0"/>)"));
    CHECK(has(text,
              "<testcase name=\"a&lt;\xef\xbf\xbd&gt;&quot;&amp;\xef\xbf\xbd&#10;\" classname=\"hcasim.B.caches\""));
    CHECK(has(text, R"(<failure message="hits: 1, then 2, better" type="difference">)"));
    CHECK(has(text, R"(<testsuite name="lossy" package="hcasim" id="1")"));
    CHECK(has(text, R"(<skipped message="no result of it was given"/>)"));
}
