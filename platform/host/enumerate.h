// Enumeration as firmware of a PC does it: finds functions by configuration cycles, numbers buses depth first, sizes
// BARs, assigns addresses and bridge windows, sets packet sizes and enables memory space. Bus mastering of endpoints is
// left to their drivers. Knows devices only by what their registers say.
#pragma once

#include "abi/pcie/capability.h"
#include "abi/pcie/config_space.h"
#include "model/pcie/acs.h"
#include "model/pcie/root_complex.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace platform::host {

/// Configuration cycles of one machine.
class ConfigAccess {
public:
    virtual ~ConfigAccess() = default;
    virtual std::uint32_t read(abi::pcie::Bdf target, std::uint16_t offset, unsigned bytes) = 0;
    virtual void write(abi::pcie::Bdf target, std::uint16_t offset, unsigned bytes, std::uint32_t value) = 0;
};

struct BarFound {
    std::uint64_t address = 0, size = 0; ///< size 0: absent, or the upper half of the one before; address 0: no room
    bool is_64bit = false, is_prefetchable = false;
};

struct FunctionFound {
    abi::pcie::Bdf bdf;
    std::uint16_t vendor_id = 0, device_id = 0;
    std::uint32_t class_code = 0;
    std::optional<abi::pcie::PortType> port_type; ///< of the PCI Express capability
    std::array<BarFound, abi::pcie::type0_bars> bars{};
    bool is_bridge = false;
    std::uint8_t secondary = 0, subordinate = 0; ///< bridges
    abi::pcie::Bdf parent;                       ///< the bridge it lies behind; 00:00.0 on the root bus
    std::uint16_t msix_vectors = 0;
};

struct EnumerateConfig {
    model::pcie::Range low_mmio, high_mmio;
    unsigned max_payload = 512, max_read_request = 512; ///< upper limits; MPS is the lowest one of the tree
    model::pcie::Acs acs{};                             ///< what is switched on at ports, where they have it
};

struct Enumeration {
    std::vector<FunctionFound> functions; ///< depth first
    std::vector<std::string> problems;    ///< e.g. a BAR without room: its function stays disabled
    unsigned max_payload = 128;

    const FunctionFound* find(abi::pcie::Bdf bdf) const;
    const FunctionFound* find(std::uint16_t vendor_id, std::uint16_t device_id, unsigned nth = 0) const;
};

Enumeration enumerate(ConfigAccess& access, const EnumerateConfig& config);

/// Offset of a capability in the 256-byte space of `bdf`; 0: it has none. Stops at broken lists.
std::uint16_t find_capability(ConfigAccess& access, abi::pcie::Bdf bdf, abi::pcie::CapabilityId id);
/// As find_capability, in the space behind.
std::uint16_t find_capability(ConfigAccess& access, abi::pcie::Bdf bdf, abi::pcie::ExtendedCapabilityId id);

} // namespace platform::host
