// How a message is cut into packets (IBA 9.7.2), as both of its ends count them.
#pragma once

#include <cstdint>

namespace model::hca::queue {

/// Bytes that packet number `offset / mtu` of a message carries.
inline std::uint32_t packet_length(std::uint32_t length, std::uint32_t offset, std::uint32_t mtu) {
    return length - offset < mtu ? length - offset : mtu;
}
/// Packets (sequence numbers) of a message: one for an empty one.
inline std::uint32_t packet_count(std::uint32_t length, std::uint32_t mtu) {
    return length == 0 ? 1 : (length - 1) / mtu + 1;
}

} // namespace model::hca::queue
