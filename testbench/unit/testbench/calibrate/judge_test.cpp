#include "testbench/calibrate/judge.h"

#include <catch2/catch_test_macros.hpp>

using namespace calibrate;

namespace {

Figure ten(const Profile&) { return {.value = 10, .bottleneck = "A.hca0 PCIe upstream", .load = 0.9}; }

Row a_row() { return {.id = "0.row", .source = "nowhere", .target = 10, .measure = ten}; }

Verdict verdict_of(const Row& row, const Figure& figure) { return judge(row, figure).verdict; }

} // namespace

TEST_CASE("a level holds what is as many per cent away, and no more", "[unit][calibrate]") {
    CHECK(within(10).holds(200, 180));
    CHECK(within(10).holds(200, 220));
    CHECK_FALSE(within(10).holds(200, 179.9));
    CHECK_FALSE(within(10).holds(200, 220.1));
}

TEST_CASE("a range holds what is between its ends, wherever the target is", "[unit][calibrate]") {
    CHECK(between(128, 512).holds(256, 128));
    CHECK(between(128, 512).holds(256, 512));
    CHECK_FALSE(between(128, 512).holds(256, 127));
    CHECK_FALSE(between(128, 512).holds(256, 513));
}

TEST_CASE("a limit holds on its side, and nothing at all is below none", "[unit][calibrate]") {
    CHECK(at_least.holds(90, 90));
    CHECK_FALSE(at_least.holds(90, 89));
    CHECK(at_most.holds(0.8, 0.8));
    CHECK_FALSE(at_most.holds(0.8, 0.81));
    CHECK_FALSE(at_most.holds(0.8, 0));
}

TEST_CASE("a figure in its band is a miss when another bottleneck has made it", "[unit][calibrate]") {
    auto row = a_row();
    row.bottlenecks = {"store", "PCIe downstream"};

    CHECK(verdict_of(row, {.value = 10, .bottleneck = "A.hca0 PCIe downstream"}) == Verdict::in_band);
    CHECK(verdict_of(row, {.value = 10, .bottleneck = "A.hca0 PCIe upstream"}) == Verdict::other_bottleneck);
    CHECK(verdict_of(row, {.value = 10, .bottleneck = "latency"}) == Verdict::other_bottleneck);
    CHECK(verdict_of(row, {.value = 12, .bottleneck = "A.hca0 PCIe downstream"}) == Verdict::out_of_band);
}

TEST_CASE("where the source names no bottleneck any may be", "[unit][calibrate]") {
    CHECK(verdict_of(a_row(), {.value = 10, .bottleneck = "latency"}) == Verdict::in_band);
}

TEST_CASE("a row without a mechanism is a miss that says what is missing", "[unit][calibrate]") {
    auto row = a_row();
    row.measure = nullptr;
    row.missing = "adaptive retransmission";

    const auto judged = judge(row, Figure{.value = 10});

    CHECK(judged.verdict == Verdict::no_mechanism);
    CHECK(judged.trouble == "adaptive retransmission");
}

TEST_CASE("a measurement that has failed is a miss that says why", "[unit][calibrate]") {
    const auto row = a_row();

    const auto judged = judge(row, std::unexpected("no end within 120 s"));

    CHECK(judged.verdict == Verdict::failed);
    CHECK(judged.trouble == "no end within 120 s");
}

TEST_CASE("a recollection is judged, and counted nowhere", "[unit][calibrate]") {
    auto row = a_row();
    row.mark = Mark::memory;
    row.step = 1;
    row.is_fitted = true;

    const auto judged = judge(row, Figure{.value = 99});
    const auto summary = summarise({judged});

    CHECK(judged.verdict_text() == "MISS, not counted");
    CHECK(summary.all.counted == 0);
    CHECK(summary.fitted.counted == 0);
    CHECK(summary.first_steps.counted == 0);
    CHECK(summary.is_good());
}

TEST_CASE("a profile is good with four fifths in band, but for fitted rows and F1 to F3 all", "[unit][calibrate]") {
    const auto free = a_row();
    auto fitted = a_row(), early = a_row();
    fitted.is_fitted = true;
    early.step = 3;
    const auto hit = [](const Row& row) { return judge(row, Figure{.value = 10}); };
    const auto miss = [](const Row& row) { return judge(row, Figure{.value = 20}); };

    CHECK(summarise({hit(free), hit(free), hit(fitted), hit(early), miss(free)}).is_good());
    CHECK_FALSE(summarise({hit(free), hit(fitted), hit(early), miss(free)}).is_good());
    CHECK_FALSE(summarise({hit(free), hit(free), hit(free), hit(free), miss(fitted)}).is_good());
    CHECK_FALSE(summarise({hit(free), hit(free), hit(free), hit(free), miss(early)}).is_good());
}

TEST_CASE("a profile that owes its share to the rows of the link, which all share, is good, but not by itself",
          "[unit][calibrate]") {
    const auto card = a_row();
    auto link = a_row();
    link.step = 1;
    const auto hit = [](const Row& row) { return judge(row, Figure{.value = 10}); };
    const auto miss = [](const Row& row) { return judge(row, Figure{.value = 20}); };

    const auto summary =
        summarise({hit(link), hit(link), hit(link), hit(link), hit(link), hit(card), hit(card), miss(card)});
    CHECK(summary.of_the_card.counted == 3);
    CHECK(summary.of_the_card.in_band == 2);
    CHECK(summary.is_good());
    CHECK_FALSE(summary.is_good_by_itself());
    CHECK(summarise({hit(link), hit(card), hit(card), hit(card), hit(card), miss(card)}).is_good_by_itself());
}

TEST_CASE("shares are told by mark", "[unit][calibrate]") {
    auto second = a_row();
    second.mark = Mark::secondhand;

    const auto first = a_row();
    const auto summary =
        summarise({judge(first, Figure{.value = 10}), judge(second, Figure{.value = 10}), judge(second, Figure{})});

    CHECK(summary.by_mark[static_cast<std::size_t>(Mark::stated)].in_band == 1);
    CHECK(summary.by_mark[static_cast<std::size_t>(Mark::secondhand)].in_band == 1);
    CHECK(summary.by_mark[static_cast<std::size_t>(Mark::secondhand)].counted == 2);
    CHECK(summary.by_mark[static_cast<std::size_t>(Mark::derived)].counted == 0);
}
