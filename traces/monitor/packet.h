// A frame of a network port, read as an RDMA packet: what the rules of the transport need of it. Frames of anything
// else, and broken ones, give nothing.
#pragma once

#include "abi/types.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/opcode.h"
#include "traces/codec/trace.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace traces::monitor {

/// Where a packet goes: a GID, or a LID in its last two bytes. RoCE over IPv4 has the GID that maps the address.
using NetworkAddress = std::array<std::byte, 16>;

struct Packet {
    abi::wire::Service service{};
    abi::wire::Operation operation{};
    abi::Qpn destination_qp{};
    abi::Psn psn{};
    NetworkAddress destination{};
    std::uint64_t remote_address = 0; ///< of a RETH or an AtomicETH, as are the key and the length
    abi::Key rkey{};
    std::uint32_t length = 0;
    abi::Key invalidates{};
    std::uint8_t syndrome = 0;       ///< of an AETH
    std::uint64_t original = 0;      ///< of an AtomicAckETH
    std::uint32_t payload_bytes = 0; ///< without padding
    bool is_whole = true;            ///< its ICRC is right, and its checksums
    const abi::wire::OperationTraits& traits() const { return abi::wire::traits(operation); }
};

std::optional<Packet> read_packet(codec::InterfaceKind kind, std::span<const std::byte> frame);

} // namespace traces::monitor
