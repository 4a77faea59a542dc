#include "testbench/study/written_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace study {

std::string Faults::text() const {
    auto sorted = found;
    std::ranges::stable_sort(sorted, {}, &std::pair<std::uint32_t, std::string>::first);
    std::string text;
    for (const auto& [line, fault] : sorted)
        text += fmt::format("{}{}:{}: {}", text.empty() ? "" : "\n", file, line, fault);
    return text;
}

WrittenTable::~WrittenTable() {
    for (const auto& [key, node] : table_)
        if (!asked_.contains(key.str()))
            faults_.note(key.source().begin.line,
                         fmt::format("unknown key '{}'; {} has: {}", key.str(), name_.empty() ? "a study" : name_,
                                     fmt::join(asked_, " ")));
}

const toml::node* WrittenTable::node(std::string_view key) {
    asked_.emplace(key);
    return table_.get(key);
}

std::uint32_t WrittenTable::line(std::string_view key) const {
    for (const auto& [name, node] : table_)
        if (name.str() == key)
            return name.source().begin.line;
    return table_.source().begin.line;
}

std::string WrittenTable::where(std::string_view key) const { return fmt::format("{}:{}", faults_.file, line(key)); }

void WrittenTable::note(std::string_view key, std::string text) { faults_.note(line(key), std::move(text)); }

bool WrittenTable::needs(std::string_view key) {
    asked_.emplace(key);
    if (has(key))
        return true;
    note({}, fmt::format("'{}' is missing{}", key, name_.empty() ? "" : " in " + name_));
    return false;
}

std::string WrittenTable::text(std::string_view key, std::string otherwise) {
    const auto* found = node(key);
    if (found == nullptr)
        return otherwise;
    if (const auto* text = found->as_string())
        return text->get();
    note(key, fmt::format("'{}' wants a text", key));
    return otherwise;
}

std::size_t WrittenTable::word(std::string_view key, const std::vector<std::string_view>& words,
                               std::size_t otherwise) {
    const auto found = text(key, std::string(words[otherwise]));
    const auto at = std::ranges::find(words, found);
    if (at != words.end())
        return static_cast<std::size_t>(at - words.begin());
    note(key, fmt::format("'{}' is '{}', allowed is one of {}", key, found, fmt::join(words, " ")));
    return otherwise;
}

double WrittenTable::number(std::string_view key, double otherwise, double least, double most) {
    const auto* found = node(key);
    if (found == nullptr)
        return otherwise;
    const auto value = found->value<double>();
    if (!found->is_number() || !value || !std::isfinite(*value)) {
        note(key, fmt::format("'{}' wants a number", key));
        return otherwise;
    }
    if (*value >= least && *value <= most)
        return *value;
    note(key, fmt::format("'{}' is {}, which is out of range, allowed is {} to {}", key, *value, least, most));
    return otherwise;
}

std::uint64_t WrittenTable::whole(std::string_view key, std::uint64_t otherwise, std::uint64_t least,
                                  std::uint64_t most) {
    const auto value =
        number(key, static_cast<double>(otherwise), static_cast<double>(least), static_cast<double>(most));
    if (value == std::floor(value))
        return static_cast<std::uint64_t>(value);
    note(key, fmt::format("'{}' is {}, and wants a whole number", key, value));
    return otherwise;
}

std::optional<double> WrittenTable::limit(std::string_view key) {
    if (node(key) == nullptr)
        return {};
    return number(key, 0);
}

std::vector<std::string> WrittenTable::texts(std::string_view key) {
    const auto* found = list(key);
    std::vector<std::string> all;
    if (found == nullptr)
        return all;
    for (const auto& item : *found) {
        if (const auto* text = item.as_string())
            all.push_back(text->get());
        else
            note(key, fmt::format("'{}' wants a list of texts", key));
    }
    return all;
}

const toml::array* WrittenTable::list(std::string_view key) {
    const auto* found = node(key);
    if (found != nullptr && !found->is_array())
        note(key, fmt::format("'{}' wants a list", key));
    return found == nullptr ? nullptr : found->as_array();
}

const toml::table* WrittenTable::table(std::string_view key) {
    const auto* found = node(key);
    if (found != nullptr && !found->is_table())
        note(key, fmt::format("'{}' wants a table", key));
    return found == nullptr ? nullptr : found->as_table();
}

std::vector<const toml::table*> WrittenTable::tables(std::string_view key) {
    std::vector<const toml::table*> all;
    const auto* found = list(key);
    if (found == nullptr)
        return all;
    for (const auto& item : *found) {
        if (const auto* table = item.as_table())
            all.push_back(table);
        else
            note(key, fmt::format("'{0}' is a list of tables: write [[{0}]]", key));
    }
    return all;
}

std::uint32_t line_of(const std::string& where) {
    return static_cast<std::uint32_t>(std::stoul(where.substr(where.rfind(':') + 1)));
}

std::optional<platform::topology::Value> value_of(const toml::node& node) {
    if (const auto* text = node.as_string())
        return text->get();
    if (const auto* on = node.as_boolean())
        return on->get();
    if (const auto* whole = node.as_integer())
        return whole->get();
    if (const auto* number = node.as_floating_point())
        return number->get();
    return {};
}

std::string as_word(const platform::topology::Value& value) {
    if (const auto* text = std::get_if<std::string>(&value))
        return *text;
    if (const auto* on = std::get_if<bool>(&value))
        return *on ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        return fmt::to_string(*whole);
    return fmt::to_string(std::get<double>(value));
}

} // namespace study
