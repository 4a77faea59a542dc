// Submission queue entries, as each command has them. NVMe base 2.0 "Submission Queue Entry" and the command's own
// chapter, NVM command set 1.0. Little endian, 64 bytes. Fields that every command has stand in `Command` only.
// Witness: testbench/witness/nvme_test.cpp (linux/nvme_ioctl.h of the kernel, nvme/types.h of libnvme).
#pragma once

#include "abi/layout.h"
#include "abi/nvme/opcode.h"
#include "abi/nvme/sgl.h"

namespace abi::nvme {

inline constexpr std::size_t command_bytes = 64;
/// Where the SGL descriptor of a command stands, in the place of both PRP entries.
inline constexpr std::size_t sgl1_offset = 24;
inline constexpr std::uint32_t all_namespaces = 0xffff'ffff;
/// FUSE of the two commands of a pair; 0: alone.
inline constexpr std::uint32_t fused_first = 1, fused_second = 2;

// clang-format off
using Command = LittleLayout<"nvme_command", 64,
    Bits<"opcode", 0x00,  7,  0, std::uint8_t>,
    Bits<"fuse",   0x00,  9,  8>,
    Bits<"psdt",   0x00, 15, 14, DataPointerType>,
    Bits<"cid",    0x00, 31, 16, std::uint16_t>,
    U32 <"nsid",   0x04>,
    U32 <"cdw2",   0x08>,
    U32 <"cdw3",   0x0c>,
    U64 <"mptr",   0x10>,
    U64 <"prp1",   0x18>,
    U64 <"prp2",   0x20>,
    U32 <"cdw10",  0x28>,
    U32 <"cdw11",  0x2c>,
    U32 <"cdw12",  0x30>,
    U32 <"cdw13",  0x34>,
    U32 <"cdw14",  0x38>,
    U32 <"cdw15",  0x3c>>;

/// Read, Write, Compare, Verify, Write Zeroes, Write Uncorrectable.
using ReadWrite = LittleLayout<"nvme_read_write", 64,
    U32 <"elbt_upper", 0x0c>,               // of 64-bit guards: upper bits of storage and reference tag
    U64 <"slba",   0x28>,
    Bits<"nlb",    0x30, 15,  0>,           // zero-based
    Bits<"stc",    0x30, 24, 24, bool>,     // storage tag check
    Bits<"deac",   0x30, 25, 25, bool>,     // Write Zeroes: deallocate
    Bits<"prchk_reference",   0x30, 26, 26, bool>,
    Bits<"prchk_application", 0x30, 27, 27, bool>,
    Bits<"prchk_guard",       0x30, 28, 28, bool>,
    Bits<"pract",  0x30, 29, 29, bool>,     // the controller makes and removes protection information
    Bits<"fua",    0x30, 30, 30, bool>,
    Bits<"lr",     0x30, 31, 31, bool>,     // limited retry
    U32 <"dsm",    0x34>,
    U32 <"ilbrt",  0x38>,                   // initial reference tag
    U16 <"lbat",   0x3c>,
    U16 <"lbatm",  0x3e>>;

using DatasetManagement = LittleLayout<"nvme_dsm", 64,
    Bits<"nr",     0x28,  7,  0>,           // ranges, zero-based
    Bits<"idr",    0x2c,  0,  0, bool>,
    Bits<"idw",    0x2c,  1,  1, bool>,
    Bits<"ad",     0x2c,  2,  2, bool>>;
using DsmRange = LittleLayout<"nvme_dsm_range", 16,
    U32 <"cattr",  0x00>,
    U32 <"nlb",    0x04>,                   // one-based
    U64 <"slba",   0x08>>;

using Copy = LittleLayout<"nvme_copy", 64,
    U64 <"sdlba",  0x28>,
    Bits<"nr",     0x30,  7,  0>,           // source ranges, zero-based
    Bits<"format", 0x30, 11,  8>,
    Bits<"read_prchk_reference",    0x30, 12, 12, bool>, // of what is read; as those of Read
    Bits<"read_prchk_application",  0x30, 13, 13, bool>,
    Bits<"read_prchk_guard",        0x30, 14, 14, bool>,
    Bits<"read_pract",              0x30, 15, 15, bool>,
    Bits<"write_stc",  0x30, 24, 24, bool>, // of what is written
    Bits<"read_stc",   0x30, 25, 25, bool>,
    Bits<"write_prchk_reference",   0x30, 26, 26, bool>,
    Bits<"write_prchk_application", 0x30, 27, 27, bool>,
    Bits<"write_prchk_guard",       0x30, 28, 28, bool>,
    Bits<"write_pract",             0x30, 29, 29, bool>,
    Bits<"fua",    0x30, 30, 30, bool>,
    Bits<"lr",     0x30, 31, 31, bool>>;
/// Source range of descriptor format 0.
using CopyRange = LittleLayout<"nvme_copy_range", 32,
    U64 <"slba",   0x08>,
    U16 <"nlb",    0x10>,                   // zero-based
    U32 <"eilbrt", 0x18>,
    U16 <"elbat",  0x1c>,
    U16 <"elbatm", 0x1e>>;
/// Source range of descriptor format 1, for guards of 32 and 64 bits.
using CopyRangeWide = LittleLayout<"nvme_copy_range_wide", 40,
    U64 <"slba",   0x08>,
    U16 <"nlb",    0x10>,                   // zero-based
    Raw <"elbt",   0x1a, 10>,               // storage and reference tag, big endian
    U16 <"elbat",  0x24>,
    U16 <"elbatm", 0x26>>;

using DeleteQueue = LittleLayout<"nvme_delete_queue", 64,
    U16 <"qid",    0x28>>;
using CreateCq = LittleLayout<"nvme_create_cq", 64,
    U64 <"prp1",   0x18>,
    U16 <"qid",    0x28>,
    U16 <"qsize",  0x2a>,                   // zero-based
    Bits<"pc",     0x2c,  0,  0, bool>,     // physically contiguous
    Bits<"ien",    0x2c,  1,  1, bool>,
    Bits<"iv",     0x2c, 31, 16, std::uint16_t>>;
using CreateSq = LittleLayout<"nvme_create_sq", 64,
    U64 <"prp1",   0x18>,
    U16 <"qid",    0x28>,
    U16 <"qsize",  0x2a>,                   // zero-based
    Bits<"pc",     0x2c,  0,  0, bool>,
    Bits<"qprio",  0x2c,  2,  1>,           // 0 urgent, 1 high, 2 medium, 3 low
    Bits<"cqid",   0x2c, 31, 16, std::uint16_t>,
    U16 <"nvmsetid", 0x30>>;

using Identify = LittleLayout<"nvme_identify", 64,
    Bits<"cns",    0x28,  7,  0, std::uint8_t>,
    Bits<"cntid",  0x28, 31, 16, std::uint16_t>,
    Bits<"cnssid", 0x2c, 15,  0>,
    Bits<"csi",    0x2c, 31, 24, std::uint8_t>,
    Bits<"uidx",   0x38,  6,  0>>;

using GetLogPage = LittleLayout<"nvme_get_log_page", 64,
    Bits<"lid",    0x28,  7,  0, std::uint8_t>,
    Bits<"lsp",    0x28, 14,  8, std::uint8_t>,
    Bits<"rae",    0x28, 15, 15, bool>,     // retain the asynchronous event
    Bits<"numdl",  0x28, 31, 16>,           // dwords, zero-based
    Bits<"numdu",  0x2c, 15,  0>,
    Bits<"lsi",    0x2c, 31, 16>,
    U64 <"lpo",    0x30>,                   // bytes
    Bits<"uidx",   0x38,  6,  0>,
    Bits<"ot",     0x38, 23, 23, bool>,
    Bits<"csi",    0x38, 31, 24, std::uint8_t>>;

using Features = LittleLayout<"nvme_features", 64,
    Bits<"fid",    0x28,  7,  0, std::uint8_t>,
    Bits<"sel",    0x28, 10,  8>,           // Get: 0 current, 1 default, 2 saved, 3 supported capabilities
    Bits<"sv",     0x28, 31, 31, bool>,     // Set: save
    U32 <"cdw11",  0x2c>,
    U32 <"cdw12",  0x30>,
    U32 <"cdw13",  0x34>,
    U32 <"cdw14",  0x38>,
    U32 <"cdw15",  0x3c>>;

using Abort = LittleLayout<"nvme_abort", 64,
    U16 <"sqid",   0x28>,
    U16 <"cid",    0x2a>>;

using FirmwareDownload = LittleLayout<"nvme_firmware_download", 64,
    U32 <"numd",   0x28>,                   // dwords, zero-based
    U32 <"ofst",   0x2c>>;                  // dwords
using FirmwareCommit = LittleLayout<"nvme_firmware_commit", 64,
    Bits<"fs",     0x28,  2,  0>,
    Bits<"ca",     0x28,  5,  3>,
    Bits<"bpid",   0x28, 31, 31>>;

using FormatNvm = LittleLayout<"nvme_format", 64,
    Bits<"lbafl",  0x28,  3,  0>,
    Bits<"mset",   0x28,  4,  4, bool>,     // metadata as part of an extended LBA
    Bits<"pi",     0x28,  7,  5>,
    Bits<"pil",    0x28,  8,  8, bool>,     // protection information first
    Bits<"ses",    0x28, 11,  9>,           // 0 none, 1 user data erase, 2 cryptographic
    Bits<"lbafu",  0x28, 13, 12>>;

using NamespaceManagement = LittleLayout<"nvme_namespace_management", 64,
    Bits<"sel",    0x28,  3,  0>,           // 0 create, 1 delete
    Bits<"csi",    0x2c, 31, 24, std::uint8_t>>;
using NamespaceAttachment = LittleLayout<"nvme_namespace_attachment", 64,
    Bits<"sel",    0x28,  3,  0>>;          // 0 attach, 1 detach

using DeviceSelfTest = LittleLayout<"nvme_self_test", 64,
    Bits<"stc",    0x28,  3,  0>>;          // 1 short, 2 extended, 0xf abort
using Sanitize = LittleLayout<"nvme_sanitize", 64,
    Bits<"sanact", 0x28,  2,  0>,           // 1 exit failure mode, 2 block erase, 3 overwrite, 4 cryptographic erase
    Bits<"ause",   0x28,  3,  3, bool>,
    Bits<"owpass", 0x28,  7,  4>,
    Bits<"oipbp",  0x28,  8,  8, bool>,
    Bits<"no_deallocate", 0x28, 9, 9, bool>,
    U32 <"ovrpat", 0x2c>>;
// clang-format on

} // namespace abi::nvme
