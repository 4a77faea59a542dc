// A list of messages from elsewhere, such as what was traced of an application: a line for each with nanosecond, from,
// to, verb and bytes. Reads text; knows no platform.
#pragma once

#include "model/port/time.h"
#include "testbench/load/mix.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace load {

struct ListedMessage {
    model::port::Time at{}; ///< since the begin
    std::string from{}, to{};
    Verb verb{};
    std::uint32_t bytes = 0;
    std::size_t line = 0; ///< from 1
};

/// Words are separated by blanks or commas, `#` begins a comment, and lines may be in any order of time. The error has
/// file and line: "list.txt:3: 'wirte' is no verb".
std::expected<std::vector<ListedMessage>, std::string> read_replay(std::string_view text, std::string_view file);
/// The same of a file. At most 1 GiB.
std::expected<std::vector<ListedMessage>, std::string> read_replay_file(const std::string& file);

} // namespace load
