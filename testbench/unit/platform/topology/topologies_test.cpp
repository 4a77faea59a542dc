// Topologies from one line: how many switches, cables and places, that every HCA reaches every other, how far away it
// is, how many cables join two halves; and what is refused.
#include "platform/topology/topologies.h"

#include "platform/topology/description.h"
#include "platform/topology/keys.h"
#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

using namespace platform::topology;

namespace {

using Fabric = Topology::Fabric;
using Counts = std::vector<unsigned>;

Fabric wire(std::string_view text, const Counts& hcas) {
    const auto topology = Topology::read(text, 36);
    INFO((topology ? "" : topology.error()));
    REQUIRE(topology.has_value());
    const auto fabric = topology->wire(hcas);
    INFO((fabric ? "" : fabric.error()));
    REQUIRE(fabric.has_value());
    CHECK(topology->switch_names() == fabric->switches);
    return *fabric;
}

Fabric of_hosts(std::string_view text, std::size_t hosts) { return wire(text, Counts(hosts, 1)); }

std::string error_of(std::string_view text, const Counts& hcas = {}) {
    const auto topology = Topology::read(text, 36);
    if (!topology)
        return topology.error();
    const auto fabric = topology->wire(hcas);
    return fabric ? "accepted" : fabric.error();
}

/// Cables from each switch to each, at least; unreachable ones are very far away.
std::vector<std::vector<unsigned>> distances(const Fabric& fabric) {
    constexpr unsigned far = 1000;
    const auto count = fabric.switches.size();
    std::vector distance(count, std::vector(count, far));
    for (std::size_t i = 0; i < count; ++i)
        distance[i][i] = 0;
    for (const auto& [one, other] : fabric.cables)
        distance[one][other] = distance[other][one] = 1;
    for (std::size_t by = 0; by < count; ++by)
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = 0; j < count; ++j)
                distance[i][j] = std::min(distance[i][j], distance[i][by] + distance[by][j]);
    return distance;
}

/// Between switches that have HCAs.
unsigned diameter(const Fabric& fabric) {
    const auto distance = distances(fabric);
    unsigned most = 0;
    for (const auto one : fabric.places)
        for (const auto other : fabric.places)
            most = std::max(most, distance[one][other]);
    return most;
}

/// How many packets at once can go from the first half of the HCAs to the others: the cables that have to be cut
/// (Ford, Fulkerson).
unsigned bisection(const Fabric& fabric) {
    const auto count = fabric.switches.size(), source = count, sink = count + 1;
    std::vector room(count + 2, std::vector<unsigned>(count + 2));
    for (const auto& [one, other] : fabric.cables)
        ++room[one][other], ++room[other][one];
    for (std::size_t hca = 0; hca < fabric.places.size(); ++hca)
        hca < fabric.places.size() / 2 ? ++room[source][fabric.places[hca]] : ++room[fabric.places[hca]][sink];
    for (unsigned flow = 0;; ++flow) {
        std::vector<std::size_t> from(count + 2, count + 2), waiting{source};
        from[source] = source;
        for (std::size_t i = 0; i < waiting.size(); ++i)
            for (std::size_t next = 0; next < count + 2; ++next)
                if (room[waiting[i]][next] != 0 && from[next] == count + 2) {
                    from[next] = waiting[i];
                    waiting.push_back(next);
                }
        if (from[sink] == count + 2)
            return flow;
        for (auto at = sink; at != source; at = from[at])
            --room[from[at]][at], ++room[at][from[at]];
    }
}

/// By the letters of their names: how many cables the switches have; all of one kind have as many.
std::map<std::string, unsigned> degrees(const Fabric& fabric) {
    std::map<std::string, unsigned> found;
    const auto each = fabric.degrees();
    for (std::size_t i = 0; i < each.size(); ++i) {
        auto kind = fabric.switches[i].substr(fabric.switches[i].rfind('_') + 1);
        kind = kind.substr(0, kind.find_first_of("0123456789"));
        const auto [at, is_new] = found.try_emplace(kind, each[i]);
        CHECK(at->second == each[i]);
    }
    return found;
}

using Degrees = std::map<std::string, unsigned>;

} // namespace

