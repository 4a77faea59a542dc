// The blocks of a pcapng file that we write (draft-ietf-opsawg-pcapng, sections 3.5 and 4). A section has the byte
// order of its writer; ours is little endian. A block is its fixed part, what it holds and its options, each padded to
// four bytes, and its length once more. Witness: testbench/witness/trace_file.py and testbench/witness/check_capture.py
// (tshark, capinfos).
#pragma once

#include "abi/layout.h"

#include <cstdint>

namespace traces::codec::pcapng {

using namespace abi;

// clang-format off
using BlockHeader = LittleLayout<"block_header", 8,
    U32<"type",           0x00>,
    U32<"length",         0x04>>; // of the whole block, padding and trailer included

using SectionHeader = LittleLayout<"section_header", 24,
    Sub<"header",         0x00, BlockHeader>,
    U32<"byte_order",     0x08>,
    U16<"major",          0x0c>,
    U16<"minor",          0x0e>,
    U64<"section_length", 0x10>>; // all ones: not given

using InterfaceDescription = LittleLayout<"interface_description", 16,
    Sub<"header",         0x00, BlockHeader>,
    U16<"link_type",      0x08>,
    U16<"reserved",       0x0a>,
    U32<"snap_length",    0x0c>>; // 0: unlimited

using EnhancedPacket = LittleLayout<"enhanced_packet", 28,
    Sub<"header",          0x00, BlockHeader>,
    U32<"interface",       0x08>,
    U32<"time_high",       0x0c>,
    U32<"time_low",        0x10>,
    U32<"captured_length", 0x14>,
    U32<"original_length", 0x18>>;

using CustomBlock = LittleLayout<"custom_block", 12,
    Sub<"header",     0x00, BlockHeader>,
    U32<"enterprise", 0x08>>;

using Option = LittleLayout<"option", 4, U16<"code", 0x0>, U16<"length", 0x2>>;
// clang-format on

inline constexpr std::uint32_t section_header_type = 0x0a0d0d0a, interface_type = 1, enhanced_packet_type = 6;
/// What a program that copies blocks may do with one that it does not know. A block that refers to others by their
/// place must not be copied.
inline constexpr std::uint32_t custom_type = 0x00000bad, uncopied_custom_type = 0x40000bad;
inline constexpr std::uint32_t byte_order_magic = 0x1a2b3c4d;
inline constexpr std::uint64_t unknown_length = ~std::uint64_t{0};
inline constexpr std::size_t trailer_bytes = 4, least_block_bytes = BlockHeader::size + trailer_bytes;

inline constexpr std::uint16_t end_of_options = 0, option_if_name = 2, option_if_description = 3, option_if_tsresol = 9,
                               option_epb_flags = 2, option_user_application = 4, uncopied_custom_option = 19373;
inline constexpr std::uint32_t inbound = 1, outbound = 2; ///< epb_flags, bits 1..0

constexpr std::size_t padded(std::size_t n) { return (n + 3) / 4 * 4; }

} // namespace traces::codec::pcapng
