#include "testbench/scenario/collective_fit.h"

#include "testbench/scenario/node_fit.h"
#include "testbench/scenario/workload_nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace scenario {

using platform::topology::AllreduceAlgorithm;
using platform::topology::Config;
using platform::topology::Description;
using platform::topology::TrafficMemory;
using workload::Collective;
using workload::CollectivePlan;
using Error = std::unexpected<std::string>;
using Fit = std::expected<void, std::string>;

namespace {

constexpr std::uint64_t word = 4, most_moves = 1 << 24;

Collective kind_of(const Config& config) {
    const auto& name = config.scenario.name;
    return name == "alltoall"           ? Collective::alltoall
           : name == "parameter_server" ? Collective::parameter_server
                                        : Collective::allreduce;
}

/// Servers as ranks: of the HCAs that take part, those that are named.
Fit find_servers(const Config& config, const Description& described, const std::vector<std::size_t>& hcas,
                 CollectivePlan& plan) {
    plan.shape.servers = {0};
    if (!config.collective.servers.empty()) {
        const auto named = hcas_of(described, config.collective.servers);
        if (!named)
            return refuse(config, "collective.servers", named.error());
        plan.shape.servers.clear();
        for (const auto number : *named) {
            const auto found = std::ranges::find(hcas, number);
            if (found == hcas.end())
                return refuse(config, "collective.servers",
                              fmt::format("{} is none of the ranks", described.name_of(described.hcas[number])));
            plan.shape.servers.push_back(static_cast<workload::Rank>(found - hcas.begin()));
        }
    }
    if (plan.shape.servers.size() == hcas.size())
        return refuse(config, "collective.servers", "all ranks are servers: nobody has anything to add");
    return {};
}

/// Sizes that do not go together.
Fit look_at_sizes(const Config& config, const CollectivePlan& plan) {
    const auto& shape = plan.shape;
    if (shape.bytes % word != 0)
        return refuse(config, "collective.bytes", "is no number of whole words of 4 bytes");
    if (plan.kind == Collective::alltoall && shape.bytes % (word * shape.ranks) != 0)
        return refuse(config, "collective.bytes",
                      fmt::format("has no blocks of whole words for {} ranks: a multiple of {} has", shape.ranks,
                                  word * shape.ranks));
    if (config.scenario.message_bytes < word)
        return refuse(config, "scenario.message", "is less than a word of 4 bytes");
    const auto chunks = shape.bytes / shape.chunk + std::uint64_t{shape.ranks} * shape.channels;
    if (chunks * shape.ranks > most_moves)
        return refuse(config, "scenario.message",
                      fmt::format("makes more than {} messages an operation: larger ones are fewer", most_moves));
    return {};
}

Fit look_at_nodes(const Config& config, const Description& described, const CollectivePlan& plan) {
    const auto queue_pairs = count_queue_pairs(config, plan.load);
    if (!queue_pairs)
        return Error(queue_pairs.error());
    for (workload::Rank rank = 0; rank < plan.shape.ranks; ++rank) {
        const NodeNeeds needs{.queue_pairs = (*queue_pairs)[rank],
                              .message = plan.shape.chunk,
                              .memory_keys = 3,
                              .bytes = memory_of(plan, rank),
                              .uses_vram = config.traffic.memory == TrafficMemory::vram};
        const NodeKeys keys{.message = "scenario.message",
                            .memory_keys = "collective.ranks",
                            .bytes = plan.shape.bytes > needs.bytes / 4 ? "collective.bytes" : "scenario.queue_depth",
                            .memory = "traffic.memory"};
        if (const auto done = node_fits(config, described, plan.load.nodes[rank], needs, keys); !done)
            return done;
    }
    return {};
}

} // namespace

std::expected<CollectivePlan, std::string> plan_collective(const Config& config) {
    const auto described = platform::topology::describe(config).value(); // which read_config has tried
    const auto& how = config.collective;
    CollectivePlan plan;
    plan.kind = kind_of(config);
    plan.load.work = work_of(config);
    const auto hcas = ranks_of(config, described, "collective.ranks", how.ranks);
    if (!hcas)
        return Error(hcas.error());
    if (hcas->size() < 2)
        return refuse(config, "collective.ranks", "are fewer than two HCAs");
    add_nodes(described, *hcas, plan.load);
    if (config.traffic.memory == TrafficMemory::vram)
        if (const auto done = add_gpus(config, described, plan.load); !done)
            return Error(done.error());
    plan.shape.ranks = static_cast<std::uint32_t>(hcas->size());
    plan.shape.channels = config.scenario.queue_pairs;
    plan.shape.bytes = how.bytes;
    plan.shape.chunk = static_cast<std::uint32_t>(std::max(word, config.scenario.message_bytes / word * word));
    if (plan.kind == Collective::parameter_server)
        if (const auto done = find_servers(config, described, *hcas, plan); !done)
            return Error(done.error());
    if (const auto done = look_at_sizes(config, plan); !done)
        return Error(done.error());
    plan_programs(plan, how.algorithm);
    const auto warm_up = config.timed ? how.warm_up : 0; // without times all happens at the same one
    plan.operations = std::uint64_t{warm_up} + how.operations;
    plan.reduce_gbps = config.timed ? how.reduce_gbps : 0;
    plan.skew = how.skew;
    const std::uint64_t counting = plan.shape.ranks - plan.shape.servers.size();
    plan.load.operations = load::Operations{.kinds = {config.scenario.name},
                                            .warm_up = warm_up * counting,
                                            .measured = how.operations * counting,
                                            .has_reductions = plan.kind != Collective::alltoall};
    if (const auto done = look_at_nodes(config, described, plan); !done)
        return Error(done.error());
    return plan;
}

Fit collective_fits(const Config& config, std::uint64_t) {
    if (const auto plan = plan_collective(config); !plan)
        return Error(plan.error());
    return {};
}

} // namespace scenario
