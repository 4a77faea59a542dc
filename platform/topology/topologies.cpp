#include "platform/topology/topologies.h"

#include "platform/topology/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

namespace platform::topology {

namespace {

using Error = std::unexpected<std::string>;
using Values = std::array<unsigned, 5>;
using Fabric = Topology::Fabric;
using NameList = std::vector<std::string>;

constexpr unsigned absent = 0;

} // namespace

/// A number that a topology is written with.
struct Parameter {
    std::string_view name; ///< empty: there are no more
    unsigned minimum = 1;
    bool is_needed = true; ///< else absent, 0, when it is left out
    std::string_view what{};
};

/// Who takes the places of a topology, in their order.
enum class Unit : unsigned char {
    hca,
    host,  ///< with all its HCAs
    rails, ///< a host has one HCA at each of several switches
};

struct Shape {
    std::string_view name, example;
    std::array<Parameter, 5> parameters;
    Unit unit;
    /// What is wrong with values that are right by themselves.
    std::optional<std::string> (*fault)(const Values&);
    NameList (*names)(const Values&);
    /// Places for units: the switch of each, of rails the first one.
    std::vector<std::size_t> (*places)(const Values&);
    /// Cables between switches. `hcas`: how many each host has.
    std::expected<std::vector<std::pair<std::size_t, std::size_t>>, std::string> (*cables)(
        const Values&, std::span<const unsigned> hcas);
};

namespace {

using Cables = std::vector<std::pair<std::size_t, std::size_t>>;
using Wired = std::expected<Cables, std::string>;

void add_names(NameList& names, std::string_view letters, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
        names.push_back(fmt::format("{}{}", letters, i));
}

/// Each of `count` places after the other at switch `first`, `first` + 1, ...
std::vector<std::size_t> in_turn(std::size_t first, std::size_t switches, unsigned each) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < switches; ++i)
        places.insert(places.end(), each, first + i);
    return places;
}

void join(Cables& cables, std::size_t one, std::size_t other, unsigned parallel = 1) {
    cables.insert(cables.end(), parallel, {one, other});
}

// --- fat tree -------------------------------------------------------------------------------------------------------
// Three levels of switches of k ports (Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network
// architecture", SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches, and (k/2)^2 core switches.

std::optional<std::string> fat_tree_fault(const Values& v) {
    if (v[0] % 2 != 0)
        return fmt::format("k = {} is odd: half of the ports of a switch go up; write k = {} or {}", v[0], v[0] - 1,
                           v[0] + 1);
    return std::nullopt;
}

NameList fat_tree_names(const Values& v) {
    NameList names;
    for (unsigned pod = 0; pod < v[0]; ++pod) {
        add_names(names, fmt::format("pod{}_edge", pod), v[0] / 2);
        add_names(names, fmt::format("pod{}_agg", pod), v[0] / 2);
    }
    add_names(names, "core", v[0] / 2 * (v[0] / 2));
    return names;
}

std::vector<std::size_t> fat_tree_places(const Values& v) {
    std::vector<std::size_t> places;
    for (std::size_t pod = 0; pod < v[0]; ++pod) {
        const auto of_pod = in_turn(pod * v[0], v[0] / 2, v[0] / 2);
        places.insert(places.end(), of_pod.begin(), of_pod.end());
    }
    return places;
}

Wired fat_tree_cables(const Values& v, std::span<const unsigned> /*hcas*/) {
    const std::size_t k = v[0], half = k / 2;
    Cables cables;
    for (std::size_t pod = 0; pod < k; ++pod)
        for (std::size_t edge = 0; edge < half; ++edge)
            for (std::size_t agg = 0; agg < half; ++agg)
                join(cables, pod * k + edge, pod * k + half + agg);
    for (std::size_t pod = 0; pod < k; ++pod)
        for (std::size_t agg = 0; agg < half; ++agg)
            for (std::size_t i = 0; i < half; ++i)
                join(cables, pod * k + half + agg, k * k + agg * half + i);
    return cables;
}

