#include "platform/topology/platform_module.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <cassert>
#include <span>

namespace platform::topology {

namespace {

constexpr std::uint64_t switch_guid_offset = 0x1000; ///< from the first HCA's GUID

model::pcie::LinkConfig link_config(const PcieLinkConfig& config, bool timed) {
    model::pcie::LinkConfig link;
    link.generation = config.generation;
    link.width = config.width;
    link.max_payload = config.mps_bytes;
    link.max_read_request = config.mrrs_bytes;
    link.latency = config.latency;
    link.timed = timed;
    return link;
}

host::HostConfig host_config(const Config& config, unsigned number) {
    host::HostConfig host;
    host.memory_bytes = config.hosts[number].memory_bytes;
    host.timed = config.timed;
    host.upstream_link = link_config(config.upstream_link, config.timed);
    host.device_link = link_config(config.device_link, config.timed);
    host.max_payload = std::max(config.device_link.mps_bytes, config.upstream_link.mps_bytes);
    host.max_read_request = config.device_link.mrrs_bytes;
    if (config.iommu.is_present)
        host.iommu = {.core = config.iommu.unit,
                      .hit_latency = config.iommu.hit_latency,
                      .miss_latency = config.iommu.miss_latency,
                      .walkers = config.iommu.walkers};
    host.peer_forwarding = config.peers.is_forwarding;
    // Redirect is what Linux switches on at each port that has it, when it isolates devices. An administrator who lets
    // translated requests through leaves the completions alone, too: they would go up, as nobody here asks for relaxed
    // ordering.
    const bool is_direct = config.peers.acs == "direct_translated";
    if (config.peers.acs != "off")
        host.acs = {.source_validation = true,
                    .request_redirect = true,
                    .completion_redirect = !is_direct,
                    .upstream_forwarding = true,
                    .direct_translated = is_direct};
    return host;
}

/// Each port has identities of its own; everything else is the same on both hosts.
model::hca::HcaConfig hca_config(const Config& config, unsigned number) {
    auto hca = config.hca;
    hca.timed = config.timed;
    hca.port_rate_gbps = config.link.rate_gbps;
    hca.is_managed = config.fabric.is_managed;
    hca.node_guid += number;
    hca.lid = static_cast<std::uint16_t>(hca.lid + number);
    hca.is_ethernet = config.link.encapsulation != model::port::Encapsulation::infiniband;
    return hca;
}

model::pcie::AtsConfig ats_config(const Config& config) {
    auto ats = config.hca_ats;
    if (!config.timed)
        ats.hit_latency = {};
    ats.has_page_requests &= ats.entries != 0;
    return ats;
}

model::net::LinkConfig cable_config(const Config& config) {
    auto link = config.link;
    link.timed = config.timed;
    return link;
}

/// A card's memory that is with a client may be slow to come.
model::tlm::Calls calls(bool is_served) { return is_served ? model::tlm::Calls::may_wait : model::tlm::Calls::at_once; }

abi::pcie::Bdf find(const host::Host& host, std::uint16_t vendor, std::uint16_t device) {
    const auto* found = host.enumeration().find(vendor, device);
    assert(found != nullptr && "a card that was plugged in is found");
    return found->bdf;
}

} // namespace

abi::pcie::Bdf Machine::hca_bdf() const {
    const auto& identity = hca->endpoint.space().config().identity;
    return find(*host, identity.vendor_id, identity.device_id);
}

abi::pcie::Bdf Machine::gpu_bdf() const {
    const auto& identity = gpu->endpoint.space().config().identity;
    return find(*host, identity.vendor_id, identity.device_id);
}

Platform::Platform(const Config& config, traces::Sink* sink, observe::Sources& sources, std::array<bool, 2> served)
    : config_(config), served_(served) {
    if (config_.observe.has_ownership) {
        if (sink != nullptr)
            fanout_.add(*sink);
        sink = &fanout_;
    }
    connect(sink, sources);
    for (unsigned number = 0; number < machines_.size(); ++number)
        build(machines_[number], number, sink, sources);
    for (auto& machine : machines_)
        if (machine.host)
            machine.host->set_events({sink, sources.add(machine.name + ".switch")},
                                     {sink, sources.add(machine.name + ".root")});
}

/// The fabric: one cable, or a switch and a cable to each machine.
void Platform::connect(traces::Sink* sink, observe::Sources& sources) {
    const auto add_cable = [&](const char* name) {
        cables_.push_back(std::make_unique<model::net::LinkModule>(
            name, cable_config(config_), traces::Events{sink, sources.add(name)}, calls(served_[0] || served_[1])));
    };
    add_cable("cable");
    if (!config_.fabric.has_switch)
        return;
    add_cable("cable_b");
    const model::net::SwitchConfig config{.agent = {.ports = config_.fabric.switch_ports,
                                                    .guid = config_.hca.node_guid + switch_guid_offset,
                                                    .rate_gbps = config_.link.rate_gbps,
                                                    .is_managed = config_.fabric.is_managed},
                                          .latency =
                                              config_.timed ? config_.fabric.switch_latency : model::port::Time{}};
    switch_ = std::make_unique<model::net::SwitchModule>("switch", config, traces::Events{sink, sources.add("switch")});
    auto& agent = switch_->core().agent();
    for (unsigned number = 0; number < cables_.size(); ++number) {
        switch_->plug(number + 1, *cables_[number], 1);
        if (!config_.fabric.is_managed)
            agent.set_route(hca_config(config_, number).lid, static_cast<std::uint8_t>(number + 1));
    }
    if (!config_.fabric.is_managed)
        agent.flood_groups();
}

bool Platform::is_quiet() const {
    return std::ranges::all_of(
               cables_,
               [](const auto& cable) { return cable->link().under_way(0) + cable->link().under_way(1) == 0; }) &&
           std::ranges::all_of(machines_, [](const Machine& machine) {
               return machine.hca->is_quiet() && (!machine.guest || machine.guest->is_quiet());
           });
}

void Platform::build(Machine& machine, unsigned number, traces::Sink* sink, observe::Sources& sources) {
    machine.name = std::string(1, static_cast<char>('A' + number));
    const auto& name = machine.name;
    const auto host = host_config(config_, number);
    if (served_[number])
        machine.guest = std::make_unique<bridge::vfio_user::GuestModule>(
            name.c_str(),
            bridge::vfio_user::GuestConfig{.link = host.device_link, .memory_latency = host.dram_read_latency},
            guest_files_);
    else
        machine.host = std::make_unique<host::Host>(name.c_str(), host);
    if (machine.host && config_.observe.has_ownership) {
        machine.ownership = std::make_unique<observe::ownership::Ownership>(model::tlm::kernel_now);
        machine.host->set_ownership(machine.ownership.get());
    }
    const auto events = [&](const char* part) { return traces::Events{sink, sources.add(name + part)}; };
    // Nobody behind a socket answers translation requests.
    const auto ats = machine.guest ? model::pcie::AtsConfig{} : ats_config(config_);
    const auto device_source = static_cast<std::uint16_t>(sources.size());
    const auto device = events(".hca"), bus = events(".hca.pcie");
    const std::array plugs{switch_ ? card::Plug{*cables_[number], 0} : card::Plug{*cables_[0], number}};
    machine.hca = std::make_unique<card::CardModule>(
        (name + "_hca").c_str(), hca_config(config_, number),
        card::SlotConfig{.link = host.device_link, .ats = ats, .calls = calls(served_[number])}, plugs,
        card::CardEvents{.device = device, .bus = bus});
    if (machine.ownership) {
        machine.watch = std::make_unique<observe::ownership::FunctionWatch>(
            *machine.ownership, name + ".hca", device_source, bus, machine.mlx5().hca().mkeys(),
            [card = machine.hca.get()] { return card->endpoint.requester().value; });
        machine.hca->endpoint.set_watch(machine.watch.get());
        machine.mlx5().hca().mkeys().set_watch(machine.watch.get());
        fanout_.add(*machine.watch);
    }
    model::gpu::VramConfig vram;
    vram.bytes = config_.gpu.vram_bytes;
    vram.timed = config_.timed;
    machine.gpu =
        std::make_unique<card::CardModule>((name + "_gpu").c_str(), vram, card::SlotConfig{.link = host.device_link});
    if (machine.guest) {
        machine.guest->plug("host" + name + ".hca", machine.hca->endpoint);
        machine.guest->plug("host" + name + ".gpu", machine.gpu->endpoint);
        return;
    }
    machine.host->plug(Machine::hca_slot, machine.hca->endpoint);
    machine.host->plug(Machine::gpu_slot, machine.gpu->endpoint);
}

} // namespace platform::topology
