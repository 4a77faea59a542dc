// The table of keys as people and programs read it: text, JSON, and a configuration with all its values.
#include "platform/topology/keys.h"

#include "platform/observe/files/json.h"
#include "platform/topology/names.h"
#include "platform/topology/part_keys.h"

#include <fmt/format.h>

#include <cmath>

namespace platform::topology {
namespace {

std::string_view kind_in_json(Kind kind) {
    switch (kind) {
    case Kind::boolean: return "boolean";
    case Kind::integer: return "integer";
    case Kind::number: return "number";
    case Kind::text: return "text";
    case Kind::size: return "size_bytes";
    case Kind::time: return "time_ns";
    }
    return "";
}

/// Appends the head of the key's section to `text` when that is another section than `section`, and remembers it there.
/// Returns whether it did.
bool begin_section(std::string& text, std::string_view& section, const Key& key) {
    const auto dot = key.path.rfind('.');
    const auto of = dot == key.path.npos ? std::string_view{} : key.path.substr(0, dot);
    if (of == section)
        return false;
    text += fmt::format("\n[{}]\n", of);
    section = of;
    return true;
}

} // namespace

std::string print_keys() {
    static const Config defaults;
    std::string text;
    std::string_view section;
    for (const auto& key : keys()) {
        begin_section(text, section, key);
        const auto limits = print_limits(key);
        const auto value = print(key.kind, key.get(defaults));
        text += fmt::format("  {:<30} {}\n  {:<30} {}{}{}\n", key.path, key.help, "",
                            limits.empty() ? name_of(key.kind) : limits, value.empty() ? "" : "; default ", value);
    }
    return text + about_written() + print_device_keys();
}

std::string name_in_json(const Key& key) {
    const auto unit = key.kind == Kind::size ? std::string_view("bytes") : key.unit;
    return unit.empty() ? std::string(key.path) : fmt::format("{}_{}", key.path, unit);
}

std::string keys_as_json() {
    static const Config defaults;
    observe::files::JsonObject json(2);
    for (const auto& key : keys()) {
        const auto number = [&](std::string_view name, double value) {
            value = key.kind == Kind::time ? value / 1000 : value; // nanoseconds
            if (key.kind == Kind::number || value != std::floor(value))
                json.add(name, value);
            else
                json.add(name, static_cast<std::int64_t>(value));
        };
        json.begin(key.path).add("kind", kind_in_json(key.kind)).add("help", key.help);
        const auto value = key.get(defaults);
        if (const auto* whole = std::get_if<std::int64_t>(&value))
            number("default", static_cast<double>(*whole));
        else
            std::visit([&](const auto& plain) { json.add("default", plain); }, value);
        if (!key.limits.names.empty() || !key.limits.choices.empty()) {
            json.begin_list("choices");
            for (const auto name : key.limits.names)
                json.add_item(name);
            for (const auto choice : key.limits.choices)
                json.add_item(choice);
            json.end();
        } else if (key.kind != Kind::boolean && key.kind != Kind::text) {
            number("minimum", key.limits.minimum);
            number("maximum", key.limits.maximum);
            json.add("power_of_two", key.limits.is_power_of_two);
        }
        json.end();
    }
    json.end();
    return std::string(json.text()) + "\n";
}

std::string print_toml(const Config& config) {
    std::string text;
    std::string_view section;
    for (const auto& key : keys()) {
        if (begin_section(text, section, key) && section == "fabric")
            text += print_fabric(config.written);
        const auto value = key.get(config);
        const bool is_quoted = key.kind == Kind::text || key.kind == Kind::size || key.kind == Kind::time;
        fmt::memory_buffer shown;
        if (is_quoted) // the escapes of JSON are those of TOML, too
            observe::files::append_quoted(shown, print(key.kind, value));
        else
            shown.append(print(key.kind, value));
        text += fmt::format("{} = {}\n", last_word(key.path), std::string_view(shown.data(), shown.size()));
    }
    return text + print_hosts(config.written) + print_failures(config.written) + print_exceptions(config.exceptions);
}

std::vector<std::pair<std::string, std::string>> effective(const Config& config) {
    std::vector<std::pair<std::string, std::string>> all;
    all.reserve(keys().size());
    for (const auto& key : keys())
        all.emplace_back(key.path, print(key.kind, key.get(config)));
    if (auto text = print_fabric(config.written) + print_hosts(config.written) + print_failures(config.written);
        !text.empty())
        all.emplace_back("written", std::move(text));
    for (const auto& setting : config.exceptions)
        all.emplace_back(setting.path, print(setting.value));
    return all;
}

} // namespace platform::topology
