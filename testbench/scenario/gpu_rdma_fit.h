// Whether a configuration has what GPUs that drive HCAs need: found before anything is built. A refusal is one line
// with the reason and what to change.
#pragma once

#include "platform/topology/description.h"
#include "sw/gpu/fences.h"

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace scenario {

struct RdmaNodeParts {
    platform::topology::PartAt gpu, hca;
};
/// A node for each host that has both.
std::vector<RdmaNodeParts> gpu_rdma_nodes(const platform::topology::Description& described);

/// The fences that these programs come by, and can be run without. That of error completions is none of them: there are
/// no such completions.
inline constexpr std::array rdma_fences{sw::gpu::Fence::request_before_record, sw::gpu::Fence::record_before_doorbell,
                                        sw::gpu::Fence::flag_before_data};

/// Two simulated hosts or more have a GPU of kind caching_gpu and an HCA each.
std::expected<void, std::string> gpu_rdma_fits(const platform::topology::Config& config, std::uint64_t payload_bytes);

} // namespace scenario