// --- leaf and spine, rails ------------------------------------------------------------------------------------------
// Two levels, each leaf with each spine (Clos). With rails the leaves of a group of hosts are one for each HCA of a
// host, so that HCAs of one number meet at one switch.

Cables each_with_each(std::size_t leaves, std::size_t spines, unsigned parallel) {
    Cables cables;
    for (std::size_t leaf = 0; leaf < leaves; ++leaf)
        for (std::size_t spine = 0; spine < spines; ++spine)
            join(cables, leaf, leaves + spine, parallel);
    return cables;
}

std::optional<std::string> leaf_spine_fault(const Values& v) {
    if (v[3] != absent && v[4] != absent)
        return "'cables' and 'oversubscription' say the same: write one of them";
    return std::nullopt;
}

NameList leaf_spine_names(const Values& v) {
    NameList names;
    add_names(names, "leaf", v[0]);
    add_names(names, "spine", v[1]);
    return names;
}

std::vector<std::size_t> leaf_spine_places(const Values& v) { return in_turn(0, v[0], v[2]); }

Wired leaf_spine_cables(const Values& v, std::span<const unsigned> hcas) {
    if (v[4] == absent)
        return each_with_each(v[0], v[1], std::max(v[3], 1u));
    // Of a leaf, so many times as many HCAs as cables to spines.
    const auto down = std::accumulate(hcas.begin(), hcas.begin() + v[2], 0u);
    if (down % (v[4] * v[1]) != 0)
        return Error(fmt::format("{} HCAs at a leaf are not {} times as many as the cables to {} spines can be: choose "
                                 "'hosts' so that HCAs at a leaf are a multiple of {}, or write 'cables' instead",
                                 down, v[4], v[1], v[4] * v[1]));
    return each_with_each(v[0], v[1], down / (v[4] * v[1]));
}

NameList rail_names(const Values& v) {
    NameList names;
    const auto units = std::max(v[3], 1u);
    for (unsigned unit = 0; unit < units; ++unit)
        add_names(names, units == 1 ? "rail" : fmt::format("unit{}_rail", unit), v[0]);
    add_names(names, "spine", v[2]);
    return names;
}

std::vector<std::size_t> rail_places(const Values& v) {
    std::vector<std::size_t> places;
    for (unsigned unit = 0; unit < std::max(v[3], 1u); ++unit)
        places.insert(places.end(), v[1], std::size_t{unit} * v[0]);
    return places;
}

Wired rail_cables(const Values& v, std::span<const unsigned> /*hcas*/) {
    return each_with_each(std::size_t{std::max(v[3], 1u)} * v[0], v[2], std::max(v[4], 1u));
}

// --- dragonfly ------------------------------------------------------------------------------------------------------
// Groups of a routers, each with each, and between any two groups one cable (Kim, Dally, Scott, Abts,
// "Technology-driven, highly-scalable dragonfly topology", ISCA 2008), of which router r of a group has those with the
// numbers r h to r h + h - 1, counted by the groups that they lead to.

std::size_t groups_of(const Values& v) { return std::size_t{v[0]} * v[2] + 1; }

NameList dragonfly_names(const Values& v) {
    NameList names;
    for (std::size_t group = 0; group < groups_of(v); ++group)
        add_names(names, fmt::format("group{}_router", group), v[0]);
    return names;
}

std::vector<std::size_t> dragonfly_places(const Values& v) { return in_turn(0, groups_of(v) * v[0], v[1]); }

Wired dragonfly_cables(const Values& v, std::span<const unsigned> /*hcas*/) {
    const std::size_t a = v[0], h = v[2], groups = groups_of(v);
    Cables cables;
    for (std::size_t group = 0; group < groups; ++group)
        for (std::size_t one = 0; one < a; ++one)
            for (std::size_t other = one + 1; other < a; ++other)
                join(cables, group * a + one, group * a + other);
    for (std::size_t group = 0; group < groups; ++group)
        for (std::size_t to = group + 1; to < groups; ++to)
            join(cables, group * a + (to - 1) / h, to * a + group / h); // each leaves itself out when it counts
    return cables;
}

