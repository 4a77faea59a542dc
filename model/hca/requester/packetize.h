// Cuts a work request into packets (IBA 9.7.3, 11.2): which operation code each packet carries, and where its payload
// lies. Receives a loaded work request and a position; fills one packet. Translates keys through the TPT, moves no
// bytes itself: the payload is lent from the application's memory wherever that is plain memory.
#pragma once

#include "model/hca/data_path.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/completion/local_error.h"

#include <cstdint>
#include <span>

namespace model::hca::requester {

/// Bytes that packet number `offset / mtu` of a message carries.
inline std::uint32_t packet_length(std::uint32_t length, std::uint32_t offset, std::uint32_t mtu) {
    return length - offset < mtu ? length - offset : mtu;
}
/// Packets (sequence numbers) of a message: one for an empty one (IBA 9.7.2).
inline std::uint32_t packet_count(std::uint32_t length, std::uint32_t mtu) {
    return length == 0 ? 1 : (length - 1) / mtu + 1;
}

/// Sets the scatter/gather position to byte `offset` of the loaded request.
void seek(queue::RequesterState& requester, std::uint32_t offset);

/// Fills the headers and payload of the packet at the requester's position. Returns when its payload is there.
memory::Moved packetize(DataPath& path, queue::QueuePair& qp, const queue::Outstanding& message, port::Packet& packet,
                        port::Time at);

/// Writes the pieces of an answer into the request's local segments, which have room for them, from byte `offset` on;
/// returns when they are written.
memory::Moved scatter(DataPath& path, const queue::QueuePair& qp, const queue::WorkRequest& request,
                      std::uint32_t offset, std::span<const std::span<const std::byte>> pieces, port::Time at);

} // namespace model::hca::requester
