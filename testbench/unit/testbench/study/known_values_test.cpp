#include "testbench/study/known_values.h"

#include "testbench/unit/testbench/study/made.h"

#include <catch2/catch_test_macros.hpp>

TEST_CASE("what a result can have is known by its name, whatever its things are called", "[unit][study]") {
    for (const auto* value :
         {"sim_time_ns", "wire_packets", "wall_seconds", "transfers[WRITE A -> B].rate_bytes_per_second",
          "traffic[all].settled_ns", "caches[A.hca QPC].misses", "flows[A.gpu0 -> B [1].x].messages",
          "queues[A.hca send].requests", "intervals[12].fairness", "events.DmaRead", "configuration.scenario.qps"})
        CHECK(study::why_unknown(value) == std::nullopt);
}

TEST_CASE("what no result can have is said with the nearest that it can", "[unit][study]") {
    CHECK(study::why_unknown("sim_time_n") == "no result has a number 'sim_time_n', did you mean 'sim_time_ns'?");
    CHECK(study::why_unknown("traffic[all].rate_bytes_per_secon") ==
          "no result has a number 'traffic[all].rate_bytes_per_secon', did you mean "
          "'traffic[all].rate_bytes_per_second'?");
    CHECK(study::why_unknown("trafic[all].messages") ==
          "no result has a number 'trafic[all].messages', did you mean 'traffic[all].messages'?");
    CHECK(study::why_unknown("traffic[al].messages") ==
          "no result has a number 'traffic[al].messages', did you mean 'traffic[all].messages'?");
    CHECK(study::why_unknown("traffic.messages") ==
          "no result has a number 'traffic.messages', did you mean 'traffic[all].messages'?");
    CHECK(study::why_unknown("events.DmaReads") ==
          "no result has a number 'events.DmaReads', did you mean 'events.DmaRead'?");
    // Words and truths, the marks of events, and what is like nothing.
    for (const auto* value : {"scenario", "verified", "transfers[WRITE A -> B].bottleneck", "event_marks[1].last_id",
                              "one of a kind that nobody knows", "[].", "", "."})
        CHECK(study::why_unknown(value).value_or("").starts_with("no result has a number '"));
}

TEST_CASE("a metric that no result can have, or by which none can be divided, is noted with its line",
          "[unit][study]") {
    auto study = made::study({made::axis("a", {1, 2})});
    study.metrics = {{.name = "good", .value = "sim_time_ns", .per = "wire_packets", .where = "s.toml:3"},
                     {.name = "bad", .value = "sim_time", .where = "s.toml:7"},
                     {.name = "per", .value = "sim_time_ns", .per = "packets", .where = "s.toml:11"}};
    study::Faults faults{.file = "s.toml"};

    study::check_metrics(study, faults);

    REQUIRE(faults.found.size() == 2);
    CHECK(faults.found[0].first == 7);
    CHECK(faults.found[0].second.contains("'sim_time'"));
    CHECK(faults.found[1].first == 11);
    CHECK(faults.found[1].second.contains("'packets'"));
}
