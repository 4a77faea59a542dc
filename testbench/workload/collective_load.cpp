#include "testbench/workload/collective_load.h"

#include "testbench/harness/must.h"

#include <algorithm>
#include <array>
#include <utility>

namespace workload {

using harness::must;
using platform::topology::Platform;
using platform::topology::TrafficMemory;

CollectiveLoad::CollectiveLoad(Platform& platform, const CollectivePlan& plan, load::Ledger& ledger)
    : Stage(shared_, plan.load.nodes.size(), 1), platform_(platform), plan_(plan), shared_(plan, ledger) {}

void CollectiveLoad::conduct() {
    Held held;
    held_ = &held;
    perform([&] { open(); }, [] {}, [&] { close(); });
    held_ = nullptr;
}

void CollectiveLoad::open() {
    const auto& work = plan_.load.work;
    const auto ranks = plan_.load.nodes.size();
    held_->of_ranks.resize(ranks);
    held_->channels.resize(ranks);
    std::vector<std::uint64_t> places(ranks);
    std::vector<std::uint32_t> windows(ranks);
    const auto add_end = [&](Rank rank, Rank peer, std::uint32_t channel, std::size_t flow) -> Link& {
        auto& link = held_->links.emplace_back();
        link.peer = peer;
        link.flow = flow;
        link.window = work.depth;
        link.first_place = places[rank];
        link.places = std::min(link.window, count_adds(plan_.programs[rank], peer, channel));
        places[rank] += link.places;
        windows[rank] += link.window;
        held_->of_ranks[rank].push_back(&link);
        held_->channels[rank].push_back(channel);
        return link;
    };
    for (std::size_t i = 0; i < plan_.channels.size(); ++i) {
        const auto& channel = plan_.channels[i];
        const auto& connection = plan_.load.connections[i];
        auto& first = add_end(channel.first, channel.second, channel.channel, connection.forth);
        auto& second =
            add_end(channel.second, channel.first, channel.channel, connection.back.value_or(connection.forth));
        first.other = &second, second.other = &first;
    }
    for (Rank rank = 0; rank < ranks; ++rank) {
        const auto& planned = plan_.load.nodes[rank];
        auto& functions = held_->hosts[planned.hca.host];
        if (!functions)
            functions = must(harness::HostFunctions::open(*platform_.machines()[planned.hca.host].host));
        auto& device = held_->devices.emplace_back(platform_, *functions, planned, work);
        auto& memory = held_->memories.emplace_back();
        const auto bytes = plan_.shape.bytes;
        memory.data = device.make_memory(work.how.memory, 1, bytes, work.how.page_bytes, bytes);
        if (plan_.kind == Collective::alltoall)
            memory.result = device.make_memory(work.how.memory, 1, 2 * bytes, work.how.page_bytes, bytes);
        if (places[rank] != 0)
            memory.places = device.make_memory(work.how.memory, 1, places[rank] * plan_.shape.chunk,
                                               work.how.page_bytes, plan_.shape.chunk);
        auto& core = device.add_core(std::max(64u, 4 * windows[rank]), std::max(64u, 2 * windows[rank]));
        for (auto* link : held_->of_ranks[rank]) {
            link->device = &device;
            link->memory = &memory;
            link->qp = device.make_queue_pair(core, {.send = 4 * link->window, .receive = 2 * link->window});
        }
    }
    for (auto& link : held_->links)
        link.device->connect(*link.qp, *link.other->device, *link.other->qp);
    // Receives are there before anybody sends: for messages, and for the credits of those sent from here.
    for (const auto& links : held_->of_ranks)
        for (std::size_t number = 0; number < links.size(); ++number) {
            auto& link = *links[number];
            link.credits = link.other->window;
            for (std::uint32_t i = 0; i < link.window + link.other->window; ++i)
                must(link.qp->post_receive({.wr_id = number}));
        }
}

void CollectiveLoad::act(std::size_t node, std::uint32_t) {
    const auto rank = static_cast<Rank>(node);
    Participant(held_->devices[node], held_->memories[node], rank, held_->of_ranks[node], held_->channels[node],
                shared_)
        .run();
}

void CollectiveLoad::close() {
    for (auto& link : held_->links)
        link.qp.reset();
    held_->memories.clear();
    held_->devices.clear();
    held_->hosts.clear();
}

} // namespace workload
