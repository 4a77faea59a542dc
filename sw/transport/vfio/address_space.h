// What the functions of a machine see as memory, by the grace of its IOMMU: ranges of ours at addresses that we choose.
// Through a container of VFIO groups (type 1), or through iommufd. Also opens functions, which must join an address
// space first. Linux: Documentation/driver-api/vfio.rst, Documentation/userspace-api/iommufd.rst.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/file.h"
#include "sw/transport/vfio/function_files.h"

#include <cstdint>
#include <memory>
#include <span>

namespace sw::transport::vfio {

/// Which of the kernel's interfaces to use.
enum class Interface : std::uint8_t { any, group, iommufd };

class AddressSpace {
public:
    /// For functions like this one; `any` takes the container where there is one, since it also maps BARs of peers.
    static Result<std::unique_ptr<AddressSpace>> create(const FunctionFiles& function, Interface wanted);
    virtual ~AddressSpace() = default;

    /// Lets a function in and gives its VFIO device.
    virtual Result<File> open(const FunctionFiles& function) = 0;
    /// Whole pages of ours as memory at `iova`, for reading and writing. They stay pinned.
    virtual Result<void> map(std::uint64_t iova, std::span<std::byte> memory) = 0;
    virtual void unmap(std::uint64_t iova, std::size_t size) = 0;
};

} // namespace sw::transport::vfio
