// What a function says of translating addresses itself: address translation services with its TLB, page requests,
// PASIDs. Little endian; offsets are from the start of the structure. Witness: testbench/witness/pci_regs_test.cpp
// (linux/pci_regs.h). PCIe 6.0 §10.5.1, §10.5.2, §7.8.9.
#pragma once

#include "abi/pcie/capability.h"

namespace abi::pcie {

// §10.5.1 "ATS Extended Capability".
// clang-format off
using AddressTranslation = LittleLayout<"address_translation", 8,
    Bits<"id",            0x0, 15,  0, ExtendedCapabilityId, ro>,
    Bits<"version",       0x0, 19, 16,                       ro>,
    Bits<"next",          0x0, 31, 20, std::uint16_t,        ro>,
    Bits<"queue_depth",   0x4,  4,  0,                       ro>,  // invalidations it takes at a time; 0: 32
    Bits<"page_aligned",  0x4,  5,  5, bool,                 ro>,  // its translation requests are
    Bits<"smallest_unit", 0x4, 20, 16,                       rw>,  // 4 KiB << n
    Bits<"enable",        0x4, 31, 31, bool,                 rw>>;
// clang-format on

// §10.5.2 "Page Request Extended Capability".
// clang-format off
using PageRequestInterface = LittleLayout<"page_request_interface", 16,
    Bits<"id",               0x0, 15,  0, ExtendedCapabilityId, ro>,
    Bits<"version",          0x0, 19, 16,                       ro>,
    Bits<"next",             0x0, 31, 20, std::uint16_t,        ro>,
    Bits<"enable",           0x4,  0,  0, bool,                 rw>,
    Bits<"reset",            0x4,  1,  1, bool,                 rw1s>,
    Bits<"response_failure", 0x4, 16, 16, bool,                 rw1c>,
    Bits<"unexpected_group", 0x4, 17, 17, bool,                 rw1c>,
    Bits<"stopped",          0x4, 24, 24, bool,                 ro>,
    Bits<"needs_pasid",      0x4, 31, 31, bool,                 ro>,   // responses have the PASID of their request
    U32 <"capacity",         0x8,                               ro>,   // page requests that may be outstanding
    U32 <"allocation",       0xc,                               rw>>;  // and that software allows
// clang-format on

// §7.8.9 "PASID Extended Capability".
// clang-format off
using PasidCapability = LittleLayout<"pasid_capability", 8,
    Bits<"id",      0x0, 15,  0, ExtendedCapabilityId, ro>,
    Bits<"version", 0x0, 19, 16,                       ro>,
    Bits<"next",    0x0, 31, 20, std::uint16_t,        ro>,
    Bits<"width",   0x4, 12,  8,                       ro>,  // bits of a PASID
    Bits<"enable",  0x4, 16, 16, bool,                 rw>>;
// clang-format on

} // namespace abi::pcie
