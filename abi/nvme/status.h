// Status of a command: status code type << 8 | status code. NVMe base 2.0 "Status Field Definition", NVM command
// set 1.0 "Status Values". Witness: testbench/witness/nvme_numbers_test.cpp (nvme/types.h of libnvme).
#pragma once

#include "abi/named_enum.h"

namespace abi::nvme {

// clang-format off
#define ABI_NVME_STATUSES(X)                                                                        \
    X(success,                     0x000, "Successful Completion")                                  \
    X(invalid_opcode,              0x001, "Invalid Command Opcode")                                 \
    X(invalid_field,               0x002, "Invalid Field in Command")                               \
    X(command_id_conflict,         0x003, "Command ID Conflict")                                    \
    X(data_transfer_error,         0x004, "Data Transfer Error")                                    \
    X(aborted_power_loss,          0x005, "Commands Aborted due to Power Loss Notification")        \
    X(internal_error,              0x006, "Internal Error")                                         \
    X(abort_requested,             0x007, "Command Abort Requested")                                \
    X(aborted_sq_deletion,         0x008, "Command Aborted due to SQ Deletion")                     \
    X(aborted_failed_fused,        0x009, "Command Aborted due to Failed Fused Command")            \
    X(aborted_missing_fused,       0x00a, "Command Aborted due to Missing Fused Command")           \
    X(invalid_namespace,           0x00b, "Invalid Namespace or Format")                            \
    X(command_sequence_error,      0x00c, "Command Sequence Error")                                 \
    X(invalid_sgl_segment,         0x00d, "Invalid SGL Segment Descriptor")                         \
    X(invalid_sgl_count,           0x00e, "Invalid Number of SGL Descriptors")                      \
    X(invalid_data_sgl_length,     0x00f, "Data SGL Length Invalid")                                \
    X(invalid_metadata_sgl_length, 0x010, "Metadata SGL Length Invalid")                            \
    X(invalid_sgl_type,            0x011, "SGL Descriptor Type Invalid")                            \
    X(invalid_cmb_use,             0x012, "Invalid Use of Controller Memory Buffer")                \
    X(invalid_prp_offset,          0x013, "PRP Offset Invalid")                                     \
    X(atomic_write_unit_exceeded,  0x014, "Atomic Write Unit Exceeded")                             \
    X(operation_denied,            0x015, "Operation Denied")                                       \
    X(invalid_sgl_offset,          0x016, "SGL Offset Invalid")                                     \
    X(host_id_inconsistent,        0x018, "Host Identifier Inconsistent Format")                    \
    X(keep_alive_expired,          0x019, "Keep Alive Timer Expired")                               \
    X(invalid_keep_alive,          0x01a, "Keep Alive Timeout Invalid")                             \
    X(aborted_preempt,             0x01b, "Command Aborted due to Preempt and Abort")               \
    X(sanitize_failed,             0x01c, "Sanitize Failed")                                        \
    X(sanitize_in_progress,        0x01d, "Sanitize In Progress")                                   \
    X(invalid_sgl_granularity,     0x01e, "SGL Data Block Granularity Invalid")                     \
    X(namespace_write_protected,   0x020, "Namespace is Write Protected")                           \
    X(command_interrupted,         0x021, "Command Interrupted")                                    \
    X(transient_transport_error,   0x022, "Transient Transport Error")                              \
    X(admin_media_not_ready,       0x024, "Admin Command Media Not Ready")                          \
    X(lba_out_of_range,            0x080, "LBA Out of Range")                                       \
    X(capacity_exceeded,           0x081, "Capacity Exceeded")                                      \
    X(namespace_not_ready,         0x082, "Namespace Not Ready")                                    \
    X(reservation_conflict,        0x083, "Reservation Conflict")                                   \
    X(format_in_progress,          0x084, "Format In Progress")                                     \
    X(invalid_completion_queue,    0x100, "Completion Queue Invalid")                               \
    X(invalid_queue_id,            0x101, "Invalid Queue Identifier")                               \
    X(invalid_queue_size,          0x102, "Invalid Queue Size")                                     \
    X(abort_limit_exceeded,        0x103, "Abort Command Limit Exceeded")                           \
    X(event_limit_exceeded,        0x105, "Asynchronous Event Request Limit Exceeded")              \
    X(invalid_firmware_slot,       0x106, "Invalid Firmware Slot")                                  \
    X(invalid_firmware_image,      0x107, "Invalid Firmware Image")                                 \
    X(invalid_interrupt_vector,    0x108, "Invalid Interrupt Vector")                               \
    X(invalid_log_page,            0x109, "Invalid Log Page")                                       \
    X(invalid_format,              0x10a, "Invalid Format")                                         \
    X(firmware_needs_reset,        0x10b, "Firmware Activation Requires Conventional Reset")        \
    X(invalid_queue_deletion,      0x10c, "Invalid Queue Deletion")                                 \
    X(feature_not_saveable,        0x10d, "Feature Identifier Not Saveable")                        \
    X(feature_not_changeable,      0x10e, "Feature Not Changeable")                                 \
    X(feature_not_per_namespace,   0x10f, "Feature Not Namespace Specific")                         \
    X(firmware_needs_subsystem_reset, 0x110, "Firmware Activation Requires NVM Subsystem Reset")    \
    X(firmware_needs_controller_reset, 0x111, "Firmware Activation Requires Controller Level Reset") \
    X(firmware_overlap,            0x114, "Overlapping Range")                                      \
    X(insufficient_capacity,       0x115, "Namespace Insufficient Capacity")                        \
    X(namespace_id_unavailable,    0x116, "Namespace Identifier Unavailable")                       \
    X(namespace_already_attached,  0x118, "Namespace Already Attached")                             \
    X(namespace_is_private,        0x119, "Namespace Is Private")                                   \
    X(namespace_not_attached,      0x11a, "Namespace Not Attached")                                 \
    X(thin_not_supported,          0x11b, "Thin Provisioning Not Supported")                        \
    X(invalid_controller_list,     0x11c, "Controller List Invalid")                                \
    X(self_test_in_progress,       0x11d, "Device Self-test In Progress")                           \
    X(invalid_controller_id,       0x11f, "Invalid Controller Identifier")                          \
    X(command_set_not_supported,   0x129, "I/O Command Set Not Supported")                          \
    X(command_set_not_enabled,     0x12a, "I/O Command Set Not Enabled")                            \
    X(command_set_combination,     0x12b, "I/O Command Set Combination Rejected")                   \
    X(invalid_command_set,         0x12c, "Invalid I/O Command Set")                                \
    X(conflicting_attributes,      0x180, "Conflicting Attributes")                                 \
    X(invalid_protection,          0x181, "Invalid Protection Information")                         \
    X(write_to_read_only_range,    0x182, "Attempted Write to Read Only Range")                     \
    X(size_limit_exceeded,         0x183, "Command Size Limit Exceeded")                            \
    X(write_fault,                 0x280, "Write Fault")                                            \
    X(unrecovered_read_error,      0x281, "Unrecovered Read Error")                                 \
    X(guard_check_error,           0x282, "End-to-end Guard Check Error")                           \
    X(application_tag_check_error, 0x283, "End-to-end Application Tag Check Error")                 \
    X(reference_tag_check_error,   0x284, "End-to-end Reference Tag Check Error")                   \
    X(compare_failure,             0x285, "Compare Failure")                                        \
    X(access_denied,               0x286, "Access Denied")                                          \
    X(deallocated_block,           0x287, "Deallocated or Unwritten Logical Block")                 \
    X(host_path_error,             0x370, "Host Pathing Error")                                     \
    X(host_aborted,                0x371, "Command Aborted By Host")
ABI_NAMED_ENUM(Status, std::uint16_t, ABI_NVME_STATUSES)
#undef ABI_NVME_STATUSES
// clang-format on

enum class StatusType : std::uint8_t { generic = 0, command_specific = 1, media = 2, path = 3, vendor = 7 };
constexpr StatusType type_of(Status status) { return static_cast<StatusType>(static_cast<std::uint16_t>(status) >> 8); }

} // namespace abi::nvme
