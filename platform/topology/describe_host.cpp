#include "platform/topology/builder.h"
#include "platform/topology/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace platform::topology {
namespace {

struct KindRow {
    std::string_view name;
    PartKind kind;
    unsigned slots; ///< that other parts can be plugged into
};

constexpr unsigned switch_slots = 32; ///< device numbers of a switch's internal bus
constexpr unsigned root_ports = 31;   ///< device numbers 1 to 31 of bus 0
constexpr unsigned buses = 256;
constexpr std::size_t most_parts = 65536; ///< of all hosts together: more take minutes and gigabytes

constexpr std::array kinds{KindRow{"root", PartKind::root_port, 1}, KindRow{"sw", PartKind::pcie_switch, switch_slots},
                           KindRow{"switch", PartKind::pcie_switch, switch_slots}, KindRow{"hca", PartKind::hca, 0},
                           KindRow{"gpu", PartKind::gpu, 0}};
constexpr KindRow device{"", PartKind::device, 0}; ///< any other row of the table of devices

/// What takes a cable is an HCA, whose model is a key (hca.model) and no kind of part.
bool is_device(const card::Kind& kind) { return kind.network_ports == 0; }

const KindRow* find_kind(std::string_view name) {
    const auto found = std::ranges::find(kinds, name, &KindRow::name);
    if (found != kinds.end())
        return &*found;
    const auto* kind = card::find_kind(name);
    return kind != nullptr && is_device(*kind) ? &device : nullptr;
}

const KindRow& row_of(PartKind kind) {
    return kind == PartKind::device ? device : *std::ranges::find(kinds, kind, &KindRow::kind);
}

std::string unknown_kind(std::string_view kind, std::string_view word) {
    std::vector<std::string> known;
    std::string list;
    for (const auto& row : kinds)
        known.emplace_back(row.name);
    for (const auto& row : card::kinds())
        if (is_device(row) && std::ranges::find(known, row.name) == known.end())
            known.emplace_back(row.name);
    for (const auto& name : known)
        list += " " + name;
    const auto meant = did_you_mean(kind, known);
    return fmt::format("unknown kind '{}' of part '{}'{}; the kinds are{}, and a part of another name says its own: "
                       "{{ path = \"...{}\", kind = \"hca\" }}",
                       kind, word, meant, list, word);
}

bool is_of_kind(const Part& part, std::string_view kind) {
    const auto* row = find_kind(kind);
    return row != nullptr && row->kind == part.kind &&
           (part.kind != PartKind::device || part.other().kind().name == kind);
}

/// The short form has its own name for the link of its one switch.
std::string link_name_of(const Part& part) {
    if (part.kind != PartKind::pcie_switch)
        return part.name;
    return part.name == "switch" ? "upstream" : part.name + ".upstream";
}

} // namespace

void Builder::build_hosts() {
    std::size_t part_count = 0;
    for (const auto& group : written_.hosts) {
        const auto names = expand_name(group.names);
        if (!names) {
            add_fault(group.where, names.error());
            continue;
        }
        const auto tree = build_tree(group);
        part_count += names->size() * tree.parts.size();
        if (part_count > most_parts) {
            add_fault(group.where, fmt::format("{} parts with those of these hosts, more than {}: fewer hosts or parts",
                                               part_count, most_parts));
            return;
        }
        for (const auto& name : *names) {
            if (!take_name(name, group.where))
                return;
            if (made_.hosts.size() == most_names) {
                add_fault(group.where, fmt::format("more than {} hosts", most_names));
                return;
            }
            auto& host = made_.hosts.emplace_back();
            host.name = name;
            host.served_name = made_.is_pair ? "host" + name : name;
            host.where = group.where;
            host.parts = tree.parts;
            for (std::size_t i = 0; i < host.parts.size(); ++i)
                if (auto* hca = std::get_if<HcaPart>(&host.parts[i].device)) {
                    hca->number = made_.hcas.size();
                    made_.hcas.push_back({made_.hosts.size() - 1, i});
                }
            host_settings_.push_back(group.settings);
            part_settings_.push_back(tree.settings);
        }
    }
}

