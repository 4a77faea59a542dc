#include "platform/topology/description.h"

#include "platform/topology/builder.h"
#include "platform/topology/contradictions.h"
#include "platform/topology/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace platform::topology {
namespace {

/// The memory keys of the short form. In a description they mean its hosts of these names, if there are such.
constexpr std::array memory_keys{std::pair{std::string_view("A"), std::string_view("host.A.memory")},
                                 std::pair{std::string_view("B"), std::string_view("host.B.memory")}};

} // namespace

Written written_pair(const Config& config) {
    Written pair;
    pair.hosts.push_back({.names = "A..B", .parts = {{.path = "root.switch.hca"}, {.path = "root.switch.gpu"}}});
    if (!config.fabric.has_switch) {
        pair.cables.push_back({.ends = "A.hca -- B.hca", .names = "cable"});
        return pair;
    }
    pair.switches.push_back({.names = "switch"});
    pair.cables.push_back({.ends = "A.hca -- switch.1", .names = "cable"});
    pair.cables.push_back({.ends = "B.hca -- switch.2", .names = "cable_b"});
    return pair;
}

// --- names ----------------------------------------------------------------------------------------------------------

std::optional<std::size_t> Description::find_host(std::string_view name) const {
    for (std::size_t i = 0; i < hosts.size(); ++i)
        if (is_same_name(hosts[i].name, name))
            return i;
    return std::nullopt;
}

std::optional<PartAt> Description::find(std::string_view name) const {
    const auto words = split_path(name);
    const auto host = find_host(words.front());
    if (!host || words.size() < 2)
        return std::nullopt;
    const auto& parts = hosts[*host].parts;
    std::optional<std::size_t> found;
    for (const auto word : std::span(words).subspan(1)) {
        const auto next = std::ranges::find_if(parts, [&](const Part& part) { return is_same_name(part.name, word); });
        // With more words than the name, the path must be written in full from there on.
        if (next == parts.end() || (found && next->parent != found))
            return std::nullopt;
        found = static_cast<std::size_t>(next - parts.begin());
    }
    return PartAt{*host, *found};
}

std::string Description::name_of(const PartAt& at) const {
    return fmt::format("{}.{}", hosts[at.host].name, part(at).name);
}

std::string Description::path_of(const PartAt& at) const {
    return fmt::format("{}.{}", hosts[at.host].name, part(at).path);
}

std::string Description::name_of(const CableEnd& end) const {
    return end.is_switch ? fmt::format("{}.{}", switches[end.fabric_switch].name, end.port)
                         : name_of(PartAt{end.host, end.part});
}

// --- from a configuration -------------------------------------------------------------------------------------------

Builder::Builder(const Config& config)
    : config_(config), written_(config.is_pair() ? written_pair(config) : config.written) {
    written_.failures = config.written.failures;
    made_.is_pair = config.is_pair();
    made_.routing = config.fabric.routing;
    class_ = config;
    class_.written = {};
    class_.exceptions.clear();
    class_.given.clear();
    class_.hosts = {};
}

std::expected<Description, std::vector<Fault>> Builder::build() {
    if (written_.hosts.empty())
        add_fault(!written_.cables.empty()     ? written_.cables.front().where
                  : !written_.switches.empty() ? written_.switches.front().where
                                               : where_of("fabric.topology"),
                  "a fabric without hosts: write [[hosts]] with their names and parts");
    if (!made_.is_pair && config_.fabric.has_switch)
        add_fault(where_of("fabric.switch"),
                  "'fabric.switch' is of the short form: name the switches in fabric.switches");
    build_hosts();
    for (const auto& [letter, key] : memory_keys) {
        // A configuration that was printed has all keys, so a key with its default value is no mistake.
        const bool is_set = config_.hosts[letter[0] - 'A'].memory_bytes != HostConfig{}.memory_bytes;
        if (is_set && !made_.is_pair && faults_.empty() &&
            std::ranges::count(made_.hosts, letter, &DescribedHost::name) == 0)
            add_fault(where_of(key), fmt::format("'{}': there is no host '{}'; memory is a key of each host, as in "
                                                 "--set {}.memory",
                                                 key, letter, made_.hosts.empty() ? letter : made_.hosts[0].name));
    }
    if (!config_.fabric.topology.empty() && faults_.empty())
        write_topology();
    build_fabric();
    if (faults_.empty())
        describe_failures();
    if (faults_.empty()) // only when all names are right, so that one mistake is not reported twice
        take_exceptions();
    if (faults_.empty())
        apply_settings();
    if (!faults_.empty())
        return std::unexpected(std::move(faults_));
    return std::move(made_);
}

