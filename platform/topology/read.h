// From a TOML file and the command line to a Config, or to all that is wrong with them. Nothing is elaborated from a
// configuration that was not read here. Nothing is guessed: an unknown key is an error with a suggestion.
#pragma once

#include "platform/topology/config.h"

#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace platform::topology {

/// Reads `file`, then applies the overrides in their order, each "key=value" with the key as a path ("link.loss=0.01").
///
/// The error is for a person, a line for each thing that is wrong: "p2p.toml:14: unknown key 'lane', did you mean
/// 'lanes'?", or with "--set" in the place of the file. A payload that the file names is beside the file.
std::expected<Config, std::string> read_config(const std::string& file, std::span<const std::string> overrides);

/// As read_config, with the text given; `name` stands for the file in messages.
std::expected<Config, std::string> parse_config(std::string_view text, std::string_view name,
                                                std::span<const std::string> overrides);

} // namespace platform::topology
