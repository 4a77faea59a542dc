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
    Bits<"id",            0x00,  7,  0, CapabilityId>,
    Bits<"next",          0x00, 15,  8, std::uint8_t>,
    Bits<"length",        0x00, 23, 16, std::uint8_t>,
    Bits<"type",          0x00, 31, 24, std::uint8_t>, // 0: functional
    Bits<"space",         0x04, 15,  0, GatewaySpace>,
    Bits<"syndrome_code", 0x04, 27, 24>,
    Bits<"size_valid",    0x04, 28, 28, bool>,         // behind a choice of space: `address` is the size of it
    Bits<"status",        0x04, 31, 29>,               // 0: there is no such space
    U32 <"counter",       0x08>,                       // each read gives a number that nobody else has
    U32 <"semaphore",     0x0c>,                       // who has the gateway: a number of the counter, 0 is nobody
    Bits<"address",       0x10, 29,  0>,
    Bits<"syndrome",      0x10, 30, 30, bool>,
    Bits<"flag",          0x10, 31, 31, bool>,         // written 0: read, 1 when done; written 1: write, 0 when done
    U32 <"data",          0x14>>;
// clang-format on
inline constexpr std::uint32_t gateway_space_supported = 1; ///< `status`
inline constexpr std::uint32_t gateway_out_of_range = 3;    ///< `syndrome_code`

} // namespace abi::pcie
