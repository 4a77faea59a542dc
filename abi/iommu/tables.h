// Tables in memory that a remapping unit walks: root, context, PASID and second-stage paging entries.
// VT-d "Translation Structure Formats". Witness: testbench/witness/vtd_layouts.py (the Intel IOMMU driver of Linux).
#pragma once

#include "abi/iommu/entry.h"

namespace abi::iommu {

inline constexpr unsigned page_shift = 12;
/// Each level of a paging structure resolves this many bits; its tables have 2^9 entries of 8 bytes.
inline constexpr unsigned level_bits = 9;

// clang-format off

// --- legacy mode ---

// One for each bus; points to the contexts of its 256 functions.
using RootEntry = Entry<"root_entry", 16,
    Flag   <"p",    0>,
    Address<"ctp", 63, 12>>;

enum class TranslationType : std::uint8_t {
    untranslated_only = 0,             // requests with any other address type are blocked
    with_device_tlb   = 1,
    pass_through      = 2,
};
using ContextEntry = Entry<"context_entry", 16,
    Flag   <"p",        0>,
    Flag   <"fpd",      1>,            // faults of this function are not recorded
    Field  <"tt",       3,  2, TranslationType>,
    Address<"ssptptr", 63, 12>,
    Field  <"aw",      66, 64>,        // levels of the tables, minus two
    Ignored<           70, 67>,
    Field  <"did",     87, 72>>;

// --- scalable mode ---

// One for each bus: contexts of devices 0 to 15, and of devices 16 to 31.
using ScalableRootEntry = Entry<"sm_root_entry", 16,
    Flag   <"lp",     0>,
    Address<"lctp",  63, 12>,
    Flag   <"up",    64>,
    Address<"uctp", 127, 76>>;

using ScalableContextEntry = Entry<"sm_context_entry", 32,
    Flag   <"p",            0>,
    Flag   <"fpd",          1>,
    Flag   <"dte",          2>,        // device-TLB enable
    Flag   <"paside",       3>,
    Flag   <"pre",          4>,        // page request enable
    Field  <"pdts",        11,  9>,    // 2^(pdts + 7) entries of the directory
    Address<"pasiddirptr", 63, 12>,
    Field  <"rid_pasid",   83, 64>,    // PASID of requests that have none
    Flag   <"rid_priv",    84>>;

// One for each 64 PASIDs.
using PasidDirectoryEntry = Entry<"pasid_dir_entry", 8,
    Flag   <"p",          0>,
    Flag   <"fpd",        1>,
    Address<"smptblptr", 63, 12>>;
inline constexpr unsigned pasid_table_bits = 6;

enum class PasidTranslation : std::uint8_t { first_stage = 1, second_stage = 2, nested = 3, pass_through = 4 };
using PasidEntry = Entry<"pasid_entry", 64,
    Flag   <"p",         0>,
    Flag   <"fpd",       1>,
    Field  <"aw",        4,  2>,
    Flag   <"ssee",      5>,
    Field  <"pgtt",      8,  6, PasidTranslation>,
    Flag   <"ssade",     9>,
    Address<"ssptptr",  63, 12>,
    Field  <"did",      79, 64>,
    Flag   <"pwsnp",    87>,
    Flag   <"pgsnp",    88>,
    Flag   <"cd",       89>,
    Flag   <"emte",     90>,
    Field  <"emt",      93, 91>,
    Flag   <"pwt",      94>,
    Flag   <"pcd",      95>,
    Field  <"pat",     127, 96>,
    Flag   <"sre",     128>,           // supervisor requests are allowed
    Flag   <"ere",     129>,           // execute requests are allowed
    Field  <"fspm",    131, 130>,      // 0: 4 levels, 1: 5 levels
    Flag   <"wpe",     132>,           // supervisors respect write protection
    Flag   <"nxe",     133>,
    Flag   <"smep",    134>,
    Flag   <"eafe",    135>,
    Address<"fsptptr", 191, 140>>;

// --- paging entries ---

// Of any level; which bits are reserved depends on level, size and capabilities. Neither R nor W: not present.
using SecondStageEntry = Entry<"ss_entry", 8,
    Flag   <"r",     0>,
    Flag   <"w",     1>,
    Flag   <"x",     2>,
    Ignored<         6,  3>,
    Flag   <"ps",    7>,               // this entry maps a large page
    Flag   <"a",     8>,
    Flag   <"d",     9>,
    Ignored<        10>,
    Flag   <"snp",  11>,
    Address<"addr", 51, 12>,
    Ignored<        61, 52>,
    Flag   <"tm",   62>,               // transient mapping
    Ignored<        63>>;

// The processor's own format.
using FirstStageEntry = Entry<"fs_entry", 8,
    Flag   <"p",     0>,
    Flag   <"rw",    1>,
    Flag   <"us",    2>,
    Flag   <"pwt",   3>,
    Flag   <"pcd",   4>,
    Flag   <"a",     5>,
    Flag   <"d",     6>,
    Flag   <"ps",    7>,
    Ignored<         9,  8>,
    Flag   <"ea",   10>,
    Ignored<        11>,
    Address<"addr", 51, 12>,
    Ignored<        62, 52>,
    Flag   <"xd",   63>>;
// clang-format on

} // namespace abi::iommu
