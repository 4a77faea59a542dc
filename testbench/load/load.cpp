#include "testbench/load/load.h"

#include "testbench/harness/must.h"
#include "testbench/load/ping_pong.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace load {

using harness::must;
using platform::topology::Platform;

Load::Load(Platform& platform, const Plan& plan, Ledger& ledger)
    : Stage(shared_, plan.nodes.size(), plan.work.how.cores), platform_(platform), plan_(plan),
      shared_(plan.work, plan.flows, ledger) {}

void Load::conduct() {
    Held held;
    held_ = &held;
    perform([&] { open(); }, [&] { look(); }, [&] { close(); });
    held_ = nullptr;
}

void Load::open() {
    const auto& work = plan_.work;
    std::vector<Node::Needs> needs(plan_.nodes.size());
    std::vector<std::uint32_t> next_core(plan_.nodes.size());
    for (auto& one : needs)
        one.queue_pairs.resize(work.how.cores);
    const auto out_areas = std::uint64_t{work.verbs.has(Verb::write) || work.verbs.has(Verb::send)} +
                           std::uint64_t{work.verbs.has(Verb::read)};
    const auto in_areas = std::uint64_t{work.verbs.has(Verb::write)} + std::uint64_t{work.verbs.has(Verb::read)} +
                          std::uint64_t{work.verbs.has(Verb::send)};
    const auto add_end = [&](std::size_t node, std::size_t peer, std::optional<std::size_t> flow) -> End& {
        auto& end = held_->ends.emplace_back();
        end.number = held_->ends.size() - 1;
        end.flow = flow;
        end.random = Random(work.seed, end.number);
        end.core = next_core[node]++ % work.how.cores;
        ++needs[node].queue_pairs[end.core];
        if (flow || is_answered()) {
            needs[node].out += out_areas, ++needs[node].sending;
            needs[peer].in += in_areas, ++needs[peer].receiving;
        }
        return end;
    };
    for (const auto& connection : plan_.connections)
        for (std::uint32_t i = 0; i < work.queue_pairs; ++i) {
            auto& first = add_end(connection.first, connection.second, connection.forth);
            auto& second = add_end(connection.second, connection.first, connection.back);
            first.turn = second.turn = i;
            first.peer = &second, second.peer = &first;
        }
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
        const auto host = plan_.nodes[i].hca.host;
        auto& functions = held_->hosts[host];
        if (!functions)
            functions = must(harness::HostFunctions::open(*platform_.machines()[host].host));
        held_->nodes.emplace_back(platform_, *functions, plan_.nodes[i], work).prepare(needs[i]);
    }
    std::size_t number = 0;
    for (const auto& connection : plan_.connections)
        for (std::uint32_t i = 0; i < work.queue_pairs; ++i, number += 2) {
            auto &first = held_->ends[number], &second = held_->ends[number + 1];
            const bool is_both_ways = connection.back.has_value() || is_answered();
            held_->nodes[connection.first].add(first, true, is_both_ways);
            held_->nodes[connection.second].add(second, is_both_ways, true);
        }
    for (auto& end : held_->ends)
        end.node->connect(end, *end.peer->node);
}

bool Load::is_answered() const {
    return plan_.work.is_ping_pong() && (plan_.work.verbs.has(Verb::write) || plan_.work.verbs.has(Verb::send));
}

void Load::act(std::size_t node, std::uint32_t number) {
    const auto& ends = held_->nodes[node].cores()[number].ends;
    const bool has_work =
        std::ranges::any_of(ends, [](const End* end) { return end->flow.has_value() || end->receive.count != 0; });
    if (is_answered())
        play(held_->nodes[node], node, number, shared_);
    else if (has_work)
        Worker(held_->nodes[node], node, number, shared_).run();
}

/// Each atomic has changed its counter once: what they have found is each number below the counter's value, once.
void Load::look() {
    for (auto& node : held_->nodes)
        for (std::size_t i = 0; i < node.tallies().size(); ++i) {
            const auto& tally = node.tallies()[i];
            std::uint64_t value = 0;
            std::memcpy(&value, node.counters().slot(i).data, sizeof value);
            const auto sum = static_cast<Wide>(value) * (value - 1) / 2;
            if (value != tally.added)
                shared_.fail(fmt::format("{}: counter {} is {} after {} atomics that added one", node.planned().name, i,
                                         value, tally.added));
            else if (value != 0 && sum != tally.seen)
                shared_.fail(
                    fmt::format("{}: of counter {} some atomics have found the same value", node.planned().name, i));
        }
}

/// Queue pairs go before their completion queues, and all of them before their context.
void Load::close() {
    for (auto& end : held_->ends) {
        arrived_ += end.arrived;
        end.qp.reset();
    }
    held_->nodes.clear();
    held_->hosts.clear();
}

} // namespace load
