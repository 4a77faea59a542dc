#include "testbench/study/page.h"

#include "testbench/study/answer.h"
#include "testbench/study/cells.h"
#include "testbench/study/effects.h"
#include "testbench/study/knee.h"
#include "testbench/study/measure.h"
#include "testbench/study/pareto.h"
#include "testbench/study/utilisation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace study {
namespace {

using Json = nlohmann::ordered_json;

Json as_json(const Settings& settings) {
    auto json = Json::object();
    for (const auto& [key, value] : settings)
        json[key] = value;
    return json;
}

Json as_json(const Summary& one) {
    return {{"mean", one.mean},   {"half", one.half_width}, {"deviation", one.deviation},
            {"count", one.count}, {"least", one.least},     {"most", one.most}};
}

Json axes_of(const Study& study) {
    auto all = Json::array();
    for (const auto& axis : study.axes)
        all.push_back({{"key", axis.key},
                       {"number", axis.is_number()},
                       {"log", axis.is_number() && axis.spacing != Spacing::linear},
                       {"unit", axis.kind == platform::topology::Kind::time   ? "time"
                                : axis.kind == platform::topology::Kind::size ? "size"
                                                                              : ""},
                       {"values", axis.values}});
    return all;
}

Json metrics_of(const Study& study) {
    auto all = Json::array();
    for (const auto& metric : study.metrics)
        all.push_back({{"name", metric.name},
                       {"unit", metric.unit},
                       {"value", metric.value},
                       {"plot", metric.plot},
                       {"more", metric.is_more_better}});
    return all;
}

/// As a shell takes it.
std::string quoted(const std::string& word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/=:,+@%";
    if (!word.empty() && word.find_first_not_of(plain) == word.npos)
        return word;
    std::string text = "'";
    for (const auto c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string command(const Study& study, const Point& point) {
    std::string text;
    for (const auto& word : command_of(study, point, "hcasim"))
        text += (text.empty() ? "" : " ") + quoted(word);
    return text;
}

Json point_of(const Study& study, const Outcome& one) {
    const auto used = utilisation_of(one.result);
    auto loads = Json::array(), bottlenecks = Json::array(), events = Json::array(), intervals = Json::array();
    const auto or_null = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
    for (const auto& part : used.intervals)
        intervals.push_back({part.begin_ns, part.end_ns, part.rate_bytes_per_second, or_null(part.p50_ns),
                             or_null(part.p99_ns), part.bottleneck});
    for (const auto& load : used.loads)
        loads.push_back({load.name, load.part, load.load});
    for (const auto& share : used.bottlenecks)
        bottlenecks.push_back({share.name, share.share});
    for (const auto& [time, count] : used.events)
        events.push_back({time, count});
    auto metrics = Json::object();
    for (const auto& [name, value] : one.metrics)
        metrics[name] = value;
    return {{"number", one.point.number},
            {"round", one.point.round},
            {"repetition", one.point.repetition},
            {"seed", study.seed + one.point.repetition},
            {"settings", as_json(one.point.settings)},
            {"all", as_json(all_settings(study, one.point))},
            {"status", to_string(one.status)},
            {"reason", one.reason},
            {"digest", one.event_digest},
            {"version", fmt::format("{} ({})", one.version, one.revision)},
            {"seconds", one.wall_seconds},
            {"command", command(study, one.point)},
            {"metrics", std::move(metrics)},
            {"bottlenecks", std::move(bottlenecks)},
            {"loads", std::move(loads)},
            {"events", std::move(events)},
            {"intervals", std::move(intervals)}};
}

Json cell_of(const Study& study, const Cell& cell) {
    auto at = Json::object(), metrics = Json::object();
    for (const auto& axis : study.axes)
        if (const auto* value = cell.value(axis.key))
            at[axis.key] = coordinate(axis, *value);
    for (const auto& [name, summary] : cell.metrics)
        metrics[name] = as_json(summary);
    auto points = Json::array();
    for (const auto* outcome : cell.outcomes)
        points.push_back(outcome->point.number);
    return {{"settings", as_json(cell.settings)},   {"at", std::move(at)},           {"round", cell.round},
            {"feasible", is_feasible(study, cell)}, {"metrics", std::move(metrics)}, {"points", std::move(points)}};
}

Json effects_as_json(const Study& study, std::span<const Cell> cells) {
    constexpr std::array kinds{"variance", "range", "correlation"};
    auto all = Json::object();
    for (const auto& metric : study.metrics) {
        const auto effects = effects_of(study, metric, cells);
        auto list = Json::array();
        for (const auto& effect : effects.all)
            list.push_back({{"axes", effect.axes},
                            {"share", effect.share},
                            {"least", effect.least},
                            {"most", effect.most},
                            {"chance", effect.chance ? Json(*effect.chance) : Json(nullptr)}});
        all[metric.name] = {{"kind", kinds[static_cast<std::size_t>(effects.kind)]},
                            {"effects", std::move(list)},
                            {"rest", effects.rest},
                            {"why_not", effects.why_not}};
    }
    return all;
}

Json knees_as_json(const Study& study, std::span<const Cell> cells) {
    auto all = Json::array();
    for (const auto& knee : knees_of(study, cells))
        all.push_back({{"others", as_json(knee.others)},
                       {"before", knee.before},
                       {"behind", knee.behind},
                       {"from", knee.from},
                       {"to", knee.to},
                       {"best", knee.best},
                       {"worse", knee.worse}});
    return all;
}

std::string escaped(std::string_view text) {
    std::string made;
    for (const auto c : text)
        made += c == '<' ? std::string("&lt;") : c == '&' ? std::string("&amp;") : std::string(1, c);
    return made;
}

/// What stands for each "@name@"; what is put in is not looked at again, whatever it holds.
std::string fill(std::string_view form, std::span<const std::pair<std::string_view, std::string>> parts) {
    std::string page;
    while (!form.empty()) {
        const auto* nearest = static_cast<const std::pair<std::string_view, std::string>*>(nullptr);
        auto at = form.size();
        for (const auto& part : parts)
            if (const auto found = form.find(part.first); found < at) {
                at = found;
                nearest = &part;
            }
        page += form.substr(0, at);
        if (nearest == nullptr)
            break;
        page += nearest->second;
        form.remove_prefix(at + nearest->first.size());
    }
    return page;
}

} // namespace

std::string page_data(const PageFacts& facts) {
    const auto& study = facts.study;
    const auto cells = cells_of(study, facts.outcomes);
    Json data{{"question", study.question},
              {"file", facts.origin.file},
              {"base", study.base},
              {"text", facts.origin.text},
              {"version", fmt::format("{} ({})", facts.origin.version, facts.origin.revision)},
              {"end", facts.end},
              {"digest", facts.digest},
              {"confidence", study.confidence},
              {"answer", answer(study, facts.outcomes)},
              {"axes", axes_of(study)},
              {"metrics", metrics_of(study)},
              {"objectives", study.objectives},
              {"topology", facts.topology}};
    if (study.expected)
        data["expected"] = {{"from", study.expected->from},
                            {"to", study.expected->to},
                            {"source", study.expected->source},
                            {"at", as_json(study.expected->at)}};
    auto all = Json::array(), front = Json::array();
    for (const auto& cell : cells)
        all.push_back(cell_of(study, cell));
    data["cells"] = std::move(all);
    if (study.objectives.size() > 1)
        for (const auto* cell : pareto_front(study, cells))
            front.push_back(cell - cells.data());
    data["front"] = std::move(front);
    data["knees"] = knees_as_json(study, cells);
    data["refined"] = {{"along", study.refinement.along}, {"metric", study.refinement.metric}};
    data["effects"] = effects_as_json(study, cells);
    auto points = Json::array();
    for (const auto& one : facts.outcomes)
        points.push_back(point_of(study, one));
    data["points"] = std::move(points);
    // What is no UTF-8 in somebody's file is shown as such.
    return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string print_page(const PageFacts& facts) {
    auto data = page_data(facts);
    // A browser looks for the ends of scripts and comments before anybody reads JSON.
    for (std::size_t at = data.find('<'); at != data.npos; at = data.find('<', at))
        data.replace(at, 1, "\\u003c");
    const std::array<std::pair<std::string_view, std::string>, 6> parts{
        {{"@title@", escaped(facts.study.question.empty() ? facts.origin.file : facts.study.question)},
         {"@css@", page_part("page.css")},
         {"@data@", data},
         {"@d3@", page_part("d3.min.js")},
         {"@plots@", page_part("plots.js")},
         {"@script@", page_part("page.js")}}};
    return fill(page_part("page.html"), parts);
}

} // namespace study
