// The commands that a driver's transport needs, with values instead of messages. Each is one exchange; an error is the
// server's refusal or the end of the connection, and says which function, which object, why.
#pragma once

#include "sw/transport/vfio_user/connection.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sw::transport::vfio_user {

struct Region {
    std::uint64_t size = 0;   ///< 0: the function has none
    File file;                ///< where the server lets us map it
    std::uint64_t offset = 0; ///< in that file
    struct Area {
        std::uint64_t offset, size; ///< in the region
    };
    std::vector<Area> areas{}; ///< that can be mapped
};

struct DeviceInfo {
    bool can_reset = false;
    std::uint32_t regions = 0, irqs = 0;
};

Result<DeviceInfo> get_info(Connection& connection);
Result<Region> get_region(Connection& connection, std::uint32_t index);
/// How many vectors of that kind.
Result<std::uint32_t> get_irqs(Connection& connection, protocol::IrqType type);
/// Vectors 0..size-1 signal these files.
Result<void> set_irqs(Connection& connection, protocol::IrqType type, std::span<const int> events);
/// No vector of that kind signals anything.
Result<void> clear_irqs(Connection& connection, protocol::IrqType type);
/// Whole pages of a file of ours as memory of the device.
Result<void> map(Connection& connection, std::uint64_t address, std::uint64_t size, int file);
Result<void> unmap(Connection& connection, std::uint64_t address, std::uint64_t size);
Result<void> reset(Connection& connection);
/// Of any length. Bytes that cannot be had read as ones.
Result<void> read(Connection& connection, std::uint32_t region, std::uint64_t offset, std::span<std::byte> into);
Result<void> write(Connection& connection, std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from,
                   bool is_posted);

} // namespace sw::transport::vfio_user
