#include "testbench/workload/collective_load.h"

#include "model/tlm/time.h"
#include "testbench/harness/must.h"
#include "testbench/workload/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace workload {

using harness::must;
using platform::ranks::Bytes;
using platform::ranks::Reader;
using platform::ranks::Share;
using platform::ranks::Writer;
using platform::topology::Platform;

namespace {

/// How often hosts meet: each is brought up; all are connected; all cores have come to their end.
enum Meetings : unsigned { brought_up, connected, ended };

/// The hosts of the ranks that are here.
std::size_t count_hosts(const CollectivePlan& plan, const Share& here) {
    std::vector<std::size_t> hosts;
    for (const auto& node : plan.load.nodes)
        if (here.has_host(node.hca.host) && std::ranges::find(hosts, node.hca.host) == hosts.end())
            hosts.push_back(node.hca.host);
    return hosts.size();
}

} // namespace

CollectiveLoad::CollectiveLoad(Platform& platform, const CollectivePlan& plan, load::Ledger& ledger, const Share& here,
                               platform::ranks::Post* post)
    : Stage(shared_, 0, 0), platform_(platform), plan_(plan), shared_(plan, ledger),
      meeting_(count_hosts(plan, here), post), held_(plan.load.nodes.size()), far_(plan.load.nodes.size()),
      places_(plan.load.nodes.size()), windows_(plan.load.nodes.size()), of_ranks_(plan.load.nodes.size()),
      channels_(plan.load.nodes.size()) {
    meeting_.on_met = [this](unsigned number, const std::vector<Bytes>& words) { hear(number, words); };
    for (Rank rank = 0; rank < plan.load.nodes.size(); ++rank) {
        const auto number = plan.load.nodes[rank].hca.host;
        if (!here.has_host(number))
            continue;
        auto host = std::ranges::find(hosts_, number, &Host::number);
        if (host == hosts_.end()) {
            hosts_.emplace_back().number = number;
            host = hosts_.end() - 1;
        }
        host->ranks.push_back(rank);
    }
    plan_links();
}

