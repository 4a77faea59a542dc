#include "testbench/study/read_study.h"

#include "platform/topology/read.h"
#include "platform/topology/read_written.h"
#include "testbench/result/metrics.h"
#include "testbench/study/check_study.h"
#include "testbench/study/known_values.h"
#include "testbench/study/read_axis.h"
#include "testbench/study/written_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace study {
namespace {

using Error = std::unexpected<std::string>;

/// Keys of a table of the platform, nested as TOML has them, as `--set` takes them.
void read_settings(const toml::table& table, const std::string& prefix, Settings& into, Faults& faults) {
    for (const auto& [name, node] : table) {
        const auto key = prefix + std::string(name.str());
        if (const auto* inner = node.as_table())
            read_settings(*inner, key + ".", into, faults);
        else if (const auto value = value_of(node))
            into.push_back({key, as_word(*value)});
        else
            faults.note(name.source().begin.line, fmt::format("'{}' wants a number, a text or a truth", key));
    }
}

Metric read_metric(const toml::table& written, Faults& faults) {
    WrittenTable table(written, "[[metrics]]", faults);
    Metric metric;
    metric.value = table.text("value");
    table.needs("value");
    metric.name = table.text("name", metric.value);
    metric.where = table.where("name");
    metric.per = table.text("per");
    metric.scale = table.number("scale", 1);
    if (metric.scale == 0)
        table.note("scale", "a scale of 0 makes every value 0");
    metric.otherwise = table.limit("otherwise");
    metric.unit = table.text("unit");
    metric.plot = table.text("plot");
    const auto field =
        metric.value.substr(metric.value.rfind('.') == std::string::npos ? 0 : metric.value.rfind('.') + 1);
    const bool is_known_better = hcasim::worse_of(field) == hcasim::Worse::less;
    metric.is_more_better = table.word("better", {"less", "more"}, is_known_better ? 1 : 0) == 1;
    return metric;
}

Constraint read_constraint(const toml::table& written, Faults& faults) {
    WrittenTable table(written, "[[constraints]]", faults);
    Constraint constraint;
    constraint.where = table.where();
    constraint.metric = table.text("metric");
    constraint.keys = table.texts("product");
    constraint.at_least = table.limit("at_least");
    constraint.at_most = table.limit("at_most");
    if (constraint.metric.empty() == constraint.keys.empty())
        table.note({}, "a constraint is of a 'metric', or of the 'product' of keys");
    if (!constraint.at_least && !constraint.at_most)
        table.note({}, "a constraint has 'at_least', 'at_most' or both");
    return constraint;
}

Refinement read_refinement(const toml::table& written, std::optional<Expectation>& expected, Faults& faults) {
    WrittenTable table(written, "[refine]", faults);
    Refinement refine;
    refine.where = table.where();
    refine.way = static_cast<Refinement::Way>(table.word("towards", {"knee", "best"}) + 1);
    table.needs("towards");
    refine.metric = table.text("metric");
    table.needs("metric");
    refine.rounds = static_cast<unsigned>(table.whole("rounds", refine.rounds, 1, 100));
    if (refine.way == Refinement::Way::knee) {
        refine.along = table.text("along");
        table.needs("along");
        refine.drop = table.number("drop", refine.drop, 1e-6, 1);
        refine.until = table.number("until", refine.until, 1, 1e6);
        if (const auto* band = table.table("expected")) {
            WrittenTable inner(*band, "expected", faults);
            Expectation one;
            one.from = inner.number("from", 0);
            one.to = inner.number("to", 0);
            one.source = inner.text("source");
            for (const auto* key : {"from", "to", "source"})
                inner.needs(key);
            if (one.from > one.to)
                inner.note("to", "the band ends before it begins");
            if (const auto* at = inner.table("at"))
                read_settings(*at, "", one.at, faults);
            expected = one;
        }
    } else {
        refine.keep = table.number("keep", refine.keep, 0.01, 0.99);
        refine.budget = table.text("budget");
        refine.budget_from = table.number("from", 0, 0);
        refine.factor = table.number("factor", refine.factor, 1.01, 1000);
        table.needs("budget");
        table.needs("from");
    }
    return refine;
}

Published read_published(const toml::table& written, Faults& faults) {
    WrittenTable table(written, "[[expected]]", faults);
    Published one{.metric = table.text("metric"),
                  .from = table.number("from", 0),
                  .to = table.number("to", 0),
                  .source = table.text("source"),
                  .where = table.where()};
    for (const auto* key : {"metric", "from", "to", "source"})
        table.needs(key);
    if (one.from > one.to)
        table.note("to", "the band ends before it begins");
    if (const auto* at = table.table("at"))
        read_settings(*at, "", one.at, faults);
    if (const auto* over = table.table("over"))
        read_settings(*over, "", one.over, faults);
    return one;
}

Stop read_stop(const toml::table& written, Faults& faults) {
    WrittenTable table(written, "[stop]", faults);
    Stop stop;
    stop.points = table.whole("points", stop.points, 1, 1'000'000);
    stop.failures = table.whole("failures", 0, 0, 1'000'000);
    stop.minutes = table.number("minutes", 0, 0);
    stop.relative_error = table.number("relative_error", 0, 0, 1);
    stop.most_repetitions =
        static_cast<unsigned>(table.whole("most_repetitions", stop.relative_error > 0 ? 20 : 0, 0, 10'000));
    return stop;
}

std::string beside(const std::string& file, const std::string& path) {
    const std::filesystem::path named(path);
    return named.is_absolute() ? path : (std::filesystem::path(file).parent_path() / named).lexically_normal().string();
}

Study read(const toml::table& root, const std::string& file, Faults& faults) {
    WrittenTable table(root, {}, faults);
    Study study;
    study.file = file;
    study.question = table.text("question");
    if (const auto base = table.text("base"); !base.empty())
        study.base = beside(file, base);
    else if (table.needs("base") && root.get("base")->is_string())
        table.note("base", "'base' names no file");
    if (const auto payload = table.text("payload"); !payload.empty())
        study.payload = beside(file, payload);
    study.design = static_cast<Design>(table.word("design", {"grid", "one_at_a_time", "latin_hypercube"}));
    if (study.design == Design::latin_hypercube) {
        study.drawn_points = table.whole("drawn_points", 0, 2, 100'000);
        table.needs("drawn_points");
        study.drawn_seed = table.whole("drawn_seed", 1, 0, 1ULL << 53);
    }
    study.repetitions = static_cast<unsigned>(table.whole("repetitions", 1, 1, 10'000));
    study.seed = table.whole("seed", 1, 0, 0xffff'0000);
    study.timeout_s = static_cast<unsigned>(table.whole("timeout_s", study.timeout_s, 1, 86'400));
    study.confidence = table.number("confidence", study.confidence, 0.5, 0.9999);
    if (const auto* set = table.table("set"))
        read_settings(*set, "", study.set, faults);
    for (const auto* axis : table.tables("axes"))
        study.axes.push_back(read_axis(*axis, faults));
    for (const auto* metric : table.tables("metrics"))
        study.metrics.push_back(read_metric(*metric, faults));
    for (const auto* constraint : table.tables("constraints"))
        study.constraints.push_back(read_constraint(*constraint, faults));
    for (const auto* published : table.tables("expected"))
        study.published.push_back(read_published(*published, faults));
    study.objectives = table.texts("objectives");
    if (const auto* refine = table.table("refine"))
        study.refinement = read_refinement(*refine, study.expected, faults);
    if (const auto* stop = table.table("stop"))
        study.stop = read_stop(*stop, faults);
    study.seed_keys = table.texts("seed_keys");
    const bool is_repeated = study.repetitions > 1 || study.stop.most_repetitions > 1;
    if (study.seed_keys.empty() && is_repeated)
        study.seed_keys = {"link.seed", "scenario.seed"};
    table.needs("axes");
    table.needs("metrics");
    return study;
}

/// What each study has and no configuration.
constexpr std::array<std::string_view, 3> own_keys{"base", "axes", "metrics"};

std::expected<Study, std::string> parse(std::string_view text, Faults& faults) {
    if (const auto line = platform::topology::too_deep(text); line != 0)
        return Error(fmt::format("{}:{}: a name of more than 256 words: no study is so deep", faults.file, line));
    try {
        const auto root = toml::parse(text, faults.file);
        if (std::ranges::none_of(own_keys, [&](auto key) { return root.contains(key); }))
            return Error(fmt::format("{}: is no study, which has 'base', [[axes]] and [[metrics]]; a configuration is "
                                     "run by `hcasim run {}`",
                                     faults.file, faults.file));
        auto study = read(root, faults.file, faults);
        study.text = text;
        check(study, faults);
        return study;
    } catch (const toml::parse_error& error) {
        return Error(fmt::format("{}:{}: not TOML: {}", faults.file, error.source().begin.line, error.description()));
    }
}

std::expected<std::string, std::string> read_text(const std::string& file) {
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    std::string text;
    constexpr std::size_t most_bytes = 4 << 20; // a device file may have no end
    for (std::array<char, 4096> part; stream.read(part.data(), part.size()) || stream.gcount() > 0;) {
        text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > most_bytes)
            return Error(fmt::format("{}: is larger than {} MiB, no study is", file, most_bytes >> 20));
    }
    if (!stream.eof())
        return Error(fmt::format("{}: cannot be read: {}", file, std::strerror(errno != 0 ? errno : EIO)));
    return text;
}

} // namespace

std::expected<Study, std::string> parse_study(std::string_view text, const std::string& file) {
    Faults faults{.file = file};
    auto study = parse(text, faults);
    if (study && !faults.found.empty())
        return Error(faults.text());
    return study;
}

bool is_study(const std::string& file) {
    if (!std::filesystem::is_regular_file(file)) // a pipe gives what it has once
        return false;
    const auto text = read_text(file);
    if (!text || platform::topology::too_deep(*text) != 0)
        return false;
    try {
        const auto root = toml::parse(*text, file);
        return std::ranges::all_of(own_keys, [&](auto key) { return root.contains(key); });
    } catch (const toml::parse_error&) {
        return false;
    }
}

std::expected<ReadStudy, std::string> read_study(const std::string& file) {
    const auto text = read_text(file);
    if (!text)
        return Error(text.error());
    Faults faults{.file = file};
    auto study = parse(*text, faults);
    if (!study)
        return Error(study.error());
    check_metrics(*study, faults);
    // Without a base there is nothing to hold keys against; what is wrong with the rest is said with it.
    std::expected<platform::topology::Config, std::string> base = Error(std::string());
    if (!study->base.empty())
        base = check_base(*study, faults);
    auto wrong = faults.text();
    if (!base && !study->base.empty())
        wrong += (wrong.empty() ? "" : "\n") + base.error();
    if (!wrong.empty())
        return Error(wrong);
    return ReadStudy{std::move(*study), std::move(*base)};
}

} // namespace study
