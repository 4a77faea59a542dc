// A value as it stands in a configuration, before a key has said what it should be, and the notation of sizes and times
// ("2 GiB", "250 ns"). Knows no keys.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>

namespace platform::topology {

/// What a key takes. Sizes are bytes and times are picoseconds once read.
enum class Kind : std::uint8_t { boolean, integer, number, text, size, time };

/// boolean, integer (also size and time), number, text
using Value = std::variant<bool, std::int64_t, double, std::string>;

/// Turns a value as written into one of kind `kind`. A bare number is bytes for a size and nanoseconds for a time.
/// The error says what was expected and what was found.
std::expected<Value, std::string> convert(Kind kind, const Value& written);

/// As convert(), for a value given on the command line, where everything is text.
std::expected<Value, std::string> parse(Kind kind, std::string_view text);

/// The notation of the configuration file, without quotes around texts: "2 GiB", "250 ns", "0.01".
std::string print(Kind kind, const Value& value);
/// The same of a value as it was written, whatever it is for; texts with quotes around them.
std::string print(const Value& value);

/// What a value of this kind is called in messages: "a whole number", "a size such as \"2 GiB\"".
std::string_view name_of(Kind kind);

} // namespace platform::topology
