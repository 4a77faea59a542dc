// The port as the driver sees and sets it: state, addresses and MTU of either kind of port, and the RoCE address table
// (PRM "HCA vport context", "NIC vport context", "RoCE address").
#pragma once

#include "abi/prm/qp.h"
#include "sw/base/result.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/port/address.h"

#include <cstdint>
#include <optional>

namespace sw::mlx {

struct PortAttributes {
    bool is_ethernet = false;
    bool is_up = false;
    std::uint64_t node_guid = 0;
    abi::prm::Mtu active_mtu = abi::prm::Mtu::bytes_256; ///< largest path MTU
    Mac mac{};                                           ///< Ethernet
    std::uint16_t lid = 0;                               ///< InfiniBand
    Gid gid{};                                           ///< InfiniBand: entry 0
};

Result<PortAttributes> query_port(Device& device);

/// One entry of the RoCE address table: what packets of this GID index carry as their source.
struct RoceAddress {
    Gid gid{};
    Mac mac{};
    std::optional<std::uint16_t> vlan{};
    std::uint8_t version = 2; ///< 0: v1, 2: v2
};

Result<void> set_roce_address(Device& device, std::uint16_t index, const RoceAddress& address);
Result<void> clear_roce_address(Device& device, std::uint16_t index);
Result<RoceAddress> query_roce_address(Device& device, std::uint16_t index);

/// Turns RoCE on or off for an Ethernet port.
Result<void> enable_roce(CommandChannel& commands, bool on);

} // namespace sw::mlx
