#include "testbench/scenario/kv_fit.h"

#include "testbench/scenario/node_fit.h"
#include "testbench/scenario/workload_nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace scenario {

using platform::topology::Config;
using platform::topology::Description;
using workload::KvPlan;
using Error = std::unexpected<std::string>;
using Fit = std::expected<void, std::string>;

namespace {

using Hcas = std::vector<std::size_t>;

/// Servers: who is named, or the first one. Clients: who is named, or all others.
Fit find_nodes(const Config& config, const Description& described, Hcas& clients, Hcas& servers) {
    auto named = ranks_of(config, described, "kv.servers", config.kv.servers);
    if (!named)
        return Error(named.error());
    servers = std::move(*named);
    if (config.kv.servers.empty())
        servers.resize(1);
    named = ranks_of(config, described, "kv.clients", config.kv.clients);
    if (!named)
        return Error(named.error());
    for (const auto one : *named) {
        const bool is_server = std::ranges::find(servers, one) != servers.end();
        if (is_server && !config.kv.clients.empty())
            return refuse(config, "kv.clients",
                          fmt::format("{} is a server, too", described.name_of(described.hcas[one])));
        if (!is_server)
            clients.push_back(one);
    }
    if (clients.empty())
        return refuse(config, "kv.clients", "nobody is left to ask the servers");
    return {};
}

Fit look_at_nodes(const Config& config, const Description& described, const KvPlan& plan) {
    const auto queue_pairs = count_queue_pairs(config, plan.load);
    if (!queue_pairs)
        return Error(queue_pairs.error());
    for (std::size_t node = 0; node < plan.load.nodes.size(); ++node) {
        const auto places = (*queue_pairs)[node] * plan.load.work.depth;
        const auto values = (node < plan.clients ? places : plan.how.keys) * plan.stride();
        const NodeNeeds needs{.queue_pairs = (*queue_pairs)[node],
                              .message = plan.stride(),
                              .memory_keys = 3,
                              .bytes = values + 2 * places * (plan.stride() + 64),
                              .uses_vram = false};
        const NodeKeys keys{.message = "kv.sizes",
                            .memory_keys = "kv.servers",
                            .bytes = values > needs.bytes / 2 ? "kv.keys" : "scenario.queue_depth",
                            .memory = "kv.servers"};
        if (const auto done = node_fits(config, described, plan.load.nodes[node], needs, keys); !done)
            return done;
    }
    return {};
}

} // namespace

std::expected<KvPlan, std::string> plan_kv(const Config& config) {
    const auto described = platform::topology::describe(config).value(); // which read_config has tried
    KvPlan plan;
    plan.how = config.kv;
    if (!config.timed)
        plan.how.copy_gbps = 0; // a value that takes no time to read would be read for ever while it is copied
    plan.load.work = work_of(config);
    plan.queue_pairs = config.scenario.queue_pairs;
    const auto sizes = load::Sizes::read(config.kv.sizes);
    if (!sizes)
        return refuse(config, "kv.sizes", sizes.error());
    plan.sizes = *sizes;
    if (described.hcas.empty())
        return Error(std::string("the platform has no HCA"));
    Hcas clients, servers;
    if (const auto done = find_nodes(config, described, clients, servers); !done)
        return Error(done.error());
    plan.clients = clients.size();
    plan.servers = servers.size();
    for (const auto* hcas : {&clients, &servers})
        add_nodes(described, *hcas, plan.load);
    plan_flows(plan);
    plan.load.operations =
        load::Operations{.kinds = {"GET", "PUT"}, .warm_up = config.kv.warm_up, .measured = config.kv.operations};
    if (const auto done = look_at_nodes(config, described, plan); !done)
        return Error(done.error());
    return plan;
}

Fit kv_fits(const Config& config, std::uint64_t) {
    if (const auto plan = plan_kv(config); !plan)
        return Error(plan.error());
    return {};
}

} // namespace scenario
