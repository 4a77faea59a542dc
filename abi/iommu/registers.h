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
    Field<"min", 3, 0>, Field<"max", 7, 4>>;

using Capability = Entry<"cap", 8,
    Field<"nd",       2,  0>,          // 2^(4 + 2 nd) domains
    Flag <"afl",      3>,              // advanced fault logging
    Flag <"rwbf",     4>,              // write buffers must be flushed
    Flag <"plmr",     5>,
    Flag <"phmr",     6>,
    Flag <"cm",       7>,              // caching mode: entries that are not present may be cached
    Field<"sagaw",   12,  8>,          // bit 1: 3 levels, bit 2: 4 levels, bit 3: 5 levels
    Field<"mgaw",    21, 16>,          // guest address width, minus one
    Flag <"zlr",     22>,              // zero-length reads of write-only pages
    Field<"fro",     33, 24>,          // fault records stand at 16 fro
    Field<"sslps",   37, 34>,          // bit 0: 2 MiB, bit 1: 1 GiB
    Flag <"psi",     39>,              // page-selective invalidation
    Field<"nfr",     47, 40>,          // fault records, minus one
    Field<"mamv",    53, 48>,          // largest address mask of an invalidation
    Flag <"dwd",     54>,
    Flag <"drd",     55>,
    Flag <"fs1gp",   56>,
    Flag <"pi",      59>,
    Flag <"fs5lp",   60>,
    Flag <"ecmds",   61>,
    Flag <"esirtps", 62>,
    Flag <"esrtps",  63>>;             // setting the root table pointer invalidates everything

using ExtendedCapability = Entry<"ecap", 8,
    Flag <"c",       0>,               // walks are coherent with the processor's caches
    Flag <"qi",      1>,
    Flag <"dt",      2>,               // device-TLBs
    Flag <"ir",      3>,
    Flag <"eim",     4>,
    Flag <"pt",      6>,               // pass-through
    Flag <"sc",      7>,               // snoop control
    Field<"iro",    17,  8>,           // IVA stands at 16 iro, IOTLB 8 bytes behind it
    Field<"mhmv",   23, 20>,
    Flag <"mts",    25>,
    Flag <"nest",   26>,
    Flag <"prs",    29>,               // page requests
    Flag <"ers",    30>,
    Flag <"srs",    31>,               // supervisor requests
    Flag <"nwfs",   33>,
    Flag <"eafs",   34>,
    Field<"pss",    39, 35>,           // bits of a PASID, minus one
    Flag <"pasid",  40>,
    Flag <"dit",    41>,
    Flag <"pds",    42>,               // page requests can be drained
    Flag <"smts",   43>,               // scalable mode
    Flag <"vcs",    44>,
    Flag <"ssads",  45>,
    Flag <"ssts",   46>,               // scalable mode: second-stage tables
    Flag <"fsts",   47>,               // scalable mode: first-stage tables
    Flag <"smpwcs", 48>,
    Flag <"rps",    49>,               // RID_PASID
    Flag <"pms",    51>,
    Flag <"adms",   52>,
    Flag <"rprivs", 53>>;

using GlobalCommand = Entry<"gcmd", 4,
    Flag<"cfi", 23>, Flag<"sirtp", 24>, Flag<"ire", 25>, Flag<"qie", 26>, Flag<"wbf", 27>,
    Flag<"eafl", 28>, Flag<"sfl", 29>, Flag<"srtp", 30>, Flag<"te", 31>>;

using GlobalStatus = Entry<"gsts", 4,
    Flag<"cfis", 23>, Flag<"irtps", 24>, Flag<"ires", 25>, Flag<"qies", 26>, Flag<"wbfs", 27>,
    Flag<"afls", 28>, Flag<"fls", 29>, Flag<"rtps", 30>, Flag<"tes", 31>>;

enum class TableMode : std::uint8_t { legacy = 0, scalable = 1, reserved = 2, abort = 3 };
using RootTableAddress = Entry<"rtaddr", 8,
    Field<"ttm", 11, 10, TableMode>, Address<"rta", 63, 12>>;

using ContextCommand = Entry<"ccmd", 8,
    Field<"did", 15, 0>, Field<"sid", 31, 16>, Field<"fm", 33, 32>, Field<"caig", 60, 59>, Field<"cirg", 62, 61>,
    Flag <"icc", 63>>;

using InvalidateAddress = Entry<"iva", 8,
    Field<"am", 5, 0>, Flag<"ih", 6>, Address<"addr", 63, 12>>;

using IotlbInvalidate = Entry<"iotlb", 8,
    Field<"did", 47, 32>, Flag<"dw", 48>, Flag<"dr", 49>, Field<"iaig", 58, 57>, Field<"iirg", 61, 60>,
    Flag <"ivt", 63>>;

using FaultStatus = Entry<"fsts", 4,
    Flag <"pfo", 0>,                   // a fault found all records taken
    Flag <"ppf", 1>,                   // some record holds a fault
    Flag <"iqe", 4>,
    Flag <"ice", 5>,
    Flag <"ite", 6>,
    Flag <"pro", 7>,
    Field<"fri", 15, 8>>;              // first record that holds one

/// Control of one of the three events: fault, invalidation completion, page request.
using EventControl = Entry<"fectl", 4,
    Flag<"ip", 30>, Flag<"im", 31>>;

using QueueHead = Entry<"iqh", 8, Address<"qh", 18, 4>>;
using QueueTail = Entry<"iqt", 8, Address<"qt", 18, 4>>;
using QueueAddress = Entry<"iqa", 8,
    Field<"qs", 2, 0>,                 // 2^qs pages of descriptors
    Flag <"dw", 11>,                   // descriptors of 256 bits
    Address<"iqa", 63, 12>>;
using CompletionStatus = Entry<"ics", 4, Flag<"iwc", 0>>;

using QueueErrorRecord = Entry<"iqercd", 8,
    Field<"iqei", 3, 0>, Field<"itesid", 47, 32>, Field<"icesid", 63, 48>>;

using PageQueueHead = Entry<"pqh", 8, Address<"pqh", 18, 5>>;
using PageQueueTail = Entry<"pqt", 8, Address<"pqt", 18, 5>>;
using PageQueueAddress = Entry<"pqa", 8, Field<"pqs", 2, 0>, Address<"pqa", 63, 12>>;
using PageRequestStatus = Entry<"prs", 4, Flag<"ppr", 0>, Flag<"pro", 1>>;
// clang-format on

} // namespace abi::iommu
