#include "model/pcie/tags.h"

#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <random>
#include <vector>

using namespace std::chrono_literals;
using model::pcie::Tags;
using model::port::Time;

namespace {
/// A read that takes `span` from when it leaves; returns when it leaves.
Time read(Tags& tags, Time at, unsigned requests, Time span) {
    const auto begin = tags.take(at, requests);
    tags.give(begin, begin + span, requests);
    return begin;
}
} // namespace

TEST_CASE("a read leaves when there is a tag for each of its requests", "[unit][pcie][tags]") {
    Tags tags("tags", 8);

    CHECK(read(tags, 0ns, 4, 100ns) == 0ns);
    CHECK(read(tags, 0ns, 4, 60ns) == 0ns);
    CHECK(tags.next(10ns) == 60ns);
    CHECK(read(tags, 10ns, 2, 100ns) == 60ns);
    CHECK(read(tags, 10ns, 2, 100ns) == 60ns); // the other two that have come free then
    CHECK(read(tags, 70ns, 1, 100ns) == 100ns);
    CHECK(tags.account().usage.waited == 50ns + 50ns + 30ns);
    CHECK(tags.account().usage.busy == 4 * 100ns + 4 * 60ns + 2 * 100ns + 2 * 100ns + 100ns);
}

TEST_CASE("completions in another order than the requests give their tags back when they come", "[unit][pcie][tags]") {
    Tags tags("tags", 3);
    read(tags, 0ns, 1, 300ns);
    read(tags, 0ns, 1, 100ns);
    read(tags, 0ns, 1, 200ns);

    CHECK(read(tags, 0ns, 1, 1us) == 100ns);
    CHECK(read(tags, 0ns, 1, 1us) == 200ns);
    CHECK(read(tags, 0ns, 1, 1us) == 300ns);
    CHECK(read(tags, 0ns, 1, 1us) == 1100ns);
}

TEST_CASE("reads within a read whose answer is not there yet do not wait for it", "[unit][pcie][tags]") {
    Tags tags("tags", 2);
    const auto outer = tags.take(5ns, 2);
    const auto inner = tags.take(6ns, 1); // a register whose read makes the function read itself
    tags.give(inner, 20ns, 1);
    tags.give(outer, 30ns, 2);

    CHECK(inner == 6ns);
    CHECK(read(tags, 7ns, 1, 1ns) == 30ns);
}

TEST_CASE("a read that leaves before one that is booked ahead finds the tags that are free until then",
          "[unit][pcie][tags]") {
    constexpr Time there = 700ns; // and back: a work request, and then its payload
    const auto count = GENERATE(8u, 16u);
    Tags tags("tags", count);
    Time at{};
    for (int i = 0; i < 1000; ++i, at += 200ns) { // 2 reads of 700 ns in each 200 ns: 7 tags are enough
        const auto request = read(tags, at, 1, there);
        CHECK(request == at);
        CHECK(read(tags, request + there, 1, there) == request + there);
    }
    CHECK(tags.account().usage.waited == 0ns);
}

TEST_CASE("Little's law holds: as many are outstanding as there are tags, and no more", "[unit][pcie][tags]") {
    const auto seed = testbench::random_seed();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    constexpr unsigned count = 32, reads = 2000;
    Tags tags("tags", count);
    struct Edge {
        Time at;
        int change;
    };
    std::vector<Edge> edges;
    Time at{}, last{};
    for (unsigned i = 0; i < reads; ++i) {
        at += Time{static_cast<std::int64_t>(random() % 50)};
        const auto requests = 1 + random() % (count / 4);
        const Time span{static_cast<std::int64_t>(1000 + random() % 1000)};
        const auto begin = read(tags, at, requests, span);
        edges.push_back({begin, static_cast<int>(requests)});
        edges.push_back({begin + span, -static_cast<int>(requests)});
        last = std::max(last, begin + span);
    }
    std::ranges::sort(edges, {}, [](const Edge& edge) { return std::pair(edge.at, edge.change); });
    int outstanding = 0, most = 0;
    for (const auto& edge : edges)
        most = std::max(most, outstanding += edge.change);
    CHECK(most <= static_cast<int>(count));
    const auto load = tags.account().load(last);
    CHECK(load <= 1);
    CHECK(load > 0.85); // the source is faster than the tags, which are cut into reads of 1 to 8
}