Builder::Tree Builder::build_tree(const WrittenHosts& written) {
    Tree tree;
    for (const auto& line : written.parts) {
        const auto paths = expand_path(line.path);
        if (!paths)
            add_fault(line.where, paths.error());
        else if (line.slot && paths->size() > 1)
            add_fault(line.where, fmt::format("'{}' stands for {} parts, and slot {} takes one", line.path,
                                              paths->size(), *line.slot));
        else
            for (const auto before = faults_.size(); const auto& path : *paths)
                if (faults_.size() == before) // one mistake, one fault
                    add_part(tree, path, line);
    }
    give_slots(tree);
    count_buses(tree, written.where);
    return tree;
}

void Builder::add_part(Tree& tree, const std::string& path, const WrittenPart& line) {
    std::optional<std::size_t> at;
    const auto words = split_path(path);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto earlier = std::span(words).first(i);
        if (std::ranges::any_of(earlier, [&](auto word) { return is_same_name(word, words[i]); })) {
            add_fault(line.where, fmt::format("'{}' lies below itself in '{}': a loop", words[i], path));
            return;
        }
        at = enter(tree, at, words[i], path, i + 1 == words.size(), line);
        if (!at)
            return;
    }
    if (tree.is_listed[*at]) {
        add_fault(line.where, fmt::format("two parts of one name, '{}': the other is at {}", tree.parts[*at].name,
                                          tree.parts[*at].where));
        return;
    }
    tree.is_listed[*at] = true;
    tree.parts[*at].where = line.where;
    tree.slots[*at] = line.slot;
    tree.settings[*at] = line.settings;
}

/// The part that a word of a path names below `parent`. It is made if there is none yet.
std::optional<std::size_t> Builder::enter(Tree& tree, std::optional<std::size_t> parent, std::string_view word,
                                          const std::string& path, bool is_last, const WrittenPart& line) {
    const auto refuse = [&](std::string text) {
        add_fault(line.where, std::move(text));
        return std::nullopt;
    };
    const auto known =
        std::ranges::find_if(tree.parts, [&](const Part& part) { return is_same_name(part.name, word); });
    if (known != tree.parts.end()) {
        if (known->parent != parent)
            return refuse(fmt::format("two parts of one name, '{}': '{}' is at {}", word, known->path, known->where));
        if (is_last && !line.kind.empty() && !is_of_kind(*known, line.kind))
            return refuse(fmt::format("'{}' cannot be of kind '{}': at {} something else is of that name", word,
                                      line.kind, known->where));
        return static_cast<std::size_t>(known - tree.parts.begin());
    }
    const auto kind_name = is_last && !line.kind.empty() ? std::string_view(line.kind) : letters_of(word);
    const auto* row = find_kind(kind_name);
    if (row == nullptr)
        return refuse(unknown_kind(kind_name, word));
    if (!parent && row->kind != PartKind::root_port)
        return refuse(fmt::format("'{0}' is plugged into nothing: a path begins with a root port, as root0.{0}", path));
    if (parent && row->kind != PartKind::root_port && (word == "root" || word == "upstream"))
        return refuse(
            fmt::format("'{}' cannot be the name of '{}': the root complex or a switch reports by it", word, path));
    if (parent && row->kind == PartKind::root_port)
        return refuse(fmt::format("root port '{}' cannot be plugged into '{}': a path begins with it", word,
                                  tree.parts[*parent].name));
    if (parent && row_of(tree.parts[*parent].kind).slots == 0)
        return refuse(fmt::format("'{}' is no switch: '{}' cannot be plugged into it", tree.parts[*parent].name, word));
    Part part;
    part.kind = row->kind;
    part.name = word;
    part.path = parent ? tree.parts[*parent].path + "." + std::string(word) : std::string(word);
    part.parent = parent;
    part.where = line.where;
    part.link_name = link_name_of(part);
    if (part.kind == PartKind::hca)
        part.device = HcaPart{};
    if (part.kind == PartKind::device)
        part.device = card::DeviceConfig(*card::find_kind(kind_name));
    tree.parts.push_back(std::move(part));
    tree.settings.emplace_back();
    tree.slots.emplace_back();
    tree.is_listed.push_back(false);
    return tree.parts.size() - 1;
}