std::string Builder::where_of(std::string_view key) const {
    std::string where = config_.file;
    for (const auto& given : config_.given) // of several the last one counts
        if (given.path == key)
            where = given.where;
    return where;
}

bool Builder::take_name(const std::string& name, const std::string& where) {
    const auto [other, is_new] = taken_.emplace(is_same_name(name, letters_of(name)) ? letters_of(name) : name, where);
    if (!is_new)
        add_fault(where, fmt::format("two of one name, '{}': the other is at {}", name, other->second));
    const bool is_table = std::ranges::any_of(
        keys(), [&](const Key& key) { return key.path == name || key.path.starts_with(name + "."); });
    if (is_table)
        add_fault(where, fmt::format("'{}' cannot be a name: it begins keys of a configuration", name));
    return is_new && !is_table;
}

/// The thing that an exception names, and the key that is left.
std::optional<Builder::Named> Builder::resolve(const Setting& setting) {
    const auto words = split_path(setting.path);
    const auto rest_from = [&](std::size_t i) {
        std::string rest;
        for (; i < words.size(); ++i)
            rest.append(rest.empty() ? "" : ".").append(words[i]);
        return rest;
    };
    for (std::size_t i = 0; i < made_.cables.size(); ++i)
        if (is_same_name(made_.cables[i].name, words.front()))
            return Named{&cable_settings_[i], rest_from(1)};
    for (std::size_t i = 0; i < made_.switches.size(); ++i)
        if (is_same_name(made_.switches[i].name, words.front()))
            return Named{&switch_settings_[i], rest_from(1)};
    const auto host = made_.find_host(words.front());
    if (!host) {
        add_fault(setting.where,
                  fmt::format("unknown key '{}': nothing has the name '{}'", setting.path, words.front()));
        return std::nullopt;
    }
    std::string name(words.front());
    std::optional<PartAt> found;
    std::size_t i = 1;
    for (; i < words.size(); ++i) {
        const auto next = made_.find(name + "." + std::string(words[i]));
        if (!next)
            break;
        name += "." + std::string(words[i]);
        found = next;
    }
    if (found)
        return Named{&part_settings_[found->host][found->part], rest_from(i)};
    if (words.size() > 2 && find_part_key(Thing::host, rest_from(1)) == nullptr && words[1] != "iommu") {
        add_fault(setting.where, fmt::format("'{}': {}", setting.path, no_such_part(*host, words[1])));
        return std::nullopt;
    }
    return Named{&host_settings_[*host], rest_from(1)};
}

std::string Builder::no_such_part(std::size_t host, std::string_view name) const {
    std::vector<std::string> known;
    std::string list;
    for (const auto& part : made_.hosts[host].parts) {
        known.push_back(part.name);
        list += " " + part.name;
    }
    const auto meant = did_you_mean(name, known);
    return fmt::format("host {} has no part '{}'{}", made_.hosts[host].name, name,
                       meant.empty() ? fmt::format("; its parts are{}", list) : meant);
}

void Builder::take_exceptions() {
    for (const auto& setting : config_.exceptions)
        if (auto named = resolve(setting); named && named->key.empty())
            add_fault(setting.where,
                      fmt::format("'{}' has keys and is none itself: write as in {}.KEY", setting.path, setting.path));
        else if (named)
            named->settings->push_back({std::move(named->key), setting.value, setting.where});
}

