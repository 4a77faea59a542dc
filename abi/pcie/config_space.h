// Configuration space headers of PCIe functions: type 0 (endpoints) and type 1 (bridges and ports). Little endian.
// Witness: testbench/witness/pci_regs_test.cpp (linux/pci_regs.h). PCIe 6.0 §7.5.1.
#pragma once

#include "abi/layout.h"

namespace abi::pcie {

inline constexpr std::size_t config_space_bytes = 4096; ///< 256 bytes of them are the PCI compatible part
inline constexpr std::size_t type0_bars = 6, type1_bars = 2;
inline constexpr std::uint16_t bar_offset = 0x10; ///< BAR n is the dword at bar_offset + 4 n, in both header types

// PCIe 6.0 §7.5.1.1 "Type 0/1 Common Configuration Space".
// clang-format off
using CommonHeader = LittleLayout<"common_header", 64,
    Bits<"vendor_id",               0x00, 15,  0,  std::uint16_t, ro>,
    Bits<"device_id",               0x00, 31, 16,  std::uint16_t, ro>,
    Bits<"memory_space_enable",     0x04,  1,  1,  bool,          rw>,
    Bits<"bus_master_enable",       0x04,  2,  2,  bool,          rw>,
    Bits<"parity_error_response",   0x04,  6,  6,  bool,          rw>,
    Bits<"serr_enable",             0x04,  8,  8,  bool,          rw>,
    Bits<"interrupt_disable",       0x04, 10, 10,  bool,          rw>,
    Bits<"capabilities_list",       0x04, 20, 20,  bool,          ro>,
    Bits<"master_data_parity_error", 0x04, 24, 24, bool,          rw1c>,
    Bits<"signaled_target_abort",   0x04, 27, 27,  bool,          rw1c>,
    Bits<"received_target_abort",   0x04, 28, 28,  bool,          rw1c>, // a completion came with completer abort
    Bits<"received_master_abort",   0x04, 29, 29,  bool,          rw1c>, // a completion came with unsupported request
    Bits<"signaled_system_error",   0x04, 30, 30,  bool,          rw1c>,
    Bits<"detected_parity_error",   0x04, 31, 31,  bool,          rw1c>,
    Bits<"revision_id",             0x08,  7,  0,  std::uint8_t,  ro>,
    Bits<"class_code",              0x08, 31,  8,                 ro>,   // base class, sub class, programming interface
    Bits<"cache_line_size",         0x0c,  7,  0,  std::uint8_t,  rw>,
    Bits<"header_type",             0x0c, 22, 16,  std::uint8_t,  ro>,
    Bits<"multi_function",          0x0c, 23, 23,  bool,          ro>,
    Bits<"capabilities_pointer",    0x34,  7,  0,  std::uint8_t,  ro>,
    Bits<"interrupt_line",          0x3c,  7,  0,  std::uint8_t,  rw>,
    Bits<"interrupt_pin",           0x3c, 15,  8,  std::uint8_t,  ro>>;
// clang-format on

// PCIe 6.0 §7.5.1.2 "Type 0 Configuration Space Header": what it has beyond the common part.
// clang-format off
using Type0Header = LittleLayout<"type0_header", 64,
    U32 <"bar0",                0x10,                        rw>,
    U32 <"bar1",                0x14,                        rw>,
    U32 <"bar2",                0x18,                        rw>,
    U32 <"bar3",                0x1c,                        rw>,
    U32 <"bar4",                0x20,                        rw>,
    U32 <"bar5",                0x24,                        rw>,
    Bits<"subsystem_vendor_id", 0x2c, 15,  0, std::uint16_t, hwinit>,
    Bits<"subsystem_id",        0x2c, 31, 16, std::uint16_t, hwinit>,
    U32 <"expansion_rom",       0x30,                        rw>>;
// clang-format on

// A memory base address register (§7.5.1.2.1).
// clang-format off
using MemoryBar = LittleLayout<"memory_bar", 4,
    Bits<"is_io",        0x0,  0,  0, bool, ro>,
    Bits<"type",         0x0,  2,  1,       ro>,  // 0: 32 bits, 2: 64 bits, the next register holds the upper half
    Bits<"prefetchable", 0x0,  3,  3, bool, ro>,
    Bits<"base",         0x0, 31,  4,       rw>>;
// clang-format on
// The upper half of one of 64 bits.
// clang-format off
using MemoryBarUpper = LittleLayout<"memory_bar_upper", 4,
    U32<"base", 0x0, rw>>;
// clang-format on
inline constexpr std::uint32_t bar_type_64 = 2;

// PCIe 6.0 §7.5.1.3 "Type 1 Configuration Space Header". Windows end with the last byte: limits are inclusive.
// clang-format off
using Type1Header = LittleLayout<"type1_header", 64,
    U32 <"bar0",                      0x10,               rw>,
    U32 <"bar1",                      0x14,               rw>,
    U8  <"primary_bus",               0x18,               rw>,
    U8  <"secondary_bus",             0x19,               rw>,
    U8  <"subordinate_bus",           0x1a,               rw>,
    Bits<"io_base_type",              0x1c,  3,  0,       ro>,
    Bits<"io_base",                   0x1c,  7,  4,       rw>,  // address bits 15..12
    Bits<"io_limit_type",             0x1c, 11,  8,       ro>,
    Bits<"io_limit",                  0x1c, 15, 12,       rw>,
    Bits<"secondary_master_data_parity_error", 0x1c, 24, 24, bool, rw1c>, // of the secondary bus, as in the common
    Bits<"secondary_signaled_target_abort", 0x1c, 27, 27, bool, rw1c>,    // header's status of the primary one
    Bits<"secondary_received_target_abort", 0x1c, 28, 28, bool, rw1c>,
    Bits<"secondary_received_master_abort", 0x1c, 29, 29, bool, rw1c>,
    Bits<"secondary_received_system_error", 0x1c, 30, 30, bool, rw1c>,
    Bits<"secondary_detected_parity_error", 0x1c, 31, 31, bool, rw1c>,
    Bits<"memory_base",               0x20, 15,  4,       rw>,  // address bits 31..20
    Bits<"memory_limit",              0x20, 31, 20,       rw>,
    Bits<"prefetchable_base_type",    0x24,  3,  0,       ro>,  // 1: the upper halves exist
    Bits<"prefetchable_base",         0x24, 15,  4,       rw>,
    Bits<"prefetchable_limit_type",   0x24, 19, 16,       ro>,
    Bits<"prefetchable_limit",        0x24, 31, 20,       rw>,
    U32 <"prefetchable_base_upper",   0x28,               rw>,
    U32 <"prefetchable_limit_upper",  0x2c,               rw>,
    U32 <"expansion_rom",             0x38,               rw>,
    Bits<"bridge_parity_response",    0x3c, 16, 16, bool, rw>,
    Bits<"bridge_serr_enable",        0x3c, 17, 17, bool, rw>,
    Bits<"secondary_bus_reset",       0x3c, 22, 22, bool, rw>>;
// clang-format on

/// Granularity of the windows of a type 1 header.
inline constexpr std::uint64_t window_granule = 1 << 20;

/// Bus, device and function number: the address of a configuration request, the identity of a requester (§2.2.4.2).
struct Bdf {
    std::uint16_t value = 0;
    constexpr Bdf() = default;
    constexpr explicit Bdf(std::uint16_t v) : value(v) {}
    constexpr Bdf(unsigned bus, unsigned device, unsigned function)
        : value(static_cast<std::uint16_t>(bus << 8 | (device & 31) << 3 | (function & 7))) {}
    constexpr std::uint8_t bus() const { return static_cast<std::uint8_t>(value >> 8); }
    constexpr std::uint8_t device() const { return value >> 3 & 31; }
    constexpr std::uint8_t function() const { return value & 7; }
    constexpr auto operator<=>(const Bdf&) const = default;
};

/// ECAM (§7.2.2): where the configuration register `offset` of `bdf` lies in the region.
constexpr std::uint64_t ecam_offset(Bdf bdf, std::uint16_t offset) {
    return std::uint64_t{bdf.value} << 12 | (offset & 0xfff);
}
inline constexpr std::uint64_t ecam_bytes = std::uint64_t{1} << 28;

/// Class codes (PCI Code and ID Assignment): base class, sub class, programming interface.
inline constexpr std::uint32_t class_network_infiniband = 0x020700, class_network_ethernet = 0x020000,
                               class_display_3d = 0x030200, class_bridge_pci = 0x060400;

} // namespace abi::pcie
