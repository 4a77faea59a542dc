#include "testbench/scenario/traffic_fit.h"

#include "sw/simple/verbs_face.h"
#include "testbench/load/replay_list.h"
#include "testbench/scenario/node_fit.h"
#include "testbench/scenario/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace scenario {

using load::Plan;
using load::Verb;
using platform::topology::Config;
using platform::topology::Description;
using platform::topology::HcaModel;
using platform::topology::TrafficDirection;
using platform::topology::TrafficMemory;
using platform::topology::TrafficPattern;
using Error = std::unexpected<std::string>;
using Fit = std::expected<void, std::string>;

namespace {

constexpr std::size_t most_flows = 1 << 16;

std::vector<std::size_t> numbers(std::size_t first, std::size_t end) {
    std::vector<std::size_t> list(end - first);
    std::iota(list.begin(), list.end(), first);
    return list;
}

/// Nodes of all HCAs; who has no flow is left out afterwards.
void add_nodes(const Config& config, const Description& described, Plan& plan) {
    const auto& how = config.traffic;
    const bool uses_vram = how.memory == TrafficMemory::vram || how.remote_memory == TrafficMemory::vram;
    for (const auto& at : described.hcas) {
        load::PlannedNode node{.hca = at, .gpu = {}, .name = described.name_of(at)};
        if (uses_vram)
            node.gpu = first_parts(described, at.host).gpu;
        plan.nodes.push_back(std::move(node));
    }
}

Fit add_flows(const Config& config, const Description& described, Plan& plan) {
    const auto& how = config.traffic;
    const auto count = described.hcas.size();
    if (count < 2)
        return Error(std::string("the platform has fewer than two HCAs: nobody is there to send to"));
    const bool is_halved = how.pattern == TrafficPattern::pairs;
    auto from = is_halved ? numbers(0, count / 2) : numbers(0, count),
         to = is_halved ? numbers(count - count / 2, count) : from;
    for (const auto& [path, text, list] :
         {std::tuple{"traffic.from", &how.from, &from}, std::tuple{"traffic.to", &how.to, &to}}) {
        if (text->empty())
            continue;
        auto named = hcas_of(described, *text);
        if (!named)
            return refuse(config, path, named.error());
        *list = std::move(*named);
    }
    const bool is_bidirectional = how.direction == TrafficDirection::bidirectional;
    if (const auto done = load::add_flows(plan, how.pattern, from, to, is_bidirectional, plan.work.seed); !done)
        return refuse(config, "traffic.pattern", done.error());
    if (plan.flows.size() > most_flows)
        return refuse(config, "traffic.pattern",
                      fmt::format("makes {} flows, more than {}", plan.flows.size(), most_flows));
    return {};
}

/// Flows and their messages from a list; what is measured is the list without what is warm-up.
Fit read_list(const Config& config, const Description& described, Plan& plan) {
    const auto& how = config.traffic;
    auto listed = load::read_replay_file(how.replay);
    if (!listed)
        return refuse(config, "traffic.replay", listed.error());
    std::map<std::string, std::size_t> known;
    const auto find = [&](const std::string& name) -> std::expected<std::size_t, std::string> {
        if (const auto there = known.find(name); there != known.end())
            return there->second;
        const auto found = hcas_of(described, name);
        if (!found || found->size() != 1)
            return Error(found ? fmt::format("'{}' is more than one HCA", name) : found.error());
        return known[name] = found->front();
    };
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> flows;
    plan.work.verbs = listed->front().verb;
    std::uint32_t most = 1;
    for (const auto& message : *listed) {
        const auto from = find(message.from), to = find(message.to);
        if (!from || !to || *from == *to)
            return Error(fmt::format("{}:{}: {}", how.replay, message.line,
                                     !from ? from.error()
                                     : !to ? to.error()
                                           : fmt::format("{} sends to itself", message.from)));
        const auto [at, is_new] = flows.try_emplace({*from, *to});
        if (is_new)
            at->second = load::add_flow(plan, *from, *to);
        plan.flows[at->second].requests.push_back({message.at, message.verb, message.bytes});
        plan.work.verbs.add(message.verb);
        most = std::max(most, message.bytes);
    }
    plan.work.sizes = load::Sizes(most);
    plan.work.is_listed = true;
    if (how.rate > 0)
        return refuse(config, "traffic.rate", "traffic.replay says when messages come: leave the rate out");
    if (how.direction != TrafficDirection::one_way)
        return refuse(config, "traffic.direction", "traffic.replay says who sends to whom: leave it one_way");
    if (how.warm_up_messages >= listed->size())
        return refuse(config, "traffic.warm_up", fmt::format("{} has {} messages", how.replay, listed->size()));
    plan.work.how.messages = listed->size() - how.warm_up_messages;
    return {};
}

/// Nodes without a flow need not be brought up.
void drop_idle_nodes(Plan& plan) {
    std::vector<std::optional<std::size_t>> kept(plan.nodes.size());
    std::vector<load::PlannedNode> nodes;
    for (std::size_t i = 0; i < plan.nodes.size(); ++i)
        if (std::ranges::any_of(plan.flows, [&](const load::Flow& flow) { return flow.from == i || flow.to == i; })) {
            kept[i] = nodes.size();
            nodes.push_back(std::move(plan.nodes[i]));
        }
    plan.nodes = std::move(nodes);
    for (auto& flow : plan.flows)
        flow.from = *kept[flow.from], flow.to = *kept[flow.to];
    for (auto& connection : plan.connections)
        connection.first = *kept[connection.first], connection.second = *kept[connection.second];
}

Fit read_mix(const Config& config, Plan& plan) {
    const auto verbs = load::Verbs::read(config.traffic.verbs);
    if (!verbs)
        return refuse(config, "traffic.verbs", verbs.error());
    plan.work.verbs = *verbs;
    if (config.traffic.sizes.empty()) {
        plan.work.sizes = load::Sizes(static_cast<std::uint32_t>(config.scenario.message_bytes));
        return {};
    }
    const auto sizes = load::Sizes::read(config.traffic.sizes);
    if (!sizes)
        return refuse(config, "traffic.sizes", sizes.error());
    plan.work.sizes = *sizes;
    return {};
}

/// Keys that are right by themselves and not together.
Fit look_at_keys(const Config& config, const Plan& plan) {
    const auto& how = config.traffic;
    const auto& verbs = plan.work.verbs;
    const bool has_answers = verbs.has(Verb::write) || verbs.has(Verb::send);
    const bool is_ping_pong = how.direction == TrafficDirection::ping_pong;
    if (how.batch > plan.work.depth)
        return refuse(config, "traffic.batch", fmt::format("is more than scenario.queue_depth = {}", plan.work.depth));
    if (how.signal_every > plan.work.depth)
        return refuse(config, "traffic.signal_every",
                      fmt::format("is more than scenario.queue_depth = {}: the queue would be full before anything "
                                  "is told",
                                  plan.work.depth));
    if (is_ping_pong && has_answers && (verbs.has(Verb::read) || verbs.has_atomics()))
        return refuse(config, "traffic.verbs", "a ping-pong has write and send, which are answered, or the others");
    if (is_ping_pong && plan.work.is_open_loop())
        return refuse(config, "traffic.rate", "a ping-pong sends when it was answered: leave the rate out");
    if (how.messages == 0 && !plan.work.is_listed && how.duration == model::port::Time{})
        return refuse(config, "traffic.messages", "and no traffic.duration_ns: the run would have no end");
    if (how.messages == 0 && !plan.work.is_listed && !config.timed)
        return refuse(config, "traffic.messages", "without times (timed = false) only messages end the run");
    if (plan.work.is_open_loop() && !config.timed)
        return refuse(config, "traffic.rate", "without times (timed = false) there are no rates");
    for (const auto& [path, time] : {std::pair{"traffic.join_ns", how.join}, {"traffic.stay_ns", how.stay}}) {
        if (time == model::port::Time{})
            continue;
        if (!config.timed)
            return refuse(config, path, "without times (timed = false) all flows begin at once and stay");
        if (plan.work.is_listed)
            return refuse(config, path, "traffic.replay says when flows send: leave it out");
        if (is_ping_pong)
            return refuse(config, path, "flows of a ping-pong begin together and stay: leave it out");
    }
    if (how.inline_bytes != 0 && how.memory == TrafficMemory::vram)
        return refuse(config, "traffic.inline", "a processor makes no work request of VRAM: traffic.memory is vram");
    if (how.region_bytes != 0 && how.region_bytes < plan.work.stride())
        return refuse(config, "traffic.region", fmt::format("has no room for a message of {}", plan.work.sizes.most()));
    return {};
}

/// What the architecture has not, each with the key that asks for it; the rest node_fits() knows.
Fit look_at_model(const Config& config, const platform::topology::HcaPart& hca, const Plan& plan) {
    if (hca.model != HcaModel::simple)
        return {};
    constexpr auto can = sw::simple::architecture;
    if (!can.has_atomics && plan.work.verbs.has_atomics())
        return refuse_for_model(config, config.traffic.replay.empty() ? "traffic.verbs" : "traffic.replay", "atomics");
    if (!can.has_inline && config.traffic.inline_bytes != 0)
        return refuse_for_model(config, "traffic.inline", "work requests with data in them");
    return {};
}

/// Messages, queue pairs and memory are no more than cards and hosts have.
Fit look_at_parts(const Config& config, const Description& described, const Plan& plan) {
    const auto& how = config.traffic;
    const auto counted = count_queue_pairs(config, plan);
    if (!counted)
        return Error(counted.error());
    const auto& queue_pairs = *counted;
    const bool uses_vram = how.memory == TrafficMemory::vram || how.remote_memory == TrafficMemory::vram;
    const std::uint64_t depth = plan.work.depth;
    const bool has_receives = plan.work.verbs.has(Verb::send) || plan.work.is_ping_pong();
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
        const auto a_core = (queue_pairs[i] + how.cores - 1) / how.cores; // which has one queue for what it receives
        const NodeNeeds needs{.queue_pairs = queue_pairs[i],
                              .message = plan.work.sizes.most(),
                              .memory_keys = 2 * std::uint64_t{how.regions},
                              .bytes = how.region_bytes != 0
                                           ? how.region_bytes * how.regions
                                           : queue_pairs[i] * 2 * plan.work.depth * plan.work.stride(),
                              .uses_vram = uses_vram,
                              .completions = 2 * std::max<std::uint64_t>(64, (depth + 1) * a_core),
                              .sends = plan.work.depth + 1,
                              .receives = has_receives ? 2 * plan.work.depth : 1,
                              .inline_bytes = static_cast<std::uint32_t>(how.inline_bytes)};
        const NodeKeys keys{.message = "traffic.sizes",
                            .memory_keys = "traffic.regions",
                            .bytes = how.region_bytes != 0 ? "traffic.region" : "scenario.queue_depth",
                            .memory = how.memory == TrafficMemory::vram ? "traffic.memory" : "traffic.remote_memory"};
        const auto& node = plan.nodes[i];
        if (const auto can = look_at_model(config, described.part(node.hca).hca(), plan); !can)
            return can;
        if (const auto done = node_fits(config, described, node, needs, keys); !done)
            return done;
    }
    return {};
}

} // namespace

