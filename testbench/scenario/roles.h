// Who does what in a workload of two programs: which GPU has the payload, which one gets it, and by which HCAs. Names
// of a configuration's [scenario] where it has them, else what is near.
#pragma once

#include "platform/topology/description.h"

#include <array>
#include <expected>
#include <string>

namespace scenario {

/// Of the program that begins, and of the other one.
struct Roles {
    std::array<platform::topology::PartAt, 2> hcas, gpus;
};

/// The error is one line with the key and what there is.
std::expected<Roles, std::string> find_roles(const platform::topology::Config& config,
                                             const platform::topology::Description& platform);

/// The configuration as program `side` has it: the keys of its own cards, host and cable, and the memory of both hosts.
platform::topology::Config seen_by(std::size_t side, const platform::topology::Config& config,
                                   const platform::topology::Description& platform, const Roles& roles);

/// Whether addresses on the cable of an HCA are IPv6.
bool is_ipv6(const platform::topology::Description& platform, const platform::topology::PartAt& hca);

} // namespace scenario
