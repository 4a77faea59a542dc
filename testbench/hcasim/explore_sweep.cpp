#include "testbench/hcasim/explore_sweep.h"

#include "platform/topology/description.h"
#include "platform/topology/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <utility>

namespace hcasim {
namespace {

using scenario::race::Setting;
using scenario::race::Subject;

std::string_view key_of(std::string_view override) { return override.substr(0, override.find('=')); }

/// Says otherwise about one of the setting's keys.
bool contradicts(std::span<const std::string> overrides, const Setting& setting) {
    return std::ranges::any_of(overrides, [&](const std::string& one) {
        return std::ranges::any_of(setting.keys,
                                   [&](std::string_view key) { return key_of(key) == key_of(one) && key != one; });
    });
}

Variant with(Variant variant, const Setting& setting, unsigned number) {
    variant.name.append(variant.name.empty() ? "" : ", ").append(setting.name);
    for (const auto key : setting.keys)
        if (!key.empty())
            variant.overrides.emplace_back(key);
    variant.settings.push_back(number);
    return variant;
}

/// A few of `all` that have each pair of settings of two axes: each time the one that has most of those still missing.
std::vector<Variant> cover_pairs(std::vector<Variant> all) {
    using Pair = std::array<std::size_t, 4>; // axis and setting, twice
    const auto pairs_of = [](const Variant& variant) {
        std::vector<Pair> pairs;
        for (std::size_t i = 0; i < variant.settings.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                pairs.push_back({i, variant.settings[i], j, variant.settings[j]});
        return pairs;
    };
    std::set<Pair> missing;
    for (const auto& variant : all)
        for (const auto& pair : pairs_of(variant))
            missing.insert(pair);
    std::vector<Variant> chosen;
    while (!missing.empty()) {
        const auto gain = [&](const Variant& variant) {
            return std::ranges::count_if(pairs_of(variant), [&](const Pair& pair) { return missing.contains(pair); });
        };
        const auto best = std::ranges::max_element(all, {}, gain);
        for (const auto& pair : pairs_of(*best))
            missing.erase(pair);
        chosen.push_back(std::move(*best));
        all.erase(best);
    }
    return chosen.empty() ? all : chosen;
}

std::vector<Variant> combine(const Subject& subject, std::span<const std::string> overrides) {
    std::vector<Variant> all(1);
    for (const auto& axis : subject.axes()) {
        std::vector<Variant> longer;
        for (const auto& variant : all)
            for (unsigned i = 0; i < axis.size(); ++i)
                if (!contradicts(overrides, axis[i]))
                    longer.push_back(with(variant, axis[i], i));
        if (!longer.empty())
            all = std::move(longer);
    }
    return all;
}

/// Turn by turn: no axis has a multiple of three settings behind it, so each meets each setting.
void share_memory(std::vector<Variant>& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i % 3 == 1) {
            all[i].name += ", two transfers";
            all[i].overrides.emplace_back("scenario.qps=2");
        } else if (i % 3 == 2) {
            all[i].name += ", two importers";
            all[i].importers = 2;
        }
}

} // namespace

std::vector<Variant> variants(const Subject& subject, Sweep sweep, std::span<const std::string> overrides,
                              unsigned importers) {
    auto all = sweep == Sweep::none ? std::vector<Variant>(1) : combine(subject, overrides);
    if (sweep == Sweep::pairs)
        all = cover_pairs(std::move(all));
    const bool is_said = importers != 0 || std::ranges::any_of(overrides, [](const std::string& one) {
                             return key_of(one) == "scenario.qps";
                         });
    if (!is_said && sweep != Sweep::none && subject.can_share())
        share_memory(all);
    for (auto& variant : all)
        variant.importers = importers != 0 ? importers : variant.importers;
    return all;
}

namespace {

/// Why an override cannot be meant: it is of a workload, and the explorer has transfers of its own.
std::string reason_against(std::span<const std::string> overrides) {
    constexpr std::array<std::string_view, 6> workloads{"scenario.name", "traffic.", "collective.",
                                                        "kv.",           "storage.", "checkpoint."};
    for (const auto& one : overrides)
        for (const auto workload : workloads)
            if (workload.back() == '.' ? key_of(one).starts_with(workload) : key_of(one) == workload)
                return fmt::format("--set {}: the explorer has transfers of its own, which no other workload's keys "
                                   "change; leave it out",
                                   one);
    return {};
}

} // namespace

std::expected<platform::topology::Config, std::string>
explored(const Subject& subject, const Variant& variant, std::span<const std::string> overrides, std::uint64_t bytes) {
    if (auto why = reason_against(overrides); !why.empty())
        return std::unexpected(std::move(why));
    auto keys = subject.keys(bytes);
    keys.emplace_back("observe.ownership=true");
    keys.insert(keys.end(), variant.overrides.begin(), variant.overrides.end());
    keys.insert(keys.end(), overrides.begin(), overrides.end());
    auto config = platform::topology::parse_config(subject.platform(), "--set", keys);
    if (config) {
        const auto platform = platform::topology::describe(*config).value(); // which parse_config has tried
        for (const auto& host : platform.hosts)
            if (host.is_served)
                return std::unexpected(fmt::format("host {} is served: its drivers are elsewhere, and the explorer has "
                                                   "its own; leave {}.served out",
                                                   host.name, host.name));
        config->link.quantum = {};
        config->link.horizon = std::chrono::nanoseconds{1};
    }
    return config;
}

} // namespace hcasim
