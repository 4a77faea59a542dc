// Registers of a GFX11 GPU that decide who sees which bytes, in its register BAR: invalidation of translations,
// contexts of the address spaces, faults, and what flushes the host data path. Figures: Linux amdgpu,
// gc_11_0_0_offset.h and gc_11_0_0_sh_mask.h; the header counts dwords from the base of its segment, which the
// addresses in its comments put at dword 0x1260. Not from there: the place of the MMHUB and NBIO registers, which on
// silicon IP discovery tells, and GCR_GENERAL_CNTL; they say so.
#pragma once

#include "abi/iommu/entry.h"

#include <cstdint>

namespace abi::gpu {

/// Where a dword register of segment 0 of the graphics block stands, in bytes.
constexpr std::uint32_t graphics_register(std::uint32_t dword) { return (0x1260 + dword) * 4; }

// clang-format off
enum class Register : std::uint32_t {
    gcr_general_cntl          = 0x3c600,                   // place chosen here
    l2_cntl                   = graphics_register(0x15bc),
    l2_cntl2                  = graphics_register(0x15bd),
    fault_cntl                = graphics_register(0x15c4),
    fault_status              = graphics_register(0x15c8),
    fault_address_low         = graphics_register(0x15c9),
    fault_address_high        = graphics_register(0x15ca),
    l2_gcr_cntl               = graphics_register(0x15db),
    context0_cntl             = graphics_register(0x1688), // one dword a context
    invalidate0_sem           = graphics_register(0x1699), // one dword an engine
    invalidate0_req           = graphics_register(0x16ab),
    invalidate0_ack           = graphics_register(0x16bd),
    invalidate0_range         = graphics_register(0x16cf), // two dwords an engine
    context0_base             = graphics_register(0x16f3), // two dwords a context: the root, as a directory entry
    context0_start            = graphics_register(0x1713), // two dwords a context: first page number
    context0_end              = graphics_register(0x1733), // two dwords a context: last page number
    // Of the multimedia hub, by the same distances; the base is chosen here.
    mm_invalidate0_req        = 0x68000 + 0x587 * 4,
    mm_invalidate0_ack        = 0x68000 + 0x599 * 4,
    // Of NBIO; the base is chosen here.
    hdp_flush_req             = 0x4000 + 0x106 * 4,
    hdp_flush_done            = 0x4000 + 0x107 * 4,
};
// clang-format on

inline constexpr unsigned contexts = 16, engines = 18;

/// The page that the driver hands to programs: its first register flushes the host data path (a write, then a read),
/// the second one only what registers hold (kfd_ioctl.h, KFD_MMIO_REMAP_HDP_*_FLUSH_CNTL).
inline constexpr std::uint32_t remap_page = 0x7f000, remap_page_bytes = 0x1000;
inline constexpr std::uint32_t hdp_mem_flush = 0, hdp_reg_flush = 4;

/// GCVM_INVALIDATE_ENGn_REQ and MMVM_INVALIDATE_ENGn_REQ.
using InvalidateRequest =
    iommu::Entry<"invalidate_eng_req", 4, iommu::Field<"per_vmid_invalidate_req", 15, 0, rw>,
                 iommu::Field<"flush_type", 18, 16, rw>, // 0 legacy, 1 light, 2 heavy
                 iommu::Flag<"invalidate_l2_ptes", 19, rw>, iommu::Flag<"invalidate_l2_pde0", 20, rw>,
                 iommu::Flag<"invalidate_l2_pde1", 21, rw>, iommu::Flag<"invalidate_l2_pde2", 22, rw>,
                 iommu::Flag<"invalidate_l1_ptes", 23, rw>, iommu::Flag<"clear_protection_fault_status_addr", 24, rw>,
                 iommu::Flag<"log_request", 25, rw>, iommu::Flag<"invalidate_4k_pages_only", 26, rw>>;
inline constexpr unsigned heavy_flush = 2;

/// GCVM_CONTEXTn_CNTL.
using ContextControl =
    iommu::Entry<"context_cntl", 4, iommu::Flag<"enable_context", 0, rw>, iommu::Field<"page_table_depth", 2, 1, rw>,
                 iommu::Field<"page_table_block_size", 6, 3, rw>>;

/// GCVM_L2_PROTECTION_FAULT_STATUS.
using FaultStatus = iommu::Entry<"protection_fault_status", 4, iommu::Flag<"more_faults", 0, ro>,
                                 iommu::Field<"walker_error", 3, 1, ro>, iommu::Field<"permission_faults", 7, 4, ro>,
                                 iommu::Flag<"mapping_error", 8, ro>, iommu::Field<"cid", 17, 9, ro>,
                                 iommu::Flag<"rw", 18, ro>, // a write
                                 iommu::Flag<"atomic", 19, ro>, iommu::Field<"vmid", 23, 20, ro>>;

/// What the caches of a cache-rinse command are to do: GCR_CNTL of ACQUIRE_MEM (PM4 0x58), GFX10 and GFX11.
using CacheControl = iommu::Entry<"gcr_cntl", 4, iommu::Field<"gli_inv", 1, 0>, iommu::Field<"gl1_range", 3, 2>,
                                  iommu::Flag<"glm_wb", 4>, iommu::Flag<"glm_inv", 5>, iommu::Flag<"glk_wb", 6>,
                                  iommu::Flag<"glk_inv", 7>, iommu::Flag<"glv_inv", 8>, iommu::Flag<"gl1_inv", 9>,
                                  iommu::Flag<"gl2_us", 10>, iommu::Field<"gl2_range", 12, 11>,
                                  iommu::Flag<"gl2_discard", 13>, iommu::Flag<"gl2_inv", 14>, iommu::Flag<"gl2_wb", 15>,
                                  iommu::Field<"seq", 17, 16>, iommu::Flag<"range_is_pa", 18>>;

} // namespace abi::gpu
