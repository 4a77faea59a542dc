// Nodes of the workloads of applications, by their names in a configuration.
#pragma once

#include "platform/topology/config.h"
#include "platform/topology/description.h"
#include "testbench/load/plan.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scenario {

/// What of [scenario] and [traffic] counts for workloads; the rest as if nobody had set it.
load::Work work_of(const platform::topology::Config& config);

/// Numbers of the HCAs that `text`, the value of key `path`, names in its order; none: of all.
std::expected<std::vector<std::size_t>, std::string> ranks_of(const platform::topology::Config& config,
                                                              const platform::topology::Description& described,
                                                              std::string_view path, const std::string& text);

/// A node for each of them.
void add_nodes(const platform::topology::Description& described, const std::vector<std::size_t>& hcas,
               load::Plan& plan);

/// Of the host of an HCA the part of a kind that is in the place that the HCA has among those of the host.
std::optional<platform::topology::PartAt> part_beside(const platform::topology::Description& described,
                                                      const platform::topology::PartAt& hca,
                                                      bool (*is_wanted)(const platform::topology::Part& part));
bool is_gpu(const platform::topology::Part& part);

/// Each node has a GPU of its own, by part_beside().
std::expected<void, std::string> add_gpus(const platform::topology::Config& config,
                                          const platform::topology::Description& described, load::Plan& plan);

} // namespace scenario
