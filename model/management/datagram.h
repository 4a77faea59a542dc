// Management datagrams as packets (IBA 13.4, 13.5): takes one out of a packet and makes the packet its answer. Knows
// nothing of what they say.
#pragma once

#include "abi/wire/infiniband.h"
#include "abi/wire/mad.h"
#include "model/port/packet.h"

#include <array>
#include <cstddef>
#include <optional>

namespace model::management {

using abi::wire::subnet_management, abi::wire::general_services;
inline constexpr std::uint32_t general_services_key = 0x80010000; ///< Q_Key of QP1 (IBA 10.2.5)

using Datagram = std::array<std::byte, abi::wire::mad_bytes>;

/// The datagram in a packet for QP0 or QP1; nothing: it holds none.
std::optional<Datagram> take(const port::Packet& packet);
/// Puts a datagram in the place of the packet's own.
void put(const Datagram& mad, port::Packet& packet);
/// Addresses the packet to where it came from.
void reverse(port::Packet& packet);
abi::wire::MadClass class_of(const Datagram& mad);
/// Whether it wants an answer: what is one itself, or tells of something, does not (IBA 13.4.5).
bool is_request(const Datagram& mad);

} // namespace model::management
