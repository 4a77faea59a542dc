// The address path of the verbs on its way into a context (PRM "Address path").
#pragma once

#include "abi/layout.h"
#include "abi/prm/qp.h"
#include "sw/verbs/address.h"

namespace sw::mlx {

using verbs::AddressPath;
using verbs::Gid;
using verbs::gid_of;
using verbs::gid_of_ipv4;
using verbs::Mac;
using verbs::mac_of;
using verbs::Peer;

/// Writes the path into a context. Leaves ack_timeout and pkey_index as they are.
void write_path(const AddressPath& path, abi::View<abi::prm::Ads> ads);

} // namespace sw::mlx
