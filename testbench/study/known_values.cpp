#include "testbench/study/known_values.h"

#include "platform/observe/event.h"
#include "platform/topology/names.h"
#include "testbench/study/page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace study {
namespace {

using Schema = nlohmann::json;

/// A name in its parts: "transfers[WRITE A -> B].bytes", "events.DmaRead", "sim_time_ns".
struct Parts {
    std::string_view group{}, thing{}, field{};
    bool has_thing = false;
};

Parts parts_of(std::string_view value) {
    const auto opens = value.find('['), closes = value.rfind("].");
    if (opens != value.npos && closes != value.npos && opens < closes)
        return {value.substr(0, opens), value.substr(opens + 1, closes - opens - 1), value.substr(closes + 2), true};
    const auto dot = value.find('.');
    if (dot != value.npos)
        return {.group = value.substr(0, dot), .field = value.substr(dot + 1)};
    return {.field = value};
}

bool is_number(const Schema& member) {
    const auto type = member.find("type");
    if (type == member.end())
        return false;
    const auto is_one = [](const Schema& name) { return name == "number" || name == "integer"; };
    return type->is_array() ? std::ranges::any_of(*type, is_one) : is_one(*type);
}

/// The members of the things of a list; null: it is none.
const Schema* members_of(const Schema& group) {
    const auto items = group.find("items");
    return items == group.end() ? nullptr : &items->at("properties");
}

/// What the things of a list are all called ("all"); empty: each has a name of its own.
std::string only_name(const Schema& members) {
    const auto name = members.find("name");
    if (name == members.end() || !name->contains("pattern"))
        return {};
    const auto pattern = name->at("pattern").get<std::string>(); // "^all$"
    const auto inner = pattern.size() < 2 ? std::string() : pattern.substr(1, pattern.size() - 2);
    return std::ranges::all_of(inner, [](char letter) { return letter >= 'a' && letter <= 'z'; }) ? inner : "";
}

/// Every number that results can have. Things are called as `written` has it, where any name will do.
std::vector<std::string> known_names(const Schema& properties, const Parts& written) {
    std::vector<std::string> names;
    for (const auto& [group, content] : properties.items()) {
        if (is_number(content))
            names.push_back(group);
        const auto* members = members_of(content);
        if (members == nullptr || !(members->contains("name") || members->contains("card")))
            continue; // such as the marks of events, which are no values
        const auto only = only_name(*members);
        const auto thing = !only.empty() ? only : written.has_thing ? std::string(written.thing) : "NAME";
        for (const auto& [field, member] : members->items())
            if (is_number(member))
                names.push_back(fmt::format("{}[{}].{}", group, thing, field));
    }
    for (const auto event : platform::observe::event_names)
        names.push_back(fmt::format("events.{}", event));
    return names;
}

} // namespace

std::optional<std::string> why_unknown(std::string_view value) {
    static const auto schema = Schema::parse(page_part("result.schema.json"));
    const auto& properties = schema.at("properties");
    const auto written = parts_of(value);
    // Names of keys and of reasons are many, and made where they are counted.
    if (!written.has_thing && (written.group == "configuration" || written.group == "reasons"))
        return {};
    const auto names = known_names(properties, written);
    if (std::ranges::find(names, value) != names.end())
        return {};
    return fmt::format("no result has a number '{}'{}", value, platform::topology::did_you_mean(value, names));
}

void check_metrics(const Study& study, Faults& faults) {
    for (const auto& metric : study.metrics)
        for (const auto* value : {&metric.value, &metric.per})
            if (!value->empty())
                if (auto why = why_unknown(*value))
                    faults.note(line_of(metric.where), std::move(*why));
}

} // namespace study
