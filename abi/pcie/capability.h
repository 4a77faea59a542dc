// Capability structures in configuration space: power management, PCI Express version 2, MSI-X, Resizable BAR; and the
// entries of the MSI-X table, which lies in a BAR. Offsets are from the start of the structure. Little endian.
// Witness: testbench/witness/pci_regs_test.cpp (linux/pci_regs.h). PCIe 6.0 §7.5.2, §7.5.3, §7.7.2, §7.8.6.
#pragma once

#include "abi/layout.h"

namespace abi::pcie {

enum class CapabilityId : std::uint8_t {
    power_management = 0x01,
    vendor_specific = 0x09,
    pci_express = 0x10,
    msix = 0x11
};
enum class ExtendedCapabilityId : std::uint16_t {
    access_control = 0x0d,
    address_translation = 0x0f,
    page_request = 0x13,
    resizable_bar = 0x15,
    pasid = 0x1b
};

// clang-format off
using CapabilityHeader = LittleLayout<"capability_header", 4,
    Bits<"id",   0x0,  7, 0, CapabilityId, ro>,
    Bits<"next", 0x0, 15, 8, std::uint8_t, ro>>;
// clang-format on

// clang-format off
using ExtendedCapabilityHeader = LittleLayout<"extended_capability_header", 4,
    Bits<"id",      0x0, 15,  0, ExtendedCapabilityId, ro>,
    Bits<"version", 0x0, 19, 16,                       ro>,
    Bits<"next",    0x0, 31, 20, std::uint16_t,        ro>>;
// clang-format on
inline constexpr std::uint16_t first_extended_capability = 0x100;

// §7.5.2 "PCI Power Management Capability Structure".
// clang-format off
using PowerManagement = LittleLayout<"power_management", 8,
    Bits<"id",            0x0,  7,  0, CapabilityId, ro>,
    Bits<"next",          0x0, 15,  8, std::uint8_t, ro>,
    Bits<"version",       0x0, 18, 16,               ro>,
    Bits<"power_state",   0x4,  1,  0,               rw>,
    Bits<"no_soft_reset", 0x4,  3,  3, bool,         ro>>;
// clang-format on
inline constexpr std::uint32_t power_state_d0 = 0, power_state_d3hot = 3;

enum class PortType : std::uint8_t { endpoint = 0, root_port = 4, switch_upstream = 5, switch_downstream = 6 };

// §7.5.3 "PCI Express Capability Structure", capability version 2.
// clang-format off
using PciExpress = LittleLayout<"pci_express", 60,
    Bits<"id",                         0x00,  7,  0,   CapabilityId, ro>,
    Bits<"next",                       0x00, 15,  8,   std::uint8_t, ro>,
    Bits<"version",                    0x00, 19, 16,                 ro>,
    Bits<"port_type",                  0x00, 23, 20,   PortType,     ro>,
    Bits<"slot_implemented",           0x00, 24, 24,   bool,         hwinit>,
    // Device
    Bits<"max_payload_supported",      0x04,  2,  0,                 ro>,     // 128 << n
    Bits<"extended_tag_supported",     0x04,  5,  5,   bool,         ro>,
    Bits<"role_based_error_reporting", 0x04, 15, 15,   bool,         ro>,
    Bits<"function_level_reset",       0x04, 28, 28,   bool,         ro>,
    Bits<"correctable_enable",         0x08,  0,  0,   bool,         rw>,
    Bits<"non_fatal_enable",           0x08,  1,  1,   bool,         rw>,
    Bits<"fatal_enable",               0x08,  2,  2,   bool,         rw>,
    Bits<"unsupported_request_enable", 0x08,  3,  3,   bool,         rw>,
    Bits<"relaxed_ordering_enable",    0x08,  4,  4,   bool,         rw>,
    Bits<"max_payload_size",           0x08,  7,  5,                 rwl>,    // 128 << n
    Bits<"extended_tag_enable",        0x08,  8,  8,   bool,         rw>,
    Bits<"no_snoop_enable",            0x08, 11, 11,   bool,         rw>,
    Bits<"max_read_request_size",      0x08, 14, 12,                 rw>,     // 128 << n
    Bits<"initiate_reset",             0x08, 15, 15,   bool,         rw1s>,   // a function-level reset
    Bits<"correctable_detected",       0x08, 16, 16,   bool,         rw1c>,
    Bits<"non_fatal_detected",         0x08, 17, 17,   bool,         rw1c>,
    Bits<"fatal_detected",             0x08, 18, 18,   bool,         rw1c>,
    Bits<"unsupported_request_detected", 0x08, 19, 19, bool,         rw1c>,
    // Link
    Bits<"max_link_speed",             0x0c,  3,  0,                 ro>,     // generation
    Bits<"max_link_width",             0x0c,  9,  4,                 ro>,
    Bits<"link_active_reporting",      0x0c, 20, 20,   bool,         ro>,
    Bits<"port_number",                0x0c, 31, 24,                 hwinit>,
    Bits<"aspm_control",               0x10,  1,  0,                 rwl>,
    Bits<"read_completion_boundary",   0x10,  3,  3,                 rwl>,    // 0: 64 bytes
    Bits<"link_disable",               0x10,  4,  4,   bool,         rw>,
    Bits<"common_clock",               0x10,  6,  6,   bool,         rwl>,
    Bits<"extended_synch",             0x10,  7,  7,   bool,         rwl>,
    Bits<"link_speed",                 0x10, 19, 16,                 ro>,
    Bits<"link_width",                 0x10, 25, 20,                 ro>,
    Bits<"link_active",                0x10, 29, 29,   bool,         ro>,
    // Device 2 and Link 2
    Bits<"timeout_disable_supported",  0x24,  4,  4,   bool,         ro>,
    Bits<"timeout_disable",            0x28,  4,  4,   bool,         rw>,
    Bits<"supported_link_speeds",      0x2c,  7,  1,                 ro>,     // bit n-1: generation n
    Bits<"target_link_speed",          0x30,  3,  0,                 rws>>;
// clang-format on

/// Writes to [begin, end) are interrupt messages on a PC, and no memory (Intel SDM "Message Address Register Format";
/// VT-d "Interrupt-Range").
inline constexpr std::uint64_t interrupts_begin = 0xfee0'0000, interrupts_end = 0xfef0'0000;

// §7.7.2 "MSI-X Capability".
// clang-format off
using MsixCapability = LittleLayout<"msix_capability", 12,
    Bits<"id",            0x0,  7,  0, CapabilityId, ro>,
    Bits<"next",          0x0, 15,  8, std::uint8_t, ro>,
    Bits<"table_size",    0x0, 26, 16,               ro>,  // entries - 1
    Bits<"function_mask", 0x0, 30, 30, bool,         rw>,
    Bits<"enable",        0x0, 31, 31, bool,         rw>,
    Bits<"table_bir",     0x4,  2,  0,               ro>,
    Bits<"table_offset",  0x4, 31,  3,               ro>,  // in units of 8 bytes
    Bits<"pending_bir",   0x8,  2,  0,               ro>,
    Bits<"pending_offset", 0x8, 31, 3,               ro>>; // in units of 8 bytes
// clang-format on

// §7.7.2.5 to §7.7.2.8: an entry of the table.
// clang-format off
using MsixEntry = LittleLayout<"msix_entry", 16,
    Bits<"address",       0x0, 31, 2,       rw>, // in units of 4 bytes
    U32 <"address_upper", 0x4,              rw>,
    U32 <"data",          0x8,              rw>,
    Bits<"mask",          0xc,  0, 0, bool, rw>>;
// clang-format on

// §7.8.6 "Resizable BAR Extended Capability" with one resizable BAR.
// clang-format off
using ResizableBar = LittleLayout<"resizable_bar", 12,
    Bits<"id",              0x0, 15,  0, ExtendedCapabilityId, ro>,
    Bits<"version",         0x0, 19, 16,                       ro>,
    Bits<"next",            0x0, 31, 20, std::uint16_t,        ro>,
    Bits<"supported_sizes", 0x4, 31,  4,                       ro>,  // bit n: 1 MiB << n
    Bits<"bar_index",       0x8,  2,  0,                       ro>,
    Bits<"bar_count",       0x8,  7,  5,                       ro>,
    Bits<"bar_size",        0x8, 13,  8,                       rw>>; // 1 MiB << n
// clang-format on

} // namespace abi::pcie
