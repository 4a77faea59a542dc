// Faults of address translation: what is recorded, and why. VT-d "Fault Recording Registers", "Address Translation
// Faults". Witness: testbench/witness/vtd_layouts.py (the Intel IOMMU driver of Linux).
#pragma once

#include "abi/iommu/entry.h"
#include "abi/named_enum.h"

namespace abi::iommu {

// clang-format off
using FaultRecord = Entry<"frcd", 16,
    Address<"fi",   63,  12, ro>,    // fault information: the page of the request
    Field  <"sid",  79,  64, ro>,
    Flag   <"t2",   92,      ro>,    // with t1: write, read, page request, atomic
    Flag   <"priv", 93,      ro>,
    Flag   <"exe",  94,      ro>,
    Flag   <"pp",   95,      ro>,    // has a PASID
    Field  <"fr",  103,  96, ro>,
    Field  <"pv",  123, 104, ro>,    // the PASID
    Field  <"at",  125, 124, ro>,
    Flag   <"t1",  126,      ro>,
    Flag   <"f",   127,      rw1c>>; // this record holds a fault; written 1 to free it

// Condition names of the document: L legacy, S scalable mode; RTA root table address, RT root table, CT context table,
// PD PASID directory, PT PASID table, FS first stage, SS second stage, GN general.
#define ABI_VTD_FAULT_REASONS(X)                                                                                      \
    X(none,                          0x00, "no fault")                                                                \
    X(root_not_present,              0x01, "LRT.2: the root entry is not present")                                    \
    X(context_not_present,           0x02, "LCT.2: the context entry is not present")                                 \
    X(context_invalid,               0x03, "LCT.4: the context entry has an unsupported address width or type")       \
    X(beyond_width,                  0x04, "LGN.1: the address is beyond the width of the domain or of the unit")     \
    X(no_write,                      0x05, "LGN.2: a paging entry does not allow writes")                             \
    X(no_read,                       0x06, "LGN.3: a paging entry does not allow reads")                              \
    X(paging_access,                 0x07, "LSS.1: a paging entry could not be read")                                 \
    X(root_access,                   0x08, "LRT.1: the root entry could not be read")                                 \
    X(context_access,                0x09, "LCT.1: the context entry could not be read")                              \
    X(root_reserved,                 0x0a, "LRT.3: a reserved field of the root entry is not zero")                   \
    X(context_reserved,              0x0b, "LCT.3: a reserved field of the context entry is not zero")                \
    X(paging_reserved,               0x0c, "LSS.2: a reserved field of a paging entry is not zero")                   \
    X(blocked,                       0x0d, "LCT.5: the context entry blocks requests of this address type")           \
    X(interrupt_range,               0x0e, "LGN.4: the address is in the interrupt range")                            \
    X(table_mode_invalid,            0x30, "RTA.1: the table translation mode is not supported")                      \
    X(pasid_in_legacy_mode,          0x31, "RTA.2: a request with PASID in legacy mode")                              \
    X(page_request_in_legacy_mode,   0x32, "RTA.3: a page group request in legacy mode")                              \
    X(sm_root_access,                0x38, "SRT.1: the root entry could not be read")                                 \
    X(sm_root_not_present,           0x39, "SRT.2: the root entry is not present")                                    \
    X(sm_root_reserved,              0x3a, "SRT.3: a reserved field of the root entry is not zero")                   \
    X(sm_context_access,             0x40, "SCT.1: the context entry could not be read")                              \
    X(sm_context_not_present,        0x41, "SCT.2: the context entry is not present")                                 \
    X(sm_context_reserved,           0x42, "SCT.3: a reserved field of the context entry is not zero")                \
    X(sm_context_invalid,            0x43, "SCT.4: the context entry is invalid")                                     \
    X(device_tlb_disabled,           0x44, "SCT.5: the context entry has no device-TLB enabled")                      \
    X(pasid_disabled,                0x45, "SCT.6: the context entry has no PASID enabled")                           \
    X(pasid_too_large,               0x46, "SCT.7: the PASID is beyond the directory")                                \
    X(page_request_disabled,         0x47, "SCT.8: the context entry has no page requests enabled")                   \
    X(rid_pasid_too_large,           0x48, "SCT.9: RID_PASID is beyond the directory")                                \
    X(pasid_directory_access,        0x50, "SPD.1: the PASID directory entry could not be read")                      \
    X(pasid_directory_not_present,   0x51, "SPD.2: the PASID directory entry is not present")                         \
    X(pasid_directory_reserved,      0x52, "SPD.3: a reserved field of the PASID directory entry is not zero")        \
    X(pasid_access,                  0x58, "SPT.1: the PASID table entry could not be read")                          \
    X(pasid_not_present,             0x59, "SPT.2: the PASID table entry is not present")                             \
    X(pasid_reserved,                0x5a, "SPT.3: a reserved field of the PASID table entry is not zero")            \
    X(pasid_invalid,                 0x5b, "SPT.4: the PASID table entry has an unsupported type or address width")   \
    X(execute_disabled,              0x5c, "SPT.5: the PASID table entry does not allow execute requests")            \
    X(supervisor_disabled,           0x5d, "SPT.6: the PASID table entry does not allow supervisor requests")         \
    X(first_stage_access,            0x70, "SFS.1: a first-stage paging entry could not be read")                     \
    X(first_stage_not_present,       0x71, "SFS.2: a first-stage paging entry is not present")                        \
    X(first_stage_reserved,          0x72, "SFS.3: a reserved field of a first-stage paging entry is not zero")       \
    X(first_stage_root_access,       0x73, "SFS.4: the first-stage root table could not be read")                     \
    X(second_stage_access,           0x78, "SSS.1: a second-stage paging entry could not be read")                    \
    X(second_stage_no_right,         0x79, "SSS.2: a second-stage paging entry does not allow the access")            \
    X(second_stage_reserved,         0x7a, "SSS.3: a reserved field of a second-stage paging entry is not zero")      \
    X(not_canonical,                 0x80, "SGN.1: the address is not canonical")                                     \
    X(no_user,                       0x81, "SGN.2: a first-stage paging entry does not allow user requests")          \
    X(no_execute,                    0x82, "SGN.3: a paging entry does not allow execution")                          \
    X(beyond_host_width,             0x83, "SGN.4: the address is beyond what the hardware takes")                    \
    X(sm_beyond_width,               0x84, "SGN.5: the address is beyond the width of the second-stage tables")       \
    X(sm_no_write,                   0x85, "SGN.6: a paging entry does not allow writes")                             \
    X(sm_no_read,                    0x86, "SGN.7: a paging entry does not allow reads")                              \
    X(sm_interrupt_range,            0x87, "SGN.8: the address is in the interrupt range")
ABI_NAMED_ENUM(FaultReason, std::uint8_t, ABI_VTD_FAULT_REASONS)
#undef ABI_VTD_FAULT_REASONS
// clang-format on

} // namespace abi::iommu
