#include "platform/topology/platform_module.h"

#include "model/hca/address/identity.h"
#include "model/tlm/time.h"
#include "platform/record/recording.h"
#include "platform/topology/device_config.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace platform::topology {

namespace {

model::pcie::LinkConfig link_config(const PcieLinkConfig& config, bool timed) {
    model::pcie::LinkConfig link;
    link.generation = config.generation;
    link.width = config.width;
    link.max_payload = config.mps_bytes;
    link.max_read_request = config.mrrs_bytes;
    link.tags = config.tags;
    link.posted_credits = config.posted_credits;
    link.nonposted_credits = config.nonposted_credits;
    link.completion_credits = config.completion_credits;
    link.tlp_time = config.tlp_time;
    link.latency = config.latency;
    link.timed = timed;
    return link;
}

/// Switches and slots of a host's tree; root ports are where they are plugged in.
std::vector<host::Place> places_of(const DescribedHost& described, bool timed) {
    std::vector<host::Place> places;
    std::vector<std::size_t> place_of(described.parts.size()); // of switches
    for (std::size_t i = 0; i < described.parts.size(); ++i) {
        const auto& part = described.parts[i];
        if (part.kind == PartKind::root_port)
            continue;
        const auto& parent = described.parts[*part.parent];
        const bool is_at_root = parent.kind == PartKind::root_port;
        place_of[i] = places.size();
        places.push_back({.parent = is_at_root ? std::nullopt : std::optional(place_of[*part.parent]),
                          .port = is_at_root ? parent.slot : part.slot,
                          .is_switch = part.kind == PartKind::pcie_switch,
                          .link = link_config(part.link, timed),
                          .name = part.name});
    }
    return places;
}

host::HostConfig host_config(const DescribedHost& described, bool timed) {
    host::HostConfig host;
    host.memory_bytes = described.memory.memory_bytes;
    host.timed = timed;
    host.places = places_of(described, timed);
    host.switch_slots = 0;          // the places say all of the tree
    constexpr unsigned least = 128; // PCIe 6.0 §7.5.3.4
    host.max_payload = host.max_read_request = least;
    for (const auto& part : described.parts) {
        if (part.kind == PartKind::root_port) {
            host.root_ports = std::max(host.root_ports, part.slot + 1);
            continue;
        }
        host.max_payload = std::max(host.max_payload, part.link.mps_bytes);
        if (part.is_card())
            host.max_read_request = std::max(host.max_read_request, part.link.mrrs_bytes);
    }
    if (described.iommu.is_present)
        host.iommu = {.core = described.iommu.unit,
                      .hit_latency = described.iommu.hit_latency,
                      .miss_latency = described.iommu.miss_latency,
                      .walkers = described.iommu.walkers};
    host.peer_forwarding = described.peers.is_forwarding;
    host.bar_access = described.bar_access;
    host.software = described.software;
    host.cache = described.cache;
    // Redirect is what Linux switches on at each port that has it, when it isolates devices. An administrator who lets
    // translated requests through leaves the completions alone, too: they would go up, as nobody here asks for relaxed
    // ordering.
    const bool is_direct = described.peers.acs == AcsMode::direct_translated;
    if (described.peers.acs != AcsMode::off)
        host.acs = {.source_validation = true,
                    .request_redirect = true,
                    .completion_redirect = !is_direct,
                    .upstream_forwarding = true,
                    .direct_translated = is_direct};
    return host;
}

model::pcie::AtsConfig ats_config(model::pcie::AtsConfig ats, bool timed) {
    if (!timed)
        ats.hit_latency = {};
    ats.has_page_requests &= ats.entries != 0;
    return ats;
}

/// The name of a card among modules, where a dot is the hierarchy's.
std::string module_name(const PlacedCard& card) {
    auto name = card.name;
    std::ranges::replace(name, '.', '_');
    return name;
}

} // namespace

abi::pcie::Bdf PlacedCard::bdf() const {
    const auto bdf = endpoint().requester();
    assert(bdf.value != 0 && "a card that was plugged in is found");
    return bdf;
}

