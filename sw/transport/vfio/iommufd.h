// What we use of the kernel's iommufd interface, for systems whose headers are older than their kernels: structures and
// numbers of linux/iommufd.h and the newer part of linux/vfio.h. Native byte order.
// Witness: testbench/witness/iommufd_test.cpp (where the system's headers have it).
#pragma once

#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <cstdint>

namespace sw::transport::vfio::uapi {

struct IoasAlloc {
    std::uint32_t size = sizeof(IoasAlloc), flags = 0, id = 0;
};
struct IoasMap {
    static constexpr std::uint32_t fixed_iova = 1, writable = 2, readable = 4;
    std::uint32_t size = sizeof(IoasMap), flags = 0, id = 0, reserved = 0;
    std::uint64_t memory = 0, length = 0, iova = 0;
};
struct IoasUnmap {
    std::uint32_t size = sizeof(IoasUnmap), id = 0;
    std::uint64_t iova = 0, length = 0;
};
struct BindIommufd {
    std::uint32_t size = sizeof(BindIommufd), flags = 0;
    std::int32_t iommufd = -1;
    std::uint32_t id = 0;
};
struct AttachIommufd {
    std::uint32_t size = sizeof(AttachIommufd), flags = 0, id = 0;
};
static_assert(sizeof(IoasAlloc) == 12 && sizeof(IoasMap) == 40 && sizeof(IoasUnmap) == 24 &&
              sizeof(BindIommufd) == 16 && sizeof(AttachIommufd) == 12);

inline constexpr unsigned long ioas_alloc = _IO(';', 0x81), ioas_map = _IO(';', 0x85), ioas_unmap = _IO(';', 0x86),
                               bind_iommufd = _IO(VFIO_TYPE, VFIO_BASE + 18),
                               attach_iommufd = _IO(VFIO_TYPE, VFIO_BASE + 19);

} // namespace sw::transport::vfio::uapi
