// The rooms of the model that say events, for pictures: a track each.
#pragma once

#include "traces/event.h"

#include <cstddef>
#include <string_view>

namespace traces::tool {

/// An event's place in a list of rooms.
std::size_t room_of(const Event& event);
std::string_view room_name(std::size_t room);

} // namespace traces::tool
