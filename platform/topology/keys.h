// Every key a configuration may have, in one table: its path, kind, range, help and the member it sets. The file
// reader, the command line, the help text and the listing of an effective configuration all walk this table.
#pragma once

#include "platform/topology/config.h"
#include "platform/topology/value.h"

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace platform::topology {

/// What a value must satisfy beyond its kind. `choices` and `names` exclude a range.
struct Limits {
    double minimum = 0, maximum = 0; ///< of whole numbers, numbers, sizes (bytes) and times (picoseconds)
    bool is_power_of_two = false;
    std::span<const std::int64_t> choices{};
    std::span<const std::string_view> names{}; ///< of a text
};

struct Key {
    std::string_view path; ///< "link.loss"
    Kind kind;
    Limits limits;
    std::string_view help;
    void (*set)(Config&, const Value&); ///< of a value that passed check()
    Value (*get)(const Config&);
    std::string_view unit = {}; ///< of a plain number whose name does not say it: "bytes"
};

std::span<const Key> keys();
const Key* find_key(std::string_view path);
/// As many as fabric.switch_ports may say.
unsigned most_switch_ports();

/// "0 to 1", "one of 256 512 1024", "a power of two from 1 MiB to 64 GiB"; empty for any text.
std::string print_limits(const Key& key);

/// The error names the limits, not the key: "3 is out of range, allowed is 0 to 1".
std::expected<void, std::string> check(const Key& key, const Value& value);

/// The path nearest to `path` by edit distance, or an empty text when none is near. The last word of a path counts
/// most: a right name in the wrong table is near.
std::string_view nearest_key(std::string_view path);

/// The table as text, a paragraph a key, and what can be written beside it, for `hcasim keys`.
std::string print_keys();
/// The same as one JSON object with a member a key: kind, limits or choices, default, help. Sizes in bytes, times in
/// ns.
std::string keys_as_json();
/// What a key is called where its value is a plain number: with its unit, "host.A.memory_bytes".
std::string name_in_json(const Key& key);

/// Every key with its value, as a configuration that reads back as the same one.
std::string print_toml(const Config& config);

/// Path and value of each key, in the order of the table, for recordings.
std::vector<std::pair<std::string, std::string>> effective(const Config& config);

} // namespace platform::topology
