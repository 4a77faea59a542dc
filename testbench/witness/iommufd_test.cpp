// sw/transport/vfio/iommufd.h against the system's linux/iommufd.h and linux/vfio.h, where they are new enough to have
// it.
#include "sw/transport/vfio/iommufd.h"

#include <catch2/catch_test_macros.hpp>

#if __has_include(<linux/iommufd.h>)
#include <linux/iommufd.h>
#endif

namespace uapi = sw::transport::vfio::uapi;

TEST_CASE("what we use of iommufd is as the system's headers have it", "[witness][vfio]") {
#ifdef IOMMU_IOAS_MAP
    STATIC_CHECK(sizeof(uapi::IoasAlloc) == sizeof(iommu_ioas_alloc));
    STATIC_CHECK(offsetof(uapi::IoasAlloc, id) == offsetof(iommu_ioas_alloc, out_ioas_id));
    STATIC_CHECK(sizeof(uapi::IoasMap) == sizeof(iommu_ioas_map));
    STATIC_CHECK(offsetof(uapi::IoasMap, id) == offsetof(iommu_ioas_map, ioas_id));
    STATIC_CHECK(offsetof(uapi::IoasMap, memory) == offsetof(iommu_ioas_map, user_va));
    STATIC_CHECK(offsetof(uapi::IoasMap, length) == offsetof(iommu_ioas_map, length));
    STATIC_CHECK(offsetof(uapi::IoasMap, iova) == offsetof(iommu_ioas_map, iova));
    STATIC_CHECK(uapi::IoasMap::fixed_iova == IOMMU_IOAS_MAP_FIXED_IOVA);
    STATIC_CHECK(uapi::IoasMap::writable == IOMMU_IOAS_MAP_WRITEABLE);
    STATIC_CHECK(uapi::IoasMap::readable == IOMMU_IOAS_MAP_READABLE);
    STATIC_CHECK(sizeof(uapi::IoasUnmap) == sizeof(iommu_ioas_unmap));
    STATIC_CHECK(offsetof(uapi::IoasUnmap, id) == offsetof(iommu_ioas_unmap, ioas_id));
    STATIC_CHECK(offsetof(uapi::IoasUnmap, iova) == offsetof(iommu_ioas_unmap, iova));
    STATIC_CHECK(uapi::ioas_alloc == IOMMU_IOAS_ALLOC);
    STATIC_CHECK(uapi::ioas_map == IOMMU_IOAS_MAP);
    STATIC_CHECK(uapi::ioas_unmap == IOMMU_IOAS_UNMAP);
#endif
#ifdef VFIO_DEVICE_BIND_IOMMUFD
    STATIC_CHECK(sizeof(uapi::BindIommufd) == sizeof(vfio_device_bind_iommufd));
    STATIC_CHECK(offsetof(uapi::BindIommufd, iommufd) == offsetof(vfio_device_bind_iommufd, iommufd));
    STATIC_CHECK(offsetof(uapi::BindIommufd, id) == offsetof(vfio_device_bind_iommufd, out_devid));
    STATIC_CHECK(offsetof(uapi::AttachIommufd, id) == offsetof(vfio_device_attach_iommufd_pt, pt_id));
    STATIC_CHECK(uapi::bind_iommufd == VFIO_DEVICE_BIND_IOMMUFD);
    STATIC_CHECK(uapi::attach_iommufd == VFIO_DEVICE_ATTACH_IOMMUFD_PT);
#endif
    SUCCEED("what the headers do not have was checked where they do");
}
