// JSON that somebody hands in: text in, values with their lines out. Refuses what is no JSON, an object that has a name
// twice, and what is deeper or larger than any result is, with the place and the reason. What a value means is for
// whoever reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hcasim::json {

struct Value;
struct Member;
using List = std::vector<Value>;
using Object = std::vector<Member>; ///< in the order of the text
using Scalar = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string>;

struct Value {
    std::variant<Scalar, List, Object> data;
    std::size_t line = 0; ///< from 1: where it begins; of a scalar, where it ends
    const Scalar* scalar() const { return std::get_if<Scalar>(&data); }
    const List* list() const { return std::get_if<List>(&data); }
    const Object* object() const { return std::get_if<Object>(&data); }
    /// Null: this is no object, or has no such member.
    const Value* member(std::string_view name) const;
};

struct Member {
    std::string name;
    Value value;
};

inline constexpr std::size_t most_depth = 16, most_values = 4'000'000, most_bytes = 64 << 20;

/// The error is one line: "B.json:12:7: byte 431: ...". `name` is the file's.
std::expected<Value, std::string> parse(std::string_view text, const std::string& name);

/// "a number", "a list": for a message.
std::string_view kind_of(const Value& value);

} // namespace hcasim::json
