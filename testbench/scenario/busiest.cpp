#include "testbench/scenario/busiest.h"

#include "abi/wire/ethernet.h"
#include "model/iommu/iommu_module.h"
#include "platform/topology/platform_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace scenario {

using model::port::Time;
using model::time::Account;
using model::time::Kind;

namespace {

/// Less than that, and something else has kept the work back: round trips, and how much may be under way.
constexpr double least_load = 0.8;

void add(const std::string& owner, std::span<const Account> accounts, std::vector<Counted>& rows) {
    for (const auto& account : accounts)
        if (account.kind != Kind::cache)
            rows.push_back({owner + " " + std::string(account.name), account});
}

void add_link(const std::string& name, const model::pcie::Link* link, std::vector<Counted>& rows) {
    if (link == nullptr || !link->config().timed)
        return;
    link->for_each_account([&](const Account& account) { add(name, std::array{account}, rows); });
}

void add_cable(const std::string& name, const model::net::Link& cable, unsigned direction, std::vector<Counted>& rows) {
    const auto& config = cable.config();
    const auto& counters = cable.counters(direction);
    if (!config.timed || config.rate_gbps <= 0)
        return;
    const auto overhead = config.encapsulation == model::port::Encapsulation::infiniband
                              ? 0
                              : std::uint64_t{abi::wire::ethernet_overhead};
    const auto bytes = counters.bytes + counters.packets * overhead;
    const Time busy{std::llround(static_cast<double>(bytes) * 8000 / config.rate_gbps)};
    rows.push_back(
        {name, {.name = {}, .kind = Kind::line, .usage = {.uses = counters.packets, .busy = busy}, .bytes = bytes}});
}

} // namespace

std::size_t first_cable_group(const platform::topology::Platform& platform) {
    return platform.description().hosts.size();
}

std::size_t end_of_groups(const platform::topology::Platform& platform) {
    return first_cable_group(platform) + 2 * platform.cable_count();
}

std::vector<Counted> count_all(platform::topology::Platform& platform, const platform::ranks::Share& here) {
    std::vector<Counted> rows;
    std::vector<Account> accounts;
    auto close_group = [&, begin = std::size_t{0}](std::size_t group) mutable {
        for (; begin < rows.size(); ++begin)
            rows[begin].group = group;
    };
    for (std::size_t number = 0; number < platform.machines().size(); ++number) {
        if (!here.has_host(number))
            continue;
        const auto& machine = platform.machines()[number];
        for (const auto& card : machine.cards) {
            accounts.clear();
            card.module->device().accounts(accounts);
            card.module->endpoint.accounts(accounts);
            add(card.name, accounts, rows);
        }
        if (machine.host) {
            accounts.clear();
            machine.host->bar_access().accounts(accounts);
            add(machine.name, accounts, rows);
            if (const auto* unit = machine.host->root_complex().iommu())
                unit->for_each_account(
                    [&](const Account& account) { add(machine.name + ".root", std::array{account}, rows); });
            for (std::size_t i = 0; i < machine.switch_links.size(); ++i)
                add_link(machine.switch_links[i], machine.host->upstream_link(i), rows);
        }
        close_group(number);
    }
    const auto& described = platform.description();
    for (std::size_t i = 0; i < described.cables.size(); ++i)
        for (const unsigned end : {0u, 1u}) {
            if (!here.has(described.cables[i].ends[end]))
                continue;
            add_cable(fmt::format("wire {} -> {}", described.name_of(described.cables[i].ends[end]),
                                  described.name_of(described.cables[i].ends[1 - end])),
                      platform.cable(i), end, rows);
            close_group(first_cable_group(platform) + 2 * i + end);
        }
    return rows;
}

void add_between(std::span<const Counted> before, std::span<const Counted> after, std::vector<Counted>& sum) {
    // A resource that nobody has used yet may not be there, so the rows of two moments need not be the same; mostly
    // they are.
    const auto find = [](auto& rows, const Counted& row, std::size_t at) {
        const auto likely = rows.begin() + static_cast<std::ptrdiff_t>(std::min(at, rows.size()));
        return likely != rows.end() && likely->name == row.name ? likely
                                                                : std::ranges::find(rows, row.name, &Counted::name);
    };
    const bool is_first = sum.empty(); // no two rows of a moment have one name
    for (std::size_t i = 0; i < after.size(); ++i) {
        const auto& row = after[i];
        auto had = is_first ? sum.end() : find(sum, row, i);
        if (had == sum.end()) {
            sum.push_back({row.name, row.account});
            had = sum.end() - 1;
            had->account.usage.busy = {};
        }
        had->account.usage.busy += row.account.usage.busy;
        if (const auto old = find(before, row, i); old != before.end())
            had->account.usage.busy -= old->account.usage.busy;
    }
}

Busiest busiest(std::span<const Counted> counted, Time elapsed, unsigned queue_pairs) {
    std::vector<Account> accounts;
    for (const auto& row : counted) {
        accounts.push_back(row.account);
        accounts.back().name = row.name;
        if (row.name.ends_with("processing units") || row.name.ends_with("congestion rates"))
            accounts.back().units = std::min(accounts.back().units, queue_pairs);
    }
    const auto* most = model::time::bottleneck(accounts);
    const auto load = most != nullptr ? std::min(1.0, most->load(elapsed)) : 0;
    return load < least_load ? Busiest{"latency", load} : Busiest{std::string(most->name), load};
}

} // namespace scenario
