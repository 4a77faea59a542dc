#include "traces/tool/changes.h"

#include "traces/tool/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace traces::tool {

namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

/// The lines of a configuration, each with the name of its table: many tables have keys of the same name.
std::vector<std::string> settings_of(std::string_view configuration) {
    std::vector<std::string> settings;
    std::string table;
    for (const auto line : lines_of(configuration)) {
        if (line.size() > 1 && line[0] == '[' && line[1] == '[') // one of a list
            table = fmt::format("{} ", line);
        else if (line.starts_with('['))
            table = fmt::format("{}.", line.substr(1, line.find(']') - 1));
        else if (!line.empty())
            settings.push_back(fmt::format("{}{}", table, line));
    }
    return settings;
}

void add_fields(std::vector<std::string>& into, const Quoted::Structure& a, const Quoted::Structure& b) {
    std::string text_a, text_b;
    abi::print(text_a, *a.layout, a.bytes, abi::PrintForm::lines);
    abi::print(text_b, *b.layout, b.bytes, abi::PrintForm::lines);
    const auto lines_a = lines_of(text_a), lines_b = lines_of(text_b);
    for (std::size_t i = 0; i < std::min(lines_a.size(), lines_b.size()); ++i) {
        if (lines_a[i] == lines_b[i])
            continue;
        const auto sign = lines_a[i].find('=');
        into.push_back(fmt::format("{}: {}: {} in A, {} in B", a.layout->name, lines_a[i].substr(0, sign),
                                   lines_a[i].substr(sign + 1), lines_b[i].substr(lines_b[i].find('=') + 1)));
    }
}

void add_bytes(std::vector<std::string>& into, std::string_view what, std::span<const std::byte> a,
               std::span<const std::byte> b) {
    if (a.size() != b.size())
        into.push_back(fmt::format("{}: {} bytes in A, {} in B", what, a.size(), b.size()));
    const auto [in_a, in_b] = std::ranges::mismatch(a, b);
    if (in_a != a.end() && in_b != b.end())
        into.push_back(fmt::format("{}: byte {}: {:#04x} in A, {:#04x} in B", what, in_a - a.begin(),
                                   std::to_integer<unsigned>(*in_a), std::to_integer<unsigned>(*in_b)));
}

/// "12 -> 14 (+16.7 %)".
std::string step_text(double a, double b, int decimals) {
    auto text = fmt::format("{:.{}f} -> {:.{}f}", a, decimals, b, decimals);
    return a == 0 || a == b ? text : fmt::format("{} ({:+.1f} %)", text, (b - a) / a * 100);
}

void add_table(std::vector<std::string>& into, const Tally::Table& a, const Tally::Table& b) {
    std::set<std::string> names;
    for (const auto* table : {&a, &b})
        for (const auto& [name, traffic] : *table)
            names.insert(name);
    for (const auto& name : names) {
        const auto in_a = a.find(name), in_b = b.find(name);
        const auto from = in_a != a.end() ? in_a->second : Traffic{}, to = in_b != b.end() ? in_b->second : Traffic{};
        if (from.count != to.count || from.bytes != to.bytes)
            into.push_back(fmt::format("  {:<56} {:<28} {}", name,
                                       step_text(static_cast<double>(from.count), static_cast<double>(to.count), 0),
                                       step_text(static_cast<double>(from.bytes), static_cast<double>(to.bytes), 0)));
    }
}

} // namespace

Quoted quote(const codec::Record& record, const Seen& seen, const codec::Head& head) {
    Quoted quoted{.time_ps = record.time_ps,
                  .line = line_of(record, seen, head),
                  .head = {record.head.begin(), record.head.end()},
                  .payload = {record.payload.begin(), record.payload.end()}};
    const auto add = [&](const abi::LayoutInfo* layout, std::span<const std::byte> bytes) {
        if (layout != nullptr && bytes.size() >= layout->size)
            quoted.structures.push_back({layout, {bytes.begin(), bytes.end()}});
    };
    for (const auto& item : seen.items) {
        add(item.layout, item.bytes);
        if (item.what == What::command_done) {
            const auto layouts = layouts_of(seen.command->opcode());
            add(layouts.in, seen.command->in);
            add(layouts.out, seen.command->out);
        }
    }
    return quoted;
}

std::vector<std::string> changes_of(const Quoted& a, const Quoted& b, bool has_times) {
    std::vector<std::string> changes;
    for (std::size_t i = 0; i < std::min(a.structures.size(), b.structures.size()); ++i)
        if (a.structures[i].layout == b.structures[i].layout)
            add_fields(changes, a.structures[i], b.structures[i]);
    if (changes.empty()) {
        add_bytes(changes, "header", a.head, b.head);
        add_bytes(changes, "data", a.payload, b.payload);
    }
    if (has_times && a.time_ps != b.time_ps)
        changes.push_back(fmt::format("time: {} in A, {} in B", time_text(a.time_ps), time_text(b.time_ps)));
    return changes;
}

std::vector<std::string> head_changes(const codec::Head& a, const codec::Head& b) {
    std::vector<std::string> changes;
    if (a.identity.revision != b.identity.revision)
        changes.push_back(fmt::format("revision: {} in A, {} in B", a.identity.revision, b.identity.revision));
    if (a.identity.seed != b.identity.seed)
        changes.push_back(fmt::format("seed: {} in A, {} in B", a.identity.seed, b.identity.seed));
    constexpr std::size_t most_lines = 20;
    const auto lines_a = settings_of(a.configuration), lines_b = settings_of(b.configuration);
    const auto add = [&](const auto& lines, const auto& others, char side) {
        const std::set<std::string_view> known(others.begin(), others.end());
        std::size_t left = most_lines;
        for (const auto& line : lines)
            if (!known.contains(line) && left != 0 && left-- != 0)
                changes.push_back(fmt::format("configuration, only in {}: {}", side, line));
    };
    add(lines_a, lines_b, 'A');
    add(lines_b, lines_a, 'B');
    if (changes.empty() && a.configuration != b.configuration)
        changes.push_back("configuration: the same lines in another order");
    return changes;
}

std::vector<std::string> tally_changes(const Tally& a, const Tally& b, bool has_times) {
    std::vector<std::string> changes;
    for (const auto table : {&Tally::kinds, &Tally::links, &Tally::queues, &Tally::opcodes})
        add_table(changes, (a.*table)(), (b.*table)());
    if (!changes.empty())
        changes.insert(changes.begin(), fmt::format("{:<58} {:<28} {}", "what changed", "records", "bytes"));
    if (!has_times)
        return changes;
    const auto begin = changes.size();
    for (const auto& [name, in_a] : a.times()) {
        const auto found = b.times().find(name);
        if (found == b.times().end())
            continue;
        const auto step = [&](double percent) {
            return step_text(static_cast<double>(in_a.percentile(percent)) / 1000,
                             static_cast<double>(found->second.percentile(percent)) / 1000, 3);
        };
        const auto values = [](const Histogram& h) {
            return std::array{h.percentile(50), h.percentile(99), h.most(), h.least()};
        };
        if (values(in_a) != values(found->second))
            changes.push_back(fmt::format("  {:<56} {:<36} {:<36} {}", name, step(50), step(99), step(100)));
    }
    if (changes.size() != begin)
        changes.insert(changes.begin() + static_cast<std::ptrdiff_t>(begin),
                       fmt::format("{:<58} {:<36} {:<36} {}", "times that changed, in ns", "p50", "p99", "max"));
    return changes;
}

} // namespace traces::tool
