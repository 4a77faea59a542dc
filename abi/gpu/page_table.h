// Page tables of GFX11: what a directory entry and a table entry say, and which bits of an address choose them. Linux
// amdgpu, gmc_v11_0.c (head comment) and amdgpu_vm.h describe both; nothing else stands witness for them yet. Bits are
// numbered over the whole 64-bit entry. GFX12 has another layout.
#pragma once

#include "abi/iommu/entry.h"
#include "abi/named_enum.h"

namespace abi::gpu {

// clang-format off
#define ABI_GPU_MTYPES(X)                                                        \
    X(nc, 0, "NC")                                                               \
    X(wc, 1, "WC")                                                               \
    X(cc, 2, "CC")                                                               \
    X(uc, 3, "UC")
ABI_NAMED_ENUM(Mtype, std::uint8_t, ABI_GPU_MTYPES)
#undef ABI_GPU_MTYPES

using Pte = iommu::Entry<"gfx11_pte", 8,
    iommu::Flag   <"valid",       0>,
    iommu::Flag   <"system",      1>,              // DMA address; otherwise an offset in VRAM
    iommu::Flag   <"snooped",     2>,
    iommu::Flag   <"tmz",         3>,
    iommu::Flag   <"executable",  4>,
    iommu::Flag   <"readable",    5>,
    iommu::Flag   <"writeable",   6>,
    iommu::Field  <"fragment",   11,  7>,          // covers 4 KiB << fragment
    iommu::Address<"page",       47, 12>,
    iommu::Field  <"mtype",      50, 48, Mtype>,
    iommu::Flag   <"prt",        51>,              // partially resident: without memory, and no fault
    iommu::Ignored<              53, 52>,          // software's
    iommu::Flag   <"is_leaf",    54>,              // in a directory: this entry is a table entry
    iommu::Flag   <"log",        55>,
    iommu::Flag   <"further",    56>,              // translate further
    iommu::Flag   <"noalloc",    58>>;             // MALL does not allocate

using Pde = iommu::Entry<"gfx11_pde", 8,
    iommu::Flag   <"valid",       0>,
    iommu::Flag   <"system",      1>,
    iommu::Flag   <"coherent",    2>,
    iommu::Address<"base",       47,  6>,          // of the next table
    iommu::Flag   <"is_leaf",    54>,
    iommu::Field  <"block_fragment", 63, 59>>;
// clang-format on

inline constexpr unsigned page_shift = 12, level_bits = 9, address_bits = 48;
inline constexpr unsigned max_depth = 3; ///< directories above the table: PDB2, PDB1, PDB0

/// The entry of the table `level` above the last one (0: the page table itself) that `address` chooses.
constexpr std::uint64_t index(std::uint64_t address, unsigned level) {
    return address >> (page_shift + level_bits * level) & ((1u << level_bits) - 1);
}
/// Bytes that an entry of that level covers.
constexpr std::uint64_t span(unsigned level) { return std::uint64_t{1} << (page_shift + level_bits * level); }

} // namespace abi::gpu
