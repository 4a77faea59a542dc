// A table of a study file, read key by key: what nobody asks for is unknown, and every mistake is kept with its line.
#pragma once

#include "platform/topology/value.h"

#include <toml++/toml.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace study {

/// What is wrong with a file.
struct Faults {
    std::string file{};
    std::vector<std::pair<std::uint32_t, std::string>> found{}; ///< line and text
    void note(std::uint32_t line, std::string text) { found.emplace_back(line, std::move(text)); }
    /// A line each, in the order of the file; empty: nothing is wrong.
    std::string text() const;
};

class WrittenTable {
public:
    WrittenTable(const toml::table& table, std::string name, Faults& faults)
        : table_(table), name_(std::move(name)), faults_(faults) {}
    WrittenTable(const WrittenTable&) = delete;
    WrittenTable& operator=(const WrittenTable&) = delete;
    /// Notes each key that nobody has asked for.
    ~WrittenTable();

    /// The default where the key is missing, or is no such thing, which is noted.
    std::string text(std::string_view key, std::string otherwise = {});
    /// One of these words: its number.
    std::size_t word(std::string_view key, const std::vector<std::string_view>& words, std::size_t otherwise = 0);
    double number(std::string_view key, double otherwise, double least = std::numeric_limits<double>::lowest(),
                  double most = std::numeric_limits<double>::max());
    std::uint64_t whole(std::string_view key, std::uint64_t otherwise, std::uint64_t least, std::uint64_t most);
    std::optional<double> limit(std::string_view key);
    std::vector<std::string> texts(std::string_view key);
    const toml::array* list(std::string_view key);
    const toml::table* table(std::string_view key);
    /// The tables of [[key]].
    std::vector<const toml::table*> tables(std::string_view key);

    bool has(std::string_view key) const { return table_.contains(key); }
    /// "qp_scaling.toml:12", of a key or, where it is missing, of the table.
    std::string where(std::string_view key = {}) const;
    void note(std::string_view key, std::string text);
    /// Notes a key that has to be there.
    bool needs(std::string_view key);

private:
    const toml::node* node(std::string_view key);
    std::uint32_t line(std::string_view key) const;

    const toml::table& table_;
    std::string name_; ///< "[[axes]]"; empty: the file itself
    Faults& faults_;
    std::set<std::string, std::less<>> asked_;
};

/// The line of a place: 12 of "qp_scaling.toml:12".
std::uint32_t line_of(const std::string& where);

/// A value as it is written: nothing for a list, a table or a date.
std::optional<platform::topology::Value> value_of(const toml::node& node);
/// The same as `--set` takes it.
std::string as_word(const platform::topology::Value& value);

} // namespace study
