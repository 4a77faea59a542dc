// Descriptors of the invalidation queue. VT-d "Queued Invalidation Interface". Descriptors of 256 bits have a second
// half that is reserved; the first half is the same.
// Witness: testbench/witness/vtd_layouts.py (the Intel IOMMU driver of Linux).
#pragma once

#include "abi/iommu/entry.h"
#include "abi/named_enum.h"

namespace abi::iommu {

// clang-format off
#define ABI_VTD_DESCRIPTORS(X)                                  \
    X(context_cache,    1, "context-cache invalidate")          \
    X(iotlb,            2, "IOTLB invalidate")                  \
    X(device_tlb,       3, "device-TLB invalidate")             \
    X(interrupt_entry,  4, "interrupt entry cache invalidate")  \
    X(wait,             5, "invalidation wait")                 \
    X(pasid_iotlb,      6, "PASID-based IOTLB invalidate")      \
    X(pasid_cache,      7, "PASID-cache invalidate")            \
    X(pasid_device_tlb, 8, "PASID-based device-TLB invalidate") \
    X(page_response,    9, "page group response")
ABI_NAMED_ENUM(DescriptorType, std::uint8_t, ABI_VTD_DESCRIPTORS)
#undef ABI_VTD_DESCRIPTORS

/// Why the queue stopped: IQEI of the error record.
#define ABI_VTD_QUEUE_ERRORS(X)                                          \
    X(none,                     0, "no information")                     \
    X(invalid_tail,             1, "the tail is beyond the queue")       \
    X(fetch_error,              2, "the descriptor could not be read")   \
    X(invalid_type,             3, "there is no such descriptor type")   \
    X(reserved_field,           4, "a reserved field is not zero")       \
    X(invalid_descriptor_width, 5, "descriptors have the wrong width")   \
    X(misaligned_tail,          6, "the tail is not on a descriptor")    \
    X(invalid_table_mode,       7, "the table translation mode is reserved")
ABI_NAMED_ENUM(QueueError, std::uint8_t, ABI_VTD_QUEUE_ERRORS)
#undef ABI_VTD_QUEUE_ERRORS

// What every descriptor begins with.
using AnyDescriptor = Entry<"any_descriptor", 16,
    Field<"type",  3, 0>, Field<"type_high", 11, 9>>;

enum class ContextGranularity : std::uint8_t { global = 1, domain = 2, device = 3 };
using ContextCacheDescriptor = Entry<"cc_inv_dsc", 16,
    Field  <"type",       3,  0>,
    Field  <"g",          5,  4, ContextGranularity>,
    Field  <"type_high", 11,  9>,
    Field  <"did",       31, 16>,
    Field  <"sid",       47, 32>,
    Field  <"fm",        49, 48>>;         // function mask: the upper fm bits of the function number do not count

enum class IotlbGranularity : std::uint8_t { global = 1, domain = 2, page = 3 };
using IotlbDescriptor = Entry<"iotlb_inv_dsc", 16,
    Field  <"type",       3,  0>,
    Field  <"g",          5,  4, IotlbGranularity>,
    Flag   <"dw",         6>,              // drain writes
    Flag   <"dr",         7>,              // drain reads
    Field  <"type_high", 11,  9>,
    Field  <"did",       31, 16>,
    Field  <"am",        69, 64>,          // 2^am pages
    Flag   <"ih",        70>,              // only leaves changed
    Address<"addr",     127, 76>>;

using DeviceTlbDescriptor = Entry<"dev_tlb_inv_dsc", 16,
    Field  <"type",        3,  0>,
    Field  <"type_high",  11,  9>,
    Field  <"pfsid_low",  15, 12>,
    Field  <"mip",        20, 16>,
    Field  <"sid",        47, 32>,
    Field  <"pfsid_high", 63, 52>,
    Flag   <"s",          64>,             // more than one page; see invalidation_range()
    Address<"addr",      127, 76>>;

using WaitDescriptor = Entry<"inv_wait_dsc", 16,
    Field  <"type",       3,  0>,
    Flag   <"if",         4>,              // interrupt
    Flag   <"sw",         5>,              // status write
    Flag   <"fn",         6>,              // fence
    Flag   <"pd",         7>,              // page-request drain
    Field  <"type_high", 11,  9>,
    Field  <"stdata",    63, 32>,
    Address<"staddr",   127, 66>>;

enum class PasidIotlbGranularity : std::uint8_t { pasid = 2, page = 3 };
using PasidIotlbDescriptor = Entry<"p_iotlb_inv_dsc", 16,
    Field  <"type",       3,  0>,
    Field  <"g",          5,  4, PasidIotlbGranularity>,
    Field  <"type_high", 11,  9>,
    Field  <"did",       31, 16>,
    Field  <"pasid",     51, 32>,
    Field  <"am",        69, 64>,
    Flag   <"ih",        70>,
    Address<"addr",     127, 76>>;

enum class PasidCacheGranularity : std::uint8_t { domain = 0, pasid = 1, global = 3 };
using PasidCacheDescriptor = Entry<"pc_inv_dsc", 16,
    Field  <"type",       3,  0>,
    Field  <"g",          5,  4, PasidCacheGranularity>,
    Field  <"type_high", 11,  9>,
    Field  <"did",       31, 16>,
    Field  <"pasid",     51, 32>>;

using PasidDeviceTlbDescriptor = Entry<"p_dev_tlb_inv_dsc", 16,
    Field  <"type",        3,  0>,
    Field  <"mip",         8,  4>,
    Field  <"type_high",  11,  9>,
    Field  <"pfsid_low",  15, 12>,
    Field  <"sid",        31, 16>,
    Field  <"pasid",      51, 32>,
    Field  <"pfsid_high", 63, 52>,
    Flag   <"g",          64>,             // all PASIDs
    Flag   <"s",          75>,
    Address<"addr",      127, 76>>;

enum class ResponseCode : std::uint8_t { success = 0, invalid_request = 1, failure = 15 };
using PageResponseDescriptor = Entry<"page_grp_resp_dsc", 16,
    Field  <"type",        3,  0>,
    Flag   <"pp",          4>,             // has a PASID
    Field  <"type_high",  11,  9>,
    Field  <"code",       15, 12, ResponseCode>,
    Field  <"rid",        31, 16>,
    Field  <"pasid",      51, 32>,
    Flag   <"lpig",       66>,             // last page in group
    Field  <"prgi",       75, 67>>;
// clang-format on

struct InvalidationRange {
    std::uint64_t begin, bytes; ///< 0 bytes: all there are
};

/// Address and S of a device-TLB descriptor (PCIe 6.0 §10.3.2): with S set, the lowest clear bit of the page number
/// tells the size.
constexpr InvalidationRange invalidation_range(std::uint64_t address, bool s) {
    constexpr std::uint64_t page = 1 << 12;
    if (!s)
        return {address & ~(page - 1), page};
    const auto clear = ~address & ~(page - 1);
    if (clear == 0)
        return {0, 0};
    const auto bit = clear & ~(clear - 1);
    return {address & ~(bit - 1) & ~bit, bit << 1};
}

} // namespace abi::iommu
