// How a message is cut into packets (IBA 9.7.2), as both of its ends count them.
#pragma once

#include <cstddef>
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

/// Of the largest MTU (IBA 9.4.3).
inline constexpr std::uint32_t largest_payload = 4096;
/// Bytes of a packet as a turn counts them: with its headers, about. A port shares the wire, and not messages.
constexpr std::int64_t turn_cost(std::size_t payload) {
    constexpr std::int64_t headers = 64;
    return static_cast<std::int64_t>(payload) + headers;
}

} // namespace model::hca::queue
