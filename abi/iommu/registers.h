// Registers of a remapping unit: where they stand, and their fields. VT-d "Register Descriptions".
// Witness: testbench/witness/vtd_layouts.py (the Intel IOMMU driver of Linux).
#pragma once

#include "abi/iommu/entry.h"
#include "abi/named_enum.h"

namespace abi::iommu {

// Offsets; registers of 64 bits may be accessed as two dwords, the lower first.
// clang-format off
#define ABI_VTD_REGISTERS(X)                                                        \
    X(ver,     0x000, "architecture version")                                       \
    X(cap,     0x008, "capability")                                                 \
    X(ecap,    0x010, "extended capability")                                        \
    X(gcmd,    0x018, "global command")                                             \
    X(gsts,    0x01c, "global status")                                              \
    X(rtaddr,  0x020, "root table address")                                         \
    X(ccmd,    0x028, "context command")                                            \
    X(fsts,    0x034, "fault status")                                               \
    X(fectl,   0x038, "fault event control")                                        \
    X(fedata,  0x03c, "fault event data")                                           \
    X(feaddr,  0x040, "fault event address")                                        \
    X(feuaddr, 0x044, "fault event upper address")                                  \
    X(iqh,     0x080, "invalidation queue head")                                    \
    X(iqt,     0x088, "invalidation queue tail")                                    \
    X(iqa,     0x090, "invalidation queue address")                                 \
    X(ics,     0x09c, "invalidation completion status")                             \
    X(iectl,   0x0a0, "invalidation event control")                                 \
    X(iedata,  0x0a4, "invalidation event data")                                    \
    X(ieaddr,  0x0a8, "invalidation event address")                                 \
    X(ieuaddr, 0x0ac, "invalidation event upper address")                           \
    X(iqercd,  0x0b0, "invalidation queue error record")                            \
    X(pqh,     0x0c0, "page request queue head")                                    \
    X(pqt,     0x0c8, "page request queue tail")                                    \
    X(pqa,     0x0d0, "page request queue address")                                 \
    X(prs,     0x0dc, "page request status")                                        \
    X(pectl,   0x0e0, "page request event control")                                 \
    X(pedata,  0x0e4, "page request event data")                                    \
    X(peaddr,  0x0e8, "page request event address")                                 \
    X(peuaddr, 0x0ec, "page request event upper address")
ABI_NAMED_ENUM(Register, std::uint32_t, ABI_VTD_REGISTERS)
#undef ABI_VTD_REGISTERS

inline constexpr std::size_t register_bytes = 0x1000;
/// FRO and IRO of the capability registers count in units of this many bytes.
inline constexpr std::size_t register_offset_unit = 16;

using Version = Entry<"ver", 4,
    Field<"min", 3, 0, ro>, Field<"max", 7, 4, ro>>;

using Capability = Entry<"cap", 8,
    Field<"nd",       2,  0, ro>,  // 2^(4 + 2 nd) domains
    Flag <"afl",      3,     ro>,  // advanced fault logging
    Flag <"rwbf",     4,     ro>,  // write buffers must be flushed
    Flag <"plmr",     5,     ro>,
    Flag <"phmr",     6,     ro>,
    Flag <"cm",       7,     ro>,  // caching mode: entries that are not present may be cached
    Field<"sagaw",   12,  8, ro>,  // bit 1: 3 levels, bit 2: 4 levels, bit 3: 5 levels
    Field<"mgaw",    21, 16, ro>,  // guest address width, minus one
    Flag <"zlr",     22,     ro>,  // zero-length reads of write-only pages
    Field<"fro",     33, 24, ro>,  // fault records stand at 16 fro
    Field<"sslps",   37, 34, ro>,  // bit 0: 2 MiB, bit 1: 1 GiB
    Flag <"psi",     39,     ro>,  // page-selective invalidation
    Field<"nfr",     47, 40, ro>,  // fault records, minus one
    Field<"mamv",    53, 48, ro>,  // largest address mask of an invalidation
    Flag <"dwd",     54,     ro>,
    Flag <"drd",     55,     ro>,
    Flag <"fs1gp",   56,     ro>,
    Flag <"pi",      59,     ro>,
    Flag <"fs5lp",   60,     ro>,
    Flag <"ecmds",   61,     ro>,
    Flag <"esirtps", 62,     ro>,
    Flag <"esrtps",  63,     ro>>; // setting the root table pointer invalidates everything

using ExtendedCapability = Entry<"ecap", 8,
    Flag <"c",       0,     ro>,  // walks are coherent with the processor's caches
    Flag <"qi",      1,     ro>,
    Flag <"dt",      2,     ro>,  // device-TLBs
    Flag <"ir",      3,     ro>,
    Flag <"eim",     4,     ro>,
    Flag <"pt",      6,     ro>,  // pass-through
    Flag <"sc",      7,     ro>,  // snoop control
    Field<"iro",    17,  8, ro>,  // IVA stands at 16 iro, IOTLB 8 bytes behind it
    Field<"mhmv",   23, 20, ro>,
    Flag <"mts",    25,     ro>,
    Flag <"nest",   26,     ro>,
    Flag <"prs",    29,     ro>,  // page requests
    Flag <"ers",    30,     ro>,
    Flag <"srs",    31,     ro>,  // supervisor requests
    Flag <"nwfs",   33,     ro>,
    Flag <"eafs",   34,     ro>,
    Field<"pss",    39, 35, ro>,  // bits of a PASID, minus one
    Flag <"pasid",  40,     ro>,
    Flag <"dit",    41,     ro>,
    Flag <"pds",    42,     ro>,  // page requests can be drained
    Flag <"smts",   43,     ro>,  // scalable mode
    Flag <"vcs",    44,     ro>,
    Flag <"ssads",  45,     ro>,
    Flag <"ssts",   46,     ro>,  // scalable mode: second-stage tables
    Flag <"fsts",   47,     ro>,  // scalable mode: first-stage tables
    Flag <"smpwcs", 48,     ro>,
    Flag <"rps",    49,     ro>,  // RID_PASID
    Flag <"pms",    51,     ro>,
    Flag <"adms",   52,     ro>,
    Flag <"rprivs", 53,     ro>>;

using GlobalCommand = Entry<"gcmd", 4,
    Flag<"cfi", 23, wo>, Flag<"sirtp", 24, wo>, Flag<"ire", 25, wo>, Flag<"qie", 26, wo>, Flag<"wbf", 27, wo>,
    Flag<"eafl", 28, wo>, Flag<"sfl", 29, wo>, Flag<"srtp", 30, wo>, Flag<"te", 31, wo>>;

using GlobalStatus = Entry<"gsts", 4,
    Flag<"cfis", 23, ro>, Flag<"irtps", 24, ro>, Flag<"ires", 25, ro>, Flag<"qies", 26, ro>, Flag<"wbfs", 27, ro>,
    Flag<"afls", 28, ro>, Flag<"fls", 29, ro>, Flag<"rtps", 30, ro>, Flag<"tes", 31, ro>>;

enum class TableMode : std::uint8_t { legacy = 0, scalable = 1, reserved = 2, abort = 3 };
using RootTableAddress = Entry<"rtaddr", 8,
    Field<"ttm", 11, 10, TableMode, rw>, Address<"rta", 63, 12, rw>>;

using ContextCommand = Entry<"ccmd", 8,
    Field<"did", 15, 0, rw>, Field<"sid", 31, 16, rw>, Field<"fm", 33, 32, rw>,
    Field<"caig", 60, 59, ro>, Field<"cirg", 62, 61, rw>, Flag<"icc", 63, rw>>;

using InvalidateAddress = Entry<"iva", 8,
    Field<"am", 5, 0, rw>, Flag<"ih", 6, rw>, Address<"addr", 63, 12, rw>>;

using IotlbInvalidate = Entry<"iotlb", 8,
    Field<"did", 47, 32, rw>, Flag<"dw", 48, rw>, Flag<"dr", 49, rw>,
    Field<"iaig", 58, 57, ro>, Field<"iirg", 61, 60, rw>, Flag<"ivt", 63, rw>>;

using FaultStatus = Entry<"fsts", 4,
    Flag <"pfo", 0,     rw1c>, // a fault found all records taken
    Flag <"ppf", 1,     ro>,   // some record holds a fault
    Flag <"iqe", 4,     rw1c>,
    Flag <"ice", 5,     rw1c>,
    Flag <"ite", 6,     rw1c>,
    Flag <"pro", 7,     ro>,
    Field<"fri", 15, 8, ro>>;  // first record that holds one

/// Control of one of the three events: fault, invalidation completion, page request.
using EventControl = Entry<"fectl", 4,
    Flag<"ip", 30, ro>, Flag<"im", 31, rw>>;

/// The message that an event is: data and address of a memory write.
using EventData = Entry<"fedata", 4, Field<"imd", 15, 0, rw>>;
using EventAddress = Entry<"feaddr", 4, Address<"ma", 31, 2, rw>>;
using EventUpperAddress = Entry<"feuaddr", 4, Field<"mua", 31, 0, rw>>;

using QueueHead = Entry<"iqh", 8, Address<"qh", 18, 4, ro>>;
using QueueTail = Entry<"iqt", 8, Address<"qt", 18, 4, rw>>;
using QueueAddress = Entry<"iqa", 8,
    Field<"qs", 2, 0,      rw>,  // 2^qs pages of descriptors
    Flag <"dw", 11,        rw>,  // descriptors of 256 bits
    Address<"iqa", 63, 12, rw>>;
using CompletionStatus = Entry<"ics", 4, Flag<"iwc", 0, rw1c>>;

using QueueErrorRecord = Entry<"iqercd", 8,
    Field<"iqei", 3, 0, ro>, Field<"itesid", 47, 32, ro>, Field<"icesid", 63, 48, ro>>;

using PageQueueHead = Entry<"pqh", 8, Address<"pqh", 18, 5, rw>>;
using PageQueueTail = Entry<"pqt", 8, Address<"pqt", 18, 5, rw>>;
using PageQueueAddress = Entry<"pqa", 8, Field<"pqs", 2, 0, rw>, Address<"pqa", 63, 12, rw>>;
using PageRequestStatus = Entry<"prs", 4, Flag<"ppr", 0, rw1c>, Flag<"pro", 1, rw1c>>;
// clang-format on

} // namespace abi::iommu
