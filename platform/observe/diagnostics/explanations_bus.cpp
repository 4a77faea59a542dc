// What is known of remapping faults, of errors of the invalidation queue and of requests that ports block.
#include "model/pcie/acs.h"
#include "platform/observe/diagnostics/explanation_rows.h"
#include "platform/observe/ownership/ownership.h"

namespace platform::observe::diagnostics {
namespace {

// Rows have no rule of their own: the reason is the condition of the document, told in its words.
constexpr std::string_view faults_chapter = "VT-d \"Address Translation Faults\"";
constexpr std::string_view unreadable =
    "the address in the entry above, or in the root table address register, is no host memory";
constexpr std::string_view reserved = "the entry was built with bits that this unit has no meaning for (its capability "
                                      "registers say which it has), or the table is no table";
constexpr std::string_view not_mapped =
    "the driver gave the device an address that it has not mapped, or has unmapped too early; or it maps after an "
    "invalidation that came too soon, in caching mode";
constexpr std::string_view no_right = "the mapping is for the other direction: DMA_TO_DEVICE pages are read only for "
                                      "the device, DMA_FROM_DEVICE pages may be write only";
constexpr std::string_view wide = "the address is a host or virtual address that was never mapped, or the tables have "
                                  "fewer levels than the driver's address allocator believes";

// Grants of devices, each alone and behind a remapping unit.
constexpr std::string_view data_pointer_rule =
    "what a command points to is the drive's until the command has completed, or its queue is gone";
constexpr std::string_view data_pointer_chapter = "NVMe base 2.0 \"Physical Region Page Entry and List\"";
constexpr std::string_view queue_rule = "a queue's memory is the drive's until the queue is deleted, or the controller "
                                        "is reset";
constexpr std::string_view drive_queue_chapter =
    "NVMe base 2.0 \"Delete I/O Submission Queue\", \"Controller Level Reset\"";
constexpr std::string_view gpu_page_rule =
    "a page is handed out again only when no TLB of the GPU leads to it, and no cache has a line for it";
constexpr std::string_view gpu_page_chapter = "amdgpu, gmc_v11_0.c";
constexpr std::string_view behind_unit =
    "the memory was given back with the device still using it, and the remapping unit's invalidation of its mapping is "
    "missing, was not waited for, or had another domain or a smaller range";

using abi::iommu::FaultReason;
using abi::iommu::QueueError;
using model::port::DmaStatus;
namespace stale = ownership::stale;

// clang-format off
constexpr auto translation_faults = std::to_array<Row<FaultReason>>({
    {FaultReason::root_not_present, {"the root entry of the requester's bus is present", faults_chapter,
        "no function of that bus was attached to a domain, or the root table is another one than the driver fills"}},
    {FaultReason::context_not_present, {"the context entry of the requester is present", faults_chapter,
        "the device was not attached to a domain, was detached with DMA still running, or uses another requester ID "
        "than the driver attached (a bridge's, an alias)"}},
    {FaultReason::context_invalid, {"the context entry has an address width (AW) and a translation type that the unit "
        "has", faults_chapter, "the driver uses levels that SAGAW lacks, device-TLBs without ECAP.DT, or pass-through "
        "without ECAP.PT"}},
    {FaultReason::beyond_width, {"an address is within the width of the context entry and of the unit (MGAW)",
        faults_chapter, wide}},
    {FaultReason::no_write, {"every paging entry on the way allows writes", faults_chapter, "nothing is mapped at the "
        "address, or for reading only: the mapping was never made or is gone, or is one for the direction to the "
        "device"}},
    {FaultReason::no_read, {"every paging entry on the way allows reads", faults_chapter, "nothing is mapped at the "
        "address, or for writing only: the mapping was never made or is gone, or is one for the direction from the "
        "device"}},
    {FaultReason::paging_access, {"paging entries can be read", faults_chapter, unreadable}},
    {FaultReason::root_access, {"root entries can be read", faults_chapter, unreadable}},
    {FaultReason::context_access, {"context entries can be read", faults_chapter, unreadable}},
    {FaultReason::root_reserved, {"reserved fields of a root entry are zero", faults_chapter, reserved}},
    {FaultReason::context_reserved, {"reserved fields of a context entry are zero, and its domain is one that CAP.ND "
        "has", faults_chapter, reserved}},
    {FaultReason::paging_reserved, {"reserved fields of a paging entry are zero", faults_chapter, reserved}},
    {FaultReason::blocked, {"the translation type of the context entry lets requests of this address type in",
        faults_chapter, "ATS is enabled in the device, and the device-TLB is not in the context entry (TT 01b)"}},
    {FaultReason::interrupt_range, {"0xfeexxxxx is for interrupt messages: dwords, written untranslated",
        faults_chapter, "an address in that range was allocated for DMA, or mapped to it; allocators leave it out"}},
    {FaultReason::table_mode_invalid, {"the table translation mode is one that the unit has", faults_chapter,
        "RTADDR has scalable mode without ECAP.SMTS, or a reserved mode"}},
    {FaultReason::pasid_in_legacy_mode, {"requests with PASID need scalable mode", faults_chapter,
        "PASIDs were enabled in the device before the unit was brought to scalable mode"}},
    {FaultReason::page_request_in_legacy_mode, {"page requests need scalable mode", faults_chapter,
        "page requests were enabled in the device before the unit was brought to scalable mode"}},
    {FaultReason::sm_root_access, {"root entries can be read", faults_chapter, unreadable}},
    {FaultReason::sm_root_not_present, {"the half of the root entry for the requester's device number is present",
        faults_chapter, "only the other half (device numbers below or above 16) was filled, or no function of the bus "
        "is attached"}},
    {FaultReason::sm_root_reserved, {"reserved fields of a root entry are zero", faults_chapter, reserved}},
    {FaultReason::sm_context_access, {"context entries can be read", faults_chapter, unreadable}},
    {FaultReason::sm_context_not_present, {"the context entry of the requester is present", faults_chapter,
        "the device was not attached, or was detached with DMA still running"}},
    {FaultReason::sm_context_reserved, {"reserved fields of a context entry are zero", faults_chapter, reserved}},
    {FaultReason::sm_context_invalid, {"the context entry is valid", faults_chapter, "a field has a value that the "
        "unit does not have"}},
    {FaultReason::device_tlb_disabled, {"the context entry enables the device-TLB (DTE)", faults_chapter,
        "ATS is enabled in the device and not in the context entry"}},
    {FaultReason::pasid_disabled, {"the context entry enables PASIDs (PASIDE)", faults_chapter,
        "PASIDs are enabled in the device and not in the context entry"}},
    {FaultReason::pasid_too_large, {"the PASID is within the PASID directory (PDTS)", faults_chapter,
        "the device was given a PASID beyond the directory's size"}},
    {FaultReason::page_request_disabled, {"the context entry enables page requests (PRE)", faults_chapter,
        "page requests are enabled in the device and not in the context entry"}},
    {FaultReason::rid_pasid_too_large, {"RID_PASID is within the PASID directory", faults_chapter,
        "the context entry names a PASID for requests without one that the directory does not have"}},
    {FaultReason::pasid_directory_access, {"PASID directory entries can be read", faults_chapter, unreadable}},
    {FaultReason::pasid_directory_not_present, {"the PASID directory entry is present", faults_chapter,
        "no PASID of this group of 64 was attached"}},
    {FaultReason::pasid_directory_reserved, {"reserved fields of a PASID directory entry are zero", faults_chapter,
        reserved}},
    {FaultReason::pasid_access, {"PASID table entries can be read", faults_chapter, unreadable}},
    {FaultReason::pasid_not_present, {"the PASID table entry is present", faults_chapter,
        "this PASID was not attached, or was detached with DMA still running"}},
    {FaultReason::pasid_reserved, {"reserved fields of a PASID table entry are zero", faults_chapter, reserved}},
    {FaultReason::pasid_invalid, {"the PASID table entry has a translation type and an address width that the unit "
        "has", faults_chapter, "first-stage tables without ECAP.FSTS, or levels that the unit lacks"}},
    {FaultReason::execute_disabled, {"the PASID table entry allows execute requests (ERE)", faults_chapter,
        "the device asks for execution, which this unit does not have"}},
    {FaultReason::supervisor_disabled, {"the PASID table entry allows supervisor requests (SRE)", faults_chapter,
        "the device sends privileged requests for a user's address space"}},
    {FaultReason::first_stage_access, {"first-stage paging entries can be read", faults_chapter, unreadable}},
    {FaultReason::first_stage_not_present, {"first-stage paging entries on the way are present", faults_chapter,
        not_mapped}},
    {FaultReason::first_stage_reserved, {"reserved fields of a first-stage paging entry are zero", faults_chapter,
        reserved}},
    {FaultReason::first_stage_root_access, {"the first-stage root table can be read", faults_chapter, unreadable}},
    {FaultReason::second_stage_access, {"second-stage paging entries can be read", faults_chapter, unreadable}},
    {FaultReason::second_stage_no_right, {"every second-stage paging entry on the way allows the access",
        faults_chapter, not_mapped}},
    {FaultReason::second_stage_reserved, {"reserved fields of a second-stage paging entry are zero", faults_chapter,
        reserved}},
    {FaultReason::not_canonical, {"a first-stage address is canonical", faults_chapter, wide}},
    {FaultReason::no_user, {"a user's request goes to pages with U/S set", faults_chapter, "the page belongs to the "
        "kernel, or the request lost its privilege"}},
    {FaultReason::no_execute, {"an execute request goes to pages that allow it", faults_chapter,
        "the page has XD set"}},
    {FaultReason::beyond_host_width, {"a pass-through or translated address is within the host's width",
        faults_chapter, "the device uses an address that is no host address, or keeps a translation over a reset of "
        "the unit"}},
    {FaultReason::sm_beyond_width, {"an address is within the width of the second-stage tables", faults_chapter, wide}},
    {FaultReason::sm_no_write, {"the paging entry allows writes", faults_chapter, no_right}},
    {FaultReason::sm_no_read, {"the paging entry allows reads", faults_chapter, no_right}},
    {FaultReason::sm_interrupt_range, {"0xfeexxxxx is for interrupt messages: dwords, written untranslated without "
        "PASID", faults_chapter, "an address in that range was allocated for DMA, or mapped to it; allocators leave "
        "it out"}},
});

constexpr std::string_view queued_chapter = "VT-d \"Queued Invalidation Interface\"";
constexpr auto errors = std::to_array<Row<QueueError>>({
    {QueueError::invalid_tail, {"the tail lies in the queue", queued_chapter, "IQT was written with an index instead "
        "of an offset, or for a queue of another size"}},
    {QueueError::fetch_error, {"descriptors can be read", queued_chapter, "IQA is no host memory, or has the queue's "
        "virtual address"}},
    {QueueError::invalid_type, {"a descriptor has a type that the unit has", queued_chapter,
        "the tail was moved before the descriptor was written, or the capability register does not have what is "
        "invalidated (device-TLB, PASID)"}},
    {QueueError::reserved_field, {"reserved fields of a descriptor are zero, and its address mask is one that "
        "CAP.MAMV has", queued_chapter, "the slot still holds an old descriptor, or one of the other width"}},
    {QueueError::invalid_descriptor_width, {"descriptors have 256 bits in scalable mode, and 128 without it",
        queued_chapter, "IQA.DW does not fit the mode of the root table"}},
    {QueueError::misaligned_tail, {"the tail stands on a descriptor", queued_chapter, "the tail was moved by 16 bytes "
        "in a queue of 256-bit descriptors"}},
    {QueueError::invalid_table_mode, {"the table translation mode is not reserved", queued_chapter,
        "RTADDR.TTM was written wrong"}},
});

constexpr auto blocks = std::to_array<Row<traces::BlockReason>>({
    {model::pcie::blocked::source, {"with ACS source validation a requester's bus is between secondary and "
        "subordinate bus of the port", "PCIe 6.0 §6.12.1.1", "bus numbers were changed and the function has not been "
        "written to since (it captures its number from configuration writes), or the device lies about who it is"}},
    {model::pcie::blocked::translation, {"with ACS translation blocking only untranslated requests pass",
        "PCIe 6.0 §6.12.1.1", "ATS was enabled in a device whose port blocks it, as it is done for devices that are "
        "not trusted"}},
    {model::pcie::blocked::own_port, {"a request to an address behind its own port passes with ACS upstream "
        "forwarding only", "PCIe 6.0 §6.12.1.1", "a switch below redirects requests between its devices, and upstream "
        "forwarding is off in the root port; or the device was given its own BAR as a target"}},
    {model::pcie::blocked::host, {"a root complex need not forward requests between devices", "PCIe 6.0 §1.3.1; VT-d "
        "\"Root-Complex Peer to Peer Considerations\"", "ACS redirect is on at the switch and this host refuses peers "
        "(host.peer_forwarding): switch redirect off, use direct translated with ATS, or move the data through host "
        "memory"}},
});

constexpr auto stale_mappings = std::to_array<Row<traces::StaleMapping>>({
    {stale::key, {"a memory key leads to pages of the owner that it was registered for, or nowhere",
        "IBA 10.6.2, 10.6.7; PRM \"Memory key\"", "the memory was given back or taken back with the key alive: "
        "deregistration is missing, its revocation by UMR was not waited for, or it went to another key"}},
    {stale::unit, {"a page is handed out again only when no remapping unit and no device-TLB leads to it by an older "
        "mapping", "VT-d \"Invalidation of Translation Caches\"; PCIe 6.0 §10.3", "the paging entry was cleared and "
        "the IOTLB (or the device-TLB) was not invalidated, the invalidation was not waited for, had another domain "
        "or a smaller range, or nothing was unmapped at all"}},
    {stale::key_and_unit, {"a page is handed out again only when no memory key and no remapping unit leads to it by an "
        "older mapping", "IBA 10.6.7; VT-d \"Invalidation of Translation Caches\"", "memory was given back with its "
        "key alive, and the invalidation of its mapping is missing, was not waited for, or had another domain or a "
        "smaller range"}},
    {stale::unknown, {"a device writes to and reads from memory that somebody has given to it", "PCIe 6.0 §2.2.7",
        "a queue (CQ, EQ, WQ, SQ, doorbell record, command mailbox), the buffer of a command or a page of a GPU was "
        "freed before the device had let go of it"}},
    {stale::data_pointer, {data_pointer_rule, data_pointer_chapter, "the buffer was given back when a time was over, "
        "or after an Abort, before the command's completion, the deletion of its queue or a reset had come"}},
    {stale::queue, {queue_rule, drive_queue_chapter, "the queue's memory was freed before Delete I/O Submission Queue "
        "or Completion Queue had completed, or before CSTS.RDY was 0 after CC.EN was cleared"}},
    {stale::gpu_page, {gpu_page_rule, gpu_page_chapter, "the page table entry was cleared and the TLB was not flushed, "
        "or GL2 had a line of the page that was written back later"}},
    {stale::data_pointer_and_unit, {data_pointer_rule, data_pointer_chapter, behind_unit}},
    {stale::queue_and_unit, {queue_rule, drive_queue_chapter, behind_unit}},
    {stale::gpu_page_and_unit, {gpu_page_rule, gpu_page_chapter, behind_unit}},
});
// clang-format on

static_assert(is_complete(blocks, traces::blocks.size()), "each of traces::blocks has a row");
static_assert(is_complete(stale_mappings, traces::stale_mappings.size()), "each of traces::stale_mappings has a row");

constexpr Explanation silence{
    "a device completes the invalidations of its TLB", "PCIe 6.0 §10.3.2; VT-d \"Device-TLB Invalidation\"",
    "ATS is off in the device (or was reset by FLR), the device is gone, or the descriptor names another requester ID"};
constexpr std::string_view posted_rule = "a posted write has no completion: its requester is never told that it was "
                                         "refused, and goes on as if the bytes were there";
constexpr std::string_view posted_chapter = "PCIe 6.0 §2.2.9, §2.3.1";
constexpr auto losses = std::to_array<Row<DmaStatus>>({
    {DmaStatus::unsupported_request,
     {posted_rule, posted_chapter,
      "the bus address is not mapped for the device (dma_map missing or undone too early, see the remapping unit's "
      "fault records), is nobody's, or leads to a peer that the host does not forward to"}},
    {DmaStatus::completer_abort,
     {posted_rule, posted_chapter,
      "a port's access control has refused the request, or its target has an error of its own"}},
    {DmaStatus::timeout, {posted_rule, posted_chapter, "the memory behind the socket is gone"}},
});

} // namespace

const Explanation* explain_loss(DmaStatus status) { return find(losses, status); }
const Explanation* explain(traces::StaleMapping mapping) { return find(stale_mappings, mapping); }
const Explanation* explain(FaultReason reason) { return find(translation_faults, reason); }
const Explanation* explain(QueueError error) { return find(errors, error); }
const Explanation* explain(traces::BlockReason reason) { return find(blocks, reason); }
const Explanation& explain_silence() { return silence; }

} // namespace platform::observe::diagnostics
