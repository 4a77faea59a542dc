// The root complex as it routes: memory map of the machine (DRAM, ECAM, interrupt messages, remapping unit) and root
// ports. Takes an address or a configuration target, gives where it goes. Moves no data. PCIe 6.0 §1.3.1, §7.2.2.
#pragma once

#include "abi/pcie/capability.h"
#include "model/pcie/bridge_space.h"
#include "model/pcie/switch.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace model::pcie {

/// Where things lie on the bus. DRAM begins at 0; what does not fit below `low_dram_end` continues at `high_dram`.
struct MemoryMap {
    std::uint64_t dram_bytes = std::uint64_t{4} << 30;
    std::uint64_t low_dram_end = 0x8000'0000;
    std::uint64_t high_dram = 0x1'0000'0000;
    Range low_mmio{0x8000'0000, 0xe000'0000};                                 ///< for windows and BARs of 32 bits
    std::uint64_t ecam = 0xe000'0000;                                         ///< 256 MiB, all buses
    Range interrupts{abi::pcie::interrupts_begin, abi::pcie::interrupts_end}; ///< message signalled interrupts
    Range iommu{0xfed9'0000, 0xfed9'1000};             ///< registers of the remapping unit, if there is one
    Range high_mmio{0x100'0000'0000, 0x200'0000'0000}; ///< for prefetchable windows and BARs of 64 bits

    std::uint64_t low_dram_bytes() const { return dram_bytes < low_dram_end ? dram_bytes : low_dram_end; }
    Range low_dram() const { return {0, low_dram_bytes()}; }
    Range high_dram_range() const { return {high_dram, high_dram + dram_bytes - low_dram_bytes()}; }
    Range ecam_range() const { return {ecam, ecam + abi::pcie::ecam_bytes}; }
};

class RootComplex {
public:
    struct Config {
        MemoryMap map;
        ConfigSpace::Identity port_identity;
        std::vector<LinkConfig> links; ///< one for each root port
        bool peer_forwarding =
            true; ///< requests of devices to devices: between root ports, and down the same one again
        bool has_iommu = false;
    };
    explicit RootComplex(const Config& config);

    /// Root port n is device n + 1 of bus 0.
    static constexpr unsigned first_device = 1, max_ports = 31;
    static abi::pcie::Bdf bdf_of(unsigned port) { return {0, port + first_device, 0}; }

    struct Routing {
        enum class To : std::uint8_t { dram, port, ecam, interrupts, iommu, nowhere } to = To::nowhere;
        unsigned port = 0;
        std::uint64_t offset = 0; ///< in DRAM, in ECAM, in the interrupt range, in the registers
        Range range{0, ~std::uint64_t{0}};
        std::optional<traces::BlockReason> blocked{}; ///< why it goes nowhere, where access control has decided so
    };
    Routing route_from_processor(std::uint64_t address) const;
    /// Routes a request that the port has accepted, with the address that the remapping unit gave it.
    Routing route_from_port(unsigned port, std::uint64_t address) const;
    /// Why the port refuses it: an ACS violation.
    std::optional<traces::BlockReason> find_violation(unsigned port, const Origin& origin) const {
        return ports_[port].meaning().find_violation(origin);
    }
    /// Routes the remapping unit's own accesses: to memory and interrupts, nowhere else.
    Routing route_from_iommu(std::uint64_t address) const;
    /// Whether requests of this port may go up.
    bool is_master(unsigned port) const { return ports_[port].meaning().is_master; }
    ConfigRouting route_config(abi::pcie::Bdf target) const;

    const MemoryMap& map() const { return map_; }
    unsigned port_count() const { return static_cast<unsigned>(ports_.size()); }
    BridgeSpace& port(unsigned number) { return ports_[number]; }

private:
    Range same_routing(std::uint64_t address) const;
    std::uint64_t dram_offset(std::uint64_t address) const;
    bool is_dram(std::uint64_t address) const {
        return map_.low_dram().contains(address) || map_.high_dram_range().contains(address);
    }

    MemoryMap map_;
    bool peer_forwarding_, has_iommu_;
    std::vector<BridgeSpace> ports_;
};

} // namespace model::pcie