Platform::Platform(const Config& config, traces::Sink* sink, observe::Sources& sources, Served served,
                   record::Recording* recording, std::function<bool(std::size_t host)> is_here)
    : config_(config), description_(describe(config).value()), serves_all_(served == Served::all),
      is_here_(std::move(is_here)) {
    if (config_.observe.has_ownership) {
        if (sink != nullptr)
            fanout_.add(*sink);
        sink = &fanout_;
    }
    Listener listener{sink, sources, recording};
    connect(listener);
    for (std::size_t number = 0; number < description_.hosts.size(); ++number)
        this->is_here(number) ? build(number, listener) : name_elsewhere(number, listener);
    for (std::size_t number = 0; number < machines_.size(); ++number) {
        auto& machine = machines_[number];
        if (is_served(number))
            continue;
        std::vector<traces::Events> switches;
        for (const auto& part : description_.hosts[number].parts)
            if (part.kind == PartKind::pcie_switch)
                switches.push_back(listener.add(machine.name + "." + part.name));
        const auto root = listener.add(machine.name + ".root");
        if (machine.host)
            machine.host->set_events(switches, root);
    }
    if (recording == nullptr)
        return;
    if (is_any_served())
        recording->journal().tell_chains_apart([]() -> const void* { return sc_core::sc_get_current_process_b(); });
    std::vector<std::string> names;
    for (std::uint16_t source = 0; source < sources.size(); ++source)
        names.emplace_back(sources.name(source));
    recording->begin(std::move(names));
}

Machine& Platform::machine(std::string_view name) {
    const auto at = description_.find_host(name);
    assert(at && "a host of the description");
    return machines_[*at];
}

PlacedCard& Platform::card(std::string_view name) {
    const auto at = description_.find(name);
    assert(at && description_.part(*at).is_card() && "a card of the description");
    return card(*at);
}

Seat Platform::seat(std::string_view hca, std::string_view gpu) {
    const auto at = description_.find(hca), beside = description_.find(gpu);
    assert(at && beside && at->host == beside->host && "two cards of a host of the description");
    return seat(*at, *beside);
}

PlacedCard& Platform::card(const PartAt& at) { return machines_[at.host].cards[cards_[at.host][at.part]]; }

bool Platform::is_any_served() const {
    return serves_all_ || std::ranges::any_of(description_.hosts, &DescribedHost::is_served);
}

/// Makes the fabric: cables, and switches with the cables plugged into them.
void Platform::connect(Listener& listener) {
    for (const auto& cable : description_.cables) {
        auto link = cable.link;
        link.timed = config_.timed;
        const auto calls = is_any_served() ? model::tlm::Calls::may_wait : model::tlm::Calls::at_once;
        cables_.push_back(
            std::make_unique<model::net::LinkModule>(cable.name.c_str(), link, listener.add(cable.name), calls));
    }
    for (std::size_t i = 0; i < description_.switches.size(); ++i) {
        const auto& described = description_.switches[i];
        switches_.emplace_back();
        ethernet_switches_.emplace_back();
        if (described.is_ethernet)
            add_ethernet_switch(i, listener.add(described.name));
        else
            add_switch(i, listener.add(described.name));
    }
    fill_tables(find_routes(description_));
    if (!description_.failures.empty())
        failures_ = std::make_unique<FailuresModule>(
            "failures", description_, config_.fabric.reroute,
            [this](const std::vector<bool>& is_dead) { fill_tables(find_routes(description_, is_dead)); });
}

template <class Switch> void Platform::plug_cables(std::size_t number, Switch& made) {
    const auto& described = description_.switches[number];
    for (unsigned port = 1; port <= described.ports; ++port) {
        if (!described.cables[port])
            continue;
        const auto& ends = description_.cables[*described.cables[port]].ends;
        const bool is_first = ends[0].is_switch && ends[0].fabric_switch == number && ends[0].port == port;
        made.plug(port, *cables_[*described.cables[port]], is_first ? 0 : 1);
    }
}