/// The class of a part with the keys of the part itself.
Config Builder::with(const std::vector<Setting>& settings, Thing thing, const Config& start) {
    auto config = start;
    for (const auto& setting : settings)
        if (const auto done = set_part_key(config, thing, setting.path, setting.value); !done)
            add_fault(setting.where, done.error());
    if (!settings.empty() && faults_.empty())
        for (const auto& fault : contradictions(config)) {
            // Whoever set one of the keys that the fault names can mend it; the last one who did.
            const auto culprit = std::find_if(settings.rbegin(), settings.rend(), [&](const Setting& setting) {
                return fault.contains(setting.path + "'");
            });
            add_fault(culprit == settings.rend() ? settings.back().where : culprit->where, fault);
        }
    return config;
}

/// Gives everything the values of its keys.
void Builder::apply_settings() {
    for (std::size_t h = 0; h < made_.hosts.size(); ++h) {
        configure_host(h);
        for (std::size_t p = 0; p < made_.hosts[h].parts.size(); ++p)
            configure_part(made_.hosts[h].parts[p], part_settings_[h][p]);
    }
    configure_fabric();
}

void Builder::configure_host(std::size_t number) {
    auto& host = made_.hosts[number];
    auto start = class_;
    if (made_.is_pair)
        start.hosts[0] = config_.hosts[number];
    for (const auto& [letter, key] : memory_keys)
        if (!made_.is_pair && host.name == letter &&
            std::ranges::find(config_.given, key, &GivenKey::path) != config_.given.end())
            start.hosts[0].memory_bytes = config_.hosts[letter[0] - 'A'].memory_bytes;
    const auto config = with(host_settings_[number], Thing::host, start);
    host.memory = config.hosts[0];
    host.is_served = config.hosts[0].is_served;
    host.peers = config.peers;
    host.bar_access = config.bar_access;
    host.software = config.software;
    host.cache = config.cache;
    host.iommu = config.iommu;
}

void Builder::configure_part(Part& part, const std::vector<Setting>& settings) {
    auto of_class = settings;
    if (auto* device = std::get_if<card::DeviceConfig>(&part.device)) {
        device->set_timed(config_.timed);
        std::erase_if(of_class, [](const Setting& setting) { return !setting.path.starts_with("pcie."); });
        for (const auto& setting : settings)
            if (!setting.path.starts_with("pcie."))
                if (const auto done = set_device_key(*device, setting.path, setting.value); !done)
                    add_fault(setting.where, done.error());
    }
    const auto config = with(of_class, thing_of(part.kind), class_);
    part.link = part.is_card()                       ? config.device_link
                : part.kind == PartKind::pcie_switch ? config.upstream_link
                                                     : PcieLinkConfig{};
    if (part.kind == PartKind::gpu)
        part.device = config.gpu;
    if (part.kind != PartKind::hca)
        return;
    auto& hca = std::get<HcaPart>(part.device);
    hca.model = config.hca_model;
    hca.core = config.hca;
    hca.simple = config.simple;
    if (hca.model == HcaModel::connectx) // no other one has a TLB of its own
        hca.ats = config.hca_ats;
    hca.core.node_guid = config_.hca.node_guid + hca.number;
    hca.core.lid = static_cast<std::uint16_t>(config_.hca.lid + hca.number);
}

Thing Builder::thing_of(PartKind kind) {
    switch (kind) {
    case PartKind::root_port: return Thing::root_port;
    case PartKind::pcie_switch: return Thing::pcie_switch;
    case PartKind::hca: return Thing::hca;
    case PartKind::gpu: return Thing::gpu;
    case PartKind::device: return Thing::device;
    }
    return Thing::root_port;
}

std::expected<Description, std::vector<Fault>> describe(const Config& config) { return Builder(config).build(); }

} // namespace platform::topology
