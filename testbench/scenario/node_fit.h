// What scenarios with a load look at before anything is built: whom a configuration names, and whether each HCA and its
// host have what the load needs of them.
#pragma once

#include "platform/topology/config.h"
#include "platform/topology/description.h"
#include "testbench/load/plan.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace scenario {

/// "traffic.toml:12: 'traffic.batch' = 8: why not", with the line of the last one who has set the key.
std::unexpected<std::string> refuse(const platform::topology::Config& config, std::string_view path,
                                    std::string_view why);

/// The same where the simple HCA (model/simple) has not what a key asks for.
std::unexpected<std::string> refuse_for_model(const platform::topology::Config& config, std::string_view path,
                                              std::string_view what);

/// The HCAs that a text names, as numbers; of a host its first one. The error says what of it is none, or is there
/// twice.
std::expected<std::vector<std::size_t>, std::string> hcas_of(const platform::topology::Description& described,
                                                             std::string_view text);

/// Of each node of the plan; or there are more in all than anybody waits for.
std::expected<std::vector<std::uint64_t>, std::string> count_queue_pairs(const platform::topology::Config& config,
                                                                         const load::Plan& plan);

struct NodeNeeds {
    std::uint64_t queue_pairs = 0, message = 0; ///< bytes of the largest
    std::uint64_t memory_keys = 0, bytes = 0;
    bool uses_vram = false;
    std::uint64_t completions = 64; ///< entries of the largest completion queue
    std::uint32_t sends = 1;        ///< of a queue pair, one element each
    std::uint32_t receives = 1;     ///< of a queue pair
    std::uint32_t inline_bytes = 0; ///< of a send
};
/// Who is to blame for each of these, beside scenario.qps.
struct NodeKeys {
    std::string_view message, memory_keys, bytes, memory;
};
std::expected<void, std::string> node_fits(const platform::topology::Config& config,
                                           const platform::topology::Description& described,
                                           const load::PlannedNode& node, const NodeNeeds& needs, const NodeKeys& keys);

} // namespace scenario
