// Events as records: an EventHead and the members, by the tables of traces/event.h alone, so that a new event needs
// nothing here. Integers, enumerations and reasons by their numbers, little endian; a bool is one byte; text is its
// length in two bytes and its characters.
#pragma once

#include "traces/events.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace traces::codec {

void put_event(std::vector<std::byte>& into, const Stamp& stamp, const Event& event);

struct EventRecord {
    Stamp stamp;
    Event event; ///< its texts are in the bytes that it was read from
};
/// Nothing: no event of this version has these bytes.
std::optional<EventRecord> read_event(std::span<const std::byte> bytes, std::int64_t time_ps);

} // namespace traces::codec
