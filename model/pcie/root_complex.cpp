#include "model/pcie/root_complex.h"

namespace model::pcie {

using abi::pcie::Bdf;

RootComplex::RootComplex(const Config& config)
    : map_(config.map), peer_forwarding_(config.peer_forwarding), has_iommu_(config.has_iommu) {
    for (unsigned i = 0; i < config.links.size() && i < max_ports; ++i)
        ports_.emplace_back(config.port_identity, abi::pcie::PortType::root_port, config.links[i],
                            static_cast<std::uint8_t>(i + 1));
}

RootComplex::Routing RootComplex::route_from_processor(std::uint64_t address) const {
    Routing routing{.range = same_routing(address)};
    if (is_dram(address)) {
        routing.to = Routing::To::dram, routing.offset = dram_offset(address);
    } else if (map_.ecam_range().contains(address)) {
        routing.to = Routing::To::ecam, routing.offset = address - map_.ecam;
    } else if (has_iommu_ && map_.iommu.contains(address)) {
        routing.to = Routing::To::iommu, routing.offset = address - map_.iommu.begin;
    } else if (!map_.interrupts.contains(address)) {
        for (unsigned i = 0; i < ports_.size(); ++i)
            if (ports_[i].meaning().claims(address)) {
                routing.to = Routing::To::port, routing.port = i;
                break;
            }
    }
    return routing;
}

RootComplex::Routing RootComplex::route_from_port(unsigned port, std::uint64_t address) const {
    if (!ports_[port].meaning().is_master)
        return {.range = same_routing(address)};
    if (map_.interrupts.contains(address))
        return {.to = Routing::To::interrupts, .offset = address - map_.interrupts.begin, .range = map_.interrupts};
    auto routing = route_from_processor(address);
    if (routing.to == Routing::To::port) {
        // A request for the port that it came up by was redirected below (PCIe 6.0 §6.12.1.1, upstream forwarding).
        if (routing.port == port && !ports_[port].meaning().acs.upstream_forwarding)
            routing.blocked = blocked::own_port;
        else if (!peer_forwarding_)
            routing.blocked = blocked::host;
    }
    const bool is_closed = routing.to == Routing::To::ecam || routing.to == Routing::To::iommu; // not for devices
    if (is_closed || routing.blocked)
        routing.to = Routing::To::nowhere;
    return routing;
}

RootComplex::Routing RootComplex::route_from_iommu(std::uint64_t address) const {
    if (map_.interrupts.contains(address))
        return {.to = Routing::To::interrupts, .offset = address - map_.interrupts.begin, .range = map_.interrupts};
    auto routing = route_from_processor(address);
    if (routing.to != Routing::To::dram)
        routing.to = Routing::To::nowhere;
    return routing;
}

ConfigRouting RootComplex::route_config(Bdf target) const {
    if (target.bus() != 0)
        return route_below(ports_, target);
    const unsigned port = target.device() - first_device;
    if (target.device() < first_device || port >= ports_.size() || target.function() != 0)
        return {};
    return {ConfigRouting::To::port_function, port};
}

std::uint64_t RootComplex::dram_offset(std::uint64_t address) const {
    return address < map_.low_dram_bytes() ? address : address - map_.high_dram + map_.low_dram_bytes();
}

Range RootComplex::same_routing(std::uint64_t address) const {
    Range range{0, ~std::uint64_t{0}};
    for (const auto& fixed : {map_.low_dram(), map_.high_dram_range(), map_.ecam_range(), map_.interrupts, map_.iommu})
        range.narrow(address, fixed);
    for (const auto& port : ports_) {
        range.narrow(address, port.meaning().memory);
        range.narrow(address, port.meaning().prefetchable);
    }
    return range;
}

} // namespace model::pcie
