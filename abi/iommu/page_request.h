// What a unit writes into the page request queue. VT-d "Page Request Descriptor".
// Witness: testbench/witness/vtd_layouts.py (the Intel IOMMU driver of Linux).
#pragma once

#include "abi/iommu/entry.h"

namespace abi::iommu {

inline constexpr std::uint8_t page_request_type = 1;

// clang-format off
using PageRequestDescriptor = Entry<"page_req_dsc", 32,
    Field  <"type",        7,   0>,
    Flag   <"pp",          8>,             // has a PASID
    Field  <"rid",        31,  16>,
    Field  <"pasid",      51,  32>,
    Flag   <"exe",        52>,
    Flag   <"priv",       53>,
    Flag   <"rd",         64>,
    Flag   <"wr",         65>,
    Flag   <"lpig",       66>,             // last page in group
    Field  <"prgi",       75,  67>,        // page request group index
    Address<"addr",      127,  76>>;
// clang-format on

} // namespace abi::iommu
