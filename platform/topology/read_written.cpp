#include "platform/topology/read_written.h"

#include "platform/topology/keys.h"
#include "platform/topology/names.h"
#include "platform/topology/topologies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace platform::topology {
namespace {

constexpr std::size_t letters = 26;

/// Reads one table: what it does not know are keys of the thing that it describes.
class TableReader {
public:
    TableReader(const Config& config, std::vector<Fault>& faults) : file_(config.file), faults_(faults) {}

    std::string where(const toml::source_region& source) const {
        return fmt::format("{}:{}", file_, source.begin.line);
    }
    void refuse(const toml::source_region& source, std::string text) {
        faults_.push_back({where(source), std::move(text)});
    }

    /// A text under any of `names`; empty: there is none.
    std::string text(const toml::table& table, std::initializer_list<std::string_view> names) {
        if (const auto given = std::ranges::count_if(names, [&](auto name) { return table.contains(name); }); given > 1)
            refuse(table.get(*std::prev(names.end()))->source(),
                   fmt::format("'{}' and '{}' are the same key: write one of them", *names.begin(),
                               *std::prev(names.end())));
        for (const auto name : names)
            if (const auto* node = table.get(name)) {
                if (const auto value = node->value_exact<std::string>(); value && !value->empty())
                    return *value;
                refuse(node->source(), fmt::format("'{}' wants a text", name));
            }
        return {};
    }
    std::optional<std::int64_t> number(const toml::table& table, std::string_view name) {
        const auto* node = table.get(name);
        if (node == nullptr)
            return std::nullopt;
        const auto value = node->value_exact<std::int64_t>();
        if (!value || *value < 0)
            refuse(node->source(), fmt::format("'{}' wants a whole number, not less than 0", name));
        return value && *value >= 0 ? value : std::nullopt;
    }
    /// All keys but `others`, with those of tables inside ("pcie.width").
    std::vector<Setting> settings(const toml::table& table, std::initializer_list<std::string_view> others) {
        std::vector<Setting> found;
        for (const auto& [name, node] : table)
            if (std::ranges::find(others, name.str()) == others.end())
                collect(node, std::string(name.str()), name.source(), found);
        std::ranges::stable_sort(found, {}, [](const Setting& setting) { return line_of(setting.where); });
        return found;
    }
    void collect(const toml::node& node, const std::string& path, const toml::source_region& source,
                 std::vector<Setting>& into) {
        if (const auto* inner = node.as_table()) {
            for (const auto& [name, value] : *inner)
                collect(value, path + "." + std::string(name.str()), name.source(), into);
        } else if (auto value = value_of(node)) {
            into.push_back({path, std::move(*value), where(source)});
        } else {
            refuse(source, fmt::format("'{}' wants a value, not a list or date", path));
        }
    }

private:
    static unsigned long line_of(const std::string& where) { return std::stoul(where.substr(where.rfind(':') + 1)); }

