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
    Bits<"vendor_id",               0x00, 15,  0, std::uint16_t>,
    Bits<"device_id",               0x00, 31, 16, std::uint16_t>,
    Bits<"memory_space_enable",     0x04,  1,  1, bool>,
    Bits<"bus_master_enable",       0x04,  2,  2, bool>,
    Bits<"parity_error_response",   0x04,  6,  6, bool>,
    Bits<"serr_enable",             0x04,  8,  8, bool>,
    Bits<"interrupt_disable",       0x04, 10, 10, bool>,
    Bits<"capabilities_list",       0x04, 20, 20, bool>,
    Bits<"master_data_parity_error", 0x04, 24, 24, bool>,
    Bits<"signaled_target_abort",   0x04, 27, 27, bool>,
    Bits<"received_target_abort",   0x04, 28, 28, bool>, // a completion came back with completer abort
    Bits<"received_master_abort",   0x04, 29, 29, bool>, // a completion came back with unsupported request
    Bits<"signaled_system_error",   0x04, 30, 30, bool>,
    Bits<"detected_parity_error",   0x04, 31, 31, bool>,
    Bits<"revision_id",             0x08,  7,  0, std::uint8_t>,
    Bits<"class_code",              0x08, 31,  8>,       // base class, sub class, programming interface
    Bits<"cache_line_size",         0x0c,  7,  0, std::uint8_t>,
    Bits<"header_type",             0x0c, 22, 16, std::uint8_t>,
    Bits<"multi_function",          0x0c, 23, 23, bool>,
    Bits<"capabilities_pointer",    0x34,  7,  0, std::uint8_t>,
    Bits<"interrupt_line",          0x3c,  7,  0, std::uint8_t>,
    Bits<"interrupt_pin",           0x3c, 15,  8, std::uint8_t>>;
// clang-format on

// PCIe 6.0 §7.5.1.2 "Type 0 Configuration Space Header": what it has beyond the common part.
// clang-format off
using Type0Header = LittleLayout<"type0_header", 64,
    U32 <"bar0",                0x10>,
    U32 <"bar1",                0x14>,
    U32 <"bar2",                0x18>,
    U32 <"bar3",                0x1c>,
    U32 <"bar4",                0x20>,
    U32 <"bar5",                0x24>,
    Bits<"subsystem_vendor_id", 0x2c, 15,  0, std::uint16_t>,
    Bits<"subsystem_id",        0x2c, 31, 16, std::uint16_t>,
    U32 <"expansion_rom",       0x30>>;
// clang-format on

// A memory base address register (§7.5.1.2.1).
// clang-format off
using MemoryBar = LittleLayout<"memory_bar", 4,
    Bits<"is_io",        0x0,  0,  0, bool>,
    Bits<"type",         0x0,  2,  1>,            // 0: 32 bits, 2: 64 bits, the next register holds the upper half
    Bits<"prefetchable", 0x0,  3,  3, bool>,
    Bits<"base",         0x0, 31,  4>>;
// clang-format on
inline constexpr std::uint32_t bar_type_64 = 2;

// PCIe 6.0 §7.5.1.3 "Type 1 Configuration Space Header". Windows end with the last byte: limits are inclusive.
// clang-format off
using Type1Header = LittleLayout<"type1_header", 64,
    U32 <"bar0",                      0x10>,
    U32 <"bar1",                      0x14>,
    U8  <"primary_bus",               0x18>,
    U8  <"secondary_bus",             0x19>,
    U8  <"subordinate_bus",           0x1a>,
    Bits<"io_base",                   0x1c,  7,  0>,
    Bits<"io_limit",                  0x1c, 15,  8>,
    Bits<"secondary_status",          0x1c, 31, 16>,
    Bits<"memory_base",               0x20, 15,  4>, // address bits 31..20
    Bits<"memory_limit",              0x20, 31, 20>,
    Bits<"prefetchable_base_type",    0x24,  3,  0>, // 1: the upper halves exist
    Bits<"prefetchable_base",         0x24, 15,  4>,
    Bits<"prefetchable_limit_type",   0x24, 19, 16>,
    Bits<"prefetchable_limit",        0x24, 31, 20>,
    U32 <"prefetchable_base_upper",   0x28>,
    U32 <"prefetchable_limit_upper",  0x2c>,
    U32 <"expansion_rom",             0x38>,
    Bits<"bridge_parity_response",    0x3c, 16, 16, bool>,
    Bits<"bridge_serr_enable",        0x3c, 17, 17, bool>,
    Bits<"secondary_bus_reset",       0x3c, 22, 22, bool>>;
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
