#include "platform/topology/platform_module.h"

#include <cassert>

namespace platform::topology {

namespace {

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
    return host;
}

/// Each port has identities of its own; everything else is the same on both hosts.
model::hca::HcaConfig hca_config(const Config& config, unsigned number) {
    auto hca = config.hca;
    hca.timed = config.timed;
    hca.node_guid += number;
    hca.lid = static_cast<std::uint16_t>(hca.lid + number);
    hca.is_ethernet = config.link.encapsulation != model::port::Encapsulation::infiniband;
    return hca;
}

model::net::LinkConfig cable_config(const Config& config) {
    auto link = config.link;
    link.timed = config.timed;
    return link;
}

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
    cable_ = std::make_unique<model::net::LinkModule>("cable", cable_config(config),
                                                      traces::Events{sink, sources.add("cable")});
    for (unsigned number = 0; number < machines_.size(); ++number)
        build(machines_[number], number, sink, sources);
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
    const auto events = [&](const char* part) { return traces::Events{sink, sources.add(name + part)}; };
    const auto device = events(".hca"), bus = events(".hca.pcie");
    machine.hca = std::make_unique<card::HcaCard>((name + "_hca").c_str(), hca_config(config_, number),
                                                  host.device_link, *cable_, number, device, bus);
    model::gpu::VramConfig vram;
    vram.bytes = config_.gpu.vram_bytes;
    vram.link = host.device_link;
    if (!config_.timed)
        vram.read_latency = {};
    machine.gpu = std::make_unique<model::gpu::VramModule>((name + "_gpu").c_str(), vram);
    if (machine.guest) {
        machine.guest->plug("host" + name + ".hca", machine.hca->endpoint);
        machine.guest->plug("host" + name + ".gpu", machine.gpu->endpoint);
        return;
    }
    machine.host->plug(Machine::hca_slot, machine.hca->endpoint);
    machine.host->plug(Machine::gpu_slot, machine.gpu->endpoint);
}

} // namespace platform::topology
