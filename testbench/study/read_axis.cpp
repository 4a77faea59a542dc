#include "testbench/study/read_axis.h"

#include "platform/topology/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace study {
namespace {

using platform::topology::Kind;
using platform::topology::Value;

constexpr std::uint64_t most_values = 10'000; ///< of an axis

/// Of a key that the table of keys does not have, since it is one of a part.
Kind kind_of(const Value& value) {
    constexpr std::array kinds{Kind::boolean, Kind::integer, Kind::number, Kind::text};
    return kinds[value.index()];
}

/// Bytes, picoseconds, or the number itself.
std::optional<double> raw(WrittenTable& range, const toml::table& table, std::string_view key, const Axis& axis) {
    if (!range.needs(key))
        return {};
    const auto written = value_of(*table.get(key));
    const auto value = written ? platform::topology::convert(axis.kind, *written)
                               : std::unexpected(std::string("wants a number, not a list, table or date"));
    if (!value) {
        range.note(key, fmt::format("'{}' {}", key, value.error()));
        return {};
    }
    if (const auto* whole = std::get_if<std::int64_t>(&*value))
        return static_cast<double>(*whole);
    return std::get<double>(*value);
}

/// Both ends, and what is between them.
void read_range(const toml::table& table, std::string_view name, Axis& axis, Faults& faults) {
    WrittenTable range(table, std::string(name), faults);
    if (!axis.is_number()) {
        range.note({}, fmt::format("'{}' has words for values: list them as values = [...]", axis.key));
        return;
    }
    // Each key is looked at before the first return: one that nobody has asked for counts as unknown.
    const bool has_step = axis.spacing == Spacing::linear && range.has("step");
    const auto from = raw(range, table, "from", axis), to = raw(range, table, "to", axis);
    const auto written = has_step ? raw(range, table, "step", axis) : std::optional<double>{};
    const auto points = has_step ? 0 : range.whole("points", 5, 2, most_values);
    if (!from || !to || (has_step && !written))
        return;
    if (!(*from < *to))
        return range.note("to", "a range goes upward: 'to' is to be more than 'from'");
    axis.from = *from;
    axis.to = *to;
    double count = 0;
    double step = 0;
    if (written) {
        step = *written;
        if (!(step > 0))
            return range.note("step", "'step' wants more than 0");
        count = std::floor((*to - *from) / step + 1e-9) + 1;
        if (count > static_cast<double>(most_values))
            return range.note("step", fmt::format("this is {:.0f} values, at most {} can be", count, most_values));
    } else {
        count = static_cast<double>(points);
        step = (*to - *from) / (count - 1);
    }
    if (axis.spacing == Spacing::logarithmic && *from <= 0)
        return range.note("from", "a logarithmic range begins above 0");
    for (double i = 0; i < count; ++i) {
        const auto at =
            axis.spacing == Spacing::linear ? *from + step * i : *from * std::pow(*to / *from, i / (count - 1));
        auto value = nearest_value(axis, at);
        if (axis.values.empty() || axis.values.back() != value) // steps of less than one
            axis.values.push_back(std::move(value));
    }
}

void read_list(WrittenTable& table, Axis& axis) {
    const auto* list = table.list("values");
    if (list == nullptr)
        return;
    for (const auto& item : *list) {
        const auto value = value_of(item);
        if (!value) {
            table.note("values", "'values' wants numbers, texts or truths");
            continue;
        }
        auto word = as_word(*value);
        if (std::ranges::find(axis.values, word) != axis.values.end())
            table.note("values", fmt::format("'{}' is there twice", word));
        axis.values.push_back(std::move(word));
    }
    if (axis.values.empty())
        return table.note("values", "an axis without values");
    if (axis.values.size() > most_values)
        return table.note("values", fmt::format("at most {} values can be", most_values));
    if (!axis.is_number())
        return;
    std::ranges::stable_sort(axis.values, {}, [&](const auto& value) { return coordinate(axis, value); });
}

} // namespace

Axis read_axis(const toml::table& written, Faults& faults) {
    WrittenTable table(written, "[[axes]]", faults);
    Axis axis;
    axis.key = table.text("key");
    axis.where = table.where("key");
    table.needs("key");
    if (const auto* key = platform::topology::find_key(axis.key)) {
        axis.kind = key->kind;
        axis.is_power_of_two = key->limits.is_power_of_two;
    } else if (const auto* list = written.get_as<toml::array>("values"); list != nullptr && !list->empty()) {
        if (const auto value = value_of(list->front()))
            axis.kind = kind_of(*value);
    } else {
        axis.kind = Kind::integer;
    }
    unsigned ways = 0;
    for (const auto& [name, spacing] : {std::pair{"range", Spacing::linear}, std::pair{"log", Spacing::logarithmic}})
        if (const auto* range = table.table(name)) {
            axis.spacing = spacing;
            read_range(*range, name, axis, faults);
            ++ways;
        }
    if (table.has("values"))
        ++ways;
    read_list(table, axis);
    if (ways != 1)
        table.note("key", fmt::format("'{}' wants one of values, range and log", axis.key));
    return axis;
}

} // namespace study
