#include "sw/mlx/port/address.h"

namespace sw::mlx {

void write_path(const AddressPath& path, abi::View<abi::prm::Ads> ads) {
    ads.set<"vhca_port_num">(path.port);
    if (path.is_ethernet) {
        const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(path.remote_mac[i]); };
        ads.set<"rmac_47_32">(byte(0) << 8 | byte(1));
        ads.set<"rmac_31_0">(byte(2) << 24 | byte(3) << 16 | byte(4) << 8 | byte(5));
        ads.set<"udp_sport">(path.udp_source_port);
        ads.set<"eth_prio">(path.service_level);
        ads.set<"dscp">(path.traffic_class >> 2u);
    } else {
        ads.set<"rlid">(path.remote_lid);
        ads.set<"mlid">(path.source_path_bits);
        ads.set<"grh">(path.has_grh);
        ads.set<"sl">(path.service_level);
    }
    if (path.is_ethernet || path.has_grh) {
        ads.set<"rgid_rip">(path.remote_gid);
        ads.set<"src_addr_index">(path.source_gid_index);
        ads.set<"hop_limit">(path.hop_limit);
        ads.set<"tclass">(path.traffic_class);
        ads.set<"flow_label">(path.flow_label);
    }
}

} // namespace sw::mlx
