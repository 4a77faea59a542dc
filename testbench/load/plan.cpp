#include "testbench/load/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace load {

using platform::topology::TrafficPattern;
using Error = std::unexpected<std::string>;
using Nodes = std::vector<std::size_t>;

namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// Each of `from` has one of `to`, and none of `to` has two. Drawn, and then mended: who was given himself changes with
/// the next one.
std::expected<Pairs, std::string> permute(const Nodes& from, Nodes to, std::uint64_t seed) {
    Random random(seed, 0x7065'726d);
    for (std::size_t i = to.size(); i > 1; --i)
        std::swap(to[i - 1], to[random.below(i)]);
    const auto clashes = [&](std::size_t i) { return from[i] == to[i]; };
    for (std::size_t i = 0; i < to.size(); ++i)
        for (std::size_t k = 1; k < to.size() && clashes(i); ++k) {
            const auto other = (i + k) % to.size();
            std::swap(to[i], to[other]);
            if (clashes(i) || clashes(other))
                std::swap(to[i], to[other]);
        }
    Pairs pairs;
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (clashes(i))
            return Error("one of them would send to itself: name others");
        pairs.emplace_back(from[i], to[i]);
    }
    return pairs;
}

std::expected<Pairs, std::string> pairs_of(TrafficPattern pattern, const Nodes& from, const Nodes& to,
                                           std::uint64_t seed) {
    const bool is_one_each = pattern == TrafficPattern::pairs || pattern == TrafficPattern::permutation;
    if (is_one_each && from.size() != to.size())
        return Error(fmt::format("{} HCAs send to {}: name as many", from.size(), to.size()));
    if (pattern == TrafficPattern::permutation)
        return permute(from, to, seed);
    Pairs pairs;
    if (pattern == TrafficPattern::pairs) {
        for (std::size_t i = 0; i < from.size(); ++i) {
            if (from[i] == to[i])
                return Error("one of them would send to itself: name others");
            pairs.emplace_back(from[i], to[i]);
        }
        return pairs;
    }
    const auto all = [](const Nodes& nodes, bool is_one) { return is_one ? Nodes{nodes.front()} : nodes; };
    const auto senders = all(from, pattern == TrafficPattern::from_one),
               receivers = all(to, pattern == TrafficPattern::to_one);
    // Each begins with another one, so that they do not all send to the first one first.
    for (std::size_t i = 0; i < senders.size(); ++i)
        for (std::size_t k = 1; k <= receivers.size(); ++k)
            if (const auto b = receivers[(i + k) % receivers.size()]; senders[i] != b)
                pairs.emplace_back(senders[i], b);
    if (pairs.empty())
        return Error("nobody is there to send to");
    return pairs;
}

} // namespace

namespace {

std::size_t add_row(Plan& plan, std::size_t from, std::size_t to) {
    plan.flows.push_back({from, to, fmt::format("{} -> {}", plan.nodes[from].name, plan.nodes[to].name)});
    return plan.flows.size() - 1;
}

} // namespace

std::size_t add_flow(Plan& plan, std::size_t from, std::size_t to) {
    const auto flow = add_row(plan, from, to);
    plan.connections.push_back({.first = from, .second = to, .forth = flow});
    return flow;
}

void stagger(Plan& plan, model::port::Time join, model::port::Time stay) {
    model::port::Time joins{};
    for (const auto& connection : plan.connections) {
        const auto leaves = stay == model::port::Time{} ? model::port::never : joins + stay;
        plan.flows[connection.forth].joins = joins, plan.flows[connection.forth].leaves = leaves;
        if (connection.back)
            plan.flows[*connection.back].joins = joins, plan.flows[*connection.back].leaves = leaves;
        joins += join;
    }
}

std::expected<void, std::string> add_flows(Plan& plan, TrafficPattern pattern, const Nodes& from, const Nodes& to,
                                           bool is_bidirectional, std::uint64_t seed) {
    const auto pairs = pairs_of(pattern, from, to, seed);
    if (!pairs)
        return Error(pairs.error());
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> known; // connections, by their nodes
    for (const auto& [a, b] : *pairs) {
        if (is_bidirectional) {
            // Who is in the list in both directions has the flow back already.
            if (const auto there = known.find({b, a}); there != known.end())
                continue;
            known[{a, b}] = plan.connections.size();
        }
        Connection connection{.first = a, .second = b, .forth = add_row(plan, a, b)};
        if (is_bidirectional)
            connection.back = add_row(plan, b, a);
        plan.connections.push_back(connection);
    }
    return {};
}

} // namespace load