std::optional<std::string> no_fault(const Values& /*values*/) { return std::nullopt; }

constexpr std::array shapes{
    Shape{"fat_tree",
          "fat_tree(k=4)",
          {Parameter{"k", 2, true, "ports of each switch; (k^3)/4 HCAs"}},
          Unit::hca,
          fat_tree_fault,
          fat_tree_names,
          fat_tree_places,
          fat_tree_cables},
    Shape{"leaf_spine",
          "leaf_spine(leaves=4, spines=2, hosts=8)",
          {Parameter{"leaves", 2}, Parameter{"spines"}, Parameter{"hosts", 1, true, "at each leaf"},
           Parameter{"cables", 1, false, "from each leaf to each spine, else 1"},
           Parameter{"oversubscription", 1, false, "instead of cables: HCAs at a leaf to cables to spines"}},
          Unit::host,
          leaf_spine_fault,
          leaf_spine_names,
          leaf_spine_places,
          leaf_spine_cables},
    Shape{"rail_optimized",
          "rail_optimized(rails=4, hosts=8, spines=2)",
          {Parameter{"rails", 1, true, "HCAs of each host: number i at switch i"},
           Parameter{"hosts", 1, true, "at each set of rails"}, Parameter{"spines"},
           Parameter{"units", 1, false, "sets of rails, else 1"},
           Parameter{"cables", 1, false, "from each rail to each spine, else 1"}},
          Unit::rails,
          no_fault,
          rail_names,
          rail_places,
          rail_cables},
    Shape{"dragonfly",
          "dragonfly(a=4, p=2, h=2)",
          {Parameter{"a", 1, true, "routers of a group"}, Parameter{"p", 1, true, "HCAs at a router"},
           Parameter{"h", 1, true, "cables of a router to other groups; a h + 1 groups"}},
          Unit::hca,
          no_fault,
          dragonfly_names,
          dragonfly_places,
          dragonfly_cables},
};

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

std::vector<std::string> parameters_of(const Shape& shape) {
    std::vector<std::string> names;
    for (const auto& one : shape.parameters)
        if (!one.name.empty())
            names.emplace_back(one.name);
    return names;
}

/// "k=4" into its place.
/// A switch has as many cables as any of them says at least, so none is more than `most_ports`.
std::optional<std::string> take(const Shape& shape, std::string_view text, unsigned most_ports, Values& values) {
    const auto equals = text.find('=');
    const auto name = trim(text.substr(0, equals));
    if (equals == text.npos || name.empty())
        return fmt::format("'{}' is no parameter: write as in {}", trim(text), shape.example);
    const auto known = parameters_of(shape);
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
        std::string list;
        for (const auto& one : known)
            list += " " + one;
        const auto meant = did_you_mean(name, known);
        return fmt::format("{} has no parameter '{}'{}", shape.name, name,
                           meant.empty() ? "; its parameters are" + list : meant);
    }
    const auto place = static_cast<std::size_t>(found - known.begin());
    if (values[place] != absent)
        return fmt::format("'{}' is there twice", name);
    const auto value = trim(text.substr(equals + 1));
    unsigned number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc::invalid_argument || end != value.data() + value.size() || value.empty())
        return fmt::format("'{}' wants a whole number, not '{}'", name, value);
    if (error != std::errc{} || number < shape.parameters[place].minimum || number > most_ports)
        return fmt::format("'{}' = {} is out of range, allowed is {} to {}", name, value,
                           shape.parameters[place].minimum, most_ports);
    values[place] = number;
    return std::nullopt;
}

std::string count_of(std::size_t number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

} // namespace

