// Addresses of the nodes of a test: one GID, MAC and LID each, made from the node's number.
#pragma once

#include "model/hca/config.h"
#include "model/hca/address/identity.h"

#include <cstdint>
#include <utility>

namespace harness {

inline model::port::Gid gid_of_node(std::uint16_t number) {
    model::port::Gid gid{std::byte{0xfd}};
    gid[15] = static_cast<std::byte>(number);
    return gid;
}
inline model::port::MacAddress mac_of_node(std::uint16_t number) {
    return {std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(number)};
}

/// What a driver and a subnet manager would have told node `number`.
inline void set_addresses(model::hca::address::Identity& identity, std::uint16_t number) {
    identity.mac = mac_of_node(number);
    identity.gids[0] = {.is_valid = true, .gid = gid_of_node(number), .mac = mac_of_node(number)};
}
/// The way to node `number`, where the path does not name another already.
inline void lead_to(model::hca::queue::AddressPath& path, std::uint16_t number) {
    if (path.remote_gid != model::port::Gid{} || path.remote_mac != model::port::MacAddress{})
        return;
    path.remote_gid = gid_of_node(number);
    path.remote_mac = mac_of_node(number);
}
/// Of packets that go the other way.
inline model::port::Path reversed(model::port::Path path) {
    std::swap(path.source_gid, path.destination_gid);
    std::swap(path.source_mac, path.destination_mac);
    std::swap(path.source_lid, path.destination_lid);
    return path;
}

} // namespace harness
