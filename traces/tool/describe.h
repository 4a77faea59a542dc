// A record as a line for people: when, where, which way, what, and what led to it.
#pragma once

#include "traces/tool/decoder.h"

#include <string>
#include <vector>

namespace traces::tool {

/// "123.456 us", so that lines stand under each other.
std::string time_text(std::int64_t time_ps);
/// A command with what it names: "CREATE_QP slot 0: qpn 0x11".
std::string command_text(const Command& command);
/// What the record is, without time and place.
std::string what_text(const codec::Record& record, const Seen& seen, const codec::Head& head);
/// All of it, without a line end.
std::string line_of(const codec::Record& record, const Seen& seen, const codec::Head& head);
/// Each structure field by field, a line each, indented.
std::vector<std::string> fields_of(const Seen& seen);

} // namespace traces::tool
