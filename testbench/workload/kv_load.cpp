#include "testbench/workload/kv_load.h"

#include "testbench/harness/must.h"
#include "testbench/workload/kv_client.h"
#include "testbench/workload/kv_server.h"

#include <algorithm>

namespace workload {

using harness::must;
using platform::topology::Platform;
using platform::topology::TrafficMemory;

namespace {

/// Who asks again before the completion of what it has asked is there has room for both.
constexpr std::uint32_t requests_an_operation = 3;

} // namespace

KvLoad::KvLoad(Platform& platform, const KvPlan& plan, load::Ledger& ledger)
    : Stage(shared_, plan.load.nodes.size(), 1), platform_(platform), plan_(plan), shared_(plan, ledger) {}

void KvLoad::conduct() {
    Held held;
    held_ = &held;
    perform([&] { open(); }, [] {}, [&] { close(); });
    held_ = nullptr;
}

void KvLoad::open() {
    held_->of_nodes.resize(plan_.load.nodes.size());
    const auto add_end = [&](std::size_t node, std::size_t server, std::size_t flow) -> KvLink& {
        auto& link = held_->links.emplace_back();
        link.flow = flow;
        link.server = server;
        link.depth = plan_.load.work.depth;
        link.first = held_->of_nodes[node].size() * link.depth;
        held_->of_nodes[node].push_back(&link);
        return link;
    };
    for (const auto& connection : plan_.load.connections) {
        const auto server = connection.second - plan_.clients;
        auto& client_end = add_end(connection.first, server, connection.forth);
        auto& server_end = add_end(connection.second, server, *connection.back);
        client_end.other = &server_end, server_end.other = &client_end;
    }
    for (std::size_t node = 0; node < plan_.load.nodes.size(); ++node)
        open_node(node);
    for (auto& link : held_->links)
        link.device->connect(*link.qp, *link.other->device, *link.other->qp);
    for (const auto& links : held_->of_nodes)
        for (std::size_t number = 0; number < links.size(); ++number)
            for (std::uint32_t i = 0; i < links[number]->depth; ++i)
                links[number]->give_receive(number);
}

void KvLoad::open_node(std::size_t node) {
    const auto& planned = plan_.load.nodes[node];
    const auto& work = plan_.load.work;
    auto& functions = held_->hosts[planned.hca.host];
    if (!functions)
        functions = must(harness::HostFunctions::open(*platform_.machines()[planned.hca.host].host));
    auto& device = held_->devices.emplace_back(platform_, *functions, planned, work);
    auto& memory = held_->memories.emplace_back();
    auto& links = held_->of_nodes[node];
    const bool is_server = node >= plan_.clients;
    const auto places = links.size() * work.depth;
    const auto make = [&](std::uint64_t count, std::uint64_t stride) {
        return device.make_memory(TrafficMemory::host, 1, count * stride, work.how.page_bytes, stride);
    };
    const auto request = (KvRequest::size + plan_.sizes.most() + 63) / 64 * 64;
    memory.out = make(places, is_server ? plan_.stride() : request);
    memory.received = make(places, is_server ? request : plan_.stride());
    memory.landing = make(is_server ? plan_.how.keys : places, plan_.stride());
    if (is_server)
        fill_values(node - plan_.clients, memory.landing);
    const auto requests = static_cast<std::uint32_t>(requests_an_operation * places);
    auto& core = device.add_core(std::max(64u, requests), std::max(64u, static_cast<std::uint32_t>(places)));
    for (auto* link : links) {
        link->device = &device;
        link->out = &memory.out, link->received = &memory.received, link->landing = &memory.landing;
        link->qp = device.make_queue_pair(core, {.send = requests_an_operation * work.depth, .receive = work.depth});
    }
}

void KvLoad::fill_values(std::size_t server, const load::Memory& values) {
    for (std::uint64_t place = 0; place < plan_.how.keys; ++place) {
        const auto key = place * plan_.servers + server;
        write_value({values.slot(place).data, plan_.stride()},
                    {.key = key, .version = 0, .content = 1ull << 63 | key, .bytes = first_bytes(plan_, key)});
    }
}

void KvLoad::act(std::size_t node, std::uint32_t) {
    auto& device = held_->devices[node];
    if (node < plan_.clients)
        KvClient(device, node, held_->of_nodes[node], shared_).run();
    else
        KvServer(device, node, held_->memories[node].landing, held_->of_nodes[node], shared_).run();
}

void KvLoad::close() {
    for (auto& link : held_->links)
        link.qp.reset();
    held_->memories.clear();
    held_->devices.clear();
    held_->hosts.clear();
}

} // namespace workload
