// Opcodes of commands. NVMe base 2.0 "Admin Command Set", NVM command set 1.0 "NVM Command Set Commands". The two
// lowest bits say which way data goes: 0 none, 1 to the controller, 2 from it, 3 both. Witness:
// testbench/witness/nvme_numbers_test.cpp (nvme/types.h of libnvme).
#pragma once

#include "abi/named_enum.h"

namespace abi::nvme {

// clang-format off
#define ABI_NVME_ADMIN_OPCODES(X)                                     \
    X(delete_sq,              0x00, "Delete I/O Submission Queue")    \
    X(create_sq,              0x01, "Create I/O Submission Queue")    \
    X(get_log_page,           0x02, "Get Log Page")                   \
    X(delete_cq,              0x04, "Delete I/O Completion Queue")    \
    X(create_cq,              0x05, "Create I/O Completion Queue")    \
    X(identify,               0x06, "Identify")                       \
    X(abort,                  0x08, "Abort")                          \
    X(set_features,           0x09, "Set Features")                   \
    X(get_features,           0x0a, "Get Features")                   \
    X(async_event_request,    0x0c, "Asynchronous Event Request")     \
    X(namespace_management,   0x0d, "Namespace Management")           \
    X(firmware_commit,        0x10, "Firmware Commit")                \
    X(firmware_download,      0x11, "Firmware Image Download")        \
    X(device_self_test,       0x14, "Device Self-test")               \
    X(namespace_attachment,   0x15, "Namespace Attachment")           \
    X(keep_alive,             0x18, "Keep Alive")                     \
    X(directive_send,         0x19, "Directive Send")                 \
    X(directive_receive,      0x1a, "Directive Receive")              \
    X(virtualization,         0x1c, "Virtualization Management")      \
    X(mi_send,                0x1d, "NVMe-MI Send")                   \
    X(mi_receive,             0x1e, "NVMe-MI Receive")                \
    X(doorbell_buffer_config, 0x7c, "Doorbell Buffer Config")         \
    X(fabrics,                0x7f, "Fabrics")                        \
    X(format_nvm,             0x80, "Format NVM")                     \
    X(security_send,          0x81, "Security Send")                  \
    X(security_receive,       0x82, "Security Receive")               \
    X(sanitize,               0x84, "Sanitize")                       \
    X(get_lba_status,         0x86, "Get LBA Status")
ABI_NAMED_ENUM(AdminOpcode, std::uint8_t, ABI_NVME_ADMIN_OPCODES)
#undef ABI_NVME_ADMIN_OPCODES

#define ABI_NVME_IO_OPCODES(X)                                        \
    X(flush,                  0x00, "Flush")                          \
    X(write,                  0x01, "Write")                          \
    X(read,                   0x02, "Read")                           \
    X(write_uncorrectable,    0x04, "Write Uncorrectable")            \
    X(compare,                0x05, "Compare")                        \
    X(write_zeroes,           0x08, "Write Zeroes")                   \
    X(dataset_management,     0x09, "Dataset Management")             \
    X(verify,                 0x0c, "Verify")                         \
    X(reservation_register,   0x0d, "Reservation Register")           \
    X(reservation_report,     0x0e, "Reservation Report")             \
    X(reservation_acquire,    0x11, "Reservation Acquire")            \
    X(reservation_release,    0x15, "Reservation Release")            \
    X(copy,                   0x19, "Copy")
ABI_NAMED_ENUM(IoOpcode, std::uint8_t, ABI_NVME_IO_OPCODES)
#undef ABI_NVME_IO_OPCODES
// clang-format on

} // namespace abi::nvme
