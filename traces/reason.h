// Why something was refused, dropped, passed over or done again: sentences for people, numbers for whoever compares. A
// room names its sentence (`drop(packet, "bad ICRC", at)`); it is looked up when it is compiled, and what travels in an
// event is its number. A new sentence goes to the end of its table.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace traces {

/// One of `texts`, by its number.
template <const auto& texts> class OneOf {
public:
    /// Known when it is compiled.
    template <std::size_t n> consteval OneOf(const char (&text)[n]) : OneOf(find(std::string_view(text, n - 1))) {}
    /// The one with a number that a table or an event has.
    static constexpr OneOf numbered(std::size_t number) { return OneOf(static_cast<std::uint16_t>(number)); }

    constexpr std::string_view text() const { return texts[number_]; }
    constexpr std::size_t number() const { return number_; }
    friend constexpr auto operator<=>(OneOf, OneOf) = default;

private:
    constexpr explicit OneOf(std::uint16_t number) : number_(number) {}
    static consteval std::uint16_t find(std::string_view text) {
        const auto found = std::ranges::find(texts, text);
        if (found == texts.end())
            throw "no sentence of this table";
        return static_cast<std::uint16_t>(found - texts.begin());
    }

    std::uint16_t number_;
};

/// Why the device passes over a doorbell or a packet that nobody gets an answer to; platform/observe/diagnostics
/// explains each.
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
    "a CNP of no connection",
    "no way to the MAC",
    "no room in the switch",
    "too long at the head of its queue",
    "a lane that has stalled",
    "longer than the MTU of the next link",
    "a group that ends at the first bridge",
    "the doorbell record does not count this work request",
    "data on a VL that is not operational",
});

using Reason = OneOf<reasons>;

/// An arm that is written twice does no harm (PRM "CQ doorbell", cmd_sn): no mistake, and nothing to explain.
inline constexpr Reason harmless = "the event of this arm sequence number is out";

/// Why an access by a key is refused: what model::hca::tpt calls its violations.
inline constexpr auto refusals = std::to_array<std::string_view>({
    "no such key",
    "key is free",
    "wrong variant",
    "wrong protection domain",
    "key bound to another queue pair",
    "no right",
    "out of bounds",
    "page not present",
    "atomic on divided bytes",
    "page fault",
    "unknown",
});
using RefusalReason = OneOf<refusals>;

/// Why a key is not changed: what model::hca::umr calls its faults.
inline constexpr auto key_change_refusals = std::to_array<std::string_view>({
    "no such key",
    "the key does not take UMRs",
    "wrong protection domain",
    "the key is free",
    "the key is not free",
    "key bound to another queue pair",
    "the queue pair may not change this kind of key",
    "a field that no UMR may change",
    "no such protection domain",
    "page size",
    "the range leaves the address space",
    "translations beyond the table",
    "fewer translations than announced",
    "unknown",
});
using KeyChangeReason = OneOf<key_change_refusals>;

/// What the script of a link does to a packet.
inline constexpr auto link_faults = std::to_array<std::string_view>({
    "lost",
    "duplicated",
    "reordered",
    "corrupted",
    "discarded",
    "refused",
});
using LinkFaultKind = OneOf<link_faults>;

/// Why a requester goes back.
inline constexpr auto retries = std::to_array<std::string_view>({
    "timeout",
    "sequence",
    "rnr",
    "implied",
});
using RetryReason = OneOf<retries>;

/// Why a port lets no request pass.
inline constexpr auto blocks = std::to_array<std::string_view>({
    "source validation: the requester's bus is not behind the port",
    "translation blocking: only untranslated requests pass the port",
    "the address lies behind the port that the request came by",
    "the host forwards no requests between devices",
});
using BlockReason = OneOf<blocks>;

/// Which mapping led an access to another's page.
inline constexpr auto stale_mappings = std::to_array<std::string_view>({
    "memory key",
    "remapping unit",
    "memory key behind remapping unit",
    "none that is known",
    "data pointer",
    "queue",
    "page of a GPU",
    "data pointer behind remapping unit",
    "queue behind remapping unit",
    "page of a GPU behind remapping unit",
});
using StaleMapping = OneOf<stale_mappings>;

/// Why an NVMe controller passes over a doorbell.
inline constexpr auto doorbell_mistakes = std::to_array<std::string_view>({
    "no such queue",
    "the value is no entry of the queue",
    "the tail takes entries back",
    "the head passes completions that are not there",
});
using DoorbellMistake = OneOf<doorbell_mistakes>;

/// What has happened to an NVMe controller.
inline constexpr auto controller_states = std::to_array<std::string_view>({
    "disabled",
    "enabled",
    "ready",
    "shut down",
    "failed",
});
using ControllerState = OneOf<controller_states>;

/// Why an NVMe controller has failed.
inline constexpr auto controller_failures = std::to_array<std::string_view>({
    "it was enabled with what it does not support",
    "a submission queue cannot be read",
    "a completion queue cannot be written",
    "a shadow doorbell cannot be reached",
});
using ControllerFailure = OneOf<controller_failures>;

/// What has happened to a namespace.
inline constexpr auto namespace_changes = std::to_array<std::string_view>({
    "created",
    "deleted",
    "attached",
    "detached",
    "formatted",
    "write protection changed",
    "sanitized",
});
using NamespaceChange = OneOf<namespace_changes>;

} // namespace traces
