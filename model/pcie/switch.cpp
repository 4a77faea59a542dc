#include "model/pcie/switch.h"

namespace model::pcie {

using abi::pcie::Bdf;
using abi::pcie::PortType;

ConfigRouting route_below(std::span<const BridgeSpace> ports, Bdf target) {
    for (unsigned i = 0; i < ports.size(); ++i) {
        const auto& port = ports[i].meaning();
        if (!port.claims_bus(target.bus()))
            continue;
        if (target.bus() != port.secondary)
            return {ConfigRouting::To::port_type1, i};
        // A link leads to one device: other device numbers end here (§7.3.1).
        return {target.device() == 0 ? ConfigRouting::To::port_type0 : ConfigRouting::To::nowhere, i};
    }
    return {};
}

Switch::Switch(const Config& config)
    : upstream_(config.upstream_identity, PortType::switch_upstream, config.upstream_link, 0) {
    for (unsigned i = 0; i < config.downstream_links.size() && i < max_ports; ++i)
        ports_.emplace_back(config.downstream_identity, PortType::switch_downstream, config.downstream_links[i],
                            static_cast<std::uint8_t>(i + 1));
}

MemoryRouting Switch::route_from_upstream(std::uint64_t address) const {
    MemoryRouting routing{.range = same_routing(address)};
    if (!upstream_.meaning().claims(address))
        return routing;
    for (unsigned i = 0; i < ports_.size(); ++i)
        if (ports_[i].meaning().claims(address)) {
            routing.to = MemoryRouting::To::port, routing.port = i;
            break;
        }
    return routing;
}

MemoryRouting Switch::route_from_port(unsigned port, std::uint64_t address, const Origin& origin) const {
    MemoryRouting routing{.range = same_routing(address)};
    const auto& from = ports_[port].meaning();
    if (!from.is_master)
        return routing;
    if (const auto violation = from.find_violation(origin)) {
        routing.is_violation = true, routing.blocked = violation;
        return routing;
    }
    for (unsigned i = 0; i < ports_.size(); ++i)
        if (ports_[i].meaning().claims(address)) {
            const bool is_direct = !from.acs.request_redirect ||
                                   (from.acs.direct_translated && origin.type == abi::pcie::AddressType::translated);
            if (i != port ? !is_direct : from.acs.upstream_forwarding) {
                routing.is_redirected = true;
                if (upstream_.meaning().is_master)
                    routing.to = MemoryRouting::To::upstream;
            } else if (i != port) {
                routing.to = MemoryRouting::To::port, routing.port = i;
            } else { // has no way out (§6.7.1, unsupported request)
                routing.blocked = blocked::own_port;
            }
            return routing;
        }
    // The switch claims the address, but none of its ports does: the request does not go up (§2.3.1).
    if (!upstream_.meaning().claims(address) && upstream_.meaning().is_master)
        routing.to = MemoryRouting::To::upstream;
    return routing;
}

ConfigRouting Switch::route_config(bool is_type1, Bdf target) const {
    if (!is_type1)
        return {target.device() == 0 && target.function() == 0 ? ConfigRouting::To::self : ConfigRouting::To::nowhere};
    const auto& here = upstream_.meaning();
    if (!here.claims_bus(target.bus()))
        return {};
    if (target.bus() != here.secondary)
        return route_below(ports_, target);
    if (target.device() >= ports_.size() || target.function() != 0)
        return {};
    return {ConfigRouting::To::port_function, target.device()};
}

void Switch::reset() {
    upstream_.reset();
    for (auto& port : ports_)
        port.reset();
}

Range Switch::same_routing(std::uint64_t address) const {
    Range range{0, ~std::uint64_t{0}};
    const auto narrow = [&](const BridgeSpace& bridge) {
        range.narrow(address, bridge.meaning().memory);
        range.narrow(address, bridge.meaning().prefetchable);
    };
    narrow(upstream_);
    for (const auto& port : ports_)
        narrow(port);
    return range;
}

} // namespace model::pcie
