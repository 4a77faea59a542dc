#include "testbench/scenario/accounts.h"

#include <algorithm>

namespace scenario {

using model::time::Account;
using model::time::Kind;

namespace {

std::string_view name_of(Kind kind) {
    switch (kind) {
    case Kind::server: return "server";
    case Kind::line: return "line";
    case Kind::window: return "window";
    case Kind::cache: return "cache";
    }
    return "";
}

/// What is booked may end after the run does, such as what a drive still writes from its cache.
double load_of(const Account& account, model::port::Time elapsed) { return std::min(1.0, account.load(elapsed)); }

} // namespace

void add_accounts(const std::string& device, std::span<const Account> accounts, model::port::Time elapsed,
                  Result& result) {
    if (std::ranges::all_of(accounts, [](const Account& account) { return account.usage.uses == 0; }))
        return;
    for (const auto& account : accounts) {
        const auto name = device + " " + std::string(account.name);
        if (account.kind == Kind::cache) {
            // Who came while a line was being filled found it neither there nor missing: it caused no second fill.
            result.caches.push_back(
                {.name = name, .hits = account.cache.hits + account.cache.merged, .misses = account.cache.misses});
            continue;
        }
        result.resources.push_back({.name = name,
                                    .device = device,
                                    .kind = std::string(name_of(account.kind)),
                                    .units = account.units,
                                    .uses = account.usage.uses,
                                    .bytes = account.bytes,
                                    .busy_ps = account.usage.busy.count(),
                                    .waited_ps = account.usage.waited.count(),
                                    .longest_wait_ps = account.usage.longest_wait.count(),
                                    .load = load_of(account, elapsed)});
    }
    Bottleneck found{.device = device};
    if (const auto* busiest = model::time::bottleneck(accounts)) {
        found.busiest = busiest->name;
        found.load = load_of(*busiest, elapsed);
    }
    if (const auto* waited = model::time::longest_queue(accounts)) {
        found.waited_for = waited->name;
        found.waited_ps = waited->usage.waited.count();
    }
    result.bottlenecks.push_back(std::move(found));
}

} // namespace scenario
