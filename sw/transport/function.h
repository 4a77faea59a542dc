// What every driver does with its PCIe function before anything else: is it there, is it ours, may it decode and master
// the bus.
#pragma once

#include "abi/pcie/config_space.h"
#include "sw/base/result.h"
#include "sw/transport/transport.h"

#include <cstdint>

namespace sw::transport {

inline constexpr unsigned bar_count = abi::pcie::type0_bars;

/// Vendor and device as configuration space has them (PCIe 6.0 §7.5.1.1).
struct FunctionId {
    std::uint16_t vendor = 0;
    std::uint16_t device = 0;
};

/// Reads the identity, then sets memory space and bus master enable. Fails when no function answers or the bits do not
/// stick.
Result<FunctionId> enable_function(Transport& transport);
/// Clears bus master enable: no DMA and no interrupt leaves the function any more.
void disable_function(Transport& transport);

} // namespace sw::transport
