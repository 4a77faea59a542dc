#include "testbench/workload/collective_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace workload {

using platform::topology::AllreduceAlgorithm;

namespace {

Program program_of(const CollectivePlan& plan, AllreduceAlgorithm algorithm, Rank rank) {
    switch (plan.kind) {
    case Collective::alltoall: return pairwise_alltoall(plan.shape, rank);
    case Collective::parameter_server: return parameter_server(plan.shape, rank);
    case Collective::allreduce: break;
    }
    switch (algorithm) {
    case AllreduceAlgorithm::tree: return tree_allreduce(plan.shape, rank);
    case AllreduceAlgorithm::double_tree: return double_tree_allreduce(plan.shape, rank);
    case AllreduceAlgorithm::ring: break;
    }
    return ring_allreduce(plan.shape, rank);
}

} // namespace

void plan_programs(CollectivePlan& plan, AllreduceAlgorithm algorithm) {
    std::set<CollectivePlan::Channel> channels;
    std::map<std::pair<Rank, Rank>, std::size_t> flows;
    for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
        plan.programs.push_back(program_of(plan, algorithm, rank));
        for (const auto& lane : plan.programs.back().lanes)
            for (const auto& move : lane.out) {
                channels.insert({std::min(rank, move.peer), std::max(rank, move.peer), lane.channel});
                flows.try_emplace({rank, move.peer});
            }
    }
    for (auto& [ends, number] : flows)
        number = load::add_flow(plan.load, ends.first, ends.second);
    plan.load.connections.clear();
    for (const auto& channel : channels) {
        plan.channels.push_back(channel);
        const auto forth = flows.find({channel.first, channel.second}),
                   back = flows.find({channel.second, channel.first});
        load::Connection connection{.first = channel.first, .second = channel.second};
        connection.forth = forth != flows.end() ? forth->second : back->second;
        if (forth != flows.end() && back != flows.end())
            connection.back = back->second;
        plan.load.connections.push_back(connection);
    }
}

std::uint32_t count_adds(const Program& program, Rank peer, std::uint32_t channel) {
    std::uint32_t count = 0;
    for (const auto& lane : program.lanes)
        if (lane.channel == channel)
            count += static_cast<std::uint32_t>(std::ranges::count_if(
                lane.in, [&](const Move& move) { return move.deed == Deed::add && move.peer == peer; }));
    return count;
}

std::uint64_t memory_of(const CollectivePlan& plan, Rank rank) {
    std::uint64_t bytes = plan.shape.bytes * (plan.kind == Collective::alltoall ? 3 : 1);
    for (const auto& channel : plan.channels) {
        if (channel.first != rank && channel.second != rank)
            continue;
        const auto peer = channel.first == rank ? channel.second : channel.first;
        const auto adds = count_adds(plan.programs[rank], peer, channel.channel);
        bytes += std::uint64_t{std::min(adds, plan.load.work.depth)} * plan.shape.chunk;
    }
    return bytes;
}

double bus_factor(const CollectivePlan& plan) {
    const double n = plan.shape.ranks;
    switch (plan.kind) {
    case Collective::allreduce: return 2 * (n - 1) / n;
    case Collective::alltoall: return (n - 1) / n;
    case Collective::parameter_server: return 0;
    }
    return 0;
}

} // namespace workload
