#include "testbench/scenario/flow_shares.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>

using namespace scenario;
using model::port::never;
using model::port::Time;
using namespace std::chrono_literals;

namespace {

using Spans = std::vector<FlowShares::Span>;

/// Flows that join 10 us after each other.
std::vector<load::Flow> joining(std::size_t count, Time stay = never) {
    std::vector<load::Flow> flows(count);
    for (std::size_t i = 0; i < count; ++i) {
        flows[i].joins = i * Time{10us};
        flows[i].leaves = stay == never ? never : flows[i].joins + stay;
    }
    return flows;
}

/// Intervals of 5 us, from `begin` on, with what each flow got of each.
Spans fill(FlowShares& shares, Time begin, const std::vector<std::vector<std::uint64_t>>& intervals) {
    Spans spans;
    for (const auto& bytes : intervals) {
        for (std::size_t flow = 0; flow < bytes.size(); ++flow)
            shares.add(flow, bytes[flow]);
        shares.cut();
        spans.push_back({begin, begin + 5us});
        begin += 5us;
    }
    return spans;
}

} // namespace

TEST_CASE("an interval compares those flows that were there all the time", "[unit][scenario]") {
    const auto flows = joining(3, 20us); // 0 to 20, 10 to 30, 20 to 40 us
    FlowShares shares(flows);
    const auto spans = fill(shares, 5us, {{8, 1, 0}, {6, 2, 0}, {1, 7, 1}, {0, 4, 4}});

    const auto alone = shares.in(0, spans[0]);
    REQUIRE(alone);
    CHECK(alone->flows == 1);
    CHECK(alone->fairness == 1);
    const auto two = shares.in(1, spans[1]);
    REQUIRE(two);
    CHECK(two->flows == 2);
    CHECK(two->least == 2);
    CHECK(two->most == 6);
    CHECK(two->fairness == Catch::Approx(64.0 / 80));
    CHECK(shares.in(1, {9us, 15us})->flows == 1);  // the second one was not there at the begin
    CHECK(shares.in(2, {15us, 21us})->flows == 1); // the first one was not there at the end
    CHECK_FALSE(shares.in(3, {41us, 46us}));
}

TEST_CASE("flows have settled when each has an equal share from then on, counted from the last one's join",
          "[unit][scenario]") {
    const auto flows = joining(2);
    FlowShares shares(flows);
    const auto spans = fill(shares, 0us, {{9, 0}, {9, 0}, {9, 1}, {5, 5}, {9, 1}, {100, 91}, {109, 91}});

    CHECK(shares.settled(spans) == Time{15us}); // from 25 us on: an equal interval before an unequal one is none
    CHECK(shares.settled(std::span(spans).first(5)) == std::nullopt);
    CHECK(shares.settled(std::span(spans).first(4)) == Time{5us});
    CHECK(shares.settled(std::span(spans).first(2)) == std::nullopt); // the second one has not joined
    CHECK(shares.settled({}) == std::nullopt);
}

TEST_CASE("a flow with a tenth less than an equal share has it, and one with more than that less has not",
          "[unit][scenario]") {
    const std::vector<load::Flow> flows(2);
    for (const auto& [less, more, is_equal] : {std::tuple{90, 110, true}, {89, 111, false}}) {
        FlowShares shares(flows);
        const auto spans = fill(shares, 0us, {{static_cast<std::uint64_t>(less), static_cast<std::uint64_t>(more)}});
        CHECK(shares.settled(spans).has_value() == is_equal);
    }
}

TEST_CASE("one flow with too much is as unequal as one with too little", "[unit][scenario]") {
    const std::vector<load::Flow> flows(3);
    for (const auto& [bytes, is_equal] :
         {std::pair{std::vector<std::uint64_t>{95, 95, 120}, false}, {{80, 105, 105}, false}, {{95, 98, 107}, true}}) {
        FlowShares shares(flows);
        CHECK(shares.settled(fill(shares, 0us, {bytes})).has_value() == is_equal);
    }
}

TEST_CASE("what flows get after one has left says nothing of how they had settled", "[unit][scenario]") {
    const auto flows = joining(2, 20us); // the first one leaves at 20 us
    FlowShares shares(flows);
    const auto spans = fill(shares, 10us, {{1, 9}, {5, 5}, {0, 9}});

    CHECK(shares.settled(spans) == Time{5us});

    const auto three = joining(3, 30us); // the first one leaves at 30 us
    FlowShares others(three);
    CHECK(others.settled(fill(others, 20us, {{5, 5, 5}, {5, 5, 5}, {0, 9, 1}})) == Time{});
}

TEST_CASE("flows that measuring finds there have settled since its begin", "[unit][scenario]") {
    const auto flows = joining(2);
    FlowShares shares(flows);

    CHECK(shares.settled(fill(shares, 50us, {{4, 4}, {4, 4}})) == Time{});
}

TEST_CASE("nobody settles without anything to share, or alone", "[unit][scenario]") {
    const std::vector<load::Flow> two(2), one(1);
    FlowShares nothing(two), alone(one);

    CHECK(nothing.settled(fill(nothing, 0us, {{0, 0}})) == std::nullopt);
    CHECK(alone.settled(fill(alone, 0us, {{7}})) == std::nullopt);
}

TEST_CASE("intervals joined in pairs have what both had", "[unit][scenario]") {
    const std::vector<load::Flow> flows(2);
    FlowShares shares(flows);
    fill(shares, 0us, {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}});
    shares.join_pairs();

    CHECK(shares.in(0, {0us, 10us})->least == 4);
    CHECK(shares.in(0, {0us, 10us})->most == 6);
    CHECK(shares.in(1, {10us, 20us})->least == 12);
    CHECK(shares.in(2, {20us, 25us})->most == 10);
}

TEST_CASE("more flows than can be followed are not followed", "[unit][scenario]") {
    const std::vector<load::Flow> flows(FlowShares::most_flows + 1);
    FlowShares shares(flows);
    const auto spans = fill(shares, 0us, {{1, 1}});

    CHECK_FALSE(shares.in(0, spans[0]));
    CHECK(shares.settled(spans) == std::nullopt);
}