    const std::string& file_;
    std::vector<Fault>& faults_;
};

/// The lines of a list, each a text or a table, which `each` is called with.
template <class Each> void read_list(TableReader& reader, const toml::node* node, std::string_view name, Each&& each) {
    if (node == nullptr)
        return;
    const auto* list = node->as_array();
    if (list == nullptr)
        return reader.refuse(node->source(), fmt::format("'{}' wants a list", name));
    for (const auto& item : *list) {
        if (const auto text = item.value_exact<std::string>())
            each(item, *text, nullptr);
        else if (const auto* table = item.as_table())
            each(item, std::string{}, table);
        else
            reader.refuse(item.source(), fmt::format("'{}' is a list of texts and tables", name));
    }
}

/// "A..H" of what a table says of names: name = "A..H", or name = "node" with count = 64, or a count alone.
std::string names_of(TableReader& reader, const toml::table& table) {
    const auto names = reader.text(table, {"name", "names"});
    const auto count = reader.number(table, "count");
    if (!count)
        return names;
    if (*count == 0) {
        reader.refuse(table.get("count")->source(), "'count' = 0 of nothing");
        return names;
    }
    if (!names.empty() && (names.contains("..") || letters_of(names) != names)) {
        reader.refuse(table.get("count")->source(),
                      fmt::format("'{}' has its numbers already: write a name without them, or no count", names));
        return names;
    }
    if (!names.empty())
        return fmt::format("{}0..{}", names, *count - 1);
    if (static_cast<std::size_t>(*count) > letters) {
        reader.refuse(table.get("count")->source(),
                      fmt::format("{} hosts are more than letters: write a name, as in name = \"node\"", *count));
        return "A";
    }
    return fmt::format("A..{}", static_cast<char>('A' + *count - 1));
}

WrittenHosts read_hosts(TableReader& reader, const toml::table& table) {
    WrittenHosts hosts;
    hosts.where = reader.where(table.source());
    hosts.names = names_of(reader, table);
    if (hosts.names.empty() && table.get("count") == nullptr && table.get("name") == nullptr &&
        table.get("names") == nullptr)
        reader.refuse(table.source(), "hosts without a name: write name = \"A\", name = \"A..H\" or count = 8");
    hosts.settings = reader.settings(table, {"name", "names", "count", "parts"});
    read_list(reader, table.get("parts"), "parts",
              [&](const toml::node& node, const std::string& text, const toml::table* inner) {
                  WrittenPart part{.path = text, .where = reader.where(node.source())};
                  if (inner != nullptr) {
                      part.path = reader.text(*inner, {"path"});
                      part.kind = reader.text(*inner, {"kind"});
                      if (const auto slot = reader.number(*inner, "slot"))
                          part.slot = static_cast<unsigned>(std::min<std::int64_t>(*slot, 1 << 20));
                      part.settings = reader.settings(*inner, {"path", "kind", "slot"});
                      if (inner->get("path") == nullptr)
                          return reader.refuse(node.source(), "a part wants a path, as in path = \"root0.hca0\"");
                  }
                  hosts.parts.push_back(std::move(part));
              });
    return hosts;
}

void read_failures(TableReader& reader, const toml::node* node, std::vector<WrittenFailure>& into) {
    if (node == nullptr)
        return;
    const auto* list = node->as_array();
    if (list == nullptr || !list->is_array_of_tables())
        return reader.refuse(node->source(), "'failures' is a list of tables: write [[failures]]");
    for (const auto& item : *list) {
        const auto& table = *item.as_table();
        WrittenFailure failure{.cable = reader.text(table, {"cable"}),
                               .fabric_switch = reader.text(table, {"switch"}),
                               .where = reader.where(table.source())};
        for (const auto& [name, inner] : table) {
            const auto key = name.str();
            if (key == "cable" || key == "switch")
                continue;
            auto* time = key == "at" ? &failure.at : key == "until" ? &failure.until : nullptr;
            if (time == nullptr)
                reader.refuse(name.source(),
                              fmt::format("unknown key '{}' of a failure: it has cable or switch, at, and until", key));
            else if (*time = value_of(inner); !*time)
                reader.refuse(name.source(), fmt::format("'{}' wants a time such as \"50 us\"", key));
        }
        into.push_back(std::move(failure));
    }
}

/// "A.hca0 -- leaf0", also where the ends are a list.
std::string ends_of(TableReader& reader, const toml::table& table) {
    const auto* list = table.get_as<toml::array>("ends");
    if (list == nullptr)
        return reader.text(table, {"ends"});
    std::string text;
    for (const auto& end : *list)
        text += (text.empty() ? "" : " -- ") + end.value_or(std::string{});
    return text;
}

} // namespace

