#include "testbench/result/result_file.h"

#include "testbench/result/format.h"
#include "testbench/result/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace hcasim {
namespace {

using json::Value;
using Outcome = std::expected<void, std::string>;

/// What tells the things of a list apart: the first of these that they have all of.
const std::vector<std::vector<std::string_view>> labels{{"name"}, {"card", "kind"}, {"key"}};

const std::string* text_of(const Value& item, std::string_view name) {
    const auto* member = item.member(name);
    const auto* scalar = member == nullptr ? nullptr : member->scalar();
    return scalar == nullptr ? nullptr : std::get_if<std::string>(scalar);
}

const std::uint64_t* number_of(const Value& item, std::string_view name) {
    const auto* member = item.member(name);
    const auto* scalar = member == nullptr ? nullptr : member->scalar();
    return scalar == nullptr ? nullptr : std::get_if<std::uint64_t>(scalar);
}

/// Reads one result; a refusal has the file and the line.
class Reader {
public:
    explicit Reader(std::string path) : path_(std::move(path)) {}

    std::unexpected<std::string> refuse(const Value& at, std::string_view reason) const {
        return std::unexpected(fmt::format("{}:{}: {}", path_, at.line, reason));
    }

    std::expected<ResultFile, std::string> result(const Value& from, std::string name) {
        result_ = {};
        result_.file = path_;
        result_.name = std::move(name);
        result_.things.push_back({});
        for (const auto& member : *from.object())
            if (const auto done = take(member); !done)
                return std::unexpected(done.error());
        const auto text = [&](std::string_view member) {
            const auto* found = text_of(from, member);
            return found == nullptr ? std::string() : *found;
        };
        result_.scenario = text("scenario");
        result_.version = text("version");
        result_.revision = text("revision");
        result_.stopped = text("stopped");
        if (result_.scenario.empty())
            return refuse(from, "'scenario' is missing: this is no result of `hcasim run --json`");
        return std::move(result_);
    }

private:
    Outcome take(const json::Member& member) {
        const auto& [name, value] = member;
        if (name == "event_marks")
            return marks(value);
        if (const auto* scalar = value.scalar()) {
            if (!is_passed_over({}, name))
                result_.things.front().values.push_back({name, *scalar});
            return {};
        }
        return value.list() != nullptr ? list(name, *value.list()) : map(name, *value.object());
    }

    /// "transfers": [{"name": "WRITE A -> B", "packets": 5}]
    Outcome list(const std::string& group, const json::List& list) {
        std::set<std::string> taken;
        for (const auto& item : list) {
            if (item.object() == nullptr)
                return refuse(item, fmt::format("'{}' has {} where a result has an object", group, kind_of(item)));
            const auto label = std::ranges::find_if(labels, [&](const auto& words) {
                return std::ranges::all_of(words, [&](auto word) { return text_of(item, word) != nullptr; });
            });
            if (label == labels.end())
                return refuse(item, fmt::format("'{}' has an object without a name", group));
            std::string name;
            for (const auto word : *label)
                name += (name.empty() ? "" : " ") + *text_of(item, word);
            auto own = name;
            for (unsigned n = 2; !taken.insert(own).second; ++n)
                own = fmt::format("{} #{}", name, n);
            if (const auto done = thing(group, std::move(own), item, *label); !done)
                return done;
        }
        return {};
    }

    /// "events": {"DmaRead": 5}, or in a baseline "transfers": {"WRITE A -> B": {"packets": 5}}
    Outcome map(const std::string& group, const json::Object& members) {
        Thing whole{.group = group, .name = {}, .values = {}};
        for (const auto& [name, value] : members) {
            if (const auto* scalar = value.scalar()) {
                if (!is_passed_over(group, name))
                    whole.values.push_back({name, *scalar});
            } else if (value.object() == nullptr) {
                return refuse(value, fmt::format("'{}' of '{}' is a list, which a result does not have", name, group));
            } else if (const auto done = thing(group, name, value, {}); !done) {
                return done;
            }
        }
        if (!whole.values.empty())
            result_.things.push_back(std::move(whole));
        return {};
    }

