// Controller properties at the begin of BAR 0, and the doorbells behind them. NVMe base 2.0 "Controller Properties",
// NVMe over PCIe transport 1.0 "Doorbell". Little endian. Registers of 64 bits may be accessed as two dwords, in any
// order. Witness: testbench/witness/nvme_test.cpp (nvme/types.h of libnvme).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace abi::nvme {

// clang-format off
#define ABI_NVME_REGISTERS(X)                                  \
    X(cap,     0x00, "controller capabilities")                \
    X(vs,      0x08, "version")                                \
    X(intms,   0x0c, "interrupt mask set")                     \
    X(intmc,   0x10, "interrupt mask clear")                   \
    X(cc,      0x14, "controller configuration")               \
    X(csts,    0x1c, "controller status")                      \
    X(nssr,    0x20, "subsystem reset")                        \
    X(aqa,     0x24, "admin queue attributes")                 \
    X(asq,     0x28, "admin submission queue base address")    \
    X(acq,     0x30, "admin completion queue base address")    \
    X(cmbloc,  0x38, "controller memory buffer location")      \
    X(cmbsz,   0x3c, "controller memory buffer size")          \
    X(bpinfo,  0x40, "boot partition information")             \
    X(bprsel,  0x44, "boot partition read select")             \
    X(bpmbl,   0x48, "boot partition memory buffer location")  \
    X(cmbmsc,  0x50, "controller memory buffer space control") \
    X(cmbsts,  0x58, "controller memory buffer status")        \
    X(crto,    0x68, "controller ready timeouts")              \
    X(pmrcap,  0xe00, "persistent memory region capabilities")
ABI_NAMED_ENUM(Register, std::uint32_t, ABI_NVME_REGISTERS)
#undef ABI_NVME_REGISTERS

/// All of them up to the first register of the persistent memory region.
using Registers = LittleLayout<"nvme_registers", 0x70,
    Bits<"mqes",   0x00, 15,  0, std::uint16_t, ro>,  // entries of a queue, zero-based
    Bits<"cqr",    0x00, 16, 16, bool,          ro>,  // queues must be physically contiguous
    Bits<"ams",    0x00, 18, 17,                ro>,  // bit 0: weighted round robin with urgent class
    Bits<"to",     0x00, 31, 24,                ro>,  // units of 500 ms
    Bits<"dstrd",  0x04,  3,  0,                ro>,  // doorbells stand 4 << dstrd bytes apart
    Bits<"nssrs",  0x04,  4,  4, bool,          ro>,
    Bits<"css",    0x04, 12,  5,                ro>,  // bit 0: NVM, bit 6: one or more, bit 7: admin only
    Bits<"bps",    0x04, 13, 13, bool,          ro>,
    Bits<"cps",    0x04, 15, 14,                ro>,
    Bits<"mpsmin", 0x04, 19, 16,                ro>,  // 4 KiB << mpsmin
    Bits<"mpsmax", 0x04, 23, 20,                ro>,
    Bits<"pmrs",   0x04, 24, 24, bool,          ro>,
    Bits<"cmbs",   0x04, 25, 25, bool,          ro>,
    Bits<"nsss",   0x04, 26, 26, bool,          ro>,
    Bits<"crwms",  0x04, 27, 27, bool,          ro>,  // ready with media
    Bits<"crims",  0x04, 28, 28, bool,          ro>,  // ready independent of media
    U32 <"vs",     0x08,                        ro>,  // major << 16 | minor << 8 | tertiary
    U32 <"intms",  0x0c,                        rw1s>,
    U32 <"intmc",  0x10,                        rw1c>,
    U32 <"cc",     0x14,                        rw>,  // see ControllerConfiguration
    Bits<"rdy",    0x1c,  0,  0, bool,          ro>,
    Bits<"cfs",    0x1c,  1,  1, bool,          ro>,  // fatal
    Bits<"shst",   0x1c,  3,  2,                ro>,  // see ShutdownStatus
    Bits<"nssro",  0x1c,  4,  4, bool,          rw1c>,
    Bits<"pp",     0x1c,  5,  5, bool,          ro>,  // processing paused
    Bits<"st",     0x1c,  6,  6, bool,          ro>,
    U32 <"nssr",   0x20,                        wo>,
    Bits<"asqs",   0x24, 11,  0, std::uint16_t, rw>,  // entries, zero-based
    Bits<"acqs",   0x24, 27, 16, std::uint16_t, rw>,
    U64 <"asq",    0x28,                        rw>,
    U64 <"acq",    0x30,                        rw>,
    Bits<"bir",    0x38,  2,  0,                ro>,
    Bits<"cqmms",  0x38,  3,  3, bool,          ro>,  // queues may lie partly in the buffer
    Bits<"cqpds",  0x38,  4,  4, bool,          ro>,  // queues need not be contiguous with it
    Bits<"cdpmls", 0x38,  5,  5, bool,          ro>,
    Bits<"cdpcils",0x38,  6,  6, bool,          ro>,
    Bits<"cdmmms", 0x38,  7,  7, bool,          ro>,
    Bits<"cqda",   0x38,  8,  8, bool,          ro>,
    Bits<"ofst",   0x38, 31, 12,                ro>,  // units of szu
    Bits<"sqs",    0x3c,  0,  0, bool,          ro>,  // submission queues may lie there
    Bits<"cqs",    0x3c,  1,  1, bool,          ro>,
    Bits<"lists",  0x3c,  2,  2, bool,          ro>,
    Bits<"rds",    0x3c,  3,  3, bool,          ro>,
    Bits<"wds",    0x3c,  4,  4, bool,          ro>,
    Bits<"szu",    0x3c, 11,  8,                ro>,  // 4 KiB << 4 szu
    Bits<"sz",     0x3c, 31, 12,                ro>,
    U32 <"bpinfo", 0x40,                        ro>,
    U32 <"bprsel", 0x44,                        rw>,
    U64 <"bpmbl",  0x48,                        rw>,
    Bits<"cre",    0x50,  0,  0, bool,          rw>,  // cmbloc and cmbsz show what they have
    Bits<"cmse",   0x50,  1,  1, bool,          rw>,  // the buffer answers at cba
    Bits<"cba_low",0x50, 31, 12,                rw>,
    U32 <"cba_high",0x54,                       rw>,
    Bits<"cbai",   0x58,  0,  0, bool,          ro>,  // cba cannot be served
    U32 <"cmbebs", 0x5c,                        ro>,
    U32 <"cmbswtp",0x60,                        ro>,
    U32 <"nssd",   0x64,                        wo>,
    Bits<"crwmt",  0x68, 15,  0,                ro>,  // units of 500 ms
    Bits<"crimt",  0x68, 31, 16,                ro>>;

