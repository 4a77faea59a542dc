// What is known of the statuses that an NVMe controller ends commands with, of doorbells that it passes over, and of
// why it fails.
#include "platform/observe/diagnostics/explanation_rows.h"

namespace platform::observe::diagnostics {
namespace {

using abi::nvme::Status;

constexpr std::string_view status_chapter = "NVMe base 2.0 \"Status Code\"";
constexpr std::string_view sgl_chapter = "NVMe base 2.0 \"Scatter Gather List\"";
constexpr std::string_view queue_chapter = "NVMe base 2.0 \"Create I/O Submission Queue\", \"Create I/O Completion "
                                           "Queue\"";
constexpr std::string_view space_chapter = "NVMe base 2.0 \"Namespace Management\"";
constexpr std::string_view feature_chapter = "NVMe base 2.0 \"Set Features\"";
constexpr std::string_view sanitize_chapter = "NVMe base 2.0 \"Sanitize Operations\"";
constexpr std::string_view protection_chapter = "NVM command set 1.0 \"End-to-end Data Protection\"";
constexpr std::string_view not_here = "this controller has no such function: the status comes from elsewhere";

// clang-format off
constexpr auto statuses = std::to_array<Row<Status>>({
    {Status::invalid_opcode, {"a controller executes the commands that Identify and the effects log name",
        status_chapter, "an optional command (OACS, ONCS) was sent without a look at Identify, or an I/O command "
        "went to "
        "the admin queue or the other way round"}},
    {Status::invalid_field, {"each defined field of a command has a value that the controller supports", status_chapter,
        "a reserved value, an unknown CNS, feature or SGL where only PRPs are allowed, a transfer of more than MDTS, "
        "or a "
        "namespace that exists and is not attached"}},
    {Status::command_id_conflict, {"a command identifier is used once at a time in a queue", status_chapter,
        "the driver took a tag again before its completion had come"}},
    {Status::data_transfer_error, {"lists and data of a command can be reached by DMA", status_chapter,
        "a PRP entry or an SGL descriptor leads to memory that is not mapped for the device (dma_map missing or undone "
        "too early; see the remapping unit's faults), or the list itself is not there"}},
    {Status::aborted_power_loss, {"commands end when a loss of power is announced", status_chapter, not_here}},
    {Status::internal_error, {"a controller writes down its own state before such a command ends", status_chapter,
        "the file of the drive's state (FILE.nvme) cannot be written: no room, no right, or its folder is gone"}},
    {Status::abort_requested, {"Abort ends a command that has not been carried out", "NVMe base 2.0 \"Abort command\"",
        "the host gave up waiting for this command"}},
    {Status::aborted_sq_deletion, {"commands of a submission queue end before its deletion does",
        "NVMe base 2.0 \"Delete I/O Submission Queue\"", "the queue was deleted with commands under way"}},
    {Status::aborted_failed_fused, {"the second command of a fused pair is executed if the first one ends well",
        "NVMe base 2.0 \"Fused Operations\"", "the Compare in front of it failed: its own paragraph or completion says "
        "why"}},
    {Status::aborted_missing_fused, {"the two commands of a fused pair are adjacent entries of one queue, FUSE 01b and "
        "then 10b", "NVMe base 2.0 \"Fused Operations\"", "another command came in between (two threads share the "
        "queue without a lock), one of the pair was aborted, or FUSE is set in a command that stands alone"}},
    {Status::invalid_namespace, {"a namespace identifier is between 1 and NN, or ffffffff where the command takes that",
        status_chapter, "NSID is 0 or beyond NN, or ffffffff in a command about one namespace"}},
    {Status::command_sequence_error, {"commands come in an order that the controller can follow", status_chapter,
        "Set Features 07h (number of queues) was sent after I/O queues had been created"}},
    {Status::invalid_sgl_segment, {"a segment has a whole number of descriptors, of which the last one leads on or "
        "ends "
        "the list", sgl_chapter, "its length is 0 or no multiple of 16, its address is not aligned, or a last segment "
        "has a segment behind it"}},
    {Status::invalid_sgl_count, {"a segment descriptor stands last in its segment", sgl_chapter, "descriptors follow "
        "behind it, or the list has more of them than one command may have"}},
    {Status::invalid_data_sgl_length, {"the data blocks of an SGL have as many bytes as the command transfers",
        sgl_chapter, "NLB was counted one-based, metadata of extended blocks was left out, or the list is too short"}},
    {Status::invalid_metadata_sgl_length, {"the SGL of the metadata has as many bytes as the blocks have metadata",
        sgl_chapter, "the number of blocks times the format's MS is not what the list has"}},
    {Status::invalid_sgl_type, {"descriptors have types and subtypes that SGLS names", sgl_chapter, "PSDT says SGL and "
        "the command has PRPs, a bit bucket stands in a list that takes none, or a subtype with offsets or keys came"}},
    {Status::invalid_cmb_use, {"a queue, the lists of a command, and its data with metadata lie each wholly inside "
        "of the "
        "controller memory buffer, for what CMBSZ says, or wholly outside", "NVMe base 2.0 \"Controller Memory "
        "Buffer\"",
        "data or a list crosses an end of the buffer, data lies partly in it, or CMBSZ lacks the use (SQS, CQS, LISTS, "
        "RDS, WDS)"}},
    {Status::invalid_prp_offset, {"PRP1 is a dword address; other PRP entries and bases of queues are page "
        "addresses, a "
        "list stands at a qword", "NVMe base 2.0 \"Physical Region Page Entry and List\"", "the buffer was split at "
        "another page size than CC.MPS, or an offset was added to an entry that is not the first"}},
    {Status::atomic_write_unit_exceeded, {"a write is not larger than AWUN where that was asked for", status_chapter,
        not_here}},
    {Status::operation_denied, {"the host has the right to the operation", status_chapter, not_here}},
    {Status::invalid_sgl_offset, {"the offset of a descriptor lies in the capsule", sgl_chapter, not_here}},
    {Status::host_id_inconsistent, {"host identifiers have one size in a subsystem", status_chapter, not_here}},
    {Status::keep_alive_expired, {"Keep Alive comes in time", status_chapter, not_here}},
    {Status::invalid_keep_alive, {"the keep alive timeout is one that the controller has", status_chapter, not_here}},
    {Status::aborted_preempt, {"reservations preempt commands", status_chapter, not_here}},
    {Status::sanitize_failed, {"after a failed sanitize operation only its recovery is executed", sanitize_chapter,
        "the medium failed under it: another Sanitize, or Exit Failure Mode where AUSE was set, leads out"}},
    {Status::sanitize_in_progress, {"while a sanitize operation runs, no I/O and few admin commands are executed",
        sanitize_chapter, "log 81h says how far it is; the event of type 6 comes at its end"}},
    {Status::invalid_sgl_granularity, {"data blocks have addresses and lengths in dwords where SGLS says so",
        sgl_chapter, "a buffer of a user went into the list as it is"}},
    {Status::namespace_write_protected, {"a namespace that is write protected is not changed, formatted or deleted",
        "NVMe base 2.0 \"Namespace Write Protection\"", "feature 84h was set (nvme get-feature -f 0x84)"}},
    {Status::command_interrupted, {"a command that was interrupted is sent again", status_chapter, not_here}},
    {Status::transient_transport_error, {"the transport is there", status_chapter, not_here}},
    {Status::admin_media_not_ready, {"an admin command that needs media waits until they are ready", status_chapter,
        not_here}},
    {Status::lba_out_of_range, {"all blocks of a command are below NSZE", "NVM command set 1.0 \"Status Values\"",
        "sectors of 512 bytes were taken for blocks of 4096, the namespace was formatted or replaced since, or NLB "
        "(zero-based) has one too many"}},
    {Status::capacity_exceeded, {"a write finds room", "NVM command set 1.0 \"Status Values\"", "the file system that "
        "holds the drive's file is full"}},
    {Status::namespace_not_ready, {"a namespace is ready", status_chapter, not_here}},
    {Status::reservation_conflict, {"the host holds the reservation", status_chapter, not_here}},
    {Status::format_in_progress, {"no command runs beside a Format of its namespace", status_chapter, not_here}},
    {Status::invalid_completion_queue, {"the completion queue of a submission queue exists before it, and is not "
        "queue 0",
        queue_chapter, "Create CQ is missing or failed, or CQID is wrong"}},
    {Status::invalid_queue_id, {"an identifier is between 1 and the number that Set Features 07h gave, free to create "
        "and in use to delete", queue_chapter, "the queue exists already (it is left from before: disable the "
        "controller "
        "first), or fewer queues were granted than the driver uses"}},
    {Status::invalid_queue_size, {"a queue has 2 to MQES + 1 entries, of the sizes that CC.IOSQES and CC.IOCQES say",
        queue_chapter, "QSIZE is zero-based, or CC has 0 for the sizes of entries (64 bytes: 6, 16 bytes: 4)"}},
    {Status::abort_limit_exceeded, {"no more Aborts are outstanding than ACL + 1", status_chapter, not_here}},
    {Status::event_limit_exceeded, {"no more event requests are outstanding than AERL + 1",
        "NVMe base 2.0 \"Asynchronous Event Request\"", "the driver sends a request at each reset without one being "
        "lost: "
        "requests end with the controller's reset only"}},
    {Status::invalid_firmware_slot, {"a firmware slot exists", status_chapter, not_here}},
    {Status::invalid_firmware_image, {"a firmware image is valid", status_chapter, not_here}},
    {Status::invalid_interrupt_vector, {"a vector is one of the MSI-X table", queue_chapter, "IV is beyond what the "
        "function has (its capability says how many), or interrupts were counted one-based"}},
    {Status::invalid_log_page, {"a log page is one of those that log 00h names", "NVMe base 2.0 \"Get Log Page\"",
        "an optional page (LPA) was read without a look at Identify"}},
    {Status::invalid_format, {"a format of logical blocks is one of NLBAF + 1, with room for its protection "
        "information",
        "NVMe base 2.0 \"Format NVM\"", "LBAF is too large, or PI was asked for a format without 8 bytes of metadata"}},
    {Status::firmware_needs_reset, {"an image is active after a reset", status_chapter, not_here}},
    {Status::invalid_queue_deletion, {"a completion queue is deleted after the submission queues that use it",
        "NVMe base 2.0 \"Delete I/O Completion Queue\"", "the driver deletes queues in the wrong order, or a deletion "
        "before failed"}},
    {Status::feature_not_saveable, {"SV is set for features that can be saved", feature_chapter, "Get Features with "
        "SEL 3 "
        "says which can"}},
    {Status::feature_not_changeable, {"a feature can be changed now", feature_chapter, "write protection until a power "
        "cycle, or permanent, does not end before"}},
    {Status::feature_not_per_namespace, {"a feature of the controller is set without a namespace", feature_chapter,
        "NSID is set, as tools do that are called with the node of a namespace"}},
    {Status::firmware_needs_subsystem_reset, {"an image is active after a reset", status_chapter, not_here}},
    {Status::firmware_needs_controller_reset, {"an image is active after a reset", status_chapter, not_here}},
    {Status::firmware_overlap, {"pieces of an image do not overlap", status_chapter, not_here}},
    {Status::insufficient_capacity, {"a namespace fits into the capacity that is left (UNVMCAP)", space_chapter,
        "NSZE counts blocks of the format, with their metadata; or the host of the simulator has no room for its "
        "file"}},
    {Status::namespace_id_unavailable, {"there are at most NN namespaces", space_chapter, "delete one first"}},
    {Status::namespace_already_attached, {"a namespace is attached once", space_chapter, "it was attached before"}},
    {Status::namespace_is_private, {"a private namespace is attached to one controller", space_chapter, not_here}},
    {Status::namespace_not_attached, {"a namespace that is detached was attached", space_chapter,
        "a namespace that was just created is not attached yet"}},
    {Status::thin_not_supported, {"NCAP equals NSZE where NSFEAT has no thin provisioning", space_chapter,
        "capacity and size of the new namespace differ"}},
    {Status::invalid_controller_list, {"a controller list names controllers of the subsystem, ascending", space_chapter,
        "this subsystem has one, whose identifier (CNTLID) is 0: the list is {1, 0}"}},
    {Status::self_test_in_progress, {"one self-test runs at a time", "NVMe base 2.0 \"Device Self-test\"",
        "the one before has not ended; log 06h says how far it is, code fh aborts it"}},
    {Status::invalid_controller_id, {"a controller identifier is one of the subsystem's", status_chapter, not_here}},
    {Status::command_set_not_supported, {"the command set is supported", status_chapter, not_here}},
    {Status::command_set_not_enabled, {"the command set is enabled", status_chapter, not_here}},
    {Status::command_set_combination, {"the combination of command sets is one of those there are", status_chapter,
        not_here}},
    {Status::invalid_command_set, {"CSI names a command set of the controller", "NVMe base 2.0 \"Identify\"",
        "this controller has the NVM command set alone, CSI 0"}},
    {Status::conflicting_attributes, {"attributes of Dataset Management do not conflict",
        "NVM command set 1.0 \"Dataset Management\"", not_here}},
    {Status::invalid_protection, {"PRINFO fits the namespace: none is checked where there is none, and types 1 and 2 "
        "have "
        "the reference tag that the range begins with", protection_chapter, "ILBRT is not the low part of SLBA, or the "
        "command asks for checks on a namespace without protection information"}},
    {Status::write_to_read_only_range, {"no write goes to a range that is read only", status_chapter, not_here}},
    {Status::size_limit_exceeded, {"a command is within the limits of Identify: DMRL, DMRSL, DMSL, VSL, WZSL, WUSL, "
        "MSSRL, "
        "MCL, MSRC", "NVM command set 1.0 \"Identify Controller\"", "CNS 06h or the copy limits of CNS 00h were not "
        "looked at"}},
    {Status::write_fault, {"the medium takes what is written", status_chapter, "the file of the drive cannot be "
        "written, "
        "an earlier fdatasync() failed, or a test's medium was told to fail"}},
    {Status::unrecovered_read_error, {"a block can be read", status_chapter, "it was marked by Write Uncorrectable "
        "and not "
        "written since, the file of the drive is shorter by now, or a test's medium was told to fail"}},
    {Status::guard_check_error, {"the guard of a block is the CRC of its data", protection_chapter, "data changed "
        "between "
        "host and medium, the host took another CRC or byte order, or wrote the block without protection before"}},
    {Status::application_tag_check_error, {"the application tag of a block is the expected one under its mask",
        protection_chapter, "LBAT and LBATM are those of another writer"}},
    {Status::reference_tag_check_error, {"the reference tag of a block is that of its place", protection_chapter,
        "a block was read at another address than it was written to, or tags were made with 512-byte sectors"}},
    {Status::compare_failure, {"Compare ends well where all bytes are equal", "NVM command set 1.0 \"Compare\"",
        "the blocks are others: that may be what the host wanted to know"}},
    {Status::access_denied, {"the host may access the blocks", status_chapter, not_here}},
    {Status::deallocated_block, {"with DULBE blocks are read that were written", "NVM command set 1.0 \"Deallocated or "
        "Unwritten Logical Blocks\"", "the block was never written, or deallocated, and feature 05h reports that"}},
    {Status::host_path_error, {"a host reaches the controller", status_chapter, "the connection to a target was lost: "
        "a host gives this status itself"}},
    {Status::host_aborted, {"a command of a host that gives its connection up ends", status_chapter,
        "the host was reset or disconnected with the command under way"}},
});

constexpr std::string_view doorbell_chapter = "NVMe base 2.0 \"Asynchronous Event Information - Error Status\"; NVMe "
                                              "over PCIe transport 1.0 \"Doorbells\"";
constexpr auto nvme_doorbells = std::to_array<Row<traces::DoorbellMistake>>({
    {"no such queue", {"a doorbell is rung of a queue that exists", doorbell_chapter, "the queue is deleted, its "
        "Create "
        "failed, or the offset was made with another stride than CAP.DSTRD"}},
    {"the value is no entry of the queue", {"tail and head are below the number of entries of the queue",
        doorbell_chapter, "the index was not wrapped, or QSIZE was taken for one-based at its creation"}},
    {"the tail takes entries back", {"a tail moves forward, by no more entries than are free", doorbell_chapter,
        "two threads ring without a lock and the later tail came first, more commands were placed than the queue has "
        "room for, or the shadow page has an old value from before the queue was created"}},
    {"the head passes completions that are not there", {"a head moves to at most the entry behind the last completion",
        doorbell_chapter, "an entry was taken for new by its content and not by its phase, or the queue's memory was "
        "not "
        "zeroed before it was created"}},
});

constexpr auto failures = std::to_array<Row<traces::ControllerFailure>>({
    {"it was enabled with what it does not support", {"CC has a page size within MPSMIN and MPSMAX, a command set "
        "and an "
        "arbitration that CAP has; AQA has sizes; ASQ and ACQ are page addresses", "NVMe base 2.0 \"Controller "
        "Initialization\"", "CC.EN was set before AQA, ASQ and ACQ were written, or MPS or CSS is wrong; clear EN and "
        "begin anew"}},
    {"a submission queue cannot be read", {"the memory of a queue stays there as long as the queue does",
        "NVMe base 2.0 \"Controller Status\" (CFS)", "the ring was freed or unmapped before its queue was deleted or "
        "the "
        "controller disabled, bus mastering is off, or the base address was wrong from the begin"}},
    {"a completion queue cannot be written", {"the memory of a queue stays there as long as the queue does",
        "NVMe base 2.0 \"Controller Status\" (CFS)", "the ring was freed or unmapped before its queue was deleted or "
        "the "
        "controller disabled, or it was mapped for reading only"}},
    {"a shadow doorbell cannot be reached", {"both pages of Doorbell Buffer Config stay there until a reset",
        "NVMe base 2.0 \"Doorbell Buffer Config command\"", "a page was freed or unmapped with the controller "
        "enabled"}},
});
// clang-format on

static_assert(is_complete(nvme_doorbells, traces::doorbell_mistakes.size()),
              "each of traces::doorbell_mistakes has a row");
static_assert(is_complete(failures, traces::controller_failures.size()), "each of traces::controller_failures has one");

} // namespace

const Explanation* explain(Status status) { return find(statuses, status); }
const Explanation* explain(traces::DoorbellMistake mistake) { return find(nvme_doorbells, mistake); }
const Explanation* explain(traces::ControllerFailure failure) { return find(failures, failure); }

} // namespace platform::observe::diagnostics
