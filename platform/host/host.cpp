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

/// The places that counts of slots stand for.
std::vector<Place> places_of(const HostConfig& config) {
    std::vector<Place> places;
    if (config.switch_slots != 0)
        places.push_back({.is_switch = true, .link = config.upstream_link, .name = "switch"});
    for (unsigned slot = 0; slot < config.switch_slots; ++slot)
        places.push_back({.parent = 0, .port = slot, .link = config.device_link});
    for (unsigned slot = 0; slot < config.root_slots; ++slot)
        places.push_back({.port = slot + (config.switch_slots != 0 ? 1 : 0), .link = config.device_link});
    return places;
}

HostConfig completed(HostConfig config) {
    if (config.places.empty())
        config.places = places_of(config);
    for (auto& place : config.places)
        place.link.timed = config.timed;
    if (!config.timed)
        config.dram_read_latency = {}, config.cache.bytes = 0;
    if (!config.timed && config.iommu)
        config.iommu->hit_latency = config.iommu->miss_latency = {};
    return config;
}

/// Of the ports below a switch, or of the root complex; what nothing is plugged into is as wide as it can be.
std::vector<model::pcie::LinkConfig> links_below(const HostConfig& config, std::optional<std::size_t> parent) {
    std::vector<model::pcie::LinkConfig> links;
    if (!parent)
        links.resize(config.root_ports, {.timed = config.timed});
    for (const auto& place : config.places) {
        if (place.parent != parent)
            continue;
        if (place.port >= links.size())
            links.resize(place.port + 1, {.timed = config.timed});
        links[place.port] = place.link;
    }
    return links;
}

model::pcie::RootComplexConfig root_config(const HostConfig& config) {
    model::pcie::RootComplexConfig root;
    root.core.map.dram_bytes = config.memory_bytes;
    root.core.port_identity = root_port;
    root.core.links = links_below(config, std::nullopt);
    root.dram_read_latency = config.dram_read_latency;
    root.cache = config.cache;
    root.iommu = config.iommu;
    root.core.peer_forwarding = config.peer_forwarding;
    return root;
}
} // namespace

Host::Host(sc_core::sc_module_name name, const HostConfig& config)
    : sc_module(name), config_(completed(config)), root_config_(root_config(config_)),
      memory_(this->name(), root_config_.core.map), root_complex_("rc", root_config_, memory_.bytes()),
      bar_access_(config_.bar_access, config_.timed) {
    root_complex_.set_interrupt_sink(&interrupts_);
    root_complex_.set_invalidated([this](const model::iommu::Gone& gone) {
        // An invalidation drains: reads that were let through have completed before it has, so that their bytes are the
        // cards' (VT-d "IOTLB Invalidate", DR; this unit drains whether it is set or not).
        for (auto* card : cards_)
            card->drain();
        if (ownership_ != nullptr)
            ownership_->invalidated(gone);
    });
    for (std::size_t i = 0; i < config_.places.size(); ++i) {
        const auto& place = config_.places[i];
        if (!place.is_switch) {
            slots_.push_back(i);
            continue;
        }
        const model::pcie::Switch::Config layout{.upstream_identity = switch_port,
                                                 .downstream_identity = switch_port,
                                                 .upstream_link = place.link,
                                                 .downstream_links = links_below(config_, i)};
        auto& made = switches_.emplace_back(i, std::make_unique<model::pcie::SwitchModule>(place.name.c_str(), layout));
        port_of(place).connect(made.module->upstream);
    }
}

void Host::plug(unsigned slot, model::pcie::EndpointModule& card) {
    port_of(config_.places[slots_.at(slot)]).connect(card.port);
    cards_.push_back(&card);
}

/// The port that a place is at.
model::tlm::PciePort& Host::port_of(const Place& place) {
    if (!place.parent)
        return root_complex_.root(place.port);
    const auto above = std::ranges::find(switches_, *place.parent, &Branch::place);
    assert(above != switches_.end() && "a switch comes before what is plugged into it");
    return above->module->down(place.port);
}

void Host::set_events(std::span<const traces::Events> switch_events, traces::Events root_complex_events) {
    assert(switch_events.size() == switches_.size());
    for (std::size_t i = 0; i < switches_.size(); ++i)
        switches_[i].module->set_events(switch_events[i]);
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

model::pcie::Link* Host::upstream_link(std::size_t number) const {
    return number < switches_.size() ? switches_[number].module->upstream.link() : nullptr;
}

model::pcie::Link* Host::slot_link(unsigned slot) { return port_of(config_.places[slots_.at(slot)]).link(); }

std::vector<model::pcie::Link*> Host::links() {
    std::vector<model::pcie::Link*> all;
    for (std::size_t number = 0; number < switches_.size(); ++number)
        all.push_back(upstream_link(number));
    for (unsigned slot = 0; slot < slot_count(); ++slot)
        all.push_back(slot_link(slot));
    std::erase(all, nullptr);
    return all;
}

} // namespace platform::host
