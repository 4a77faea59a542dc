#include "platform/topology/routes.h"

#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace platform::topology;

namespace {

/// Hosts of one HCA each on these switches and cables.
Description fabric(std::string_view hosts, std::string_view switches, std::string_view cables) {
    const auto config = parse_config("[link]\nencapsulation = \"infiniband\"\n[[hosts]]\nname = \"" +
                                         std::string(hosts) + "\"\nparts = [\"root0.hca0\"]\n[fabric]\nswitches = [" +
                                         std::string(switches) + "]\ncables = [" + std::string(cables) + "]\n",
                                     "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    return describe(*config).value();
}

/// Follows the tables from the switch at HCA `from` to HCA `to`; the switches passed, or nothing when it ends nowhere.
std::vector<std::string> follow(const Description& made, std::size_t from, std::size_t to) {
    const auto routes = find_routes(made);
    const auto& hca = made.part(made.hcas[from]).hca();
    auto at = made.cables[hca.cable].ends[1 - hca.end];
    std::vector<std::string> passed;
    while (at.is_switch) {
        passed.push_back(made.switches[at.fabric_switch].name);
        const auto& ways = routes[at.fabric_switch].ways[to];
        const auto port = ways.empty() ? 0 : ways[to % ways.size()];
        if (port == 0 || passed.size() > made.switches.size())
            return {};
        const auto& cable = made.cables[*made.switches[at.fabric_switch].cables[port]];
        const bool is_first = cable.ends[0].is_switch && cable.ends[0].fabric_switch == at.fabric_switch;
        at = cable.ends[is_first ? 1 : 0];
    }
    return made.hcas[to] == PartAt{at.host, at.part} ? passed : std::vector<std::string>{};
}

constexpr std::string_view leaves = "\"leaf0..3\", \"spine0..1\"",
                           leaf_cables = "\"A..P.hca0 -- leaf0..3\", \"leaf0..3 >< spine0..1\"";

} // namespace

TEST_CASE("each HCA is reached from each other one by the fewest switches", "[unit][topology]") {
    const auto made = fabric("A..P", leaves, leaf_cables);

    for (std::size_t from = 0; from < 16; ++from)
        for (std::size_t to = 0; to < 16; ++to)
            if (from != to)
                CHECK(follow(made, from, to).size() == (from / 4 == to / 4 ? 1 : 3));
}

TEST_CASE("HCAs of a leaf are spread over the spines", "[unit][topology]") {
    const auto made = fabric("A..P", leaves, leaf_cables);

    std::set<std::string> spines;
    for (std::size_t to = 12; to < 16; ++to)
        spines.insert(follow(made, 0, to).at(1));
    CHECK(spines == std::set<std::string>{"spine0", "spine1"});
}

TEST_CASE("a switch that no cable leads to has no routes", "[unit][topology]") {
    const auto made = fabric("A..D", "\"s0..1\"", "\"A..D.hca0 -- s0..1\"");

    CHECK(follow(made, 0, 1) == std::vector<std::string>{"s0"});
    CHECK(follow(made, 0, 2).empty());
    CHECK(find_islands(made) == std::vector<std::size_t>{0, 0, 2, 2});
}

TEST_CASE("a cable between two HCAs is an island", "[unit][topology]") {
    const auto made = fabric("A..D", "", "\"A.hca0 -- D.hca0\", \"B.hca0 -- C.hca0\"");

    CHECK(find_routes(made).empty());
    CHECK(find_islands(made) == std::vector<std::size_t>{0, 1, 1, 0});
    CHECK(find_islands(fabric("A..P", leaves, leaf_cables)) == std::vector<std::size_t>(16, 0));
}

TEST_CASE("multicast goes to every HCA once, and round no circle of switches", "[unit][topology]") {
    for (const auto& made :
         {fabric("A..P", leaves, leaf_cables),
          fabric("A..C", "\"s0..2\"",
                 "\"A..C.hca0 -- s0..2\", \"s0 -- s1\", \"s1 -- s2\", \"s2 -- s0\", \"s0 -- s1\"")}) {
        const auto routes = find_routes(made);
        for (std::size_t from = 0; from < made.hcas.size(); ++from) {
            std::multiset<std::size_t> reached;
            struct Arrival {
                std::size_t at;
                unsigned ingress;
            };
            const auto& hca = made.part(made.hcas[from]).hca();
            const auto& first = made.cables[hca.cable].ends[1 - hca.end];
            std::vector<Arrival> waiting{{first.fabric_switch, first.port}};
            for (std::size_t i = 0; i < waiting.size() && i < 100; ++i) {
                const auto [at, ingress] = waiting[i];
                for (unsigned port = 1; port <= made.switches[at].ports; ++port) {
                    const auto cable = made.switches[at].cables[port];
                    if (port == ingress || !cable || (routes[at].groups >> port & 1) == 0)
                        continue;
                    for (const auto& end : made.cables[*cable].ends)
                        if (!end.is_switch)
                            reached.insert(made.part({end.host, end.part}).hca().number);
                        else if (end.fabric_switch != at || end.port != port)
                            waiting.push_back({end.fabric_switch, end.port});
                }
            }
            CHECK(waiting.size() <= made.switches.size());
            CHECK(reached.size() == made.hcas.size() - 1);
            CHECK(reached.count(from) == 0);
            CHECK(std::set(reached.begin(), reached.end()).size() == reached.size());
        }
    }
}

TEST_CASE("the switch of the short form sends to port 1 and 2", "[unit][topology]") {
    Config config;
    config.fabric.has_switch = true;
    const auto routes = find_routes(describe(config).value());

    REQUIRE(routes.size() == 1);
    CHECK(routes[0].ways == std::vector<std::vector<std::uint8_t>>{{1}, {2}});
    CHECK(routes[0].groups == ~std::uint64_t{1});
}
