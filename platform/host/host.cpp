#include "platform/host/host.h"

#include "model/tlm/time.h"

#include <algorithm>
#include <cassert>

namespace platform::host {

namespace {
// Identities of parts as one finds them in a server; drivers do not look at them.
constexpr model::pcie::ConfigSpace::Identity root_port{
    .vendor_id = 0x8086, .device_id = 0x347a, .class_code = abi::pcie::class_bridge_pci, .revision = 4};
constexpr model::pcie::ConfigSpace::Identity switch_port{
    .vendor_id = 0x1000, .device_id = 0xc010, .class_code = abi::pcie::class_bridge_pci, .revision = 0xb0};

HostConfig with_timing(HostConfig config) {
    config.upstream_link.timed = config.device_link.timed = config.timed;
    if (!config.timed)
        config.dram_read_latency = {};
    if (!config.timed && config.iommu)
        config.iommu->hit_latency = config.iommu->miss_latency = {};
    return config;
}

model::pcie::RootComplexConfig root_config(const HostConfig& config) {
    model::pcie::RootComplexConfig root;
    root.core.map.dram_bytes = config.memory_bytes;
    root.core.port_identity = root_port;
    root.core.links.assign(config.root_slots, config.device_link);
    if (config.switch_slots != 0)
        root.core.links.insert(root.core.links.begin(), config.upstream_link);
    root.dram_read_latency = config.dram_read_latency;
    root.iommu = config.iommu;
    root.core.peer_forwarding = config.peer_forwarding;
    return root;
}
} // namespace

Host::Host(sc_core::sc_module_name name, const HostConfig& config)
    : sc_module(name), config_(with_timing(config)), root_config_(root_config(config_)),
      memory_(this->name(), root_config_.core.map), root_complex_("rc", root_config_, memory_.bytes()) {
    root_complex_.set_interrupt_sink(&interrupts_);
    root_complex_.set_invalidated([this](const model::iommu::Gone& gone) {
        // An invalidation drains: reads that were let through have completed before it has, so that their bytes are the
        // cards' (VT-d "IOTLB Invalidate", DR; this unit drains whether it is set or not).
        for (auto* card : cards_)
            card->drain();
        if (ownership_ != nullptr)
            ownership_->invalidated(gone);
    });
    if (config_.switch_slots == 0)
        return;
    model::pcie::Switch::Config layout{.upstream_identity = switch_port,
                                       .downstream_identity = switch_port,
                                       .upstream_link = config_.upstream_link,
                                       .downstream_links = {}};
    layout.downstream_links.assign(config_.switch_slots, config_.device_link);
    switch_ = std::make_unique<model::pcie::SwitchModule>("switch", layout);
    root_complex_.root(0).connect(switch_->upstream);
}

void Host::plug(unsigned slot, model::pcie::EndpointModule& card) {
    port_of(slot).connect(card.port);
    cards_.push_back(&card);
}

model::tlm::PciePort& Host::port_of(unsigned slot) {
    assert(slot < slot_count());
    if (slot < config_.switch_slots)
        return switch_->down(slot);
    return root_complex_.root(slot - config_.switch_slots + (switch_ ? 1 : 0));
}

void Host::set_events(traces::Events switch_events, traces::Events root_complex_events) {
    if (switch_)
        switch_->set_events(switch_events);
    root_complex_.set_events(root_complex_events);
}

void Host::start_of_simulation() {
    enumerate();
    for (auto* link : links())
        link->forget_occupancy(); // firmware ran before time 0
}

void Host::enumerate() {
    const auto& map = root_config_.core.map;
    enumeration_ = host::enumerate(*this, {.low_mmio = map.low_mmio,
                                           .high_mmio = map.high_mmio,
                                           .max_payload = config_.max_payload,
                                           .max_read_request = config_.max_read_request,
                                           .acs = config_.acs});
}

std::uint32_t Host::read(abi::pcie::Bdf target, std::uint16_t offset, unsigned bytes) {
    return root_complex_.config_read(target, offset, bytes, model::tlm::kernel_now()).value;
}

void Host::write(abi::pcie::Bdf target, std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    root_complex_.config_write(target, offset, bytes, value, model::tlm::kernel_now());
}

model::pcie::Link* Host::upstream_link() const { return switch_ ? switch_->upstream.link() : nullptr; }
model::pcie::Link* Host::slot_link(unsigned slot) { return port_of(slot).link(); }

std::vector<model::pcie::Link*> Host::links() {
    std::vector all{upstream_link()};
    for (unsigned slot = 0; slot < slot_count(); ++slot)
        all.push_back(slot_link(slot));
    std::erase(all, nullptr);
    return all;
}

} // namespace platform::host
