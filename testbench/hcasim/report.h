// What a run says to a person. Pure: values in, text out.
#pragma once

#include "platform/observe/life/life.h"
#include "platform/topology/config.h"
#include "testbench/scenario/result.h"

#include <cstddef>
#include <string>

namespace hcasim {

/// What the text is for.
struct Look {
    std::size_t width = 0; ///< columns; 0: lines may have any length
    bool has_colour = false;
};

/// The platform as a picture: hosts, links, cable.
std::string print_topology(const platform::topology::Config& config);

/// The stages of the first WRITE with simulated times; says so when there was none.
std::string print_life(const platform::observe::life::Life& life, const platform::observe::Sources& sources,
                       const Look& look = {});

/// The steps of a scenario that has some: what became of each, and the ways of its bytes.
std::string print_steps(const scenario::Result& result, const Look& look = {});

/// Steps or transfers, wire, PCIe links, caches, resources of devices, the busiest queues, totals.
std::string print_result(const scenario::Result& result, const Look& look = {});

} // namespace hcasim
