// abi/vfio_user against linux/vfio.h, which we did not write: the protocol shares structures, flags and numbers with
// the kernel's VFIO.
#include "abi/vfio_user/message.h"

#include <catch2/catch_test_macros.hpp>

#include <linux/vfio.h>

#include <cstddef>

using namespace abi::vfio_user;

namespace {
template <class L, abi::Name Row> constexpr std::size_t offset_of() { return L::template field<Row>::offset; }
/// The bits of a row, as a number in its dword.
template <class L, abi::Name Row> constexpr std::uint32_t bit_of() {
    return L::template field<Row>::mask << L::template field<Row>::low;
}
} // namespace

TEST_CASE("device information stands where the kernel has it", "[witness][vfio_user]") {
    using K = vfio_device_info;
    STATIC_CHECK(offset_of<DeviceInfo, "argsz">() == offsetof(K, argsz));
    STATIC_CHECK(offset_of<DeviceInfo, "can_reset">() == offsetof(K, flags));
    STATIC_CHECK(bit_of<DeviceInfo, "can_reset">() == VFIO_DEVICE_FLAGS_RESET);
    STATIC_CHECK(bit_of<DeviceInfo, "is_pci">() == VFIO_DEVICE_FLAGS_PCI);
    STATIC_CHECK(offset_of<DeviceInfo, "regions">() == offsetof(K, num_regions));
    STATIC_CHECK(offset_of<DeviceInfo, "irqs">() == offsetof(K, num_irqs));
    STATIC_CHECK(bar_regions == VFIO_PCI_ROM_REGION_INDEX);
    STATIC_CHECK(rom_region == VFIO_PCI_ROM_REGION_INDEX);
    STATIC_CHECK(config_region == VFIO_PCI_CONFIG_REGION_INDEX);
    STATIC_CHECK(vga_region == VFIO_PCI_VGA_REGION_INDEX);
    STATIC_CHECK(region_count == VFIO_PCI_NUM_REGIONS);
    STATIC_CHECK(irq_type_count == VFIO_PCI_NUM_IRQS);
}

TEST_CASE("region information stands where the kernel has it", "[witness][vfio_user]") {
    using K = vfio_region_info;
    STATIC_CHECK(RegionInfo::size == sizeof(K));
    STATIC_CHECK(offset_of<RegionInfo, "argsz">() == offsetof(K, argsz));
    STATIC_CHECK(offset_of<RegionInfo, "readable">() == offsetof(K, flags));
    STATIC_CHECK(bit_of<RegionInfo, "readable">() == VFIO_REGION_INFO_FLAG_READ);
    STATIC_CHECK(bit_of<RegionInfo, "writable">() == VFIO_REGION_INFO_FLAG_WRITE);
    STATIC_CHECK(bit_of<RegionInfo, "mappable">() == VFIO_REGION_INFO_FLAG_MMAP);
    STATIC_CHECK(bit_of<RegionInfo, "has_capabilities">() == VFIO_REGION_INFO_FLAG_CAPS);
    STATIC_CHECK(offset_of<RegionInfo, "index">() == offsetof(K, index));
    STATIC_CHECK(offset_of<RegionInfo, "capability_offset">() == offsetof(K, cap_offset));
    STATIC_CHECK(offset_of<RegionInfo, "size">() == offsetof(K, size));
    STATIC_CHECK(offset_of<RegionInfo, "offset">() == offsetof(K, offset));
}

TEST_CASE("areas that can be mapped stand where the kernel has them", "[witness][vfio_user]") {
    using K = vfio_region_info_cap_sparse_mmap;
    STATIC_CHECK(SparseMmap::size == offsetof(K, areas));
    STATIC_CHECK(offset_of<SparseMmap, "id">() == offsetof(K, header) + offsetof(vfio_info_cap_header, id));
    STATIC_CHECK(offset_of<SparseMmap, "version">() == offsetof(K, header) + offsetof(vfio_info_cap_header, version));
    STATIC_CHECK(offset_of<SparseMmap, "next">() == offsetof(K, header) + offsetof(vfio_info_cap_header, next));
    STATIC_CHECK(offset_of<SparseMmap, "areas">() == offsetof(K, nr_areas));
    STATIC_CHECK(SparseArea::size == sizeof(vfio_region_sparse_mmap_area));
    STATIC_CHECK(offset_of<SparseArea, "offset">() == offsetof(vfio_region_sparse_mmap_area, offset));
    STATIC_CHECK(offset_of<SparseArea, "size">() == offsetof(vfio_region_sparse_mmap_area, size));
    STATIC_CHECK(sparse_mmap_id == VFIO_REGION_INFO_CAP_SPARSE_MMAP);
}