TEST_CASE("a fat tree has k pods, k ports at each switch, and the whole bisection", "[unit][topology]") {
    const unsigned k = GENERATE(2u, 4u, 6u, 8u);
    const auto hosts = k * k * k / 4;
    const auto fabric = of_hosts(fmt::format("fat_tree(k={})", k), hosts);

    CHECK(fabric.switches.size() == k * k + k * k / 4);
    CHECK(fabric.cables.size() == 2 * hosts);
    CHECK(degrees(fabric) == Degrees{{"edge", k}, {"agg", k}, {"core", k}});
    CHECK(diameter(fabric) == 4);
    CHECK(bisection(fabric) == hosts / 2);
    CHECK(fabric.switches[fabric.places[0]] == "pod0_edge0");
    CHECK(fabric.switches[fabric.places[hosts - 1]] == fmt::format("pod{}_edge{}", k - 1, k / 2 - 1));
}

TEST_CASE("in a fat tree each core switch has one cable to each pod", "[unit][topology]") {
    const auto fabric = of_hosts("fat_tree(k=6)", 54);

    std::map<std::string, std::multiset<std::string>> pods;
    for (const auto& [one, other] : fabric.cables)
        if (fabric.switches[other].starts_with("core"))
            pods[fabric.switches[other]].insert(fabric.switches[one].substr(0, fabric.switches[one].find('_')));
    CHECK(pods.size() == 9);
    for (const auto& [core, reached] : pods)
        CHECK(reached == std::multiset<std::string>{"pod0", "pod1", "pod2", "pod3", "pod4", "pod5"});
}

TEST_CASE("each leaf has its hosts and a cable to each spine", "[unit][topology]") {
    const auto fabric = of_hosts("leaf_spine(leaves=4, spines=2, hosts=8)", 32);

    CHECK(fabric.switches == std::vector<std::string>{"leaf0", "leaf1", "leaf2", "leaf3", "spine0", "spine1"});
    CHECK(degrees(fabric) == Degrees{{"leaf", 10}, {"spine", 4}});
    CHECK(diameter(fabric) == 2);
    CHECK(bisection(fabric) == 4);
    for (std::size_t hca = 0; hca < 32; ++hca)
        CHECK(fabric.places[hca] == hca / 8);
}

TEST_CASE("cables between a leaf and a spine are as many as are said, or as oversubscription makes them",
          "[unit][topology]") {
    CHECK(bisection(of_hosts("leaf_spine(leaves=2, spines=2, hosts=8, cables=3)", 16)) == 6);
    CHECK(bisection(of_hosts("leaf_spine(leaves=2, spines=2, hosts=8, oversubscription=1)", 16)) == 8);
    CHECK(bisection(of_hosts("leaf_spine(leaves=2, spines=2, hosts=8, oversubscription=2)", 16)) == 4);
    CHECK(bisection(of_hosts("leaf_spine(leaves=2, spines=2, hosts=8, oversubscription=4)", 16)) == 2);
    CHECK(degrees(of_hosts("leaf_spine(leaves=2, spines=2, hosts=8, oversubscription=2)", 16)) ==
          Degrees{{"leaf", 12}, {"spine", 4}});
}

