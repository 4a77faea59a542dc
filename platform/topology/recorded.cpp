#include "platform/topology/recorded.h"

#include "platform/topology/keys.h"
#include "platform/topology/read.h"
#include "platform/topology/read_written.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

namespace platform::topology {

std::string_view name(KeyDifference::Kind kind) {
    constexpr std::array<std::string_view, 3> names{"added", "removed", "changed"};
    return names[static_cast<std::size_t>(kind)];
}

namespace {

using Error = std::unexpected<std::string>;
using enum KeyDifference::Kind;

/// Tables whose keys say nothing about a device.
constexpr std::array<std::string_view, 7> others{"scenario.", "traffic.",    "collective.", "kv.",
                                                 "storage.",  "checkpoint.", "observe."};
bool is_of_a_device(std::string_view path) {
    return std::ranges::none_of(others, [&](std::string_view table) { return path.starts_with(table); });
}

/// A recorded configuration on its way to one of this program.
class Reconciliation {
public:
    Reconciliation(toml::table root, std::span<const std::string> overrides) : root_(std::move(root)) {
        for (const auto& text : overrides) {
            const auto equals = std::min(text.find('='), text.size());
            overrides_.push_back({text.substr(0, equals), text.substr(std::min(equals + 1, text.size())), text});
        }
        std::vector<Fault> faults; // which parse_config will say
        take_written(probe_, root_, faults);
    }

    /// Takes out of the table what this program cannot read, and notes the differences.
    void compare() {
        std::vector<std::string> gone;
        walk(root_, "", gone);
        for (const auto& path : gone)
            erase(path);
        is_as_recorded_ = gone.empty();
        for (const auto& key : keys())
            if (is_of_a_device(key.path) && root_.at_path(key.path).node() == nullptr && !is_taken(key.path))
                note({added, std::string(key.path), "", print(key.kind, key.get(Config{}))}, find(key.path));
    }

    const std::vector<KeyDifference>& unexplained() const { return unexplained_; }
    std::vector<KeyDifference> explained() && { return std::move(explained_); }
    /// As it was recorded, where all of it can be read: lines are named by their numbers.
    std::string text(std::string_view recorded) const {
        if (is_as_recorded_)
            return std::string(recorded);
        std::ostringstream out;
        out << root_;
        return out.str();
    }
    /// Those that set a key.
    std::vector<std::string> overrides() const {
        std::vector<std::string> texts;
        for (const auto& one : overrides_)
            if (!one.is_farewell)
                texts.push_back(one.text);
        return texts;
    }

private:
    struct Override {
        std::string path, value, text;
        bool is_farewell = false; ///< of a key that was removed
    };

    Override* find(std::string_view path) {
        const auto found = std::ranges::find(overrides_, path, &Override::path);
        return found == overrides_.end() ? nullptr : &*found;
    }
    bool is_taken(std::string_view path) const { return std::ranges::find(taken_, path) != taken_.end(); }
    void note(KeyDifference difference, const Override* said) {
        if (said != nullptr)
            difference.now = said->value;
        (said != nullptr ? explained_ : unexplained_).push_back(std::move(difference));
    }
    void erase(const std::string& path) {
        const auto dot = path.rfind('.');
        auto* table = dot == path.npos ? &root_ : root_.at_path(path.substr(0, dot)).as_table();
        if (table != nullptr)
            table->erase(dot == path.npos ? path : path.substr(dot + 1));
    }
    void walk(const toml::table& table, const std::string& prefix, std::vector<std::string>& gone) {
        for (const auto& [word, node] : table) {
            const auto path = prefix + std::string(word.str());
            if (is_written(path) || (prefix.empty() && node.is_table() && is_thing(probe_, path)))
                continue; // what parts there are, and their own keys
            const auto* key = find_key(path);
            if (const auto* inner = node.as_table(); inner != nullptr && key == nullptr)
                walk(*inner, path + ".", gone);
            else if (!is_of_a_device(path) && key == nullptr)
                gone.push_back(path);
            else
                compare(path, key, node, gone);
        }
    }
    void compare(const std::string& path, const Key* key, const toml::node& node, std::vector<std::string>& gone) {
        const auto value = value_of(node);
        const auto recorded = value ? topology::print(*value) : "a list or a date";
        auto* said = find(path);
        if (key == nullptr) {
            const bool is_farewell = said != nullptr && said->value.empty();
            note({removed, path, recorded, "there is no such key"}, is_farewell ? said : nullptr);
            if (is_farewell)
                said->is_farewell = true;
            gone.push_back(path);
            return;
        }
        const auto converted = value ? convert(key->kind, *value) : std::unexpected(std::string("is no value"));
        const auto allowed = converted ? check(*key, *converted) : std::unexpected(converted.error());
        if (!allowed) {
            if (is_of_a_device(path))
                note({changed, path, recorded, fmt::format("'{}' {}", path, allowed.error())}, said);
            taken_.push_back(path);
            gone.push_back(path);
        } else if (said != nullptr) {
            note({changed, path, topology::print(key->kind, *converted), ""}, said);
        }
    }

    toml::table root_;
    Config probe_;
    bool is_as_recorded_ = true;
    std::vector<Override> overrides_;
    std::vector<std::string> taken_; ///< keys that are there, with a value that is none here
    std::vector<KeyDifference> unexplained_, explained_;
};

std::string line_of(const KeyDifference& difference) {
    auto line = fmt::format("  {:<8} {}", name(difference.kind), difference.key);
    if (difference.kind == added)
        return line + fmt::format(": the recording does not have it; by default it is {} here", difference.now);
    return line + fmt::format(": recorded as {}; here: {}", difference.recorded, difference.now);
}

} // namespace

std::expected<RecordedConfig, std::string> read_recorded(std::string_view text, std::string_view name,
                                                         std::span<const std::string> overrides) {
    if (text.find_first_not_of(" \t\n") == text.npos)
        return Error(fmt::format("{}: has no configuration: what was recorded is no device of this program, or was "
                                 "recorded from outside",
                                 name));
    if (const auto line = too_deep(text); line != 0)
        return Error(fmt::format("{}: line {} of its configuration has a name of more than 256 words", name, line));
    std::optional<Reconciliation> both;
    try {
        both.emplace(toml::parse(text, name), overrides);
    } catch (const toml::parse_error& error) {
        return Error(fmt::format("{}: its configuration is not TOML: line {}: {}", name, error.source().begin.line,
                                 error.description()));
    }
    both->compare();
    if (!both->unexplained().empty()) {
        auto why = fmt::format("{}: its configuration is not one of this revision:", name);
        for (const auto& difference : both->unexplained())
            why += "\n" + line_of(difference);
        return Error(why + "\n  say of each what it is to be: --set KEY=VALUE; of one that was removed: --set KEY=");
    }
    auto config = parse_config(both->text(text), name, both->overrides());
    if (!config)
        return Error(config.error());
    return RecordedConfig{std::move(*config), std::move(*both).explained()};
}

} // namespace platform::topology