TEST_CASE("interrupt information stands where the kernel has it", "[witness][vfio_user]") {
    using K = vfio_irq_info;
    STATIC_CHECK(IrqInfo::size == sizeof(K));
    STATIC_CHECK(offset_of<IrqInfo, "argsz">() == offsetof(K, argsz));
    STATIC_CHECK(offset_of<IrqInfo, "eventfd">() == offsetof(K, flags));
    STATIC_CHECK(bit_of<IrqInfo, "eventfd">() == VFIO_IRQ_INFO_EVENTFD);
    STATIC_CHECK(bit_of<IrqInfo, "maskable">() == VFIO_IRQ_INFO_MASKABLE);
    STATIC_CHECK(bit_of<IrqInfo, "automasked">() == VFIO_IRQ_INFO_AUTOMASKED);
    STATIC_CHECK(bit_of<IrqInfo, "no_resize">() == VFIO_IRQ_INFO_NORESIZE);
    STATIC_CHECK(offset_of<IrqInfo, "index">() == offsetof(K, index));
    STATIC_CHECK(offset_of<IrqInfo, "count">() == offsetof(K, count));
    STATIC_CHECK(static_cast<int>(IrqType::intx) == VFIO_PCI_INTX_IRQ_INDEX);
    STATIC_CHECK(static_cast<int>(IrqType::msi) == VFIO_PCI_MSI_IRQ_INDEX);
    STATIC_CHECK(static_cast<int>(IrqType::msix) == VFIO_PCI_MSIX_IRQ_INDEX);
    STATIC_CHECK(static_cast<int>(IrqType::error) == VFIO_PCI_ERR_IRQ_INDEX);
    STATIC_CHECK(static_cast<int>(IrqType::request) == VFIO_PCI_REQ_IRQ_INDEX);
}

TEST_CASE("interrupt settings stand where the kernel has them", "[witness][vfio_user]") {
    using K = vfio_irq_set;
    STATIC_CHECK(IrqSet::size == offsetof(K, data));
    STATIC_CHECK(offset_of<IrqSet, "argsz">() == offsetof(K, argsz));
    STATIC_CHECK(offset_of<IrqSet, "data_none">() == offsetof(K, flags));
    STATIC_CHECK(bit_of<IrqSet, "data_none">() == VFIO_IRQ_SET_DATA_NONE);
    STATIC_CHECK(bit_of<IrqSet, "data_bool">() == VFIO_IRQ_SET_DATA_BOOL);
    STATIC_CHECK(bit_of<IrqSet, "data_eventfd">() == VFIO_IRQ_SET_DATA_EVENTFD);
    STATIC_CHECK(bit_of<IrqSet, "action_mask">() == VFIO_IRQ_SET_ACTION_MASK);
    STATIC_CHECK(bit_of<IrqSet, "action_unmask">() == VFIO_IRQ_SET_ACTION_UNMASK);
    STATIC_CHECK(bit_of<IrqSet, "action_trigger">() == VFIO_IRQ_SET_ACTION_TRIGGER);
    STATIC_CHECK(offset_of<IrqSet, "index">() == offsetof(K, index));
    STATIC_CHECK(offset_of<IrqSet, "start">() == offsetof(K, start));
    STATIC_CHECK(offset_of<IrqSet, "count">() == offsetof(K, count));
}

TEST_CASE("the flags of an unmap are the kernel's", "[witness][vfio_user]") {
    using K = vfio_iommu_type1_dma_unmap;
    STATIC_CHECK(DmaUnmap::size == offsetof(K, data));
    STATIC_CHECK(bit_of<DmaUnmap, "dirty_bitmap">() == VFIO_DMA_UNMAP_FLAG_GET_DIRTY_BITMAP);
    STATIC_CHECK(bit_of<DmaUnmap, "all">() == VFIO_DMA_UNMAP_FLAG_ALL);
    STATIC_CHECK(offset_of<DmaUnmap, "address">() == offsetof(K, iova));
    STATIC_CHECK(offset_of<DmaUnmap, "size">() == offsetof(K, size));
}
