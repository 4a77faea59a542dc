#include "testbench/calibrate/window.h"

#include "abi/wire/ethernet.h"
#include "platform/topology/platform_module.h"

#include <algorithm>
#include <cmath>

namespace calibrate {

using model::pcie::Direction;
using model::port::Time;
using model::time::Account;
using model::time::Kind;

namespace {

/// Less than that, and something else has kept the traffic back: round trips, and how much may be under way.
constexpr double least_load = 0.8;

void add_link(const std::string& name, const model::pcie::Link* link, std::vector<Counted>& rows) {
    if (link == nullptr || !link->config().timed)
        return;
    for (const auto direction : {Direction::upstream, Direction::downstream}) {
        const auto account = link->account(direction);
        rows.push_back({name + " " + std::string(account.name), account});
    }
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

Name::Name(std::string_view from) { from.copy(text.data(), text.size() - 1); }

std::vector<Counted> count_all(platform::topology::Platform& platform) {
    std::vector<Counted> rows;
    for (const auto& machine : platform.machines()) {
        for (const auto& card : machine.cards) {
            std::vector<Account> accounts;
            card.module->device().accounts(accounts);
            card.module->endpoint.accounts(accounts);
            for (const auto& account : accounts)
                rows.push_back({card.name + " " + std::string(account.name), account});
        }
        if (!machine.host)
            continue;
        std::vector<Account> accounts;
        machine.host->bar_access().accounts(accounts);
        for (const auto& account : accounts)
            rows.push_back({machine.name + " " + std::string(account.name), account});
        for (std::size_t i = 0; i < machine.switch_links.size(); ++i)
            add_link(machine.switch_links[i], machine.host->upstream_link(i), rows);
    }
    add_cable("wire A -> B", platform.cable(), 0, rows);
    add_cable("wire B -> A", platform.cable(), 1, rows);
    return rows;
}

Busiest busiest_between(std::span<const Counted> before, std::span<const Counted> after, Time elapsed,
                        unsigned queue_pairs) {
    std::vector<Account> window;
    for (const auto& row : after) {
        auto account = row.account;
        account.name = row.name;
        if (const auto old = std::ranges::find(before, row.name, &Counted::name); old != before.end())
            account.usage.busy -= old->account.usage.busy;
        if (account.name.ends_with("processing units"))
            account.units = std::min(account.units, queue_pairs);
        window.push_back(account);
    }
    const auto* busiest = model::time::bottleneck(window);
    const auto load = busiest != nullptr ? std::min(1.0, busiest->load(elapsed)) : 0;
    return load < least_load ? Busiest{"latency", load} : Busiest{std::string(busiest->name), load};
}

} // namespace calibrate