void Platform::add_switch(std::size_t number, traces::Events events) {
    const auto& described = description_.switches[number];
    const model::net::SwitchConfig config{.agent = {.ports = described.ports,
                                                    .guid = described.guid,
                                                    .rate_gbps = described.rate_gbps,
                                                    .is_managed = described.is_managed,
                                                    .lifetime = described.lifetime},
                                          .latency = config_.timed ? described.latency : model::port::Time{},
                                          .is_adaptive = config_.fabric.has_adaptive_routing,
                                          .is_timed = config_.timed};
    switches_[number] = std::make_unique<model::net::SwitchModule>(described.name.c_str(), config, events);
    plug_cables(number, *switches_[number]);
}

void Platform::add_ethernet_switch(std::size_t number, traces::Events events) {
    const auto& described = description_.switches[number];
    const model::net::EthernetSwitchConfig config{.ports = described.ports,
                                                  .latency = config_.timed ? described.latency : model::port::Time{},
                                                  .is_timed = config_.timed,
                                                  .buffer = described.buffer,
                                                  .seed = described.guid};
    ethernet_switches_[number] =
        std::make_unique<model::net::EthernetSwitchModule>(described.name.c_str(), config, events);
    plug_cables(number, *ethernet_switches_[number]);
}

/// Tables of all switches that have no subnet manager.
void Platform::fill_tables(const std::vector<SwitchRoutes>& routes) {
    for (std::size_t number = 0; number < routes.size(); ++number) {
        const auto& of_switch = routes[number];
        if (auto* ethernet = ethernet_switches_[number].get()) {
            for (std::size_t hca = 0; hca < description_.hcas.size(); ++hca) {
                const auto guid = description_.part(description_.hcas[hca]).hca().core.node_guid;
                ethernet->core().set_ways(model::hca::address::mac_of_guid(guid), of_switch.ways[hca]);
            }
            ethernet->core().set_tree(of_switch.groups);
        } else if (!description_.switches[number].is_managed) {
            auto& agent = switches_[number]->core().agent();
            for (std::size_t hca = 0; hca < description_.hcas.size(); ++hca) {
                const auto port = of_switch.way(hca);
                const auto lid = description_.part(description_.hcas[hca]).hca().core.lid;
                agent.set_route(lid, port != 0 ? port : model::net::SwitchAgent::no_port);
                switches_[number]->core().set_ways(lid, of_switch.ways[hca]);
            }
            agent.flood_groups(of_switch.groups);
        }
    }
}

void Platform::begin_failures(model::port::Time origin) {
    if (!failures_)
        return;
    for (const auto& change : failures_->core().begin(origin))
        cables_[change.cable]->link().plan_break(change.is_broken, change.at);
}

record::Boundary* Platform::Listener::boundary(const std::string& path) const {
    return recording != nullptr ? recording->boundary(path) : nullptr;
}

void Platform::build(std::size_t number, Listener& listener) {
    const auto& described = description_.hosts[number];
    auto& machine = machines_.emplace_back();
    machine.name = described.name;
    const auto host = host_config(described, config_.timed);
    if (is_served(number)) {
        bridge::vfio_user::GuestConfig guest{.links = {}, .memory_latency = host.dram_read_latency};
        for (const auto& part : described.parts)
            if (part.is_card())
                guest.links.push_back(link_config(part.link, config_.timed));
        machine.guest = std::make_unique<bridge::vfio_user::GuestModule>(machine.name.c_str(), guest, guest_files_);
    } else {
        machine.host = std::make_unique<host::Host>(machine.name.c_str(), host);
    }
    if (machine.host && config_.observe.has_ownership) {
        machine.ownership = std::make_unique<observe::ownership::Ownership>(model::tlm::kernel_now);
        machine.host->set_ownership(machine.ownership.get());
    }
    auto& cards = cards_.emplace_back(described.parts.size());
    for (std::size_t i = 0; i < described.parts.size(); ++i) {
        const auto& part = described.parts[i];
        if (part.kind == PartKind::pcie_switch)
            machine.switch_links.push_back(machine.name + "." + part.link_name);
        if (!part.is_card())
            continue;
        cards[i] = machine.cards.size();
        auto& card = machine.cards.emplace_back();
        card.kind = part.kind;
        card.name = machine.name + "." + part.name;
        card.path = machine.name + "." + part.path;
        card.link_name = machine.name + "." + part.link_name;
        card.slot = static_cast<unsigned>(cards[i]);
        if (part.kind == PartKind::hca)
            add_hca(machine, card, part, listener);
        else if (part.kind == PartKind::gpu)
            add_gpu(card, part, listener);
        else
            add_device(machine, card, part, listener);
        if (machine.guest)
            machine.guest->plug(described.served_name + "." + part.name, card.endpoint());
        else
            machine.host->plug(card.slot, card.endpoint());
    }
}