using ControllerConfiguration = LittleLayout<"cc", 4,
    Bits<"en",     0x0,  0,  0, bool>,
    Bits<"css",    0x0,  6,  4>,
    Bits<"mps",    0x0, 10,  7>,  // 4 KiB << mps
    Bits<"ams",    0x0, 13, 11>,
    Bits<"shn",    0x0, 15, 14>,
    Bits<"iosqes", 0x0, 19, 16>,  // 2^n bytes
    Bits<"iocqes", 0x0, 23, 20>,
    Bits<"crime",  0x0, 24, 24, bool>>;
// clang-format on
/// Of the host's memory, where `mps` is 0.
inline constexpr std::uint32_t least_page_bytes = 4096;

/// What the controller memory buffer is for: bits of CMBSZ.
enum class MemoryUse : std::uint32_t {
    submission_queues = 1,
    completion_queues = 2,
    lists = 4,
    data_to_host = 8,    ///< of Read and the like
    data_from_host = 16, ///< of Write and the like
};
inline constexpr std::uint32_t all_memory_uses = 31;
inline constexpr std::uint64_t memory_buffer_unit = 4096; ///< of sz and ofst, where szu is 0

enum class ShutdownStatus : std::uint8_t { normal = 0, occurring = 1, complete = 2 };
enum class Arbitration : std::uint8_t { round_robin = 0, weighted_round_robin = 1 };

/// What is written to NSSR to reset the subsystem: "NVMe".
inline constexpr std::uint32_t subsystem_reset_key = 0x4e564d65;
inline constexpr std::uint32_t version_1_4 = 0x00010400, version_2_0 = 0x00020000;

/// The first doorbell: tail of submission queue 0; that of queue y is the (2y)-th, the head of completion queue y the
/// (2y + 1)-th.
inline constexpr std::uint64_t doorbells_offset = 0x1000;
constexpr std::uint64_t doorbell_offset(std::uint32_t queue, bool is_completion, unsigned stride) {
    return (2ull * queue + (is_completion ? 1 : 0)) * (4ull << stride);
}

} // namespace abi::nvme
