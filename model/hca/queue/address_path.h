// Where a peer is, as software says it: in the context of a queue pair, or in the WQE of a datagram.
#pragma once

#include "model/port/packet.h"

#include <cstdint>

namespace model::hca::queue {

/// Where the peer is: a path of the context (PRM "Address path"), or an address vector (PRM "WQE, datagram segment").
struct AddressPath {
    std::uint16_t pkey_index = 0;
    bool grh = false;
    std::uint16_t rlid = 0;
    std::uint8_t path_bits = 0;    ///< which of the own port's LIDs packets come from (PRM mlid)
    std::uint8_t ack_timeout = 0;  ///< 4.096 us * 2^n; 0: no time-out
    std::uint8_t source_index = 0; ///< GID / RoCE address table
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0; ///< InfiniBand GRH
    std::uint32_t flow_label = 0;
    port::Gid remote_gid{};
    std::uint8_t dscp = 0, ecn = 0; ///< RoCE
    std::uint16_t udp_source_port = 0;
    std::uint8_t service_level = 0;
    port::MacAddress remote_mac{};
};

} // namespace model::hca::queue
