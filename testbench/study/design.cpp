#include "testbench/study/design.h"

#include "platform/topology/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace study {
namespace {

std::vector<Settings> grid(const Study& study) {
    std::vector<Settings> all{{}};
    for (const auto& axis : study.axes) {
        std::vector<Settings> longer;
        for (const auto& begun : all)
            for (const auto& value : axis.values) {
                longer.push_back(begun);
                longer.back().push_back({axis.key, value});
            }
        all = std::move(longer);
    }
    return all;
}

std::vector<Settings> one_at_a_time(const Study& study) {
    std::vector<Settings> all{{}};
    for (const auto& axis : study.axes)
        for (const auto& value : axis.values)
            all.push_back({{axis.key, value}});
    return all;
}

/// Below `end`, the same on every machine: what the library's distributions draw is not laid down.
std::uint64_t draw(std::mt19937_64& source, std::uint64_t end) { return source() % end; }

/// Each axis is cut into as many parts as there are points, and each part has one of them (McKay, Beckman and Conover,
/// Technometrics 21, 1979).
std::vector<Settings> latin_hypercube(const Study& study) {
    const auto count = study.drawn_points;
    std::mt19937_64 source(study.drawn_seed);
    std::vector<Settings> all(count);
    for (const auto& axis : study.axes) {
        std::vector<std::size_t> part(count);
        std::iota(part.begin(), part.end(), std::size_t{0});
        for (std::size_t i = count; i > 1; --i)
            std::swap(part[i - 1], part[draw(source, i)]);
        for (std::size_t i = 0; i < count; ++i) {
            constexpr double steps = 1 << 30;
            const auto inside = (static_cast<double>(draw(source, 1 << 30)) + 0.5) / steps;
            const auto share = (static_cast<double>(part[i]) + inside) / static_cast<double>(count);
            if (axis.spacing == Spacing::listed) {
                const auto at = static_cast<std::size_t>(share * static_cast<double>(axis.values.size()));
                all[i].push_back({axis.key, axis.values[std::min(at, axis.values.size() - 1)]});
                continue;
            }
            const auto number = axis.spacing == Spacing::linear ? axis.from + share * (axis.to - axis.from)
                                                                : axis.from * std::pow(axis.to / axis.from, share);
            all[i].push_back({axis.key, nearest_value(axis, number)});
        }
    }
    // Where an axis has few values two points may be the same one.
    std::vector<Settings> different;
    for (auto& one : all)
        if (std::ranges::find(different, one) == different.end())
            different.push_back(std::move(one));
    return different;
}

} // namespace

double count_of_design(const Study& study) {
    if (study.design == Design::latin_hypercube)
        return static_cast<double>(study.drawn_points) * study.repetitions;
    double count = 1;
    for (const auto& axis : study.axes)
        if (study.design == Design::grid)
            count *= static_cast<double>(axis.values.size());
        else
            count += static_cast<double>(axis.values.size());
    return count * study.repetitions;
}

bool is_allowed(const Study& study, const Settings& settings) {
    for (const auto& constraint : study.constraints) {
        if (!constraint.metric.empty())
            continue;
        double product = 1;
        bool is_complete = true;
        for (const auto& key : constraint.keys) {
            const auto set = std::ranges::find(settings, key, &Setting::key);
            is_complete &= set != settings.end();
            if (is_complete)
                product *= coordinate(*study.axis(key), set->value);
        }
        if (is_complete && !constraint.holds(product))
            return false;
    }
    return true;
}

std::optional<std::string> fault_of(const Study& study, const Settings& settings) {
    std::size_t axes = 0;
    for (auto one = settings.begin(); one != settings.end(); ++one) {
        const auto* axis = study.axis(one->key);
        if (axis == nullptr && one->key != study.refinement.budget)
            return fmt::format("'{}' is no axis of the study", one->key);
        if (std::ranges::find(settings.begin(), one, one->key, &Setting::key) != one)
            return fmt::format("'{}' is there twice", one->key);
        if (axis == nullptr)
            continue;
        ++axes;
        // Of numbers others than those of the design are between them, where it was refined.
        if (axis->is_number() ? !platform::topology::parse(axis->kind, one->value).has_value()
                              : std::ranges::find(axis->values, one->value) == axis->values.end())
            return fmt::format("'{}' is no value of '{}'", one->value, one->key);
    }
    if (study.design == Design::one_at_a_time ? axes > 1 : axes != study.axes.size())
        return fmt::format("it has values of {} axes, and the study has {}", axes, study.axes.size());
    return std::nullopt;
}

std::vector<Settings> first_round(const Study& study) {
    auto all = study.design == Design::grid            ? grid(study)
               : study.design == Design::one_at_a_time ? one_at_a_time(study)
                                                       : latin_hypercube(study);
    std::erase_if(all, [&](const Settings& one) { return !is_allowed(study, one); });
    return all;
}

} // namespace study
