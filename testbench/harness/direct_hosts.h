// Two hosts without a bus, and a cable between their HCAs. As direct_host.h.
#pragma once

#include "testbench/harness/direct_host.h"

#include <cstddef>

namespace harness {

/// Two hosts on one cable.
struct DirectHosts {
    TestClock clock;
    model::net::Link link{HcaPair::clean(), clock, {}};
    EventLog log;
    static constexpr std::size_t memory = 64 << 20;
    DirectHost a, b;
    explicit DirectHosts(const model::hca::HcaConfig& config = HcaPair::untimed())
        : a(config, clock, link, 0, memory, {&log, 1}), b(neighbour(config), clock, link, 1, memory, {&log, 2}) {
        a.step = b.step = [this](Time until) {
            clock.set(until);
            link.wake(until);
            a.wake();
            b.wake();
        };
    }
    /// Of the same make, but with a MAC of its own: what goes to one's own never reaches the cable.
    static model::hca::HcaConfig neighbour(model::hca::HcaConfig config) {
        ++config.node_guid;
        return config;
    }
};

} // namespace harness
