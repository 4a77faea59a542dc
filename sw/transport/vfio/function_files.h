// Where the kernel has a PCI function: its driver, its IOMMU group, its VFIO device, the bus addresses of its BARs.
// Reads sysfs; opens nothing else.
#pragma once

#include "abi/pcie/config_space.h"
#include "sw/base/result.h"

#include <array>
#include <cstdint>
#include <string>

namespace sw::transport::vfio {

struct FunctionFiles {
    std::string address; ///< "0000:3b:00.0"
    std::string driver;  ///< "vfio-pci"; empty: none
    std::string group;   ///< number of the IOMMU group; empty: no IOMMU
    std::string device;  ///< name below /dev/vfio/devices; empty: the kernel has no such interface
    struct Bar {
        std::uint64_t begin = 0, size = 0;
    };
    std::array<Bar, abi::pcie::type0_bars> bars;
};

/// `root` is where sysfs is mounted. Fails where there is no such function, or it is not bound to a driver for user
/// programs; the error says how to bind it.
Result<FunctionFiles> find_function(const std::string& address, const std::string& root = "/sys");

} // namespace sw::transport::vfio
