// Headers of transaction layer packets: memory and configuration requests, completions. Written as the specification
// prints them: byte 0, the first on the link, stands leftmost. PCIe 6.0 §2.2 (non-flit mode).
// Witness: testbench/witness/tlp_test.cpp (published header bytes).
#pragma once

#include "abi/layout.h"

namespace abi::pcie {

enum class TlpFormat : std::uint8_t { no_data_3dw = 0, no_data_4dw = 1, data_3dw = 2, data_4dw = 3, prefix = 4 };
enum class TlpType : std::uint8_t { memory = 0x00, config0 = 0x04, config1 = 0x05, completion = 0x0a };
enum class CompletionStatus : std::uint8_t { success = 0, unsupported_request = 1, retry = 2, completer_abort = 4 };
/// AT field of a memory request (§2.2.4.1).
enum class AddressType : std::uint8_t { untranslated = 0, translation_request = 1, translated = 2 };

/// A prefix that says whose address space a request means (§2.2.10.2).
inline constexpr std::size_t pasid_prefix_bytes = 4;
inline constexpr std::uint32_t no_pasid = ~0u; ///< a request without that prefix

// §2.2.1: the first dword of every header.
// clang-format off
using TlpHeader = Layout<"tlp_header", 4,
    Bits<"fmt",           0x0, 31, 29, TlpFormat>,
    Bits<"type",          0x0, 28, 24, TlpType>,
    Bits<"traffic_class", 0x0, 22, 20>,
    Bits<"id_ordering",   0x0, 18, 18, bool>,
    Bits<"digest",        0x0, 15, 15, bool>,
    Bits<"poisoned",      0x0, 14, 14, bool>,
    Bits<"relaxed",       0x0, 13, 13, bool>,
    Bits<"no_snoop",      0x0, 12, 12, bool>,
    Bits<"address_type",  0x0, 11, 10, AddressType>,
    Bits<"length",        0x0,  9,  0>>;           // dwords, 0 means 1024
// clang-format on

// §2.2.7.1: memory request with a 32-bit address.
// clang-format off
using MemoryRequest32 = Layout<"memory_request_32", 12,
    Sub <"header",        0x0, TlpHeader>,
    Bits<"requester",     0x4, 31, 16, std::uint16_t>,
    Bits<"tag",           0x4, 15,  8>,
    Bits<"last_enables",  0x4,  7,  4>,
    Bits<"first_enables", 0x4,  3,  0>,
    Bits<"address",       0x8, 31,  2>>;           // address bits 31..2
// clang-format on

// §2.2.7.1: memory request with a 64-bit address.
// clang-format off
using MemoryRequest64 = Layout<"memory_request_64", 16,
    Sub <"header",        0x0, TlpHeader>,
    Bits<"requester",     0x4, 31, 16, std::uint16_t>,
    Bits<"tag",           0x4, 15,  8>,
    Bits<"last_enables",  0x4,  7,  4>,
    Bits<"first_enables", 0x4,  3,  0>,
    U32 <"address_upper", 0x8>,
    Bits<"address",       0xc, 31,  2>>;
// clang-format on

// §2.2.7.3: configuration request; always one dword of data or none.
// clang-format off
using ConfigRequest = Layout<"config_request", 12,
    Sub <"header",        0x0, TlpHeader>,
    Bits<"requester",     0x4, 31, 16, std::uint16_t>,
    Bits<"tag",           0x4, 15,  8>,
    Bits<"first_enables", 0x4,  3,  0>,
    Bits<"target",        0x8, 31, 16, std::uint16_t>,
    Bits<"register",      0x8, 11,  2>>;           // extended and low register number
// clang-format on

// §2.2.9: completion, with or without data.
// clang-format off
using Completion = Layout<"completion", 12,
    Sub <"header",        0x0, TlpHeader>,
    Bits<"completer",     0x4, 31, 16, std::uint16_t>,
    Bits<"status",        0x4, 15, 13, CompletionStatus>,
    Bits<"byte_count",    0x4, 11,  0>,            // bytes still to come, 0 means 4096
    Bits<"requester",     0x8, 31, 16, std::uint16_t>,
    Bits<"tag",           0x8, 15,  8>,
    Bits<"lower_address", 0x8,  6,  0>>;
// clang-format on

} // namespace abi::pcie
