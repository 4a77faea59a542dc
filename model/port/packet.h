// A packet between two ports: where it goes, RDMA headers as values or none, the payload as references into the
// sender's memory.
//
// Its exact bytes exist only where somebody looks (a capture, an external link, a corruption script): wire/builder
// makes them from this, wire/parser makes this from them, and `image` holds them while they are what is on the
// wire.
#pragma once

#include "abi/types.h"
#include "abi/wire/opcode.h"
#include "model/port/payload.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace model::port {

using MacAddress = std::array<std::byte, 6>;
using Gid = std::array<std::byte, 16>; ///< an IPv4 address stands as ::ffff:a.b.c.d

/// Whether two addresses are equal, in one comparison: std::array compares byte by byte.
template <std::size_t n> bool is_same(const std::array<std::byte, n>& a, const std::array<std::byte, n>& b) {
    return std::memcmp(a.data(), b.data(), n) == 0;
}

enum class Encapsulation : std::uint8_t { roce_v2_ipv4, roce_v2_ipv6, infiniband };

/// Addresses of a packet, L2 to L4. Only the members of its encapsulation count.
struct Path {
    Encapsulation encapsulation = Encapsulation::roce_v2_ipv4;
    bool has_grh = false;           ///< InfiniBand: a global route header is present
    std::uint8_t service_level = 0; ///< InfiniBand SL; RoCE: VLAN priority, unused without a VLAN
    std::uint8_t traffic_class = 0; ///< DSCP << 2 | ECN
    std::uint8_t hop_limit = 64;
    std::uint16_t source_lid = 0, destination_lid = 0;
    std::uint16_t udp_source_port = 0;
    std::uint32_t flow_label = 0;
    MacAddress source_mac{}, destination_mac{};
    Gid source_gid{}, destination_gid{};
};

/// The priority of a RoCE packet without a VLAN: the upper three bits of its DSCP, as switches that trust it map it.
constexpr unsigned priority_of(const Path& path) { return path.traffic_class >> 5; }

struct Reth { ///< RDMA extended transport header (IBA 9.3.3)
    std::uint64_t address = 0;
    abi::Key rkey;
    std::uint32_t length = 0;
};
struct Aeth { ///< ACK extended transport header (IBA 9.3.5)
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0;
};
struct AtomicEth { ///< atomic extended transport header (IBA 9.3.4)
    std::uint64_t address = 0;
    abi::Key rkey;
    std::uint64_t swap_or_add = 0, compare = 0;
};
struct Deth { ///< datagram extended transport header (IBA 9.3.2)
    std::uint32_t qkey = 0;
    abi::Qpn source_qpn;
};

/// What stands between the addresses and the payload of an RDMA packet: the base transport header and, of the extended
/// ones, those that its operation has (IBA 5.2.7).
struct RdmaHeaders {
    abi::wire::Service service = abi::wire::Service::rc;
    abi::wire::Operation operation = abi::wire::Operation::send_only;
    bool solicited = false;
    bool migrated = true; ///< BTH MigReq
    bool ack_request = false;
    bool fecn = false, becn = false;
    std::uint16_t pkey = 0xffff;
    abi::Qpn destination;
    abi::Psn psn;
    std::uint32_t immediate = 0; ///< ImmDt, as the application's 32 bits in network order read big endian
    Reth reth;
    Aeth aeth;
    AtomicEth atomic;
    std::uint64_t atomic_original = 0; ///< AtomicAckETH
    abi::Key invalidate;               ///< IETH
    Deth deth;
    std::uint32_t xrc_srq = 0; ///< XRCETH

    const abi::wire::OperationTraits& traits() const { return abi::wire::traits(operation); }
    std::uint8_t opcode() const { return abi::wire::code(service, operation); }
};

/// Packets of a WRITE that follow each other, as one: the headers are those of the first, but that the last asks for
/// the ACK; the payload is that of all. Only ports that both say so (Wire::train_room) see one; to all others they come
/// one by one, and nothing but the simulator's own time is different.
struct Train {
    std::uint32_t packets = 1;
    std::uint32_t unit = 0;    ///< bytes of each but the last
    bool ends_message = false; ///< the last packet is the last one of the message
    bool is_one() const { return packets == 1; }
};

/// Either an RDMA packet or a plain frame: any Ethernet frame that its sender wrote as bytes. Those bytes, from the
/// destination's MAC on and without the FCS, are the payload; a plain frame has neither `path` nor RDMA headers.
class Packet {
public:
    Path path;

private:
    enum class Kind : std::uint8_t { rdma, plain_frame };
    // Not a std::variant: its other alternative would be empty, and its index would make every packet 8 bytes longer.
    Kind kind_ = Kind::rdma;
    RdmaHeaders rdma_;

public:
    Payload payload;
    Train train;
    std::vector<std::byte> image; ///< exact frame (from the Ethernet header or LRH to ICRC/VCRC), or empty
    std::uint64_t cause = 0;      ///< number of the event that sent it (traces/events.h); never on the wire

    bool is_plain_frame() const { return kind_ == Kind::plain_frame; }
    RdmaHeaders& rdma() {
        assert(!is_plain_frame() && "a plain frame has no RDMA headers");
        return rdma_;
    }
    const RdmaHeaders& rdma() const {
        assert(!is_plain_frame() && "a plain frame has no RDMA headers");
        return rdma_;
    }
    const abi::wire::OperationTraits& traits() const { return rdma().traits(); }

    /// From now on a plain frame, whose bytes the caller puts into `payload`.
    void become_plain_frame() { kind_ = Kind::plain_frame; }
    /// From now on an RDMA packet, whose headers keep old values.
    void become_rdma() { kind_ = Kind::rdma; }
    /// Makes a used slot ready for the next packet, an RDMA packet unless it is told otherwise. Headers keep old
    /// values: whoever builds a packet sets those it has.
    void clear() {
        kind_ = Kind::rdma;
        rdma_.service = abi::wire::Service::rc;
        rdma_.solicited = rdma_.ack_request = rdma_.fecn = rdma_.becn = false;
        rdma_.migrated = true;
        payload.clear();
        train.packets = 1;
        image.clear();
        cause = 0;
    }
};

} // namespace model::port
