// What a TOML file says of hosts and fabric, and of parts by name. Private to those who read configurations.
#pragma once

#include "platform/topology/config.h"
#include "platform/topology/description.h"

#include <toml++/toml.h>

#include <optional>
#include <string_view>
#include <vector>

namespace platform::topology {

/// The value of a node; nothing for a list, a table or a date.
std::optional<Value> value_of(const toml::node& node);

/// The first line with a name of so many words that reading it takes more stack than there is; 0: there is none.
unsigned long too_deep(std::string_view text);

/// Reads [[hosts]], fabric.switches and fabric.cables into `config.written`.
void take_written(Config& config, const toml::table& root, std::vector<Fault>& faults);
/// Whether a path is one of those three, and so no key.
bool is_written(std::string_view path);

/// Whether a table of the file, or the first word of a key, is the name of a host, switch or cable.
bool is_thing(const Config& config, std::string_view name);
/// "are A and B", "is node0..63".
std::string which_hosts_there_are(const Config& config);
/// Reads the keys of a part, and of what is below it, into `config.exceptions`.
void take_exceptions(Config& config, const toml::node& node, const std::string& path, const toml::source_region& source,
                     std::vector<Fault>& faults);

} // namespace platform::topology
