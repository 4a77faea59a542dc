// What makes a received frame a packet again: the same for every way of playing a recording.
#pragma once

#include "model/port/packet.h"

#include <cstddef>
#include <span>

namespace platform::record {

/// The packet that these bytes of the wire are. `packet` is cleared before.
void become(model::port::Packet& packet, std::span<const std::byte> frame, model::port::Encapsulation encapsulation);

} // namespace platform::record
