// What a trace says, in memory: who recorded it and of what, and its records one by one.
#pragma once

#include "traces/codec/digest.h"
#include "traces/events.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace traces::codec {

/// What the records of an interface are.
enum class InterfaceKind : std::uint8_t {
    pcie,       ///< TLPs of one function's link, and signals at its boundary
    ethernet,   ///< frames of a network port, without their check sequence
    infiniband, ///< packets of a network port, LRH to VCRC
    events,     ///< what the rooms of the model say (traces/event.h)
};
std::string_view name(InterfaceKind kind);

struct Interface {
    InterfaceKind kind = InterfaceKind::pcie;
    std::string name; ///< of the object, whole
    bool operator==(const Interface&) const = default;
};

struct Identity {
    std::string revision; ///< of the program that recorded
    std::uint64_t seed = 0;
    std::uint32_t events_version = traces::events_version;
    std::uint64_t dictionary_bytes = 16 << 20; ///< window of the payloads that records may refer to
    bool operator==(const Identity&) const = default;
};

/// What stands in front of the first record.
struct Head {
    Identity identity;
    std::string configuration;      ///< effective, as text
    std::vector<std::string> names; ///< of the sources of events, by their numbers
    std::vector<Interface> interfaces;
    bool operator==(const Head&) const = default;
};

enum class RecordKind : std::uint8_t {
    request = 1,  ///< a TLP that asks or posts
    completion,   ///< a TLP that answers
    continuation, ///< a TLP that goes on with the access of the one before it on this interface
    signal,       ///< something at the boundary that no TLP and no frame carries: a SignalRecord
    frame,        ///< of a network port
    event,        ///< an EventHead and the members of the event
};
enum class Direction : std::uint8_t { none, inbound, outbound }; ///< seen from the device that is recorded

struct Mark {
    RecordKind kind = RecordKind::request;
    Direction direction = Direction::none;
    std::uint8_t flags = 0;  ///< by_reference (the codec's own), poisoned, injected
    std::uint64_t gate = 0;  ///< number of the access at the gate in whose course it happened
    std::uint32_t cause = 0; ///< number of the record that led to it; 0: none is known
    bool operator==(const Mark&) const = default;
};

/// One record of a trace that is read; its bytes are valid until the next one is asked for.
struct Record {
    std::uint64_t number = 0; ///< from 1, over all interfaces
    std::uint32_t interface = 0;
    std::int64_t time_ps = 0;
    Mark mark;
    std::span<const std::byte> head;    ///< of a TLP, its prefix and header; of everything else, all of it
    std::span<const std::byte> payload; ///< of a TLP; a reference has been followed
};

/// A piece of a dictionary's entry.
struct Reference {
    Digest digest{};
    std::uint32_t offset = 0, length = 0;
    Reference part(std::uint32_t begin, std::uint32_t bytes) const { return {digest, offset + begin, bytes}; }
};

/// How many of the bytes of a TLP are prefixes and header. Nothing: more than there are, or no TLP.
std::optional<std::size_t> tlp_head_bytes(std::span<const std::byte> tlp);
/// How many bytes of data its header announces.
std::size_t tlp_payload_bytes(std::span<const std::byte> head);

} // namespace traces::codec
