// Access control services of a port: what it does with requests of the devices below. Little endian; offsets are from
// the start of the structure. No egress control vector. Witness: testbench/witness/pci_regs_test.cpp
// (linux/pci_regs.h). PCIe 6.0 §7.7.11, §6.12.
#pragma once

#include "abi/pcie/capability.h"

namespace abi::pcie {

// §7.7.11 "Access Control Services Extended Capability": what the port has, and in the same order what is on.
// clang-format off
using AccessControl = LittleLayout<"access_control", 8,
    Bits<"id",                       0x0, 15,  0, ExtendedCapabilityId, ro>,
    Bits<"version",                  0x0, 19, 16,                       ro>,
    Bits<"next",                     0x0, 31, 20, std::uint16_t,        ro>,
    Bits<"has_source_validation",    0x4,  0,  0, bool,                 ro>,
    Bits<"has_translation_blocking", 0x4,  1,  1, bool,                 ro>,
    Bits<"has_request_redirect",     0x4,  2,  2, bool,                 ro>,
    Bits<"has_completion_redirect",  0x4,  3,  3, bool,                 ro>,
    Bits<"has_upstream_forwarding",  0x4,  4,  4, bool,                 ro>,
    Bits<"has_egress_control",       0x4,  5,  5, bool,                 ro>,
    Bits<"has_direct_translated",    0x4,  6,  6, bool,                 ro>,
    Bits<"source_validation",        0x4, 16, 16, bool,                 rw>,
    Bits<"translation_blocking",     0x4, 17, 17, bool,                 rw>,
    Bits<"request_redirect",         0x4, 18, 18, bool,                 rw>,
    Bits<"completion_redirect",      0x4, 19, 19, bool,                 rw>,
    Bits<"upstream_forwarding",      0x4, 20, 20, bool,                 rw>,
    Bits<"egress_control",           0x4, 21, 21, bool,                 rw>,
    Bits<"direct_translated",        0x4, 22, 22, bool,                 rw>>;
// clang-format on

} // namespace abi::pcie
