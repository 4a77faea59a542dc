// From a part of a description to the device that the table of kinds makes of it: with what the platform as a whole
// decides of it.
#pragma once

#include "model/pcie/tlp_cost.h"
#include "platform/card/kinds.h"
#include "platform/topology/description.h"

namespace platform::topology {

/// `part` is a card of what `config` describes.
card::DeviceConfig device_config(const Config& config, const Part& part);
/// An HCA of either model, with its identities.
card::DeviceConfig device_config(const HcaPart& hca);

/// How the links of a host's cards cut accesses, as enumeration programs it (platform/host/enumerate.h): what all ports
/// of its tree can carry, and the largest read request of any card.
model::pcie::TlpSizes tlp_sizes(const DescribedHost& host);

} // namespace platform::topology