TEST_CASE("all HCAs of a host are at the leaf of the host, and a host without them has no place", "[unit][topology]") {
    const auto fabric = wire("leaf_spine(leaves=2, spines=1, hosts=2)", {2, 0, 1, 3, 1});

    CHECK(fabric.places == std::vector<std::size_t>{0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("HCA i of each host is at rail i, and spines join the rails", "[unit][topology]") {
    const auto fabric = wire("rail_optimized(rails=4, hosts=3, spines=2)", Counts(3, 4));

    CHECK(fabric.switches == std::vector<std::string>{"rail0", "rail1", "rail2", "rail3", "spine0", "spine1"});
    for (std::size_t hca = 0; hca < 12; ++hca)
        CHECK(fabric.places[hca] == hca % 4);
    CHECK(degrees(fabric) == Degrees{{"rail", 5}, {"spine", 4}});
    CHECK(diameter(fabric) == 2);

    const auto units = wire("rail_optimized(rails=2, hosts=3, spines=2, units=2, cables=2)", Counts(6, 2));
    CHECK(units.switches ==
          std::vector<std::string>{"unit0_rail0", "unit0_rail1", "unit1_rail0", "unit1_rail1", "spine0", "spine1"});
    for (std::size_t hca = 0; hca < 12; ++hca)
        CHECK(units.places[hca] == hca / 6 * 2 + hca % 2);
    CHECK(degrees(units) == Degrees{{"rail", 7}, {"spine", 8}});
}

TEST_CASE("a dragonfly has one cable between any two groups, and h of them at each router", "[unit][topology]") {
    const auto [a, p, h] = GENERATE(std::tuple{4u, 2u, 2u}, std::tuple{2u, 1u, 1u}, std::tuple{3u, 2u, 1u},
                                    std::tuple{1u, 2u, 3u}, std::tuple{4u, 1u, 3u});
    const std::size_t groups = a * h + 1;
    const auto fabric = of_hosts(fmt::format("dragonfly(a={}, p={}, h={})", a, p, h), groups * a * p);

    CHECK(fabric.switches.size() == groups * a);
    CHECK(degrees(fabric) == Degrees{{"router", a - 1 + p + h}});
    std::map<std::pair<std::size_t, std::size_t>, unsigned> between;
    for (const auto& [one, other] : fabric.cables)
        ++between[std::minmax(one / a, other / a)];
    for (std::size_t group = 0; group < groups; ++group)
        for (std::size_t other = group; other < groups; ++other)
            CHECK(between[{group, other}] == (group == other ? a * (a - 1) / 2 : 1));
    CHECK(diameter(fabric) == (a == 1 ? 1 : 3));
}

TEST_CASE("what is wrong with a topology is said, and what to write", "[unit][topology]") {
    CHECK(error_of("fattree(k=4)") == "there is no topology 'fattree', did you mean 'fat_tree'?");
    CHECK(error_of("ring") == "there is no topology 'ring'; the topologies are fat_tree leaf_spine rail_optimized "
                              "dragonfly");
    CHECK(error_of("fat_tree") == "write the parameters of a topology behind its name, as in fat_tree(k=4)");
    CHECK(error_of("fat_tree(k=4") == "write the parameters of a topology behind its name, as in fat_tree(k=4)");
    CHECK(error_of("fat_tree()") == "fat_tree wants 'k': write as in fat_tree(k=4)");
    CHECK(error_of("fat_tree(4)") == "'4' is no parameter: write as in fat_tree(k=4)");
    CHECK(error_of("fat_tree(k=4,)") == "'' is no parameter: write as in fat_tree(k=4)");
    CHECK(error_of("fat_tree(k=4, k=4)") == "'k' is there twice");
    CHECK(error_of("fat_tree(k=4, pods=4)") == "fat_tree has no parameter 'pods'; its parameters are k");
    CHECK(error_of("leaf_spine(leafs=4)") == "leaf_spine has no parameter 'leafs', did you mean 'leaves'?");
    CHECK(error_of("fat_tree(k=)") == "'k' wants a whole number, not ''");
    CHECK(error_of("fat_tree(k=4.5)") == "'k' wants a whole number, not '4.5'");
    CHECK(error_of("fat_tree(k=-4)") == "'k' wants a whole number, not '-4'");
    CHECK(error_of("fat_tree(k=0)") == "'k' = 0 is out of range, allowed is 2 to 36");
    CHECK(error_of("fat_tree(k=99999999999)") == "'k' = 99999999999 is out of range, allowed is 2 to 36");
    CHECK(error_of("fat_tree(k=38)") == "'k' = 38 is out of range, allowed is 2 to 36");
    CHECK(error_of("fat_tree(k=5)") == "k = 5 is odd: half of the ports of a switch go up; write k = 4 or 6");
    CHECK(error_of("leaf_spine(leaves=2, spines=1, hosts=2, cables=1, oversubscription=2)") ==
          "'cables' and 'oversubscription' say the same: write one of them");
    CHECK(error_of("dragonfly(a=36, p=1, h=36)") == "dragonfly(a=36, p=1, h=36) is 46692 switches, more than 4096");
}

TEST_CASE("a topology whose places are not those of the hosts says how many there are", "[unit][topology]") {
    CHECK(error_of("fat_tree(k=4)", Counts(15, 1)) ==
          "fat_tree(k=4) has places for 16 HCAs, and [[hosts]] make 15: write as many there as fit (count = ...), or "
          "other parameters");
    CHECK(error_of("fat_tree(k=4)", Counts(8, 2)) == "accepted");
    CHECK(error_of("leaf_spine(leaves=2, spines=1, hosts=4)", Counts(9, 1)) ==
          "leaf_spine(leaves=2, spines=1, hosts=4) has places for 8 hosts, and [[hosts]] make 9: write as many there "
          "as fit (count = ...), or other parameters");
    CHECK(error_of("rail_optimized(rails=2, hosts=2, spines=1)", {2, 3}) ==
          "rail_optimized(rails=2, hosts=2, spines=1) has 2 rails, and a host of [[hosts]] has 3 HCAs: as many as "
          "rails");
    CHECK(error_of("leaf_spine(leaves=2, spines=3, hosts=4, oversubscription=2)", Counts(8, 1)) ==
          "leaf_spine(leaves=2, spines=3, hosts=4, oversubscription=2): 4 HCAs at a leaf are not 2 times as many as "
          "the cables to 3 spines can be: choose 'hosts' so that HCAs at a leaf are a multiple of 6, or write "
          "'cables' instead");
    CHECK(error_of("leaf_spine(leaves=2, spines=5, hosts=32)", Counts(64, 1)) ==
          "leaf_spine(leaves=2, spines=5, hosts=32): leaf0 would have 37 cables, and a switch has 36 ports at most: "
          "choose fewer of them");
}

// --- in a configuration --------------------------------------------------------------------------------------------

namespace {

constexpr std::string_view head = "[link]\nencapsulation = \"infiniband\"\n[[hosts]]\nname = \"A..D\"\n"
                                  "parts = [\"root0.hca0\"]\n[fabric]\n"; // six lines

std::expected<Config, std::string> read(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return parse_config(std::string(head) + text, "p.toml", overrides);
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
    const auto config = read(text, overrides);
    return config ? "accepted" : config.error();
}

/// Switches with their ports, and cables with their ends.
std::vector<std::string> lines(const Config& config) {
    const auto made = describe(config).value();
    std::vector<std::string> all;
    for (const auto& one : made.switches)
        all.push_back(fmt::format("{} {} {:x}", one.name, one.ports, one.guid));
    for (const auto& one : made.cables)
        all.push_back(fmt::format("{}: {} -- {}", one.name, made.name_of(one.ends[0]), made.name_of(one.ends[1])));
    return all;
}

constexpr auto small = "topology = \"leaf_spine(leaves=2, spines=2, hosts=2)\"\n";

} // namespace

TEST_CASE("a topology is the switches and cables that somebody else writes", "[unit][topology]") {
    const auto written = read("switches = [{ name = \"leaf0..1\", ports = 4 }, { name = \"spine0..1\", ports = 2 }]\n"
                              "cables = [\"A..D.hca0 -- leaf0..1\", \"leaf0..1 >< spine0..1\"]\n");
    const auto made = read(small);

    REQUIRE((written.has_value() && made.has_value()));
    CHECK(lines(*made) == lines(*written));
    CHECK(lines(*made).back() == "cable7: leaf1.4 -- spine1.2");
}

TEST_CASE("an override takes a topology with its commas and parentheses, and the last one counts", "[unit][topology]") {
    const auto made = read("topology = \"fat_tree(k=4)\"\n", {"fabric.topology=dragonfly(a=4, p=1, h=1)",
                                                              "fabric.topology=leaf_spine(leaves=2,spines=1,hosts=2)"});

    INFO((made ? "" : made.error()));
    REQUIRE(made.has_value());
    CHECK(made->fabric.topology == "leaf_spine(leaves=2,spines=1,hosts=2)");
    CHECK(describe(*made)->switches.size() == 3);
}

TEST_CASE("switches and cables of a topology have keys of their own, in tables and by --set", "[unit][topology]") {
    const auto made = read(std::string(small) + "[leaf1]\nlatency_ns = 300\n",
                           {"spine0.ports=9", "cable7.loss=0.5", "leaf0.latency_ns=200"});

    INFO((made ? "" : made.error()));
    REQUIRE(made.has_value());
    const auto platform = describe(*made).value();
    CHECK(platform.switches[1].latency == std::chrono::nanoseconds{300});
    CHECK(platform.switches[0].latency == std::chrono::nanoseconds{200});
    CHECK(platform.switches[2].ports == 9);
    CHECK(platform.cables[7].link.loss == 0.5);
}

TEST_CASE("a switch has as many ports as it needs, or as its kind has", "[unit][topology]") {
    CHECK(describe(read(small).value())->switches[0].ports == 4);
    CHECK(describe(read(std::string(small) + "switch_ports = 20\n").value())->switches[0].ports == 20);
    CHECK(refusal(std::string(small) + "switch_ports = 3\n") ==
          "p.toml:8: 'fabric.switch_ports' = 3: leaf0 has 4 cables in leaf_spine(leaves=2, spines=2, hosts=2)");
}

TEST_CASE("a configuration with a topology is printed as one line, and read again", "[unit][topology]") {
    const auto made = read(std::string(small) + "[[failures]]\nswitch = \"spine1\"\nat = \"5 us\"\nuntil = 9000\n");
    REQUIRE(made.has_value());
    const auto printed = print_toml(*made);
    CHECK(printed.contains("\ntopology = \"leaf_spine(leaves=2, spines=2, hosts=2)\"\n"));
    CHECK_FALSE(printed.contains("switches = ["));

    const auto again = parse_config(printed, "again.toml", {});
    INFO((again ? "" : again.error()));
    REQUIRE(again.has_value());
    CHECK(print_toml(*again) == printed);
    CHECK(lines(*again) == lines(*made));
    CHECK(describe(*again)->failures.size() == 1);
}

TEST_CASE("a topology that cannot be is refused with its line", "[unit][topology]") {
    CHECK(refusal("topology = \"fat_tre(k=4)\"\n") ==
          "p.toml:7: 'fabric.topology': there is no topology 'fat_tre', did you mean 'fat_tree'?");
    CHECK(refusal("topology = \"fat_tree(k=4)\"\n")
              .starts_with("p.toml:7: 'fabric.topology': fat_tree(k=4) has places "
                           "for 16 HCAs, and [[hosts]] make 4:"));
    CHECK(refusal(small, {"fabric.topology=fat_tree(k=3)"}).starts_with("--set: 'fabric.topology': k = 3 is odd"));
    CHECK(refusal(std::string(small) + "switches = [\"s0\"]\n") ==
          "p.toml:8: 'fabric.topology' (p.toml:7) says what switches and cables there are: leave these out, or it");
    CHECK(refusal(std::string(small) + "cables = [\"A.hca0 -- B.hca0\"]\n") ==
          "p.toml:8: 'fabric.topology' (p.toml:7) says what switches and cables there are: leave these out, or it");
    CHECK(refusal(std::string(small) + "switch = true\n").contains("p.toml:8: 'fabric.switch' is of the short form"));
    CHECK(refusal("topology = 4\n").contains("p.toml:7: 'topology' wants a text"));
    CHECK(parse_config("[fabric]\ntopology = \"fat_tree(k=2)\"\n", "p.toml", {}).error() ==
          "p.toml:2: a fabric without hosts: write [[hosts]] with their names and parts");
    CHECK(parse_config("[[hosts]]\nname = \"leaf0..3\"\nparts = [\"root0.hca0\"]\n[fabric]\n" + std::string(small),
                       "p.toml", {})
              .error() == "p.toml:5: two of one name, 'leaf0': the other is at p.toml:1");
}

// --- failures ------------------------------------------------------------------------------------------------------

namespace {

/// Of one failure, whose table is in line 8.
std::string refused_failure(const std::string& text) { return refusal(std::string(small) + "[[failures]]\n" + text); }

} // namespace

TEST_CASE("a failure names a cable by its name or its ends, or all cables of a switch", "[unit][topology]") {
    const auto config = read(std::string(small) + "[[failures]]\ncable = \"cable4\"\nat = 50\n"
                                                  "[[failures]]\ncable = \"spine1 -- leaf0\"\nat = \"1 us\"\n"
                                                  "[[failures]]\ncable = \"leaf1.3 -- spine0\"\nat = 1\nuntil = 2\n"
                                                  "[[failures]]\ncable = \"B.hca0 -- leaf0\"\nat = 0\n"
                                                  "[[failures]]\nswitch = \"spine1\"\nat = 1\n");
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    const auto made = describe(*config).value();

    using Numbers = std::vector<std::size_t>;
    REQUIRE(made.failures.size() == 5);
    CHECK(made.failures[0].name == "leaf0.3 -- spine0.1");
    CHECK(made.failures[0].cables == Numbers{4});
    CHECK(made.failures[0].at == std::chrono::nanoseconds{50});
    CHECK_FALSE(made.failures[0].until);
    CHECK(made.failures[1].cables == Numbers{5});
    CHECK(made.failures[1].at == std::chrono::microseconds{1});
    CHECK(made.failures[2].cables == Numbers{6});
    CHECK(made.failures[2].until == std::chrono::nanoseconds{2});
    CHECK(made.failures[3].cables == Numbers{1});
    CHECK(made.failures[4].name == "spine1");
    CHECK(made.failures[4].cables == Numbers{5, 7});
}

TEST_CASE("a failure that cannot be is refused with its line", "[unit][topology]") {
    CHECK(refused_failure("at = 5\n") == "p.toml:8: a failure is of a cable or of a switch: write cable = \"leaf0 -- "
                                         "spine1\" or switch = \"spine1\"");
    CHECK(refused_failure("cable = \"cable1\"\nswitch = \"leaf0\"\nat = 5\n")
              .starts_with("p.toml:8: a failure is of a cable or of a switch"));
    CHECK(refused_failure("cable = \"cable1\"\n") == "p.toml:8: a failure wants its time: write as in at = \"50 us\"");
    CHECK(refused_failure("cable = \"cable1\"\nat = -5\n") ==
          "p.toml:8: 'at' = -5 ns is out of range, allowed is 0 ns to 100 s");
    CHECK(refused_failure("cable = \"cable1\"\nat = \"101 s\"\n") ==
          "p.toml:8: 'at' = 101 s is out of range, allowed is 0 ns to 100 s");
    CHECK(
        refused_failure("cable = \"cable1\"\nat = \"5 parsecs\"\n").starts_with("p.toml:8: 'at' has the unknown unit"));
    CHECK(refused_failure("cable = \"cable1\"\nat = true\n").starts_with("p.toml:8: 'at' wants nanoseconds"));
    CHECK(refused_failure("cable = \"cable1\"\nat = [5]\n") == "p.toml:10: 'at' wants a time such as \"50 us\"");
    CHECK(refused_failure("cable = \"cable1\"\nat = 5\nuntil = 5\n") ==
          "p.toml:8: 'until' is not later than 'at': a failure takes some time");
    CHECK(refused_failure("cable = \"cable1\"\nat = 5\nuntil = \"101 s\"\n") ==
          "p.toml:8: 'until' = 101 s is out of range, allowed is 0 ns to 100 s");
    CHECK(refused_failure("cable = \"cable1\"\nat = 5\nuntli = 6\n") ==
          "p.toml:11: unknown key 'untli' of a failure: it has cable or switch, at, and until");
    CHECK(refused_failure("cable = \"cabel1\"\nat = 5\n") == "p.toml:8: there is no cable 'cabel1', did you mean "
                                                             "'cable1'?; `hcasim show` has their names");
    CHECK(refused_failure("switch = \"spine2\"\nat = 5\n") == "p.toml:8: there is no switch 'spine2', did you mean "
                                                              "'spine0'?; `hcasim show` draws them");
    CHECK(refused_failure("cable = \"leaf0 -- spine7\"\nat = 5\n") ==
          "p.toml:8: a cable to nothing: there is no host or switch 'spine7', did you mean 'spine0'?");
    CHECK(refused_failure("cable = \"leaf0 -- leaf1\"\nat = 5\n") == "p.toml:8: there is no cable from leaf0 to leaf1");
    CHECK(
        refused_failure("cable = \"leaf0 --\"\nat = 5\n").starts_with("p.toml:8: 'leaf0 --' is a cable with one end"));
    CHECK(refusal("topology = \"leaf_spine(leaves=2, spines=1, hosts=2, cables=2)\"\n[[failures]]\n"
                  "cable = \"leaf0 -- spine0\"\nat = 5\n") ==
          "p.toml:8: 'leaf0 -- spine0' are 2 cables: name one of cable4 cable5");
    CHECK(refusal(std::string(small) + "[failures]\nat = 5\n") ==
          "p.toml:8: 'failures' is a list of tables: write [[failures]]");
    CHECK(refusal(std::string(small) + "[[failures]]\ncable = \"cable1\"\nat = 5\n", {"timed=false"}) ==
          "p.toml:8: without times (timed = false) nothing fails at a time");
}

TEST_CASE("the cable of the pair can fail", "[unit][topology]") {
    const auto config = parse_config("[[failures]]\ncable = \"A.hca -- B.hca\"\nat = 5\n", "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    CHECK(describe(*config)->failures[0].name == "A.hca -- B.hca");
}
