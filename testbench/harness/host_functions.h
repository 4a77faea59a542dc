// What the operating system of a simulated host does before a driver gets its function: where the host has a remapping
// unit, it is taken over, and each function has an address space of its own; elsewhere functions use physical
// addresses.
#pragma once

#include "platform/bridge/in_process.h"
#include "platform/host/host.h"
#include "sw/memory/iommu/address_space.h"
#include "sw/memory/iommu/unit.h"
#include "sw/memory/peer_route.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace harness {

class HostFunctions {
public:
    /// Called when the simulation runs, by a thread of it.
    static sw::Result<std::unique_ptr<HostFunctions>> open(platform::host::Host& host,
                                                           const sw::memory::iommu::UnitOptions& options = {});

    /// A function as its driver sees it: peers by the way that access control leaves to them. One that has a TLB of its
    /// own has it on, where the unit knows of such. To be let go before this object.
    sw::Result<std::unique_ptr<sw::transport::Transport>> function(abi::pcie::Bdf bdf);
    /// How requests of a function that was asked for reach a peer's bus address.
    sw::memory::PeerRoute route(abi::pcie::Bdf from, std::uint64_t bus) const;

    /// nullptr without a remapping unit.
    sw::memory::iommu::Unit* unit() { return unit_.get(); }
    /// Of a function that was asked for, and lives; nullptr without a remapping unit.
    sw::memory::iommu::AddressSpace* space(abi::pcie::Bdf bdf) const {
        const auto found = spaces_.find(bdf.value);
        return found == spaces_.end() ? nullptr : found->second;
    }

private:
    explicit HostFunctions(platform::host::Host& host) : host_(host) {}

    platform::host::Host& host_;
    std::optional<platform::bridge::InProcessTransport> registers_; ///< of the remapping unit
    std::unique_ptr<sw::memory::iommu::Unit> unit_;
    std::vector<sw::memory::Bridge> bridges_;
    std::set<std::uint16_t> translating_; ///< functions with a TLB of their own that is on
    std::map<std::uint16_t, sw::memory::iommu::AddressSpace*> spaces_;
};

} // namespace harness
