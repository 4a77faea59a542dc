#include "testbench/hcasim/calibrate_report.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace calibrate;
using Catch::Matchers::ContainsSubstring;
using hcasim::Calibrated;

namespace {

const Row rate{.id = "2.rate",
               .source = "Kalia, ATC 2016",
               .what = "a rate",
               .target = 80,
               .unit = "M/s",
               .step = 3,
               .bottlenecks = {"BAR stores"},
               .measure = [](const Profile&) { return Figure{}; }};
const Row retries{.id = "9.retries",
                  .source = "a lab log",
                  .what = "retries",
                  .target = 3742,
                  .unit = "ms",
                  .missing = "adaptive retransmission"};

Calibrated a_card() {
    return {.profile = "a-card",
            .judged = {judge(rate, Figure{.value = 84, .bottleneck = "A.hca0 PCIe upstream", .load = 0.97}),
                       judge(retries, std::unexpected(std::string()))}};
}

} // namespace

TEST_CASE("a table of a calibration has what silicon did beside what the model does", "[unit][calibrate]") {
    const auto text = hcasim::print_calibration(a_card(), 0);

    for (const auto* words : {"2.rate", "80 M/s", "+-10 %", "84", "1.05", "A.hca0 PCIe upstream 97 %",
                              "MISS: bottleneck", "the source names BAR stores", "MISS: no mechanism",
                              "adaptive retransmission", "0 of 2 in band (0 %)", "not good"})
        CHECK_THAT(text, ContainsSubstring(words));
}

TEST_CASE("a row without a figure has none in JSON", "[unit][calibrate]") {
    const auto cards = std::vector{a_card()};
    const auto text = hcasim::calibration_as_json(cards);

    CHECK_THAT(text, ContainsSubstring(R"("model": 84)"));
    CHECK(text.find("\"model\"") == text.rfind("\"model\""));
    CHECK_THAT(text, ContainsSubstring(R"("trouble": "adaptive retransmission")"));
    CHECK_THAT(text, ContainsSubstring(R"("good": false)"));
}

TEST_CASE("a list of rows has their sources", "[unit][calibrate]") {
    const std::vector<const Row*> rows{&rate, &retries};
    const auto text = hcasim::print_rows(rows, 0);

    CHECK_THAT(text, ContainsSubstring("Kalia, ATC 2016"));
    CHECK_THAT(text, ContainsSubstring("F3"));
    CHECK_THAT(text, ContainsSubstring("all"));
}
