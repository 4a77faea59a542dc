#include "testbench/study/measure.h"

#include "testbench/unit/testbench/study/made.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <csignal>

namespace {

constexpr const char* result = R"({"kind": "hcasim result", "format": 1, "version": "0.1", "revision": "abc",
    "scenario": "gpudirect", "failure": "nothing arrived", "payload_path": "/tmp/x", "sim_time_ns": 500,
    "never_ns": null,
    "wall_seconds": 0.25, "event_digest": "0123",
    "transfers": [{"name": "WRITE A -> B", "bytes": 4000, "wall_seconds": 1}], "events": {"DmaRead": 8}})";

study::Study study_of(study::Metric metric) {
    auto study = made::study({made::axis("a", {1, 2})});
    metric.name = "m";
    study.metrics = {std::move(metric)};
    return study;
}

study::Outcome outcome(const study::Study& study, study::Ended ended) {
    return study::outcome_of(study, {.settings = {{"a", "1"}}}, ended);
}

} // namespace

TEST_CASE("a metric is a value of the result, by another one, times a factor", "[unit][study]") {
    const auto study = study_of({.value = "transfers[WRITE A -> B].bytes", .per = "sim_time_ns", .scale = 8});

    const auto made = outcome(study, {.output = result});

    CHECK(made.status == study::Status::done);
    CHECK(made.metrics.at("m") == Catch::Approx(4000.0 / 500 * 8));
    CHECK(made.event_digest == "0123");
    CHECK(made.revision == "abc");
    CHECK(made.result.find("wall_seconds") == std::string::npos);
    CHECK(made.result.find("/tmp/x") == std::string::npos);
    CHECK(made.result.find("\"bytes\":4000") != std::string::npos);
    CHECK(outcome(study_of({.value = "events.DmaRead"}), {.output = result}).metrics.at("m") == 8);
}

TEST_CASE("a point that is not done says why, and has no metric", "[unit][study]") {
    const auto study = study_of({.value = "sim_time_ns"});
    const auto is = [&](study::Ended ended, study::Status status, std::string_view words) {
        const auto made = outcome(study, std::move(ended));
        CHECK(made.status == status);
        CHECK(made.reason.find(words) != std::string::npos);
        CHECK(made.metrics.empty());
    };
    using Way = study::Ended::Way;

    is({.number = 1, .output = result}, study::Status::failed, "nothing arrived");
    is({.number = 2, .errors = "hcasim: a.toml:3: no\nmore"}, study::Status::refused, "a.toml:3: no");
    is({.way = Way::signal, .number = SIGSEGV}, study::Status::crashed, "signal 11");
    is({.way = Way::late, .number = SIGALRM}, study::Status::late, "within 120 s");
    is({.output = "{\"kind\": "}, study::Status::crashed, "said nothing");
    is({.number = 3, .output = "{}", .errors = "hcasim: disk full\n"}, study::Status::crashed, "status 3: disk full");
}

TEST_CASE("a metric that a result has not fails the point, with the nearest name", "[unit][study]") {
    const auto made = outcome(study_of({.value = "sim_time"}), {.output = result});
    CHECK(made.status == study::Status::failed);
    CHECK(made.reason == "the result has no number 'sim_time', did you mean 'sim_time_ns'?");

    // The fraction of nothing is no number.
    const auto none = study_of({.value = "sim_time_ns", .per = "sim_time_ns", .scale = 1e308});
    CHECK(outcome(none, {.output = result}).status == study::Status::done);
    CHECK(outcome(study_of({.value = "sim_time_ns", .scale = 1e308}), {.output = result}).status ==
          study::Status::failed);
}

TEST_CASE("of what a scenario does not measure at all, numbers are named that it has", "[unit][study]") {
    constexpr const char* of_a_drive = R"({"kind": "hcasim result", "format": 1, "version": "0.1", "revision": "abc",
        "scenario": "nvme", "failure": "", "sim_time_ns": 500, "event_digest": "0", "traffic": [],
        "transfers": [{"name": "write", "rate_bytes_per_second": 4}, {"name": "read", "rate_bytes_per_second": 5}],
        "events": {"DmaRead": 8}, "configuration": {"link.rate_bytes_per_second": 500, "link.latency_ns": 500}})";
    const auto reason = [&](const char* value) { return outcome(study_of({.value = value}), {.output = of_a_drive}); };

    const auto rate = reason("traffic[all].rate_bytes_per_second");
    CHECK(study::lacks_number(rate));
    CHECK(rate.reason.starts_with("the result has no number 'traffic[all].rate_bytes_per_second', did you mean "
                                  "'transfers[read].rate_bytes_per_second' or '"));
    CHECK_FALSE(rate.reason.contains("transfers[write]")); // which is the same of another one
    CHECK(reason("traffic[all].latency_p99_ns").reason.contains("'sim_time_ns'"));
    for (const auto* group : {"configuration.", "events."}) {
        CHECK_FALSE(rate.reason.contains(group));
        CHECK_FALSE(reason("traffic[all].latency_p99_ns").reason.contains(group));
    }
    CHECK(reason("configuration.link.latency").reason.ends_with("did you mean 'configuration.link.latency_ns'?"));
}

TEST_CASE("a point lacks a number where its result has none, and not where it has null or failed", "[unit][study]") {
    CHECK(study::lacks_number(outcome(study_of({.value = "sim_time"}), {.output = result})));
    CHECK(study::lacks_number(outcome(study_of({.value = "sim_time_ns", .per = "time"}), {.output = result})));
    CHECK_FALSE(study::lacks_number(outcome(study_of({.value = "sim_time_ns"}), {.output = result})));
    CHECK_FALSE(study::lacks_number(outcome(study_of({.value = "never_ns"}), {.output = result})));
    CHECK_FALSE(study::lacks_number(outcome(study_of({.value = "sim_time"}), {.number = 1, .output = result})));
}

TEST_CASE("where a result has null, a metric counts what the study says, or fails the point", "[unit][study]") {
    const auto made = outcome(study_of({.value = "never_ns"}), {.output = result});
    CHECK(made.status == study::Status::failed);
    CHECK(made.reason == "there is no 'never_ns' in this result (null); [[metrics]] otherwise = ... says what counts "
                         "then");

    const auto said = outcome(study_of({.value = "never_ns", .scale = 2, .otherwise = 21}), {.output = result});
    CHECK(said.status == study::Status::done);
    CHECK(said.metrics.at("m") == 42);
    CHECK(outcome(study_of({.value = "sim_time_ns", .otherwise = 21}), {.output = result}).metrics.at("m") == 500);
}

TEST_CASE("the command of a point has the keys of the study, of the point and its seed", "[unit][study]") {
    auto study = study_of({.value = "m"});
    study.base = "base.toml";
    study.payload = "file";
    study.set = {{"timed", "true"}};
    study.seed_keys = {"link.seed"};
    study.seed = 7;

    const auto words = study::command_of(study, {.settings = {{"a", "2 us"}}, .repetition = 2}, "hcasim");

    CHECK(words == std::vector<std::string>{"hcasim", "run", "base.toml", "--set", "timed=true", "--set", "a=2 us",
                                            "--set", "link.seed=9", "--payload", "file"});
}