std::optional<Value> value_of(const toml::node& node) {
    if (const auto value = node.value_exact<bool>())
        return *value;
    if (const auto value = node.value_exact<std::int64_t>())
        return *value;
    if (const auto value = node.value_exact<double>())
        return *value;
    if (const auto value = node.value_exact<std::string>())
        return *value;
    return std::nullopt;
}

void take_written(Config& config, const toml::table& root, std::vector<Fault>& faults) {
    TableReader reader(config, faults);
    if (const auto* hosts = root.get("hosts")) {
        const auto* list = hosts->as_array();
        if (list == nullptr || !list->is_array_of_tables())
            reader.refuse(hosts->source(), "'hosts' is a list of tables: write [[hosts]]");
        else
            for (const auto& one : *list)
                config.written.hosts.push_back(read_hosts(reader, *one.as_table()));
    }
    read_failures(reader, root.get("failures"), config.written.failures);
    const auto* fabric = root.get_as<toml::table>("fabric");
    if (fabric == nullptr)
        return;
    // Tables of switches that it names may come before it is read as a key.
    if (const auto topology = fabric->get_as<std::string>("topology"))
        config.fabric.topology = topology->get();
    read_list(reader, fabric->get("switches"), "switches",
              [&](const toml::node& node, const std::string& text, const toml::table* table) {
                  WrittenSwitches group{.names = text, .where = reader.where(node.source())};
                  if (table != nullptr) {
                      group.names = names_of(reader, *table);
                      group.settings = reader.settings(*table, {"name", "names", "count"});
                  }
                  config.written.switches.push_back(std::move(group));
              });
    read_list(reader, fabric->get("cables"), "cables",
              [&](const toml::node& node, const std::string& text, const toml::table* table) {
                  WrittenCables line{.ends = text, .where = reader.where(node.source())};
                  if (table != nullptr) {
                      line.ends = ends_of(reader, *table);
                      line.names = reader.text(*table, {"name", "names"});
                      line.settings = reader.settings(*table, {"ends", "name", "names"});
                  }
                  config.written.cables.push_back(std::move(line));
              });
}

bool is_written(std::string_view path) {
    constexpr std::array<std::string_view, 4> paths{"hosts", "failures", "fabric.switches", "fabric.cables"};
    return std::ranges::find(paths, path) != paths.end();
}

bool is_thing(const Config& config, std::string_view name) {
    const auto written = config.is_pair() ? written_pair(config) : config.written;
    const auto is_in = [&](const std::string& names) {
        const auto all = expand_name(names);
        return all && std::ranges::any_of(*all, [&](const auto& one) { return is_same_name(one, name); });
    };
    const auto is_made = [&](const std::string& one) { return is_same_name(one, name); };
    const auto topology = Topology::read(config.fabric.topology, most_switch_ports());
    if (topology && std::ranges::any_of(topology->switch_names(), is_made))
        return true;
    return std::ranges::any_of(written.hosts, is_in, &WrittenHosts::names) ||
           std::ranges::any_of(written.switches, is_in, &WrittenSwitches::names) ||
           std::ranges::any_of(written.cables, is_in, &WrittenCables::names) || letters_of(name) == "cable";
}

std::string which_hosts_there_are(const Config& config) {
    constexpr std::size_t most = 8, most_one_by_one = 4;
    std::vector<std::string> names;
    for (const auto& host : config.is_pair() ? written_pair(config).hosts : config.written.hosts)
        if (const auto each = expand_name(host.names); each && each->size() <= most_one_by_one)
            names.insert(names.end(), each->begin(), each->end());
        else
            names.push_back(host.names);
    if (names.empty())
        return "is none";
    std::string text = names.size() == 1 ? "is " : "are ";
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
    return names.size() > most ? fmt::format("{} and {} others", text, names.size() - most) : text;
}

void take_exceptions(Config& config, const toml::node& node, const std::string& path, const toml::source_region& source,
                     std::vector<Fault>& faults) {
    TableReader(config, faults).collect(node, path, source, config.exceptions);
}

} // namespace platform::topology
