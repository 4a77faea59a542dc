// The vendor-specific capability of ConnectX functions: a gateway in configuration space to register spaces of the
// device, for a driver that has lost its BAR and for tools. Offsets are from the start of the structure. Little endian.
// Witness: of the header testbench/witness/pci_regs_test.cpp (linux/pci_regs.h); of the rest the stock driver, which
// dumps a space through it in testbench/guest/cases/health.sh (drivers/net/ethernet/mellanox/mlx5/core/lib/pci_vsc.c),
// as no header has it. PCIe 6.0 §7.9.4.
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"
#include "abi/pcie/capability.h"

namespace abi::pcie {

// clang-format off
#define ABI_PCIE_GATEWAY_SPACES(X) \
    X(icmd,       0x1, "ICMD")     \
    X(cr,         0x2, "CR space") \
    X(scan_cr,    0x7, "CR space, in one sweep") \
    X(semaphores, 0xa, "semaphores")
ABI_NAMED_ENUM(GatewaySpace, std::uint16_t, ABI_PCIE_GATEWAY_SPACES)
#undef ABI_PCIE_GATEWAY_SPACES

using VendorGateway = LittleLayout<"vendor_gateway", 0x18,
    Bits<"id",            0x00,  7,  0, CapabilityId, ro>,
    Bits<"next",          0x00, 15,  8, std::uint8_t, ro>,
    Bits<"length",        0x00, 23, 16, std::uint8_t, ro>,
    Bits<"type",          0x00, 31, 24, std::uint8_t, ro>,  // 0: functional
    Bits<"space",         0x04, 15,  0, GatewaySpace, rw>,
    Bits<"syndrome_code", 0x04, 27, 24,               ro>,
    Bits<"size_valid",    0x04, 28, 28, bool,         ro>,  // behind a choice of space: `address` is the size of it
    Bits<"status",        0x04, 31, 29,               ro>,  // 0: there is no such space
    U32 <"counter",       0x08,                       ro>,  // each read gives a number that nobody else has
    U32 <"semaphore",     0x0c,                       rw>,  // who has the gateway: a number of the counter, 0 is nobody
    Bits<"address",       0x10, 29,  0,               rw>,
    Bits<"syndrome",      0x10, 30, 30, bool,         ro>,
    Bits<"flag",          0x10, 31, 31, bool,         rw>,  // written 0: read, then 1; written 1: write, then 0
    U32 <"data",          0x14,                       rw>>;
// clang-format on
inline constexpr std::uint32_t gateway_space_supported = 1; ///< `status`
inline constexpr std::uint32_t gateway_out_of_range = 3;    ///< `syndrome_code`

} // namespace abi::pcie
