#include "model/hca/wire/identity.h"

#include "abi/wire/infiniband.h"

namespace model::hca::wire {

bool Identity::is_own(const queue::AddressPath& to) const {
    if (is_ethernet)
        return to.remote_mac == gids[to.source_index % gids.size()].mac && to.remote_mac != port::MacAddress{};
    return to.rlid == lid && lid != 0 && lid != abi::wire::permissive_lid;
}

port::Path Identity::path(const queue::AddressPath& to, abi::Qpn qpn) const {
    port::Path path;
    path.hop_limit = to.hop_limit;
    path.flow_label = to.flow_label;
    path.destination_gid = to.remote_gid;
    const auto& source = gids[to.source_index % gids.size()];
    path.source_gid = source.gid;
    if (!is_ethernet) {
        path.encapsulation = port::Encapsulation::infiniband;
        path.has_grh = to.grh;
        path.service_level = to.service_level;
        path.traffic_class = to.traffic_class;
        // A directed-route packet is from and to "this end of the cable" (IBA 14.2.2.1).
        path.source_lid = to.rlid == abi::wire::permissive_lid ? abi::wire::permissive_lid : lid;
        path.destination_lid = to.rlid;
        return path;
    }
    path.encapsulation = source.is_ipv4 ? port::Encapsulation::roce_v2_ipv4 : port::Encapsulation::roce_v2_ipv6;
    path.traffic_class = static_cast<std::uint8_t>(to.dscp << 2 | to.ecn);
    path.source_mac = source.mac;
    path.destination_mac = to.remote_mac;
    // RoCEv2 annex A17.9.2: the source port carries entropy for the path; without one from software, one per queue pair.
    constexpr std::uint16_t first_port = 0xc000;
    path.udp_source_port = to.udp_source_port != 0 ? to.udp_source_port
                                                   : static_cast<std::uint16_t>(first_port | (qpn.value ^ qpn.value >> 8) % 0x3fff);
    return path;
}

} // namespace model::hca::wire
