#include "testbench/study/check_study.h"

#include "platform/topology/keys.h"
#include "platform/topology/read.h"
#include "testbench/study/design.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace study {
namespace {

template <class List> std::string names_of(const List& list) {
    std::vector<std::string> names;
    for (const auto& one : list)
        if constexpr (requires { one.name; })
            names.push_back("'" + one.name + "'");
        else
            names.push_back("'" + one.key + "'");
    return fmt::format("{}", fmt::join(names, ", "));
}

void check_names(const Study& study, Faults& faults) {
    std::set<std::string_view> seen;
    for (const auto& axis : study.axes)
        if (!seen.insert(axis.key).second)
            faults.note(line_of(axis.where), fmt::format("there are two axes '{}'", axis.key));
    seen.clear();
    for (const auto& metric : study.metrics)
        if (!seen.insert(metric.name).second)
            faults.note(line_of(metric.where), fmt::format("there are two metrics '{}'", metric.name));
    for (const auto& [key, value] : study.set)
        if (study.axis(key) != nullptr)
            faults.note(line_of(study.axis(key)->where), fmt::format("'{}' is an axis, and has a value in [set]", key));
    for (const auto& key : study.seed_keys)
        if (study.axis(key) != nullptr)
            faults.note(line_of(study.axis(key)->where), fmt::format("'{}' is an axis, and a seed", key));
    for (const auto& name : study.objectives)
        if (study.metric(name) == nullptr)
            faults.note(1, fmt::format("objective '{}' is no metric; there are {}", name, names_of(study.metrics)));
}

bool is_of_an_axis(const Study& study, const Setting& one) {
    const auto* axis = study.axis(one.key);
    return axis != nullptr &&
           std::ranges::any_of(axis->values, [&](const auto& value) { return is_same(*axis, value, one.value); });
}

void check_refinement(const Study& study, Faults& faults) {
    const auto& more = study.refinement;
    if (more.way == Refinement::Way::none)
        return;
    const auto note = [&](std::string text) { faults.note(line_of(more.where), std::move(text)); };
    if (study.metric(more.metric) == nullptr)
        note(fmt::format("'{}' is no metric; there are {}", more.metric, names_of(study.metrics)));
    if (more.way == Refinement::Way::halving) {
        if (study.axis(more.budget) != nullptr)
            note(fmt::format("the budget '{}' is an axis", more.budget));
        return;
    }
    const auto* along = study.axis(more.along);
    if (along == nullptr)
        note(fmt::format("'{}' is no axis; there are {}", more.along, names_of(study.axes)));
    else if (!along->is_number())
        note(fmt::format("between the values of '{}' there are none: a knee is along an axis of numbers", more.along));
    else if (along->values.size() < 2)
        note(fmt::format("'{}' has one value, and a knee is between two", more.along));
    if (study.design == Design::latin_hypercube)
        note("points that are drawn are on no line along an axis: a knee wants a grid");
    if (study.expected)
        for (const auto& one : study.expected->at)
            if (!is_of_an_axis(study, one))
                note(fmt::format("expected at {}={}, which is no value of an axis", one.key, one.value));
}

/// Each names one place.
void check_published(const Study& study, Faults& faults) {
    for (const auto& one : study.published) {
        const auto note = [&](std::string text) { faults.note(line_of(one.where), std::move(text)); };
        if (study.metric(one.metric) == nullptr)
            note(fmt::format("'{}' is no metric; there are {}", one.metric, names_of(study.metrics)));
        for (const auto* settings : {&one.at, &one.over})
            for (const auto& each : *settings)
                if (!is_of_an_axis(study, each))
                    note(fmt::format("expected at {}={}, which is no value of an axis", each.key, each.value));
        for (const auto& axis : study.axes)
            if (axis.values.size() > 1 && std::ranges::find(one.at, axis.key, &Setting::key) == one.at.end())
                note(fmt::format("'at' has no value of '{}': what is expected is of one place", axis.key));
        for (const auto& each : one.over)
            if (std::ranges::find(one.at, each.key, &Setting::key) == one.at.end())
                note(fmt::format("'over' has '{}', and 'at' has not", each.key));
    }
}

/// Two constraints of the same thing are one, whose bounds are the nearer ones.
void check_constraints(const Study& study, Faults& faults) {
    for (std::size_t i = 0; i < study.constraints.size(); ++i) {
        const auto& one = study.constraints[i];
        const auto note = [&](std::string text) { faults.note(line_of(one.where), std::move(text)); };
        if (!one.metric.empty() && study.metric(one.metric) == nullptr)
            note(fmt::format("'{}' is no metric; there are {}", one.metric, names_of(study.metrics)));
        for (const auto& key : one.keys)
            if (study.axis(key) == nullptr)
                note(fmt::format("'{}' is no axis; there are {}", key, names_of(study.axes)));
            else if (!study.axis(key)->is_number())
                note(fmt::format("'{}' has words for values, which have no product", key));
        for (std::size_t j = 0; j <= i; ++j) {
            const auto& other = study.constraints[j];
            if (other.metric != one.metric || other.keys != one.keys)
                continue;
            const auto least = std::max(one.at_least.value_or(-HUGE_VAL), other.at_least.value_or(-HUGE_VAL));
            const auto most = std::min(one.at_most.value_or(HUGE_VAL), other.at_most.value_or(HUGE_VAL));
            if (least > most) {
                note(j == i ? fmt::format("contradicts itself: at least {} and at most {}", least, most)
                            : fmt::format("contradicts that of line {}: at least {} and at most {}",
                                          line_of(other.where), least, most));
                break;
            }
        }
    }
}

} // namespace

