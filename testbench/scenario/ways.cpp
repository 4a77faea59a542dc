#include "testbench/scenario/ways.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace scenario {

using platform::topology::Config;
using sw::memory::PeerRoute;

std::string describe(PeerRoute route, const Config& config) {
    const auto acs = to_string(config.peers.acs);
    const auto unit = config.iommu.is_present ? "behind a remapping unit" : "no remapping unit";
    switch (route) {
    case PeerRoute::direct:
        return fmt::format("straight through the switch, by bus address (host.acs = {}; {})", acs, unit);
    case PeerRoute::translated:
        return fmt::format(
            "straight through the switch, by addresses that the card has translated itself (ATS; host.acs = {}; {})",
            acs, unit);
    case PeerRoute::through_host:
        return fmt::format("redirected: up to the root complex{} and down again (host.acs = {}; {})",
                           config.iommu.is_present ? ", translated there," : "", acs, unit);
    case PeerRoute::none:
        return fmt::format(
            "not at all: access control sends requests up (host.acs = {}) to a host that does not pass them on "
            "(host.peer_forwarding = false; {})",
            acs, unit);
    }
    return {};
}

namespace {

/// What stops requests between devices, if anything does.
std::string advise_on_peers(const Config& config) {
    if (config.peers.acs == platform::topology::AcsMode::off || config.peers.is_forwarding)
        return {};
    return fmt::format(
        "the switch sends requests between devices up to the root complex (host.acs = {}), which refuses them "
        "(host.peer_forwarding = false). Choose host.acs=off, or host.peer_forwarding=true, or let the card "
        "translate: host.acs=direct_translated, hca.device_tlb_entries=1024, iommu.present=true, "
        "iommu.device_tlb=true",
        to_string(config.peers.acs));
}

/// "link.loss = 0.5, link.corrupt = 0.1"; empty: the cable loses nothing.
std::string faults_of(const model::net::LinkConfig& link, std::string_view name) {
    std::string faults;
    for (const auto& [fault, probability] : {std::pair{"loss", link.loss},
                                             {"corrupt", link.corrupt},
                                             {"reorder", link.reorder},
                                             {"duplicate", link.duplicate}})
        if (probability > 0)
            faults += fmt::format("{}{}.{} = {:g}", faults.empty() ? "" : ", ", name, fault, probability);
    return faults;
}

/// What cables do to packets, of which too many are sent again: the program's own one, else the first other one that
/// does something to them.
std::string advise_on_cable(const Config& config, const platform::topology::Description& platform) {
    auto faults = faults_of(config.link, "link");
    for (const auto& cable : platform.cables)
        if (faults.empty())
            faults = faults_of(cable.link, cable.name);
    if (!faults.empty())
        return fmt::format(
            "the cable loses more than the requester sends again ({}). Choose less, or another link.seed", faults);
    return "a request was sent again as often as the queue pair may, and nobody answered in time. Look for latencies "
           "and rates "
           "(link.*, hca.*_ns) by which an answer takes longer than the requester waits; --explain says which queue "
           "pair gave "
           "up, --pcap FILE shows the cable";
}

} // namespace

std::string advise(const Config& config, const platform::topology::Description& platform, const Result& result) {
    if (!result.stopped.empty())
        return "the report is what there was until then; run it again for the rest";
    if (auto advice = advise_on_peers(config); !advice.empty())
        return advice;
    if (result.failure.find("retry counter exceeded") != result.failure.npos)
        return advise_on_cable(config, platform);
    if (result.failure.starts_with("payload "))
        return "something else changes the file; move a copy of it";
    if (result.completions_error != 0)
        return "a completion says what was refused: --explain names the rule, its chapter and the likely cause";
    return "run it again with --explain, and with --events FILE for all that happened; if every rule was kept, it is a "
           "defect of "
           "hcasim";
}

} // namespace scenario