std::expected<Topology, std::string> Topology::read(std::string_view text, unsigned most_ports) {
    text = trim(text);
    const auto open = text.find('(');
    const auto name = trim(text.substr(0, open));
    const auto shape = std::ranges::find(shapes, name, &Shape::name);
    if (shape == shapes.end()) {
        std::vector<std::string> known;
        std::string list;
        for (const auto& one : shapes)
            known.emplace_back(one.name), list += fmt::format(" {}", one.name);
        const auto meant = did_you_mean(name, known);
        return Error(
            fmt::format("there is no topology '{}'{}", name, meant.empty() ? "; the topologies are" + list : meant));
    }
    if (open == text.npos || text.back() != ')')
        return Error(fmt::format("write the parameters of a topology behind its name, as in {}", shape->example));
    Topology made(*shape, std::string(text), most_ports);
    auto inside = text.substr(open + 1, text.size() - open - 2);
    for (bool is_last = trim(inside).empty(); !is_last;) {
        const auto comma = inside.find(',');
        if (auto fault = take(*shape, inside.substr(0, comma), most_ports, made.values_))
            return Error(std::move(*fault));
        is_last = comma == inside.npos;
        inside = is_last ? inside : inside.substr(comma + 1);
    }
    for (std::size_t i = 0; i < shape->parameters.size(); ++i)
        if (const auto& one = shape->parameters[i]; !one.name.empty() && one.is_needed && made.values_[i] == absent)
            return Error(fmt::format("{} wants '{}': write as in {}", shape->name, one.name, shape->example));
    if (auto fault = shape->fault(made.values_))
        return Error(std::move(*fault));
    if (const auto count = made.switch_names().size(); count > most_names)
        return Error(fmt::format("{} is {} switches, more than {}", text, count, most_names));
    return made;
}

std::vector<unsigned> Topology::Fabric::degrees() const {
    std::vector<unsigned> degrees(switches.size());
    for (const auto& [one, other] : cables)
        ++degrees[one], ++degrees[other];
    for (const auto at : places)
        ++degrees[at];
    return degrees;
}

std::vector<std::string> Topology::switch_names() const { return shape_->names(values_); }

std::expected<Topology::Fabric, std::string> Topology::wire(std::span<const unsigned> hcas) const {
    const auto units = shape_->places(values_);
    const auto unit = shape_->unit;
    std::vector<unsigned> hosts; // that have HCAs
    std::ranges::copy_if(hcas, std::back_inserter(hosts), [](unsigned count) { return count != 0; });
    const auto count = std::accumulate(hosts.begin(), hosts.end(), std::size_t{0});
    const bool takes_hosts = unit != Unit::hca;
    if (const auto there = takes_hosts ? hosts.size() : count; there != units.size())
        return Error(
            fmt::format("{} has places for {}, and [[hosts]] make {}: write as many there as fit (count = ...), "
                        "or other parameters",
                        text_, count_of(units.size(), takes_hosts ? "host" : "HCA"), there));
    const auto rails = values_[0];
    Fabric fabric;
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (unit == Unit::hca) {
            fabric.places.push_back(units[i]);
            continue;
        }
        if (unit == Unit::rails && hosts[i] != rails)
            return Error(fmt::format("{} has {}, and a host of [[hosts]] has {}: as many as rails", text_,
                                     count_of(rails, "rail"), count_of(hosts[i], "HCA")));
        for (std::size_t hca = 0; hca < hosts[i]; ++hca)
            fabric.places.push_back(units[i] + (unit == Unit::rails ? hca : 0));
    }
    fabric.switches = switch_names();
    auto cables = shape_->cables(values_, hosts);
    if (!cables)
        return Error(fmt::format("{}: {}", text_, cables.error()));
    fabric.cables = std::move(*cables);
    const auto degrees = fabric.degrees();
    const auto largest = static_cast<std::size_t>(std::ranges::max_element(degrees) - degrees.begin());
    if (degrees[largest] > most_ports_)
        return Error(fmt::format("{}: {} would have {} cables, and a switch has {} ports at most: choose fewer of them",
                                 text_, fabric.switches[largest], degrees[largest], most_ports_));
    return fabric;
}

std::string about_topologies() {
    std::string text = "Topologies, for fabric.topology instead of switches and cables:\n";
    for (const auto& shape : shapes) {
        text += fmt::format("  {}\n", shape.example);
        for (const auto& one : shape.parameters)
            if (!one.what.empty())
                text += fmt::format("      {:<16} {}\n", one.name, one.what);
    }
    return text;
}

} // namespace platform::topology