void check(const Study& study, Faults& faults) {
    check_names(study, faults);
    check_refinement(study, faults);
    check_published(study, faults);
    check_constraints(study, faults);
    if (!faults.found.empty())
        return;
    const auto points = count_of_design(study);
    if (points > static_cast<double>(study.stop.points))
        faults.note(1, fmt::format("the design has {:.0f} points, at most {} may be: fewer values, another design, or "
                                   "points of [stop]",
                                   points, study.stop.points));
    else if (first_round(study).empty())
        faults.note(line_of(study.constraints.front().where), "no point of the design satisfies the constraints");
}

std::expected<platform::topology::Config, std::string> check_base(const Study& study, Faults& faults) {
    std::vector<std::string> set;
    for (const auto& [key, value] : study.set)
        set.push_back(fmt::format("{}={}", key, value));
    auto base = platform::topology::read_config(study.base, set);
    if (!base)
        return base;
    const auto attempt = [&](const std::string& key, const std::string& value) {
        auto overrides = set;
        overrides.push_back(fmt::format("{}={}", key, value));
        auto tried = platform::topology::read_config(study.base, overrides);
        return tried ? std::string() : tried.error().substr(0, tried.error().find('\n'));
    };
    const auto is_taken = [&](const Settings& settings) {
        std::vector<std::string> overrides;
        for (const auto& [key, value] : settings)
            overrides.push_back(fmt::format("{}={}", key, value));
        return platform::topology::read_config(study.base, overrides).has_value();
    };
    const auto note = [&](std::uint32_t line, const std::string& why) {
        if (!why.empty())
            faults.note(line, why);
    };
    for (const auto& axis : study.axes)
        for (const auto& value : axis.values) {
            const auto why = attempt(axis.key, value);
            if (why.empty())
                continue;
            const bool is_key = platform::topology::find_key(axis.key) != nullptr;
            if (is_key && may_be_at_some_point(study, axis, value, is_taken))
                continue;
            note(line_of(axis.where), why);
            if (!is_key) // of a key that there is none of each value says the same
                break;
        }
    for (const auto& key : study.seed_keys)
        note(1, attempt(key, fmt::to_string(study.seed)));
    if (const auto& more = study.refinement; !more.budget.empty())
        note(line_of(more.where), attempt(more.budget, fmt::format("{:.0f}", more.budget_from)));
    return base;
}

bool may_be_at_some_point(const Study& study, const Axis& axis, const std::string& value,
                          const std::function<bool(const Settings&)>& is_taken) {
    constexpr std::size_t most_tried = 200;
    std::size_t tried = 0;
    for (const auto& settings : first_round(study)) {
        const auto own = std::ranges::find(settings, axis.key, &Setting::key);
        if (own == settings.end() || own->value != value)
            continue;
        if (++tried > most_tried || is_taken(all_settings(study, Point{.settings = settings})))
            return true;
    }
    return tried == 0;
}

} // namespace study
