// A packet as bytes, between the two halves of a cable of which each is in another process: its headers as values, its
// payload with the pieces in which the sender's memory had it, since the receiver writes each piece by itself. The
// number of the event that sent it stays behind: numbers of events are a process's own.
#pragma once

#include "model/port/packet.h"
#include "platform/ranks/bytes.h"

namespace platform::ranks {

void put_packet(Writer& writer, const model::port::Packet& packet);

/// Into a cleared packet. False: these bytes are no packet.
bool get_packet(Reader& reader, model::port::Packet& packet);

} // namespace platform::ranks
