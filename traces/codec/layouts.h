// What is ours in a trace file: the mark in front of each record, the custom blocks, the reference to a payload.
// traces/FORMAT.md says what each means; a change of this file is a new version of the format.
#pragma once

#include "traces/codec/pcapng.h"

#include <array>
#include <cstdint>

namespace traces::codec {

inline constexpr std::uint16_t format_version = 1;
/// Until the project has a number of its own: the one that IANA keeps for documentation. Our magic tells our blocks
/// from those of others under it.
inline constexpr std::uint32_t enterprise_number = 32473;
inline constexpr std::array magic{std::byte{'h'}, std::byte{'c'}, std::byte{'a'}, std::byte{'t'},
                                  std::byte{'r'}, std::byte{'a'}, std::byte{'c'}, std::byte{'e'}};

/// What a block may hold at most, its length included: what Wireshark takes for a whole packet.
inline constexpr std::size_t most_block_bytes = 262144;
inline constexpr std::size_t most_interfaces = 4096, most_names = 65535;
inline constexpr std::size_t most_configuration_bytes = 16 << 20;
/// One piece of payload that records refer to. Longer messages are several.
inline constexpr std::size_t most_entry_bytes = 65536;
/// What may follow behind the part of a frame that is by reference: ICRC, VCRC and padding.
inline constexpr std::size_t most_frame_tail_bytes = 16;
/// One record, its mark included: a jumbo frame fits, and the largest TLP.
inline constexpr std::size_t most_record_bytes = 16384;
inline constexpr std::uint64_t most_dictionary_bytes = 256 << 20;
inline constexpr std::uint64_t most_records = 0xffff'ffff; ///< a cause has 32 bits

// --- records ---
// clang-format off
using RecordMark = pcapng::LittleLayout<"record_mark", 16,
    pcapng::U8 <"version",   0x0>,
    pcapng::U8 <"kind",      0x1>,
    pcapng::U8 <"direction", 0x2>,
    pcapng::U8 <"flags",     0x3>,
    pcapng::U64<"gate",      0x4>,  // number of the access at the gate; 0: none has come yet
    pcapng::U32<"cause",     0xc>>; // number of the record that led to this one; 0: none

using PayloadReference = pcapng::LittleLayout<"payload_reference", 24,
    pcapng::Raw<"digest", 0x00, 16>,
    pcapng::U32<"offset", 0x10>,
    pcapng::U32<"length", 0x14>>;

using MarkOption = pcapng::LittleLayout<"mark_option", 20,
    pcapng::U32<"enterprise", 0x0>,
    pcapng::Sub<"mark",       0x4, RecordMark>>;

// Of a frame a part of which is in the dictionary. Its beginning is the block's data; its end follows here.
using FrameReferenceOption = pcapng::LittleLayout<"frame_reference_option", 28,
    pcapng::U32<"enterprise", 0x0>,
    pcapng::Sub<"reference",  0x4, PayloadReference>>;

// Something at a device's boundary that no TLP and no frame carries.
using SignalRecord = pcapng::LittleLayout<"signal", 16,
    pcapng::U16<"code",   0x0>,
    pcapng::U16<"port",   0x2>,
    pcapng::U32<"number", 0x4>,
    pcapng::U64<"value",  0x8>>;

using EventHead = pcapng::LittleLayout<"event_head", 32,     // its members follow, in the order of its table
    pcapng::U16<"type",          0x00>,  // its place in traces::Event
    pcapng::U16<"source",        0x02>,
    pcapng::U8 <"access",        0x04>,
    pcapng::U64<"number",        0x08>,  // as in its stamp (traces/events.h), as are the next two
    pcapng::U64<"cause",         0x10>,
    pcapng::U64<"access_number", 0x18>>;

// Endace's "extensible record format", type 21: what Wireshark reads InfiniBand from. Lengths are big endian.
using ErfHeader = pcapng::Layout<"erf_header", 16,
    pcapng::Raw<"time",          0x0, 8>,  // 32.32 seconds, little endian
    pcapng::U8 <"type",          0x8>,
    pcapng::U8 <"flags",         0x9>,
    pcapng::U16<"record_length", 0xa>,
    pcapng::U16<"lost",          0xc>,
    pcapng::U16<"wire_length",   0xe>>;

// --- custom blocks ---
using TraceBlock = pcapng::LittleLayout<"trace_block", 28,
    pcapng::Sub<"block",   0x00, pcapng::CustomBlock>,
    pcapng::Raw<"magic",   0x0c, 8>,
    pcapng::U16<"version", 0x14>,
    pcapng::U8 <"kind",    0x16>,
    pcapng::U8 <"flags",   0x17>,
    pcapng::U32<"length",  0x18>>;  // of what follows, without padding

using IdentityBlock = pcapng::LittleLayout<"identity", 24,   // the revision follows, UTF-8
    pcapng::U32<"events_version",   0x00>,
    pcapng::U32<"digest_algorithm", 0x04>,
    pcapng::U64<"seed",             0x08>,
    pcapng::U64<"dictionary_bytes", 0x10>>;

using NameBlock  = pcapng::LittleLayout<"name", 4, pcapng::U32<"source", 0x0>>; // the name follows
using EntryBlock = pcapng::LittleLayout<"entry", 16, pcapng::Raw<"digest", 0x0, 16>>; // the bytes follow

using SyncBlock = pcapng::LittleLayout<"sync", 48,           // 8 bytes for each interface follow
    pcapng::U64<"records",    0x00>,
    pcapng::U64<"block",      0x08>,
    pcapng::U64<"offset",     0x10>,
    pcapng::Raw<"digest",     0x18, 16>,
    pcapng::U32<"interfaces", 0x28>,
    pcapng::U32<"reserved",   0x2c>>;
// clang-format on

inline constexpr std::uint16_t link_type_ethernet = 1, link_type_pcie = 147, link_type_events = 148,
                               link_type_erf = 197;
inline constexpr std::uint8_t erf_infiniband = 21, erf_varying_length = 4;
inline constexpr std::uint8_t picoseconds = 12; ///< if_tsresol: a negative power of ten
inline constexpr std::uint32_t xxh3_128 = 1;    ///< digest_algorithm

enum class BlockKind : std::uint8_t { identity = 1, configuration, name, entry, sync, end };
inline constexpr std::uint8_t continues = 0x01;     ///< the next block of this kind goes on where this one ends
inline constexpr std::uint8_t indispensable = 0x80; ///< whoever does not know the kind cannot read the trace
inline constexpr std::uint8_t by_reference = 0x01, poisoned = 0x02, injected = 0x04; ///< flags of a record

} // namespace traces::codec
