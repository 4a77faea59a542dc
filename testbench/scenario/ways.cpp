#include "testbench/scenario/ways.h"

#include <fmt/format.h>

namespace scenario {

using platform::topology::Config;
using sw::memory::PeerRoute;

std::string describe(PeerRoute route, const Config& config) {
    const auto unit = config.iommu.is_present ? "behind a remapping unit" : "no remapping unit";
    switch (route) {
    case PeerRoute::direct:
        return fmt::format("straight through the switch, by bus address (host.acs = {}; {})", config.peers.acs, unit);
    case PeerRoute::translated:
        return fmt::format("straight through the switch, by addresses that the card has translated itself (ATS; host.acs = {}; {})",
                           config.peers.acs, unit);
    case PeerRoute::through_host:
        return fmt::format("redirected: up to the root complex{} and down again (host.acs = {}; {})",
                           config.iommu.is_present ? ", translated there," : "", config.peers.acs, unit);
    case PeerRoute::none:
        return fmt::format("not at all: access control sends requests up (host.acs = {}) to a host that does not pass them on "
                           "(host.peer_forwarding = false; {})",
                           config.peers.acs, unit);
    }
    return {};
}

std::string advise(const Config& config) {
    if (config.peers.acs == "off" || config.peers.is_forwarding)
        return {};
    return fmt::format("the switch sends requests between devices up to the root complex (host.acs = {}), which refuses them "
                       "(host.peer_forwarding = false). Choose host.acs=off, or host.peer_forwarding=true, or let the card "
                       "translate: host.acs=direct_translated, hca.device_tlb_entries=1024, iommu.present=true, "
                       "iommu.device_tlb=true",
                       config.peers.acs);
}

} // namespace scenario
