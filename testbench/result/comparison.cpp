#include "testbench/result/comparison.h"

#include "platform/topology/names.h"
#include "testbench/program/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace hcasim {
namespace {

bool are_equal(const json::Scalar& before, const json::Scalar& after) {
    if (before.index() == after.index())
        return before == after;
    const auto one = number_of(before), other = number_of(after);
    return one && other && *one == *other; // 2 and 2.0
}

Likeness judge(const std::optional<json::Scalar>& before, const std::optional<json::Scalar>& after,
               const ValuePlace& place, std::span<const Tolerance> tolerances) {
    if (before && after && are_equal(*before, *after))
        return Likeness::equal;
    const auto* tolerance = closest(tolerances, place);
    if (tolerance == nullptr)
        return is_of_machine(place.field) ? Likeness::within : Likeness::different;
    if (tolerance->kind == Tolerance::Kind::any)
        return Likeness::within;
    const auto one = before ? number_of(*before) : std::nullopt, other = after ? number_of(*after) : std::nullopt;
    return one && other && is_within(*tolerance, *one, *other) ? Likeness::within : Likeness::different;
}

/// By name; of values that are called alike there is one, since the file has no name twice.
std::map<std::string_view, const ResultValue*> by_name(const Thing* thing) {
    std::map<std::string_view, const ResultValue*> found;
    if (thing != nullptr)
        for (const auto& value : thing->values)
            found.emplace(value.name, &value);
    return found;
}

using ThingName = std::pair<std::string_view, std::string_view>;
std::map<ThingName, const Thing*> by_name(const ResultFile& result) {
    std::map<ThingName, const Thing*> found;
    for (const auto& thing : result.things)
        found.emplace(ThingName(thing.group, thing.name), &thing);
    return found;
}

template <class Map, class Key> typename Map::mapped_type find(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
}

/// Either may be missing.
ThingChange compare_things(const Thing* before, const Thing* after, std::span<const Tolerance> tolerances) {
    const auto& named = before != nullptr ? *before : *after;
    ThingChange change{.group = named.group, .name = named.name, .values = {}};
    const auto add = [&](const std::string& name, const ResultValue* one, const ResultValue* other) {
        ValueChange value{.name = name, .before = {}, .after = {}};
        if (one != nullptr)
            value.before = one->value;
        if (other != nullptr)
            value.after = other->value;
        if (counts_absent_as_zero(named.group)) {
            value.before = value.before.value_or(std::uint64_t{0});
            value.after = value.after.value_or(std::uint64_t{0});
        }
        // A baseline has no values of the machine, and need not have them.
        if (is_of_machine(name) && (one == nullptr || other == nullptr))
            return;
        value.verdict = judge(value.before, value.after, {named.group, named.name, name}, tolerances);
        change.verdict = std::max(change.verdict, value.verdict);
        change.values.push_back(std::move(value));
    };
    const auto first = by_name(before), second = by_name(after);
    if (after != nullptr)
        for (const auto& value : after->values)
            add(value.name, find(first, value.name), &value);
    if (before != nullptr)
        for (const auto& value : before->values)
            if (!second.contains(value.name))
                add(value.name, &value, nullptr);
    return change;
}

std::optional<Parting> parting_of(const ResultFile& before, const ResultFile& after) {
    const auto digest = [](const ResultFile& result) {
        const auto* value = find(by_name(result.things.empty() ? nullptr : &result.things.front()), "event_digest");
        return value == nullptr ? json::Scalar() : value->value;
    };
    if (before.marks.empty() || after.marks.empty() || digest(before) == digest(after))
        return {};
    Parting parting;
    for (const auto& mark : before.marks) {
        const auto other = std::ranges::lower_bound(after.marks, mark.events, {}, &EventMark::events);
        if (other == after.marks.end())
            break;
        if (other->events != mark.events)
            continue;
        if (other->digest != mark.digest) {
            parting.not_same = mark;
            break;
        }
        parting.same = mark;
    }
    return parting;
}

} // namespace

RunComparison compare(const ResultFile& before, const ResultFile& after, std::span<const Tolerance> tolerances) {
    RunComparison comparison{.name = after.name,
                             .scenario = before.scenario,
                             .before_file = before.file,
                             .after_file = after.file,
                             .things = {},
                             .parting = parting_of(before, after),
                             .why_not = {}};
    const auto first = by_name(before), second = by_name(after);
    for (const auto& thing : after.things)
        comparison.things.push_back(
            compare_things(find(first, ThingName(thing.group, thing.name)), &thing, tolerances));
    for (const auto& thing : before.things)
        if (!second.contains(ThingName(thing.group, thing.name)))
            comparison.things.push_back(compare_things(&thing, nullptr, tolerances));
    for (const auto& thing : comparison.things)
        comparison.differences +=
            static_cast<std::size_t>(std::ranges::count(thing.values, Likeness::different, &ValueChange::verdict));
    return comparison;
}

std::expected<void, std::string> all_apply(std::span<const Tolerance> tolerances,
                                           std::span<const ResultFile* const> results) {
    const auto applies = [&](const Tolerance& tolerance) {
        return std::ranges::any_of(results, [&](const ResultFile* result) {
            return std::ranges::any_of(result->things, [&](const Thing& thing) {
                return std::ranges::any_of(thing.values, [&](const ResultValue& value) {
                    return closeness(tolerance, {thing.group, thing.name, value.name}) != 0;
                });
            });
        });
    };
    const auto idle = std::ranges::find_if_not(tolerances, applies);
    if (idle == tolerances.end())
        return {};
    std::set<std::string> known;
    for (const auto* result : results)
        for (const auto& thing : result->things) {
            known.insert(thing.group);
            for (const auto& value : thing.values)
                known.insert(value.name);
        }
    return std::unexpected(fmt::format("--tolerance {}: nothing that is compared is called so{}", idle->name,
                                       platform::topology::did_you_mean(idle->name, {known.begin(), known.end()})));
}

std::optional<double> number_of(const json::Scalar& value) {
    return std::visit(
        []<class T>(const T& plain) -> std::optional<double> {
            if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
                return static_cast<double>(plain);
            else
                return std::nullopt;
        },
        value);
}

std::string print(const json::Scalar& value) {
    return std::visit(
        []<class T>(const T& plain) -> std::string {
            if constexpr (std::is_same_v<T, std::nullptr_t>)
                return "-";
            else if constexpr (std::is_same_v<T, bool>)
                return plain ? "true" : "false";
            else if constexpr (std::is_same_v<T, std::uint64_t>)
                return print_count(plain);
            else if constexpr (std::is_same_v<T, std::string>)
                return fmt::format("\"{}\"", plain);
            else
                return fmt::to_string(plain);
        },
        value);
}

std::string_view direction_of(const ValueChange& change) {
    const auto worse = worse_of(change.name);
    if (worse == Worse::unknown || !change.before || !change.after || change.verdict == Likeness::equal)
        return "";
    const auto amount = [](const json::Scalar& value) -> std::optional<double> {
        const auto* truth = std::get_if<bool>(&value);
        return truth != nullptr ? std::optional(*truth ? 1.0 : 0.0) : number_of(value);
    };
    const auto before = amount(*change.before), after = amount(*change.after);
    if (!before || !after)
        return "";
    return (*after > *before) == (worse == Worse::more) ? "worse" : "better";
}

} // namespace hcasim
