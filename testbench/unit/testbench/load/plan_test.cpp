#include "testbench/load/plan.h"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace load;
using platform::topology::TrafficPattern;

namespace {

using Nodes = std::vector<std::size_t>;

Plan nodes(std::size_t count) {
    Plan plan;
    for (std::size_t i = 0; i < count; ++i)
        plan.nodes.push_back({.hca = {}, .gpu = {}, .name = std::string(1, static_cast<char>('A' + i))});
    return plan;
}

/// "A -> B, B -> A", or what is wrong.
std::string flows(TrafficPattern pattern, const Nodes& from, const Nodes& to, bool is_bidirectional = false,
                  std::uint64_t seed = 1) {
    auto plan = nodes(26);
    if (const auto done = add_flows(plan, pattern, from, to, is_bidirectional, seed); !done)
        return done.error();
    std::string text;
    for (const auto& flow : plan.flows)
        text += (text.empty() ? "" : ", ") + flow.name;
    return text;
}

} // namespace

TEST_CASE("patterns have the flows of their names", "[unit][load]") {
    CHECK(flows(TrafficPattern::pairs, {0, 1}, {2, 3}) == "A -> C, B -> D");
    CHECK(flows(TrafficPattern::all_to_all, {0, 1, 2}, {0, 1, 2}) == "A -> B, A -> C, B -> C, B -> A, C -> A, C -> B");
    CHECK(flows(TrafficPattern::to_one, {0, 1, 2}, {1, 2}) == "A -> B, C -> B");
    CHECK(flows(TrafficPattern::from_one, {0, 1}, {0, 1, 2}) == "A -> B, A -> C");
}

TEST_CASE("both directions of a connection are flows, and a pair that is named twice has one connection",
          "[unit][load]") {
    CHECK(flows(TrafficPattern::pairs, {0}, {1}, true) == "A -> B, B -> A");
    auto plan = nodes(3);

    REQUIRE(add_flows(plan, TrafficPattern::all_to_all, {0, 1, 2}, {0, 1, 2}, true, 1));

    CHECK(plan.connections.size() == 3);
    CHECK(plan.flows.size() == 6);
    for (const auto& connection : plan.connections) {
        CHECK(plan.flows[connection.forth].from == connection.first);
        CHECK(plan.flows[connection.back.value()].from == connection.second);
        CHECK(plan.flows[connection.back.value()].to == connection.first);
    }
}

TEST_CASE("a permutation gives each one receiver, never itself, and another one for another seed", "[unit][load]") {
    for (const std::size_t count : {2u, 3u, 8u, 25u}) {
        Nodes all(count);
        for (std::size_t i = 0; i < count; ++i)
            all[i] = i;
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
            INFO(count << " nodes, seed " << seed);
            auto plan = nodes(count);
            REQUIRE(add_flows(plan, TrafficPattern::permutation, all, all, false, seed));
            std::set<std::size_t> from, to;
            for (const auto& flow : plan.flows) {
                CHECK(flow.from != flow.to);
                from.insert(flow.from), to.insert(flow.to);
            }
            CHECK(from.size() == count);
            CHECK(to.size() == count);
        }
    }
    const Nodes eight{0, 1, 2, 3, 4, 5, 6, 7};
    CHECK(flows(TrafficPattern::permutation, eight, eight, false, 1) !=
          flows(TrafficPattern::permutation, eight, eight, false, 2));
}

TEST_CASE("patterns that nobody can play are refused", "[unit][load]") {
    CHECK(flows(TrafficPattern::pairs, {0, 1}, {2}) == "2 HCAs send to 1: name as many");
    CHECK(flows(TrafficPattern::permutation, {0, 1}, {2}) == "2 HCAs send to 1: name as many");
    CHECK(flows(TrafficPattern::pairs, {0, 1}, {2, 1}) == "one of them would send to itself: name others");
    CHECK(flows(TrafficPattern::permutation, {0}, {0}) == "one of them would send to itself: name others");
    CHECK(flows(TrafficPattern::all_to_all, {0}, {0}) == "nobody is there to send to");
}

TEST_CASE("connections join one after the other, both directions at once, and leave as long after that",
          "[unit][load]") {
    using namespace std::chrono_literals;
    auto plan = nodes(4);
    REQUIRE(add_flows(plan, TrafficPattern::pairs, {0, 1}, {2, 3}, true, 1));
    stagger(plan, 10us, 25us);

    REQUIRE(plan.flows.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(plan.flows[i].joins == (i / 2) * model::port::Time{10us});
        CHECK(plan.flows[i].leaves == plan.flows[i].joins + model::port::Time{25us});
    }
    stagger(plan, 10us, 0us);
    CHECK(plan.flows[3].joins == model::port::Time{10us});
    CHECK(plan.flows[3].leaves == model::port::never);
}
