#include "sw/transport/function.h"

#include <fmt/format.h>

#include <cerrno>

namespace sw::transport {
namespace {

// Type 0 header, PCIe 6.0 §7.5.1.1.
constexpr std::uint16_t vendor_id = 0x00, device_id = 0x02, command = 0x04;
constexpr std::uint32_t memory_space = 1u << 1, bus_master = 1u << 2;

} // namespace

Result<FunctionId> enable_function(Transport& transport) {
    const FunctionId id{static_cast<std::uint16_t>(transport.config_read(vendor_id, 2)),
                        static_cast<std::uint16_t>(transport.config_read(device_id, 2))};
    if (id.vendor == 0xffff)
        return failure(ENODEV, "enable PCIe function: configuration space reads all ones, nothing answers");
    const auto wanted = memory_space | bus_master;
    transport.config_write(command, 2, transport.config_read(command, 2) | wanted);
    if (const auto now = transport.config_read(command, 2); (now & wanted) != wanted)
        return failure(EIO,
                       fmt::format("enable PCIe function {:04x}:{:04x}: command register reads {:#06x}, wanted memory "
                                   "space and bus master",
                                   id.vendor, id.device, now));
    return id;
}

void disable_function(Transport& transport) {
    transport.config_write(command, 2, transport.config_read(command, 2) & ~bus_master & 0xffff);
}

} // namespace sw::transport
