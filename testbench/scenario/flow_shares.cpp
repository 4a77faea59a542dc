#include "testbench/scenario/flow_shares.h"

#include <algorithm>
#include <functional>

namespace scenario {

using model::port::Time;

namespace {

constexpr double tolerated = 0.1; ///< of an equal share, either way

} // namespace

double jain(std::span<const std::uint64_t> bytes) {
    double sum = 0, squares = 0;
    for (const auto one : bytes) {
        const auto value = static_cast<double>(one);
        sum += value, squares += value * value;
    }
    return squares > 0 ? sum * sum / squares / static_cast<double>(bytes.size()) : 0;
}

FlowShares::FlowShares(const std::vector<load::Flow>& flows)
    : flows_(flows), part_(flows.size() > most_flows ? 0 : flows.size()) {}

void FlowShares::cut() {
    parts_.push_back(part_);
    std::ranges::fill(part_, 0);
}

void FlowShares::join_pairs() {
    for (std::size_t i = 0; i < parts_.size(); i += 2) {
        auto& to = parts_[i / 2];
        if (i != 0)
            to = std::move(parts_[i]);
        if (i + 1 < parts_.size())
            std::ranges::transform(to, parts_[i + 1], to.begin(), std::plus<>{});
    }
    parts_.resize((parts_.size() + 1) / 2);
}

/// Bytes of the flows that were there all the time.
std::vector<std::uint64_t> FlowShares::gather(std::size_t number, Span span) const {
    std::vector<std::uint64_t> there;
    for (std::size_t i = 0; i < parts_[number].size(); ++i)
        if (flows_[i].joins <= span.begin && span.end <= flows_[i].leaves)
            there.push_back(parts_[number][i]);
    return there;
}

std::optional<Shares> FlowShares::in(std::size_t number, Span span) const {
    const auto there = gather(number, span);
    if (there.empty())
        return std::nullopt;
    const auto [least, most] = std::ranges::minmax(there);
    return Shares{.flows = there.size(), .least = least, .most = most, .fairness = jain(there)};
}

std::optional<Time> FlowShares::settled(std::span<const Span> spans) const {
    if (spans.empty() || part_.size() < 2)
        return std::nullopt;
    const auto last = std::ranges::max(flows_, {}, &load::Flow::joins).joins;
    const auto leaves = std::ranges::min(flows_, {}, &load::Flow::leaves).leaves;
    std::optional<Time> since;
    for (std::size_t i = 0; i < spans.size() && spans[i].end <= leaves; ++i) {
        if (spans[i].begin < last)
            continue;
        const auto there = gather(i, spans[i]);
        std::uint64_t sum = 0;
        for (const auto bytes : there)
            sum += bytes;
        const auto share = static_cast<double>(sum) / static_cast<double>(there.size());
        const bool is_equal = sum != 0 && std::ranges::all_of(there, [&](std::uint64_t bytes) {
                                  const auto ratio = static_cast<double>(bytes) / share;
                                  return 1 - tolerated <= ratio && ratio <= 1 + tolerated;
                              });
        if (!is_equal)
            since.reset();
        else if (!since)
            since = spans[i].begin;
    }
    if (!since)
        return since;
    return *since - std::max(last, spans.front().begin);
}

} // namespace scenario
