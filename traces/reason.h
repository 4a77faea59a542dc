// Why the device passes over a doorbell or a packet that nobody gets an answer to: one sentence each. A room names its
// sentence (`drop(packet, "bad ICRC", at)`); it is looked up at compile time, and what travels and is compared is its
// number. A new one goes to the end; platform/observe/diagnostics explains each.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace traces {

inline constexpr auto reasons = std::to_array<std::string_view>({
    "no such queue pair",
    "wrong UAR page for this queue pair",
    "queue pair has no send queue that works",
    "no such completion queue",
    "wrong UAR page for this completion queue",
    "no such event queue",
    "wrong UAR page for this event queue",
    "command doorbell before the command queue's address",
    "the command queue's memory cannot be read",
    "the command queue entry belongs to software",
    "the event of this arm sequence number is out",
    "transport service of another kind of queue pair",
    "queue pair without a peer",
    "the MAC of another port",
    "the LID of another port",
    "the GID of another port",
    "not from the peer of this connection",
    "P_Key mismatch",
    "reserved operation",
    "the wrong side of an XRC connection",
    "multicast is for datagrams",
    "no member of this multicast group",
    "no datagram of this path's MTU",
    "Q_Key mismatch",
    "no receive work request",
    "the port is not armed",
    "no route to the LID",
    "no management datagram",
    "no agent for this datagram",
    "a route of too many hops",
    "a route that ends at a node without a manager",
    "a route through no port",
    "a route through a channel adapter",
    "no room for the answer of an agent",
    "frame too short for its headers",
    "EtherType is neither IPv4 nor IPv6",
    "IP version contradicts the EtherType",
    "IPv4 options in a RoCEv2 packet",
    "IP length contradicts the frame",
    "fragment of an IPv4 datagram",
    "bad IPv4 header checksum",
    "IP payload is not UDP",
    "UDP port is not 4791",
    "UDP length contradicts the IP length",
    "bad UDP checksum",
    "unknown LRH version",
    "LRH length contradicts the frame",
    "raw packet: no IBA transport",
    "VL15 and QP0 belong to each other",
    "bad VCRC",
    "GRH version is not 6",
    "GRH next header is not IBA transport",
    "GRH length contradicts the packet",
    "bad ICRC",
    "unknown BTH version",
    "reserved or unsupported opcode",
    "packet ends inside a transport header",
    "pad count exceeds the payload",
    "payload behind an operation that carries none",
    "payload length is impossible",
    "no receiver for plain frames",
});

class Reason {
public:
    /// One of `reasons`, and known when it is compiled.
    template <std::size_t n> consteval Reason(const char (&text)[n]) : Reason(find(std::string_view(text, n - 1))) {}
    /// Number of one of `reasons`.
    static constexpr Reason numbered(std::size_t number) { return Reason(static_cast<std::uint16_t>(number)); }

    constexpr std::string_view text() const { return reasons[number_]; }
    constexpr std::size_t number() const { return number_; }
    friend constexpr auto operator<=>(Reason, Reason) = default;

private:
    constexpr explicit Reason(std::uint16_t number) : number_(number) {}
    static consteval std::uint16_t find(std::string_view text) {
        const auto found = std::ranges::find(reasons, text);
        if (found == reasons.end())
            throw "not one of traces::reasons";
        return static_cast<std::uint16_t>(found - reasons.begin());
    }

    std::uint16_t number_;
};

/// An arm that is written twice does no harm (PRM "CQ doorbell", cmd_sn): no mistake, and nothing to explain.
inline constexpr Reason harmless = "the event of this arm sequence number is out";

} // namespace traces
