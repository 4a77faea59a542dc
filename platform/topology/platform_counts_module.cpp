// What a built platform has counted as a whole, and whether anything is on its way in it.
#include "platform/topology/platform_module.h"

#include <algorithm>

namespace platform::topology {

FailureCosts Platform::costs_of_failure(std::size_t cable) const {
    const auto& link = cables_[cable]->link();
    FailureCosts costs;
    for (const auto direction : {0u, 1u}) {
        costs.lost += link.counters(direction).cut;
        costs.discarded += link.counters(direction).discarded;
        const auto& end = description_.cables[cable].ends[direction];
        if (end.is_switch && ethernet_switches_[end.fabric_switch])
            costs.discarded += ethernet_switches_[end.fabric_switch]->core().counters(end.port).no_link;
        else if (end.is_switch)
            costs.discarded += switches_[end.fabric_switch]->core().discarded(end.port);
    }
    return costs;
}

std::uint64_t Platform::dropped_by_switches() const {
    std::uint64_t sum = 0;
    for (const auto& one : switches_)
        sum += one ? one->core().dropped() : 0;
    for (const auto& one : ethernet_switches_)
        for (unsigned port = 1; one && port <= one->core().ports(); ++port)
            sum += one->core().counters(port).dropped + one->core().counters(port).unroutable;
    return sum;
}

bool Platform::is_quiet() const {
    return std::ranges::all_of(
               cables_,
               [](const auto& cable) { return cable->link().under_way(0) + cable->link().under_way(1) == 0; }) &&
           std::ranges::all_of(switches_, [](const auto& one) { return !one || one->core().waiting() == 0; }) &&
           std::ranges::all_of(ethernet_switches_,
                               [](const auto& one) { return !one || one->core().waiting() == 0; }) &&
           std::ranges::all_of(machines_, [](const Machine& machine) {
               return std::ranges::all_of(machine.cards,
                                          [](const PlacedCard& card) { return card.module->is_quiet(); }) &&
                      (!machine.guest || machine.guest->is_quiet());
           });
}

} // namespace platform::topology
