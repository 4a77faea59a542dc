// What makes a received frame a packet again: the same for every way of playing a recording. And a frame another one.
#pragma once

#include "model/port/packet.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace platform::record {

/// The packet that these bytes of the wire are. `packet` is cleared before.
void become(model::port::Packet& packet, std::span<const std::byte> frame, model::port::Encapsulation encapsulation);

/// The frame as it is when something of its packet is another, checksums included. False: it stays as it is, since
/// another builder has made it, and what it has besides is not known.
bool change(std::vector<std::byte>& frame, bool is_infiniband, const std::function<void(model::port::Packet&)>& to);

} // namespace platform::record
