#include "testbench/scenario/counting.h"

#include "model/tlm/kernel_clock.h"
#include "testbench/scenario/accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

namespace scenario {

using model::pcie::Direction;
using model::pcie::TargetKind;
using platform::topology::Platform;

namespace {

std::int64_t busy_ps(const model::pcie::Link& link, std::uint64_t bytes) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) * 8000 / link.usable_gbps());
}

void add_link(const std::string& name, const model::pcie::Link* link, Result& result) {
    if (link == nullptr)
        return;
    const auto up = link->traffic(Direction::upstream), down = link->traffic(Direction::downstream);
    result.pcie_links.push_back({.name = name,
                                 .tlps_up = up.tlps,
                                 .tlps_down = down.tlps,
                                 .bytes_up = up.wire_bytes,
                                 .bytes_down = down.wire_bytes,
                                 .payload_up = up.payload_bytes,
                                 .payload_down = down.payload_bytes,
                                 .busy_up_ps = link->config().timed ? busy_ps(*link, up.wire_bytes) : 0,
                                 .busy_down_ps = link->config().timed ? busy_ps(*link, down.wire_bytes) : 0});
}

/// Where packets waited for credit, the line and the room at its other end are resources like those of a device.
void add_credits(const std::string& name, const model::net::LinkConfig& config, const model::net::LinkCounters& c,
                 Result& result) {
    const auto busy = config.rate_gbps > 0 ? static_cast<double>(c.bytes) * 8000 / config.rate_gbps : 0;
    const std::array accounts{
        model::time::Account{.name = "line",
                             .kind = model::time::Kind::line,
                             .usage = {.uses = c.packets, .busy = model::port::Time{static_cast<std::int64_t>(busy)}},
                             .bytes = c.bytes},
        model::time::Account{.name = "credit blocks",
                             .kind = model::time::Kind::window,
                             .units = config.credit_blocks,
                             .usage = {.uses = c.packets, .waited = c.waited}}};
    add_accounts(name, accounts, model::tlm::kernel_now(), result);
}

void add_wire(const std::string& name, const model::net::Link& link, unsigned direction, Result& result) {
    const auto& c = link.counters(direction);
    if (c.waited.count() != 0)
        add_credits(name, link.config(), c, result);
    result.wires.push_back({.name = name,
                            .packets = c.packets,
                            .bytes = c.bytes,
                            .lost = c.lost,
                            .duplicated = c.duplicated,
                            .reordered = c.reordered,
                            .corrupted = c.corrupted,
                            .waited_ps = c.waited.count()});
}

/// Links, caches and resources of one host.
void count(const platform::topology::Machine& machine, Result& result) {
    for (std::size_t i = 0; machine.host && i < machine.switch_links.size(); ++i)
        add_link(machine.switch_links[i], machine.host->upstream_link(i), result);
    for (const auto& card : machine.cards) {
        if (machine.host)
            add_link(card.link_name, machine.host->slot_link(card.slot), result);
        std::vector<model::time::Account> accounts;
        card.module->device().accounts(accounts);
        card.module->endpoint.accounts(accounts);
        add_accounts(card.name, accounts, model::tlm::kernel_now(), result);
        if (!card.is_hca(platform::topology::HcaModel::connectx)) // the other one has no caches
            continue;
        const auto& c = card.hca().counters();
        result.caches.push_back({.name = card.name + " QPC", .hits = c.qpc_hits, .misses = c.qpc_misses});
        result.caches.push_back({.name = card.name + " CQC", .hits = c.cqc_hits, .misses = c.cqc_misses});
        if (c.srqc_hits + c.srqc_misses != 0)
            result.caches.push_back({.name = card.name + " SRQC", .hits = c.srqc_hits, .misses = c.srqc_misses});
        result.caches.push_back({.name = card.name + " MKey", .hits = c.mkey_hits, .misses = c.mkey_misses});
        result.caches.push_back({.name = card.name + " MTT", .hits = c.mtt_hits, .misses = c.mtt_misses});
        if (card.endpoint().space().config().ats.entries != 0) {
            const auto& tlb = card.endpoint().tlb().counters();
            result.caches.push_back({.name = card.name + " device-TLB", .hits = tlb.hits, .misses = tlb.misses});
        }
    }
    if (machine.host) {
        std::vector<model::time::Account> accounts;
        machine.host->bar_access().accounts(accounts);
        add_accounts(machine.name, accounts, model::tlm::kernel_now(), result);
    }
    if (machine.host && machine.host->root_complex().cache().is_on()) {
        const auto& cache = machine.host->root_complex().cache().counters();
        result.caches.push_back({.name = machine.name + ".root LLC", .hits = cache.hits, .misses = cache.misses});
    }
    if (const auto* iommu = machine.host ? machine.host->root_complex().iommu() : nullptr) {
        const auto& iotlb = iommu->core().translator().iotlb_counters();
        result.caches.push_back({.name = machine.name + ".root IOTLB", .hits = iotlb.hits, .misses = iotlb.misses});
        iommu->for_each_account([&](const model::time::Account& account) {
            add_accounts(machine.name + ".root", std::array{account}, model::tlm::kernel_now(), result);
        });
    }
}

} // namespace

void add_between(const Totals& begin, const Totals& end, Totals& sum) {
    for_each_total([&](auto member) { sum.*member += end.*member - begin.*member; });
}