/// A host of another process: its components have the numbers that they have there.
void Platform::name_elsewhere(std::size_t number, Listener& listener) {
    const auto& described = description_.hosts[number];
    auto& machine = machines_.emplace_back();
    machine.name = described.name;
    cards_.emplace_back(described.parts.size());
    for (const auto& part : described.parts)
        if (part.is_card() && part.kind != PartKind::gpu) { // which says nothing
            listener.add(machine.name + "." + part.name);
            listener.add_pcie_side(machine.name + "." + part.name);
        }
}

void Platform::add_hca(Machine& machine, PlacedCard& card, const Part& part, Listener& listener) {
    card.number = part.hca().number;
    card.model = part.hca().model;
    // Nobody behind a socket answers translation requests.
    const auto ats = machine.guest ? model::pcie::AtsConfig{} : ats_config(part.hca().ats, config_.timed);
    const auto source = static_cast<std::uint16_t>(listener.sources.size());
    const auto device = listener.add(card.name).within(card.course),
               bus = listener.add_pcie_side(card.name).within(card.course);
    const std::array plugs{card::Plug{*cables_[part.hca().cable], part.hca().end}};
    card.module = std::make_unique<card::CardModule>(
        module_name(card).c_str(), device_config(config_, part),
        card::SlotConfig{
            .link = link_config(part.link, config_.timed), .ats = ats, .neighbours = neighbours_of(machine)},
        plugs, card::CardEvents{.device = device, .bus = bus, .boundary = listener.boundary(card.path)});
    watch(machine, card, bus);
    if (!card.watch || card.model != HcaModel::connectx)
        return;
    card.grants = std::make_unique<model::hca::tpt::KeyGrants>(card.hca().mkeys(), *card.watch, source);
    fanout_.add(*card.grants);
}

/// Where the detector is configured: whatever the card is.
void Platform::watch(const Machine& machine, PlacedCard& card, traces::Events bus) {
    if (!machine.ownership)
        return;
    card.watch = std::make_unique<observe::ownership::FunctionWatch>(
        *machine.ownership, card.name, bus,
        [module = card.module.get()] { return module->endpoint.requester().value; });
    card.endpoint().set_watch(card.watch.get());
    if (auto* grantor = dynamic_cast<model::port::Grantor*>(&card.module->as<model::pcie::Device>()))
        grantor->set_watch(card.watch.get());
}

void Platform::add_gpu(PlacedCard& card, const Part& part, const Listener& listener) {
    card.module = std::make_unique<card::CardModule>(module_name(card).c_str(), device_config(config_, part),
                                                     card::SlotConfig{.link = link_config(part.link, config_.timed)},
                                                     std::span<const card::Plug>{},
                                                     card::CardEvents{.boundary = listener.boundary(card.path)});
}

/// Makes a card of any other kind in the table.
void Platform::add_device(const Machine& machine, PlacedCard& card, const Part& part, Listener& listener) {
    const auto device = listener.add(card.name).within(card.course),
               bus = listener.add_pcie_side(card.name).within(card.course);
    card.module = std::make_unique<card::CardModule>(
        module_name(card).c_str(), device_config(config_, part),
        card::SlotConfig{.link = link_config(part.link, config_.timed), .neighbours = neighbours_of(machine)},
        std::span<const card::Plug>{},
        card::CardEvents{.device = device, .bus = bus, .boundary = listener.boundary(card.path)});
    watch(machine, card, bus);
}

} // namespace platform::topology
