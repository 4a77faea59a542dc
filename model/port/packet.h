// A packet between two ports: the headers as values, the payload as references into the sender's memory.
//
// Its exact bytes exist only where somebody looks (a capture, an external link, a corruption script): hca/wire/builder
// makes them from this, hca/wire/parser makes this from them, and `image` holds them while they are what is on the wire.
#pragma once

#include "abi/types.h"
#include "abi/wire/opcode.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace model::port {

using MacAddress = std::array<std::byte, 6>;
using Gid = std::array<std::byte, 16>; ///< an IPv4 address stands as ::ffff:a.b.c.d

enum class Encapsulation : std::uint8_t { roce_v2_ipv4, roce_v2_ipv6, infiniband };

/// Addresses of a packet, L2 to L4. Only the members of its encapsulation count.
struct Path {
    Encapsulation encapsulation = Encapsulation::roce_v2_ipv4;
    bool has_grh = false;            ///< InfiniBand: a global route header is present
    std::uint8_t service_level = 0;  ///< InfiniBand SL; RoCE: VLAN priority, unused without a VLAN
    std::uint8_t traffic_class = 0;  ///< DSCP << 2 | ECN
    std::uint8_t hop_limit = 64;
    std::uint16_t source_lid = 0, destination_lid = 0;
    std::uint16_t udp_source_port = 0;
    std::uint32_t flow_label = 0;
    MacAddress source_mac{}, destination_mac{};
    Gid source_gid{}, destination_gid{};
};

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

/// Payload of a packet: up to `max_pieces` references, or bytes of its own. Never both.
class Payload {
public:
    static constexpr std::size_t max_pieces = 4;

    Payload() = default;
    /// Lent bytes stay lent to the copy, own bytes are copied. The data path fills packets in place and copies none.
    Payload(const Payload& other) { *this = other; }
    Payload& operator=(const Payload& other) {
        if (this == &other)
            return *this;
        pieces_ = other.pieces_;
        size_ = other.size_;
        count_ = other.count_;
        is_owned_ = other.is_owned_;
        if (is_owned_) {
            owned_.assign(other.owned_.begin(), other.owned_.begin() + other.size_);
            refresh();
        }
        return *this;
    }
    ~Payload() = default;

    void clear() { count_ = 0, size_ = 0, is_owned_ = false; }
    std::uint32_t size() const { return size_; }
    bool is_empty() const { return size_ == 0; }
    /// True when the bytes still lie in the sender's memory.
    bool is_lent() const { return !is_owned_ && size_ != 0; }
    std::span<const std::span<const std::byte>> pieces() const { return {pieces_.data(), count_}; }

    /// Adds bytes that the sender keeps in place until the packet is delivered. Copies when the references are used up.
    void lend(std::span<const std::byte> bytes) {
        if (is_owned_ || count_ == max_pieces)
            return append_copy(bytes);
        if (count_ != 0 && pieces_[count_ - 1].data() + pieces_[count_ - 1].size() == bytes.data())
            pieces_[count_ - 1] = {pieces_[count_ - 1].data(), pieces_[count_ - 1].size() + bytes.size()};
        else
            pieces_[count_++] = bytes;
        size_ += static_cast<std::uint32_t>(bytes.size());
    }
    /// Adds a copy of `bytes`.
    void append_copy(std::span<const std::byte> bytes) {
        const auto at = extend(bytes.size());
        if (!bytes.empty())
            std::memcpy(at.data(), bytes.data(), bytes.size());
    }
    /// Adds `length` bytes of the packet's own, to be filled by the caller.
    std::span<std::byte> extend(std::size_t length) {
        own();
        owned_.resize(size_ + length);
        const auto at = std::span(owned_).subspan(size_);
        size_ += static_cast<std::uint32_t>(length);
        refresh();
        return at;
    }
    /// Copies lent bytes into the packet, so that later changes of the sender's memory no longer show.
    void own() {
        if (is_owned_)
            return;
        owned_.resize(size_);
        copy_to(owned_);
        is_owned_ = true;
        refresh();
    }
    /// Copies the payload into the first size() bytes of `out`.
    void copy_to(std::span<std::byte> out) const {
        assert(out.size() >= size_);
        auto at = out.data();
        for (const auto& piece : pieces()) {
            std::memcpy(at, piece.data(), piece.size());
            at += piece.size();
        }
    }

private:
    void refresh() {
        pieces_[0] = {owned_.data(), size_};
        count_ = size_ != 0;
    }

    std::array<std::span<const std::byte>, max_pieces> pieces_{};
    std::vector<std::byte> owned_; ///< keeps its capacity when the packet's slot is used again
    std::uint32_t size_ = 0;
    std::uint8_t count_ = 0;
    bool is_owned_ = false;
};

struct Packet {
    Path path;
    abi::wire::Service service = abi::wire::Service::rc;
    abi::wire::Operation operation = abi::wire::Operation::send_only;
    bool solicited = false;
    bool migrated = true; ///< BTH MigReq
    bool ack_request = false;
    bool fecn = false, becn = false;
    std::uint16_t pkey = 0xffff;
    abi::Qpn destination;
    abi::Psn psn;
    Reth reth;
    Aeth aeth;
    AtomicEth atomic;
    std::uint64_t atomic_original = 0; ///< AtomicAckETH
    std::uint32_t immediate = 0;       ///< ImmDt, as the application's 32 bits in network order read big endian
    abi::Key invalidate;               ///< IETH
    Deth deth;
    std::uint32_t xrc_srq = 0;         ///< XRCETH
    Payload payload;
    std::vector<std::byte> image; ///< exact frame (from the Ethernet header or LRH to ICRC/VCRC), or empty

    const abi::wire::OperationTraits& traits() const { return abi::wire::traits(operation); }
    /// Makes a used slot ready for the next packet. Headers keep old values: whoever builds a packet sets those it has.
    void clear() {
        service = abi::wire::Service::rc;
        solicited = ack_request = fecn = becn = false;
        migrated = true;
        payload.clear();
        image.clear();
    }
};

} // namespace model::port
