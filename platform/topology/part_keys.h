// The keys of one part: those of its class, by their short names. "mtt_cache_entries" of an HCA is the table's
// "hca.mtt_cache_entries", "pcie.width" of the same its link's "pcie.device.width". Knows no parts, only what they are.
#pragma once

#include "platform/card/kinds.h"
#include "platform/topology/keys.h"

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace platform::topology {

/// What has keys of its own.
enum class Thing : std::uint8_t { host, root_port, pcie_switch, hca, gpu, device, cable, fabric_switch };

/// nullptr: there is none of that name.
const Key* find_part_key(Thing thing, std::string_view name);
/// All names.
std::vector<std::string> part_keys(Thing thing);
/// The whole number, number, truth or text that a word on the command line is.
Value value_of_word(std::string_view word);

/// Sets a key of a device itself: one of its settings. The error says what is wrong.
std::expected<void, std::string> set_device_key(card::DeviceConfig& device, std::string_view name, const Value& value);
/// The settings of each kind of device as text, for `hcasim keys`.
std::string print_device_keys();

/// Sets a key in `config`, which stands for the part. The error says what is wrong.
std::expected<void, std::string> set_part_key(Config& config, Thing thing, std::string_view name, const Value& value);

} // namespace platform::topology
