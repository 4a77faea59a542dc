// What Get Log Page returns. NVMe base 2.0 "Log pages". Little endian.
// Witness: testbench/witness/nvme_test.cpp (nvme/types.h of libnvme).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace abi::nvme {

// clang-format off
#define ABI_NVME_LOGS(X)                                              \
    X(supported,           0x00, "supported log pages")               \
    X(error,               0x01, "error information")                 \
    X(smart,               0x02, "SMART / health information")        \
    X(firmware_slot,       0x03, "firmware slot information")         \
    X(changed_namespaces,  0x04, "changed namespace list")            \
    X(command_effects,     0x05, "commands supported and effects")    \
    X(self_test,           0x06, "device self-test")                  \
    X(telemetry_host,      0x07, "telemetry, host-initiated")         \
    X(telemetry_controller, 0x08, "telemetry, controller-initiated")  \
    X(endurance_group,     0x09, "endurance group information")       \
    X(persistent_event,    0x0d, "persistent event")                  \
    X(feature_effects,     0x12, "feature identifiers and effects")   \
    X(reservation,         0x80, "reservation notification")          \
    X(sanitize,            0x81, "sanitize status")
ABI_NAMED_ENUM(LogPage, std::uint8_t, ABI_NVME_LOGS)
#undef ABI_NVME_LOGS

/// One of 256 of the log of supported pages.
using SupportedLog = LittleLayout<"nvme_supported_log", 4,
    Bits<"lsupp",     0x0,  0,  0, bool>,
    Bits<"ios",       0x0,  1,  1, bool>,
    Bits<"specific",  0x0, 31, 16>>;

/// An entry of the error log; the newest stands first, and a count of 0 says that there is none.
using ErrorEntry = LittleLayout<"nvme_error_entry", 64,
    U64 <"count",     0>,
    U16 <"sqid",      8>,
    U16 <"cid",       10>,
    U16 <"status",    12>,        // as the upper half of dword 3 of the completion
    U16 <"parameter", 14>,        // byte 7:0 and bit 10:8 of the command; ffff: none
    U64 <"lba",       16>,
    U32 <"nsid",      24>,
    U8  <"vs",        28>,
    U8  <"trtype",    29>,
    U8  <"csi",       30>,
    U8  <"opcode",    31>,
    U64 <"cs",        32>,
    U16 <"trtype_spec", 40>,
    U8  <"version",   63>>;
inline constexpr std::uint16_t no_parameter = 0xffff; ///< of a command that has none to blame

using SmartLog = LittleLayout<"nvme_smart_log", 512,
    U8  <"critical_warning", 0>,  // bit 0 spare, 1 temperature, 2 reliability, 3 read only, 4 backup, 5 PMR
    U16 <"temperature",      1>,  // kelvin
    U8  <"avail_spare",      3>,
    U8  <"spare_thresh",     4>,
    U8  <"percent_used",     5>,
    U8  <"endu_grp_crit_warn_sumry", 6>,
    U64 <"data_units_read",    32>, // of 1000 blocks of 512 bytes, rounded up; as those below, with upper halves of 0
    U64 <"data_units_written", 48>,
    U64 <"host_reads",         64>,
    U64 <"host_writes",        80>,
    U64 <"ctrl_busy_time",     96>, // minutes
    U64 <"power_cycles",      112>,
    U64 <"power_on_hours",    128>,
    U64 <"unsafe_shutdowns",  144>,
    U64 <"media_errors",      160>,
    U64 <"num_err_log_entries", 176>,
    U32 <"warning_temp_time", 192>,
    U32 <"critical_comp_time", 196>,
    U16 <"temp_sensor0",      200>>; // 8 of them

using FirmwareSlotLog = LittleLayout<"nvme_firmware_slot_log", 512,
    Bits<"active",    0x0,  2,  0>,
    Bits<"next",      0x0,  6,  4>,
    Raw <"frs1",      8, 8>>;     // 7 of them, ASCII

/// 256 entries for admin commands, then 256 for I/O commands.
using CommandEffect = LittleLayout<"nvme_command_effect", 4,
    Bits<"csupp",     0x0,  0,  0, bool>,
    Bits<"lbcc",      0x0,  1,  1, bool>, // logical block content may change
    Bits<"ncc",       0x0,  2,  2, bool>, // namespace capability
    Bits<"nic",       0x0,  3,  3, bool>, // namespace inventory
    Bits<"ccc",       0x0,  4,  4, bool>, // controller capability
    Bits<"cser",      0x0, 15, 14>,
    Bits<"cse",       0x0, 18, 16>,       // 1: alone in its namespace, 2: alone
    Bits<"uuid",      0x0, 19, 19, bool>>;
inline constexpr std::size_t effects_bytes = 4096, io_effects_offset = 1024;

using SelfTestResult = LittleLayout<"nvme_self_test_result", 28,
    Bits<"result",    0x0,  3,  0>,       // f: the entry is not used
    Bits<"code",      0x0,  7,  4>,
    U8  <"seg",       1>,
    U8  <"vdi",       2>,                 // bit 0 nsid, 1 flba, 2 sct, 3 sc are valid
    U64 <"poh",       4>,
    U32 <"nsid",      12>,
    U64 <"flba",      16>,
    U8  <"sct",       24>,
    U8  <"sc",        25>,
    U16 <"vs",        26>>;
using SelfTestLog = LittleLayout<"nvme_self_test_log", 564,
    Bits<"current_operation",  0x0,  3,  0>,
    Bits<"completion_percent", 0x0, 14,  8>,
    Sub <"result0",   4, SelfTestResult>>; // 20 of them, the newest first
inline constexpr std::size_t self_test_results = 20;

using TelemetryLog = LittleLayout<"nvme_telemetry_log", 512,
    U8  <"lpi",       0>,
    Raw <"ieee",      5, 3>,
    U16 <"dalb1",     8>,
    U16 <"dalb2",     10>,
    U16 <"dalb3",     12>,
    U32 <"dalb4",     16>,
    U8  <"ths",       380>,               // host-initiated: scope
    U8  <"hostdgn",   381>,
    U8  <"ctrlavail", 382>,
    U8  <"ctrldgn",   383>,
    Raw <"rsnident",  384, 128>>;

using SanitizeLog = LittleLayout<"nvme_sanitize_log", 512,
    U16 <"sprog",     0>,                 // of 65536; ffff: none under way
    Bits<"status",    0x0, 18, 16>,       // 0 never, 1 done, 2 under way, 3 failed, 4 done and deallocated unasked
    Bits<"passes",    0x0, 23, 19>,       // of an overwrite that are completed
    Bits<"erased",    0x0, 24, 24, bool>, // nothing was written since
    U32 <"scdw10",    4>,
    U32 <"eto",       8>,                 // seconds; ffffffff: not said
    U32 <"etbe",      12>,
    U32 <"etce",      16>,
    U32 <"etond",     20>,
    U32 <"etbend",    24>,
    U32 <"etcend",    28>>;
// clang-format on

} // namespace abi::nvme