/// Both ends of each queue pair, wherever they are: what is planned of them is known everywhere.
void CollectiveLoad::plan_links() {
    const auto add_end = [&](Rank rank, Rank peer, std::uint32_t channel, std::size_t flow) -> Link& {
        auto& link = links_.emplace_back();
        link.rank = rank;
        link.peer = peer;
        link.far = &far_[peer];
        link.flow = flow;
        link.window = plan_.load.work.depth;
        link.first_place = places_[rank];
        link.places = std::min<std::uint64_t>(link.window, count_adds(plan_.programs[rank], peer, channel));
        places_[rank] += link.places;
        windows_[rank] += link.window;
        of_ranks_[rank].push_back(&link);
        channels_[rank].push_back(channel);
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
}

void CollectiveLoad::for_each_thread(const std::function<void(std::string name, std::function<void()> body)>& add) {
    for (auto& host : hosts_) {
        const auto& name = platform_.description().hosts[host.number].name;
        add("load_" + name, [this, &host] { conduct(host); });
        for (const auto rank : host.ranks) {
            ++host.running;
            add(fmt::format("core{}_0", rank), [this, &host, rank] {
                if (!is_open_)
                    sc_core::wait(opened_);
                if (shared_.failure.empty())
                    guard([&] { act(rank, 0); });
                if (--host.running == 0)
                    model::tlm::notify_now(host.ended);
            });
        }
    }
}

void CollectiveLoad::conduct(Host& host) {
    Held held;
    for (const auto rank : host.ranks)
        held_[rank] = &held.ranks.emplace_back();
    guard([&] { open(held, host); });
    meeting_.come(words_of(host));
    if (shared_.failure.empty())
        guard([&] { connect(host); });
    meeting_.come(words_of_failure(shared_.failure));
    if (host.running != 0)
        sc_core::wait(host.ended);
    meeting_.come(words_of_failure(shared_.failure));
    guard([&] { close(held, host); });
    for (const auto rank : host.ranks)
        held_[rank] = nullptr;
}

void CollectiveLoad::open(Held& held, const Host& host) {
    held.functions = must(harness::HostFunctions::open(*platform_.machines()[host.number].host));
    for (const auto rank : host.ranks)
        open(held, rank);
}

void CollectiveLoad::open(Held& held, Rank rank) {
    const auto& work = plan_.load.work;
    auto& [held_device, memory, queue_pairs] = *held_[rank];
    held_device = std::make_unique<load::Device>(platform_, *held.functions, plan_.load.nodes[rank], work);
    auto& device = *held_device;
    const auto bytes = plan_.shape.bytes;
    memory.data = device.make_memory(work.how.memory, 1, bytes, work.how.page_bytes, bytes);
    if (plan_.kind == Collective::alltoall)
        memory.result = device.make_memory(work.how.memory, 1, 2 * bytes, work.how.page_bytes, bytes);
    if (places_[rank] != 0)
        memory.places = device.make_memory(work.how.memory, 1, places_[rank] * plan_.shape.chunk, work.how.page_bytes,
                                           plan_.shape.chunk);
    auto& core = device.add_core(std::max(64u, 4 * windows_[rank]), std::max(64u, 2 * windows_[rank]));
    for (auto* link : of_ranks_[rank]) {
        queue_pairs.push_back(device.make_queue_pair(core, {.send = 4 * link->window, .receive = 2 * link->window}));
        link->qp = queue_pairs.back().get();
        link->qpn = link->qp->number();
    }
}

Bytes CollectiveLoad::words_of(const Host& host) const {
    if (!shared_.failure.empty())
        return words_of_failure(shared_.failure);
    Bytes words;
    Writer writer(words);
    for (const auto rank : host.ranks) {
        const auto& [device, memory, queue_pairs] = *held_[rank];
        put_words(writer, {.rank = rank,
                           .far = {.peer = device->as_peer(),
                                   .data = FarMemory(memory.data),
                                   .result = FarMemory(memory.result),
                                   .places = FarMemory(memory.places)}});
        for (const auto* link : of_ranks_[rank])
            writer.put(link->qpn.value);
    }
    return words;
}

/// All hosts have come to a meeting with these words.
void CollectiveLoad::hear(unsigned number, const std::vector<Bytes>& words) {
    for (std::size_t process = 0; process < words.size(); ++process)
        for (Reader reader(words[process]); !reader.is_at_end();)
            if (!hear(reader))
                shared_.fail(fmt::format("process {} has told what no host tells", process));
    if (number == connected) {
        shared_.last_progress = model::tlm::kernel_now();
        if (shared_.failure.empty() && on_begin)
            on_begin();
        is_open_ = true;
        model::tlm::notify_now(opened_);
    }
    if (number == ended && on_end)
        on_end();
}

bool CollectiveLoad::hear(Reader& words) {
    if (auto failure = get_failure(words)) {
        if (!failure->empty())
            shared_.fail(std::move(*failure));
        return true;
    }
    const auto told = get_words(words);
    if (!told || told->rank >= far_.size()) {
        words.refuse();
        return false;
    }
    far_[told->rank] = told->far;
    for (auto* link : of_ranks_[told->rank])
        link->qpn = abi::Qpn{words.get<std::uint32_t>()};
    return words.is_good();
}

void CollectiveLoad::connect(const Host& host) {
    for (const auto rank : host.ranks) {
        const auto& links = of_ranks_[rank];
        for (auto* link : links) {
            auto peer = far_[link->peer].peer;
            peer.qpn = link->other->qpn;
            held_[rank]->device->connect(*link->qp, peer);
        }
        // Receives are there before anybody sends: for messages, and for the credits of those sent from here.
        for (std::size_t number = 0; number < links.size(); ++number) {
            auto& link = *links[number];
            link.credits = link.other->window;
            for (std::uint32_t i = 0; i < link.window + link.other->window; ++i)
                must(link.qp->post_receive({.wr_id = number}));
        }
    }
}

void CollectiveLoad::act(std::size_t node, std::uint32_t) {
    const auto rank = static_cast<Rank>(node);
    Participant(*held_[node]->device, held_[node]->memory, rank, of_ranks_[node], channels_[node], shared_).run();
}

void CollectiveLoad::close(Held& held, const Host& host) {
    for (const auto rank : host.ranks) {
        for (auto* link : of_ranks_[rank])
            link->qp = nullptr;
        for (auto& queue_pair : held_[rank]->queue_pairs)
            queue_pair.reset();
        held_[rank]->memory = {};
        held_[rank]->device.reset();
    }
    held.functions.reset();
}

} // namespace workload