    /// Its values but for those that are its name.
    Outcome thing(const std::string& group, std::string name, const Value& from,
                  const std::vector<std::string_view>& label) {
        Thing made{.group = group, .name = std::move(name), .values = {}};
        for (const auto& [field, value] : *from.object()) {
            const auto* scalar = value.scalar();
            if (scalar == nullptr)
                return refuse(value, fmt::format("'{}' of '{}' in '{}' is {}, which a result does not have", field,
                                                 made.name, group, kind_of(value)));
            if (!is_passed_over(group, field) && std::ranges::find(label, field) == label.end())
                made.values.push_back({field, *scalar});
        }
        result_.things.push_back(std::move(made));
        return {};
    }

    Outcome marks(const Value& value) {
        if (value.list() == nullptr)
            return refuse(value, fmt::format("'event_marks' is {}, not a list", kind_of(value)));
        for (const auto& item : *value.list()) {
            const auto *events = number_of(item, "events"), *last = number_of(item, "last_id"),
                       *time = number_of(item, "time_ps");
            const auto* text = text_of(item, "event_digest");
            if (events == nullptr || last == nullptr || time == nullptr || text == nullptr)
                return refuse(item, "a mark has events, last_id, time_ps and event_digest; this one does not");
            if (!result_.marks.empty() && *events <= result_.marks.back().events)
                return refuse(item, "the marks of a result ascend; this one is not behind the one before it");
            result_.marks.push_back(
                {.events = *events, .last_id = *last, .time_ps = static_cast<std::int64_t>(*time), .digest = *text});
        }
        return {};
    }

    std::string path_;
    ResultFile result_;
};

} // namespace

std::string name_of_result(const std::string& path) {
    const std::filesystem::path file(path);
    return (file.extension() == ".json" ? file.stem() : file.filename()).string();
}

std::expected<ComparedFile, std::string> read_compared(std::string_view text, const std::string& path) {
    auto value = json::parse(text, path);
    if (!value)
        return std::unexpected(value.error());
    Reader reader(path);
    if (value->object() == nullptr)
        return reader.refuse(*value, fmt::format("this is {}, and no result of `hcasim run --json`", kind_of(*value)));
    const auto* kind = value->member("kind");
    const auto* named = text_of(*value, "kind");
    const bool is_baseline = named != nullptr && *named == baseline_kind;
    if (named == nullptr || (*named != result_kind && !is_baseline))
        return reader.refuse(
            kind == nullptr ? *value : *kind,
            named == nullptr
                ? std::string("'kind' is missing: this is no result of `hcasim run --json`, or one of a program from "
                              "before results were compared; run it again")
                : fmt::format("this is '{}'; `hcasim compare` takes results of `hcasim run --json` and baselines",
                              named->substr(0, 80)));
    const auto known = is_baseline ? baseline_format : result_format;
    const auto* format = value->member("format");
    const auto* number = number_of(*value, "format");
    if (number == nullptr || *number != known)
        return reader.refuse(format == nullptr ? *value : *format,
                             number == nullptr
                                 ? std::string("'format' is missing, or no number")
                                 : fmt::format("format {}; this program reads {}. Write it again by this program, or "
                                               "read it by the one that wrote it",
                                               *number, known));
    ComparedFile file{.is_baseline = is_baseline, .results = {}};
    if (!is_baseline) {
        auto result = reader.result(*value, name_of_result(path));
        if (!result)
            return std::unexpected(result.error());
        file.results.push_back(std::move(*result));
        return file;
    }
    const auto* runs = value->member("runs");
    if (runs == nullptr || runs->object() == nullptr)
        return reader.refuse(runs == nullptr ? *value : *runs, "a baseline has an object 'runs'; this one does not");
    for (const auto& [name, run] : *runs->object()) {
        if (run.object() == nullptr)
            return reader.refuse(run, fmt::format("run '{}' is {}, not an object", name, kind_of(run)));
        auto result = reader.result(run, name);
        if (!result)
            return std::unexpected(result.error());
        file.results.push_back(std::move(*result));
    }
    return file;
}

} // namespace hcasim
