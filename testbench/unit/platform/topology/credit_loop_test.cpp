// Ways through fabrics with several levels and circles: whether credits can wait for each other, what is done about it,
// and what is left when cables are broken.
#include "platform/topology/read.h"
#include "platform/topology/routes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

using namespace platform::topology;

namespace {

Description fabric(std::size_t hosts, std::string_view topology, std::string_view routing = "auto",
                   std::string_view encapsulation = "infiniband") {
    const auto config = parse_config(
        fmt::format("[link]\nencapsulation = \"{}\"\n[[hosts]]\nname = \"node\"\ncount = {}\nparts = [\"root0.hca0\"]\n"
                    "[fabric]\nrouting = \"{}\"\n{}\n",
                    encapsulation, hosts, routing, topology),
        "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    return describe(*config).value();
}

std::string line(std::string_view topology) { return fmt::format("topology = \"{}\"", topology); }

/// Switches in a circle, each with a host.
std::string ring(unsigned switches) {
    return fmt::format("switches = [\"s0..{0}\"]\ncables = [\"node0..{0}.hca0 -- s0..{0}\", \"s0..{1} -- s1..{0}\", "
                       "\"s{0} -- s0\"]",
                       switches - 1, switches - 2);
}

const CableEnd& behind(const Description& made, std::size_t at, unsigned port) {
    const auto& ends = made.cables[*made.switches[at].cables[port]].ends;
    return ends[ends[0].is_switch && ends[0].fabric_switch == at && ends[0].port == port ? 1 : 0];
}

/// The most switches on any of the ways from each HCA to each other one; fails where one has an end or a circle.
std::size_t longest_way(const Description& made, const std::vector<SwitchRoutes>& routes) {
    std::size_t longest = 0;
    for (std::size_t to = 0; to < made.hcas.size(); ++to) {
        std::map<std::size_t, std::size_t> known; // by switch
        const std::function<std::size_t(std::size_t, std::size_t)> walk = [&](std::size_t at, std::size_t passed) {
            if (passed > made.switches.size())
                return std::size_t{1000};
            if (const auto found = known.find(at); found != known.end())
                return found->second;
            std::size_t most = routes[at].ways[to].empty() ? 1000 : 0;
            for (const auto port : routes[at].ways[to]) {
                const auto& end = behind(made, at, port);
                most = std::max(most, end.is_switch ? 1 + walk(end.fabric_switch, passed + 1)
                                      : made.hcas[to] == PartAt{end.host, end.part} ? 1
                                                                                    : 1000);
            }
            return known[at] = most;
        };
        for (std::size_t from = 0; from < made.hcas.size(); ++from) {
            const auto& hca = made.part(made.hcas[from]).hca();
            longest = std::max(longest, walk(made.cables[hca.cable].ends[1 - hca.end].fabric_switch, 0));
        }
    }
    return longest;
}

} // namespace

TEST_CASE("trees have no credit loop by the fewest switches, and keep these ways", "[unit][topology]") {
    const auto [hosts, text, most] =
        GENERATE(std::tuple{16u, "fat_tree(k=4)", 5u}, std::tuple{16u, "leaf_spine(leaves=4, spines=2, hosts=4)", 3u},
                 std::tuple{54u, "fat_tree(k=6)", 5u});
    const auto made = fabric(hosts, line(text));
    const auto routes = find_routes(made);

    CHECK_FALSE(has_credit_loop(made, routes));
    CHECK(longest_way(made, routes) == most);
    const auto minimal = find_routes(fabric(hosts, line(text), "minimal"));
    for (std::size_t i = 0; i < routes.size(); ++i)
        CHECK(routes[i].ways == minimal[i].ways);
}

TEST_CASE("by the fewest switches a dragonfly and a ring have credit loops; up and down they have none",
          "[unit][topology]") {
    const auto [hosts, text] =
        GENERATE(std::tuple{72u, line("dragonfly(a=4, p=2, h=2)")}, std::tuple{6u, line("dragonfly(a=2, p=1, h=1)")},
                 std::tuple{5u, ring(5)}, std::tuple{8u, ring(8)});
    const auto minimal = fabric(hosts, text, "minimal"), automatic = fabric(hosts, text),
               up_down = fabric(hosts, text, "up_down");

    CHECK(has_credit_loop(minimal, find_routes(minimal)));
    const auto routes = find_routes(automatic);
    CHECK_FALSE(has_credit_loop(automatic, routes));
    CHECK(longest_way(automatic, routes) < 1000);
    const auto said = find_routes(up_down);
    for (std::size_t i = 0; i < routes.size(); ++i)
        CHECK(routes[i].ways == said[i].ways);
}

TEST_CASE("a ring of three has no credit loop: nobody passes two of its cables", "[unit][topology]") {
    const auto made = fabric(3, ring(3), "minimal");
    CHECK_FALSE(has_credit_loop(made, find_routes(made)));
}

TEST_CASE("Ethernet switches go by the fewest, since nobody there waits for credits", "[unit][topology]") {
    const auto made = fabric(6, line("dragonfly(a=2, p=1, h=1)"), "auto", "roce_v2");
    const auto routes = find_routes(made),
               minimal = find_routes(fabric(6, line("dragonfly(a=2, p=1, h=1)"), "minimal"));
    CHECK_FALSE(has_credit_loop(made, routes));
    for (std::size_t i = 0; i < routes.size(); ++i)
        CHECK(routes[i].ways == minimal[i].ways);
}

TEST_CASE("up*/down* has ways in any connected fabric, and no credit loop", "[unit][topology]") {
    const auto text =
        GENERATE(line("fat_tree(k=4)"), line("leaf_spine(leaves=4, spines=4, hosts=4, cables=2)"), ring(16));
    const auto made = fabric(16, text, "up_down");
    const auto routes = find_routes(made);

    CHECK(longest_way(made, routes) < 1000);
    CHECK_FALSE(has_credit_loop(made, routes));
}

TEST_CASE("the tables of a fat tree use every core switch for as many HCAs", "[unit][topology]") {
    const auto made = fabric(54, line("fat_tree(k=6)"));
    const auto routes = find_routes(made);

    // From the first HCA to each in another pod: edge, aggregation, core.
    std::map<std::string, unsigned> used;
    const auto first = 0u;
    for (std::size_t to = 9; to < 54; ++to) {
        const auto agg = behind(made, first, routes[first].way(to)).fabric_switch;
        const auto core = behind(made, agg, routes[agg].way(to)).fabric_switch;
        ++used[made.switches[core].name];
    }
    CHECK(used.size() == 9);
    for (const auto& [name, count] : used)
        CHECK(count == 5);
}

TEST_CASE("an Ethernet leaf has equal ways over all spines and parallel cables", "[unit][topology]") {
    const auto made = fabric(8, line("leaf_spine(leaves=2, spines=3, hosts=4, cables=2)"), "auto", "roce_v2");
    const auto routes = find_routes(made);

    CHECK(routes[0].ways[0].size() == 1);
    CHECK(routes[0].ways[7] == std::vector<std::uint8_t>{5, 6, 7, 8, 9, 10});
}

TEST_CASE("with broken cables the others are used, and who cannot be reached has no way", "[unit][topology]") {
    const auto made = fabric(8, line("leaf_spine(leaves=2, spines=2, hosts=4)"));
    std::vector<bool> is_dead(made.cables.size());
    is_dead[8] = true; // leaf0 -- spine0
    const auto without_one = find_routes(made, is_dead);
    CHECK(without_one[0].ways[7] == std::vector<std::uint8_t>{6});
    CHECK(without_one[1].ways[0] == std::vector<std::uint8_t>{6});
    CHECK(longest_way(made, without_one) == 3);
    CHECK((without_one[0].groups & 1u << 5) == 0);
    CHECK((without_one[0].groups & 1u << 6) != 0);

    is_dead[9] = true; // leaf0 -- spine1
    const auto apart = find_routes(made, is_dead);
    CHECK(apart[0].ways[7].empty());
    CHECK(apart[0].way(7) == 0);
    CHECK(apart[0].ways[1].size() == 1);

    is_dead.assign(made.cables.size(), false);
    is_dead[0] = true; // of the first HCA
    const auto alone = find_routes(made, is_dead);
    CHECK(alone[0].ways[0].empty());
    CHECK(alone[1].ways[0].empty());
    CHECK(alone[1].ways[1].size() == 2);
    CHECK_FALSE(has_credit_loop(made, alone));
}

TEST_CASE("where broken cables leave a circle of leaves and spines, ways go up and down only", "[unit][topology]") {
    std::vector<bool> is_dead(4 + 16); // leaf i keeps spine i and the next one
    for (std::size_t leaf = 0; leaf < 4; ++leaf)
        for (std::size_t spine = 0; spine < 4; ++spine)
            is_dead[4 + leaf * 4 + spine] = spine != leaf && spine != (leaf + 1) % 4;
    constexpr auto text = "leaf_spine(leaves=4, spines=4, hosts=1)";
    const auto minimal = fabric(4, line(text), "minimal"), automatic = fabric(4, line(text));

    CHECK_FALSE(has_credit_loop(minimal, find_routes(minimal)));
    CHECK(has_credit_loop(minimal, find_routes(minimal, is_dead)));
    const auto routes = find_routes(automatic, is_dead);
    CHECK_FALSE(has_credit_loop(automatic, routes));
    CHECK(longest_way(automatic, routes) < 1000);
}
