#include "testbench/study/utilisation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace study {
namespace {

using Json = nlohmann::json;

const Json& list_of(const Json& result, const char* name) {
    static const Json none = Json::array();
    const auto found = result.find(name);
    return found == result.end() || !found->is_array() ? none : *found;
}

double number_of(const Json& item, const char* name) {
    const auto found = item.find(name);
    return found == item.end() || !found->is_number() ? 0 : found->get<double>();
}

std::string text_of(const Json& item, const char* name) {
    const auto found = item.find(name);
    return found == item.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

std::optional<double> value_of(const Json& item, const char* name) {
    const auto found = item.find(name);
    return found == item.end() || !found->is_number() ? std::nullopt : std::optional(found->get<double>());
}

/// What held the measured time back, or of each transfer the busiest resource, weighted with the time that it took.
std::vector<Utilisation::Share> bottlenecks_of(const Json& result) {
    std::map<std::string, double> spent;
    double all = 0;
    for (const auto& one : list_of(result, "held_back")) {
        spent[text_of(one, "name")] += number_of(one, "time_ns");
        all += number_of(one, "time_ns");
    }
    for (const auto& transfer : list_of(result, "transfers")) {
        const auto name = text_of(transfer, "bottleneck");
        const auto time = number_of(transfer, "sim_time_ns");
        if (name.empty())
            continue;
        spent[name] += time;
        all += time;
    }
    std::vector<Utilisation::Share> shares;
    for (const auto& [name, time] : spent)
        if (all > 0)
            shares.push_back({name, time / all});
    std::ranges::stable_sort(shares, std::ranges::greater{}, &Utilisation::Share::share);
    return shares;
}

} // namespace

Utilisation utilisation_of(const std::string& text) {
    Utilisation found;
    if (text.empty())
        return found;
    const auto result = Json::parse(text);
    found.bottlenecks = bottlenecks_of(result);
    for (const auto& resource : list_of(result, "resources"))
        found.loads.push_back({.name = text_of(resource, "name"),
                               .part = text_of(resource, "device"),
                               .load = number_of(resource, "load")});
    const auto whole = number_of(result, "sim_time_ns");
    for (const auto& link : list_of(result, "pcie_links"))
        for (const auto* way : {"up", "down"})
            if (whole > 0)
                found.loads.push_back({.name = fmt::format("{} PCIe {}", text_of(link, "name"), way),
                                       .part = text_of(link, "name"),
                                       .load = number_of(link, fmt::format("busy_{}_ns", way).c_str()) / whole});
    for (const auto& part : list_of(result, "intervals"))
        found.intervals.push_back({.begin_ns = number_of(part, "begin_ns"),
                                   .end_ns = number_of(part, "end_ns"),
                                   .rate_bytes_per_second = number_of(part, "rate_bytes_per_second"),
                                   .p50_ns = value_of(part, "latency_p50_ns"),
                                   .p99_ns = value_of(part, "latency_p99_ns"),
                                   .bottleneck = text_of(part, "bottleneck")});
    constexpr double ps_per_ns = 1000;
    for (const auto& mark : list_of(result, "event_marks"))
        found.events.emplace_back(number_of(mark, "time_ps") / ps_per_ns,
                                  static_cast<std::uint64_t>(number_of(mark, "events")));
    return found;
}

} // namespace study
