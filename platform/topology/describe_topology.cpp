#include "platform/topology/builder.h"
#include "platform/topology/names.h"
#include "platform/topology/topologies.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::topology {
namespace {

constexpr model::port::Time latest_failure = std::chrono::seconds{100};

bool is_end(const CableEnd& end, const CableEnd& meant) {
    if (end.is_switch != meant.is_switch)
        return false;
    return end.is_switch ? end.fabric_switch == meant.fabric_switch && (meant.port == 0 || end.port == meant.port)
                         : end.host == meant.host && end.part == meant.part;
}

} // namespace

/// Writes the switches and cables of fabric.topology as somebody else would have: first the cable of each HCA, in their
/// order, then those between switches, so that a switch has its HCAs at its first ports.
void Builder::write_topology() {
    const auto where = where_of("fabric.topology");
    const auto refuse = [&](std::string_view text) { add_fault(where, fmt::format("'fabric.topology': {}", text)); };
    if (const auto has_switches = !written_.switches.empty(); has_switches || !written_.cables.empty())
        return add_fault(has_switches ? written_.switches.front().where : written_.cables.front().where,
                         fmt::format("'fabric.topology' ({}) says what switches and cables there are: leave these out, "
                                     "or it",
                                     where));
    const auto topology = Topology::read(config_.fabric.topology, most_switch_ports());
    if (!topology)
        return refuse(topology.error());
    std::vector<unsigned> hcas(made_.hosts.size());
    for (const auto& at : made_.hcas)
        ++hcas[at.host];
    const auto fabric = topology->wire(hcas);
    if (!fabric)
        return refuse(fabric.error());
    // A switch has as many ports as it needs, unless somebody says how many its kind has.
    const auto said = config_.fabric.switch_ports != FabricConfig{}.switch_ports ? config_.fabric.switch_ports : 0;
    const auto degrees = fabric->degrees();
    for (std::size_t i = 0; i < degrees.size(); ++i) {
        if (said != 0 && degrees[i] > said)
            return add_fault(where_of("fabric.switch_ports"),
                             fmt::format("'fabric.switch_ports' = {}: {} has {} cables in {}", said,
                                         fabric->switches[i], degrees[i], config_.fabric.topology));
        constexpr unsigned least = 2;
        const auto ports = std::int64_t{std::max({degrees[i], said, least})};
        written_.switches.push_back(
            {.names = fabric->switches[i], .settings = {{"ports", ports, where}}, .where = where});
    }
    for (std::size_t i = 0; i < made_.hcas.size(); ++i)
        written_.cables.push_back(
            {.ends = fmt::format("{} -- {}", made_.name_of(made_.hcas[i]), fabric->switches[fabric->places[i]]),
             .where = where});
    for (const auto& [one, other] : fabric->cables)
        written_.cables.push_back(
            {.ends = fmt::format("{} -- {}", fabric->switches[one], fabric->switches[other]), .where = where});
}

void Builder::describe_failures() {
    for (const auto& written : written_.failures)
        describe_failure(written);
}

void Builder::describe_failure(const WrittenFailure& written) {
    const auto refuse = [&](std::string text) { add_fault(written.where, std::move(text)); };
    if (written.cable.empty() == written.fabric_switch.empty())
        return refuse("a failure is of a cable or of a switch: write cable = \"leaf0 -- spine1\" or switch = "
                      "\"spine1\"");
    if (!written.at)
        return refuse("a failure wants its time: write as in at = \"50 us\"");
    if (!config_.timed)
        return refuse("without times (timed = false) nothing fails at a time");
    Failure made{.name = {}, .cables = cables_of(written), .where = written.where};
    if (made.cables.empty())
        return;
    made.name = written.fabric_switch;
    if (made.name.empty()) {
        const auto& ends = made_.cables[made.cables.front()].ends;
        made.name = fmt::format("{} -- {}", made_.name_of(ends[0]), made_.name_of(ends[1]));
    }
    const auto time = [&](std::string_view name, const Value& value) -> std::optional<model::port::Time> {
        const auto converted = convert(Kind::time, value);
        if (!converted) {
            refuse(fmt::format("'{}' {}", name, converted.error()));
            return std::nullopt;
        }
        const model::port::Time found{std::get<std::int64_t>(*converted)};
        if (found < model::port::Time{} || found > latest_failure) {
            refuse(fmt::format("'{}' = {} is out of range, allowed is 0 ns to 100 s", name,
                               print(Kind::time, *converted)));
            return std::nullopt;
        }
        return found;
    };
    const auto at = time("at", *written.at);
    if (!at)
        return;
    made.at = *at;
    if (written.until) {
        made.until = time("until", *written.until);
        if (!made.until)
            return;
        if (*made.until <= made.at)
            return refuse("'until' is not later than 'at': a failure takes some time");
    }
    made_.failures.push_back(std::move(made));
}

/// The cables that a failure names; none: that was refused.
std::vector<std::size_t> Builder::cables_of(const WrittenFailure& written) {
    if (written.cable.contains("--"))
        return cables_between(written);
    std::vector<std::string> known;
    std::vector<std::size_t> found;
    if (!written.cable.empty()) {
        for (std::size_t i = 0; i < made_.cables.size(); ++i) {
            known.push_back(made_.cables[i].name);
            if (is_same_name(made_.cables[i].name, written.cable))
                found.push_back(i);
        }
        if (found.empty())
            add_fault(written.where, fmt::format("there is no cable '{}'{}; `hcasim show` has their names",
                                                 written.cable, did_you_mean(written.cable, known)));
        return found;
    }
    for (std::size_t number = 0; number < made_.switches.size(); ++number) {
        known.push_back(made_.switches[number].name);
        if (!is_same_name(made_.switches[number].name, written.fabric_switch))
            continue;
        for (const auto& cable : made_.switches[number].cables)
            if (cable)
                found.push_back(*cable);
        if (found.empty())
            add_fault(written.where, fmt::format("nothing is plugged into {}", written.fabric_switch));
        return found;
    }
    add_fault(written.where, fmt::format("there is no switch '{}'{}; `hcasim show` draws them", written.fabric_switch,
                                         did_you_mean(written.fabric_switch, known)));
    return {};
}

/// The one cable with these two ends.
std::vector<std::size_t> Builder::cables_between(const WrittenFailure& written) {
    const auto trim = [](std::string text) {
        text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
        text.erase(text.find_last_not_of(' ') + 1);
        return text;
    };
    const auto mark = written.cable.find("--");
    const auto one = trim(written.cable.substr(0, mark)), other = trim(written.cable.substr(mark + 2));
    if (one.empty() || other.empty()) {
        add_fault(written.where,
                  fmt::format("'{}' is a cable with one end: write as in \"leaf0 -- spine1\"", written.cable));
        return {};
    }
    const auto first = find_end(one, written.where);
    const auto second = first ? find_end(other, written.where) : first;
    if (!second)
        return {};
    std::vector<std::size_t> found;
    std::string names;
    for (std::size_t i = 0; i < made_.cables.size(); ++i) {
        const auto& ends = made_.cables[i].ends;
        if ((is_end(ends[0], *first) && is_end(ends[1], *second)) ||
            (is_end(ends[1], *first) && is_end(ends[0], *second))) {
            found.push_back(i);
            names += " " + made_.cables[i].name;
        }
    }
    if (found.empty())
        add_fault(written.where, fmt::format("there is no cable from {} to {}", one, other));
    if (found.size() > 1) {
        add_fault(written.where, fmt::format("'{}' are {} cables: name one of{}", written.cable, found.size(), names));
        found.clear();
    }
    return found;
}

} // namespace platform::topology
