// Which interfaces of a trace belong to one device, by their names: its first function has the device's own name, a
// further one DEVICE.fN, a network port DEVICE.portN with N from 1.
#pragma once

#include "traces/codec/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace traces::tool {

class Devices {
public:
    explicit Devices(const codec::Head& head);

    struct Device {
        std::string name;
        std::vector<std::uint32_t> functions{}, ports{}; ///< interfaces
    };
    const std::vector<Device>& all() const { return devices_; }
    /// Number of the device that an interface belongs to; interfaces of events have one of their own.
    std::uint32_t of(std::uint32_t interface) const { return of_[interface]; }
    /// The interface of a device's network port, which signals count from 0.
    std::optional<std::uint32_t> port(std::uint32_t device, std::uint32_t number) const;

private:
    std::vector<Device> devices_;
    std::vector<std::uint32_t> of_, port_numbers_; ///< by interface
};

} // namespace traces::tool