std::expected<Plan, std::string> plan_traffic(const Config& config) {
    const auto described = platform::topology::describe(config).value(); // which read_config has tried
    Plan plan;
    plan.work.how = config.traffic;
    plan.work.queue_pairs = config.scenario.queue_pairs;
    plan.work.depth = config.scenario.queue_depth;
    plan.work.mtu = config.scenario.mtu_bytes;
    plan.work.seed = config.scenario.seed;
    add_nodes(config, described, plan);
    const bool is_listed = !config.traffic.replay.empty();
    if (const auto done = is_listed ? Fit{} : read_mix(config, plan); !done)
        return Error(done.error());
    if (const auto done = is_listed ? read_list(config, described, plan) : add_flows(config, described, plan); !done)
        return Error(done.error());
    load::stagger(plan, config.traffic.join, config.traffic.stay);
    drop_idle_nodes(plan);
    if (const auto done = look_at_keys(config, plan); !done)
        return Error(done.error());
    if (plan.work.is_ping_pong()) { // one message at a time; of those before it completions may be under way
        const bool is_answered = plan.work.verbs.has(Verb::write) || plan.work.verbs.has(Verb::send);
        plan.work.depth = is_answered ? 4 : 1;
        plan.work.how.batch = plan.work.how.signal_every = 1;
    }
    if (const auto done = look_at_parts(config, described, plan); !done)
        return Error(done.error());
    return plan;
}

Fit traffic_fits(const Config& config, std::uint64_t) {
    if (const auto plan = plan_traffic(config); !plan)
        return Error(plan.error());
    return {};
}

} // namespace scenario