/// Gives slots to parts: to each that names one that slot, then to the others the next free ones in the order in which
/// they are written.
void Builder::give_slots(Tree& tree) {
    std::vector<std::vector<std::optional<std::size_t>>> taken(tree.parts.size() + 1); // the last: the root complex
    const auto taken_of = [&](const Part& part) -> auto& { return taken[part.parent.value_or(tree.parts.size())]; };
    const auto name_of = [&](const Part& part) {
        return part.parent ? tree.parts[*part.parent].name : std::string("the root complex");
    };
    for (auto& part : tree.parts)
        taken_of(part).resize(part.parent ? row_of(tree.parts[*part.parent].kind).slots : root_ports);
    for (std::size_t i = 0; i < tree.parts.size(); ++i) {
        auto& part = tree.parts[i];
        if (!tree.slots[i])
            continue;
        auto& slots = taken_of(part);
        const auto slot = *tree.slots[i];
        if (slot >= slots.size()) {
            add_fault(part.where,
                      fmt::format("'{}' is put into slot {} of {}, which has {}", part.name, slot, name_of(part),
                                  slots.size() == 1 ? "slot 0 only" : fmt::format("slots 0 to {}", slots.size() - 1)));
        } else if (slots[slot]) {
            const auto& other = tree.parts[*slots[slot]];
            add_fault(part.where, fmt::format("two parts in slot {} of {}: '{}' is there ({})", slot, name_of(part),
                                              other.name, other.where));
        } else {
            slots[slot] = i;
            part.slot = slot;
        }
    }
    for (std::size_t i = 0; i < tree.parts.size(); ++i) {
        auto& part = tree.parts[i];
        if (tree.slots[i])
            continue;
        auto& slots = taken_of(part);
        const auto free = std::find(slots.begin(), slots.end(), std::nullopt);
        if (free != slots.end()) {
            *free = i;
            part.slot = static_cast<unsigned>(free - slots.begin());
        } else if (slots.size() == 1) {
            const auto& other = tree.parts[*slots.front()];
            const bool is_switch = part.kind == PartKind::pcie_switch;
            const auto below = is_switch                             ? part.name + "." + other.name
                               : other.kind == PartKind::pcie_switch ? other.name + "." + part.name
                                                                     : "sw0." + part.name;
            add_fault(part.where, fmt::format("two parts in one slot: root port {} has one, and '{}' is in it ({}); a "
                                              "switch below it has more, as in {}.{}, or choose another root port",
                                              name_of(part), other.name, other.where, name_of(part), below));
        } else if (faults_.empty() || faults_.back().where != part.where) { // one mistake, one fault
            add_fault(part.where,
                      fmt::format("no slot is left for '{}': {} has {}", part.name, name_of(part), slots.size()));
        }
    }
}

/// Counts the buses of a host: bus 0, and a bus below each root port and each switch port.
void Builder::count_buses(const Tree& tree, const std::string& where) {
    std::size_t count = 1, root_ports_used = 0;
    for (const auto& part : tree.parts) {
        if (part.kind == PartKind::root_port)
            root_ports_used = std::max<std::size_t>(root_ports_used, part.slot + 1);
        if (part.kind != PartKind::pcie_switch)
            continue;
        unsigned ports = 0;
        for (const auto& below : tree.parts)
            if (below.parent && &tree.parts[*below.parent] == &part)
                ports = std::max(ports, below.slot + 1);
        count += 1 + ports;
    }
    count += root_ports_used; // root ports without a part before the last one are there, too
    if (count > buses)
        add_fault(where,
                  fmt::format("a host of these parts needs {} bus numbers, there are {}: fewer switches or slots",
                              count, buses));
}

} // namespace platform::topology