Totals totals(Platform& platform) {
    Totals sum;
    const auto add = [&](const auto& c) {
        sum.packets += c.packets_sent;
        sum.retries += c.retries;
        sum.timeouts += c.timeouts;
        sum.rnr_waits += c.rnr_waits;
        sum.naks += c.naks_sent;
        sum.duplicates += c.duplicates;
        sum.dropped += c.packets_dropped;
        sum.completions_ok += c.completions_ok;
        sum.completions_error += c.completions_error;
    };
    for (const auto& at : platform.description().hcas) {
        if (!platform.is_here(at.host))
            continue;
        const auto& card = platform.card(at);
        if (card.is_hca(platform::topology::HcaModel::simple)) { // without congestion control
            add(card.simple().counters());
            continue;
        }
        const auto& c = card.hca().counters();
        add(c);
        sum.marked += c.packets_marked;
        sum.cnps += c.cnps_handled;
        sum.window_cuts += c.window_cuts;
        sum.window_waited_ps += c.window_waited_ps;
        sum.round_trips += c.round_trips;
        sum.round_trips_ps += c.round_trips_ps;
    }
    for (std::size_t i = 0; i < platform.cable_count(); ++i)
        for (const unsigned direction : {0u, 1u})
            sum.pauses += platform.cable(i).counters(direction).pauses;
    sum.switch_drops = platform.dropped_by_switches();
    return sum;
}

MovedPayload& MovedPayload::operator+=(const MovedPayload& other) {
    peer += other.peer;
    redirected += other.redirected;
    host_dram += other.host_dram;
    return *this;
}

MovedPayload MovedPayload::operator-(const MovedPayload& other) const {
    return {peer - other.peer, redirected - other.redirected, host_dram - other.host_dram};
}

void MovedPayload::show(Result& result) const {
    result.p2p_payload_bytes = peer;
    result.redirected_payload_bytes = redirected;
    result.host_dram_payload_bytes = host_dram;
}

MovedPayload moved_payload(const platform::topology::Machine& machine) {
    MovedPayload sum;
    for (const auto& card : machine.cards) {
        const auto& endpoint = card.endpoint();
        sum += {endpoint.volume(TargetKind::peer).payload(), endpoint.volume(TargetKind::redirected_peer).payload(),
                endpoint.volume(TargetKind::host_memory).payload()};
    }
    return sum;
}

MovedPayload moved_payload(Platform& platform) {
    MovedPayload sum;
    for (const auto& machine : platform.machines())
        sum += moved_payload(machine);
    return sum;
}

void count_sums(Platform& platform, Result& result) {
    moved_payload(platform).show(result);
    const auto sum = totals(platform);
    result.wire_packets = sum.packets;
    result.retries = sum.retries;
    result.timeouts = sum.timeouts;
    result.rnr_waits = sum.rnr_waits;
    result.naks = sum.naks;
    result.duplicates = sum.duplicates;
    result.packets_dropped = sum.dropped;
    result.completions_ok += sum.completions_ok; // beside those of drives
    result.completions_error += sum.completions_error;
}

void append_rows(Result& result, CountedGroup&& group) {
    const auto append = [](auto& rows, auto& more) { std::ranges::move(more, std::back_inserter(rows)); };
    append(result.pcie_links, group.rows.pcie_links);
    append(result.caches, group.rows.caches);
    append(result.resources, group.rows.resources);
    append(result.bottlenecks, group.rows.bottlenecks);
    append(result.wires, group.rows.wires);
}

std::vector<CountedGroup> count_groups(Platform& platform, const platform::ranks::Share& here) {
    std::vector<CountedGroup> groups;
    const auto& described = platform.description();
    const auto hosts = platform.machines().size();
    for (std::size_t host = 0; host < hosts; ++host)
        if (here.has_host(host))
            count(platform.machines()[host], groups.emplace_back(CountedGroup{.number = host}).rows);
    const auto& cables = described.cables;
    const auto shown = described.is_pair ? std::min<std::size_t>(1, cables.size()) : cables.size();
    for (std::size_t i = 0; i < shown; ++i)
        for (unsigned end = 0; end < 2; ++end) {
            const auto name = [&](unsigned at) {
                return described.is_pair ? std::string(at == 0 ? "A" : "B") : described.name_of(cables[i].ends[at]);
            };
            if (here.has(cables[i].ends[end]))
                add_wire(fmt::format("{} -> {}", name(end), name(1 - end)), platform.cable(i), end,
                         groups.emplace_back(CountedGroup{.number = hosts + 2 * i + end}).rows);
        }
    return groups;
}

void count(Platform& platform, Result& result) {
    for (const auto& machine : platform.machines())
        if (machine.ownership && !machine.ownership->findings().empty() && result.failure.empty())
            result.failure = to_string(machine.ownership->findings().front());
    count_sums(platform, result);
    for (auto& group : count_groups(platform, {}))
        append_rows(result, std::move(group));
    for (const auto& failure : platform.description().failures) {
        BrokenCables row{.name = failure.name, .at_ps = failure.at.count()};
        if (failure.until)
            row.until_ps = failure.until->count();
        for (const auto cable : failure.cables) {
            const auto costs = platform.costs_of_failure(cable);
            row.lost += costs.lost;
            row.discarded += costs.discarded;
        }
        result.failures.push_back(std::move(row));
    }
}

void tap(Platform& platform, platform::observe::files::Capture& capture) {
    const auto& cables = platform.description().cables;
    for (std::size_t i = 0; i < (platform.description().is_pair ? 1 : cables.size()); ++i)
        platform.cable(i).set_tap(&capture.add_interface(cables[i].name, cables[i].link.encapsulation));
}

} // namespace scenario
