// What Identify returns. NVMe base 2.0 "Identify command", NVM command set 1.0 "Identify". Little endian; EUI-64, NGUID
// and UUID are strings of bytes. Witness: testbench/witness/nvme_test.cpp (nvme/types.h of libnvme).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

namespace abi::nvme {

inline constexpr std::size_t identify_bytes = 4096;

// clang-format off
#define ABI_NVME_CNS(X)                                                               \
    X(namespace_data,            0x00, "namespace")                                   \
    X(controller,                0x01, "controller")                                  \
    X(active_namespaces,         0x02, "active namespace list")                       \
    X(descriptors,               0x03, "namespace identification descriptors")        \
    X(namespace_of_set,          0x05, "namespace of an I/O command set")             \
    X(controller_of_set,         0x06, "controller of an I/O command set")            \
    X(active_namespaces_of_set,  0x07, "active namespace list of an I/O command set") \
    X(independent_namespace,     0x08, "namespace, independent of the command set")   \
    X(allocated_namespaces,      0x10, "allocated namespace list")                    \
    X(allocated_namespace,       0x11, "allocated namespace")                         \
    X(controllers_of_namespace,  0x12, "controllers of a namespace")                  \
    X(controllers,               0x13, "controllers of the subsystem")                \
    X(primary_capabilities,      0x14, "primary controller capabilities")             \
    X(secondary_controllers,     0x15, "secondary controller list")                   \
    X(granularity,               0x16, "namespace granularity list")                  \
    X(allocated_namespaces_of_set, 0x1a, "allocated namespaces of an I/O command set") \
    X(allocated_namespace_of_set,  0x1b, "allocated namespace of an I/O command set") \
    X(command_sets,              0x1c, "I/O command sets")
ABI_NAMED_ENUM(Cns, std::uint8_t, ABI_NVME_CNS)
#undef ABI_NVME_CNS

using PowerState = LittleLayout<"nvme_psd", 32,
    U16 <"mp",      0x00>,                   // maximum power, 0.01 W unless mxps
    Bits<"mxps",    0x00, 24, 24, bool>,
    Bits<"nops",    0x00, 25, 25, bool>,     // non-operational
    U32 <"enlat",   0x04>,                   // microseconds, as exlat
    U32 <"exlat",   0x08>,
    U8  <"rrt",     0x0c>, U8<"rrl", 0x0d>, U8<"rwt", 0x0e>, U8<"rwl", 0x0f>,
    U16 <"idlp",    0x10>,
    Bits<"ips",     0x10, 23, 22>,
    U16 <"actp",    0x14>,
    Bits<"apw",     0x14, 18, 16>,
    Bits<"aps",     0x14, 23, 22>>;

using IdentifyController = LittleLayout<"nvme_identify_controller", 4096,
    U16 <"vid",     0>,    U16 <"ssvid",   2>,
    Raw <"sn",      4,  20>, Raw <"mn",    24, 40>, Raw <"fr", 64, 8>, // ASCII, filled up with spaces
    U8  <"rab",     72>,   Raw <"ieee",    73,  3>,
    U8  <"cmic",    76>,   U8  <"mdts",    77>,   U16 <"cntlid",  78>,  U32 <"ver",    80>,
    U32 <"rtd3r",   84>,   U32 <"rtd3e",   88>,   U32 <"oaes",    92>,  U32 <"ctratt", 96>,
    U16 <"rrls",    100>,  U8  <"cntrltype", 111>, Raw <"fguid",  112, 16>,
    U16 <"crdt1",   128>,  U16 <"crdt2",   130>,  U16 <"crdt3",   132>,
    U8  <"nvmsr",   253>,  U8  <"vwci",    254>,  U8  <"mec",     255>,
    U16 <"oacs",    256>,  U8  <"acl",     258>,  U8  <"aerl",    259>, U8  <"frmw",   260>,
    U8  <"lpa",     261>,  U8  <"elpe",    262>,  U8  <"npss",    263>, U8  <"avscc",  264>,
    U8  <"apsta",   265>,  U16 <"wctemp",  266>,  U16 <"cctemp",  268>, U16 <"mtfa",   270>,
    U32 <"hmpre",   272>,  U32 <"hmmin",   276>,
    U64 <"tnvmcap", 280>,  U64 <"tnvmcap_upper", 288>, U64 <"unvmcap", 296>, U64 <"unvmcap_upper", 304>,
    U32 <"rpmbs",   312>,  U16 <"edstt",   316>,  U8  <"dsto",    318>, U8  <"fwug",   319>,
    U16 <"kas",     320>,  U16 <"hctma",   322>,  U16 <"mntmt",   324>, U16 <"mxtmt",  326>,
    U32 <"sanicap", 328>,  U32 <"hmminds", 332>,  U16 <"hmmaxd",  336>, U16 <"nsetidmax", 338>,
    U16 <"endgidmax", 340>, U8 <"anatt",   342>,  U8  <"anacap",  343>, U32 <"anagrpmax", 344>,
    U32 <"nanagrpid", 348>, U32 <"pels",   352>,  U16 <"domainid", 356>,
    U8  <"sqes",    512>,  U8  <"cqes",    513>,  U16 <"maxcmd",  514>, U32 <"nn",     516>,
    U16 <"oncs",    520>,  U16 <"fuses",   522>,  U8  <"fna",     524>, U8  <"vwc",    525>,
    U16 <"awun",    526>,  U16 <"awupf",   528>,  U8  <"icsvscc", 530>, U8  <"nwpc",   531>,
    U16 <"acwu",    532>,  U16 <"ocfs",    534>,  U32 <"sgls",    536>, U32 <"mnan",   540>,
    Raw <"subnqn",  768, 256>,
    U32 <"ioccsz",  1792>, U32 <"iorcsz",  1796>, U16 <"icdoff",  1800>, // over fabrics, units of 16 bytes
    U8  <"fcatt",   1802>, U8  <"msdbd",   1803>, U16 <"ofcs",    1804>,
    Sub <"psd0",    2048, PowerState>>;      // 32 of them, one behind the other

/// A format of logical blocks.
using LbaFormat = LittleLayout<"nvme_lba_format", 4,
    Bits<"ms",      0x0, 15,  0>,            // bytes of metadata
    Bits<"lbads",   0x0, 23, 16>,            // data of 2^n bytes
    Bits<"rp",      0x0, 25, 24>>;           // 0 is the fastest
inline constexpr std::size_t lba_formats_offset = 128, lba_formats = 64;

using IdentifyNamespace = LittleLayout<"nvme_identify_namespace", 4096,
    U64 <"nsze",    0>,    U64 <"ncap",    8>,    U64 <"nuse",    16>,
    U8  <"nsfeat",  24>,   U8  <"nlbaf",   25>,   U8  <"flbas",   26>,  U8  <"mc",     27>,
    U8  <"dpc",     28>,   U8  <"dps",     29>,   U8  <"nmic",    30>,  U8  <"rescap", 31>,
    U8  <"fpi",     32>,   U8  <"dlfeat",  33>,   U16 <"nawun",   34>,  U16 <"nawupf", 36>,
    U16 <"nacwu",   38>,   U16 <"nabsn",   40>,   U16 <"nabo",    42>,  U16 <"nabspf", 44>,
    U16 <"noiob",   46>,   U64 <"nvmcap",  48>,   U64 <"nvmcap_upper", 56>,
    U16 <"npwg",    64>,   U16 <"npwa",    66>,   U16 <"npdg",    68>,  U16 <"npda",   70>,
    U16 <"nows",    72>,   U16 <"mssrl",   74>,   U32 <"mcl",     76>,  U8  <"msrc",   80>,
    U8  <"nulbaf",  82>,   U32 <"anagrpid", 92>,  U8  <"nsattr",  99>,  U16 <"nvmsetid", 100>,
    U16 <"endgid",  102>,  Raw <"nguid",   104, 16>, Raw <"eui64", 120, 8>,
    Sub <"lbaf0",   128, LbaFormat>>;        // 64 of them, one behind the other

/// NVM command set: CNS 05.
using IdentifyNvmNamespace = LittleLayout<"nvme_identify_nvm_namespace", 4096,
    U64 <"lbstm",   0>,    U8  <"pic",     8>,
    U32 <"elbaf0",  12>>;                    // 64 of them
using ExtendedLbaFormat = LittleLayout<"nvme_extended_lba_format", 4,
    Bits<"sts",     0x0,  6,  0>,            // bits of the storage tag
    Bits<"pif",     0x0,  8,  7>>;           // 0: 16-bit guard, 1: 32, 2: 64

/// NVM command set: CNS 06.
using IdentifyNvmController = LittleLayout<"nvme_identify_nvm_controller", 4096,
    U8  <"vsl",     0>,    U8  <"wzsl",    1>,    U8  <"wusl",    2>,   U8  <"dmrl",   3>,
    U32 <"dmrsl",   4>,    U64 <"dmsl",    8>>;

using IdentifyIndependentNamespace = LittleLayout<"nvme_identify_independent_namespace", 4096,
    U8  <"nsfeat",  0>,    U8  <"nmic",    1>,    U8  <"rescap",  2>,   U8  <"fpi",    3>,
    U32 <"anagrpid", 4>,   U8  <"nsattr",  8>,    U16 <"nvmsetid", 10>, U16 <"endgid", 12>,
    U8  <"nstat",   14>>;                    // bit 0: ready

/// What stands before each descriptor of CNS 03.
using NamespaceDescriptor = LittleLayout<"nvme_namespace_descriptor", 4,
    U8  <"nidt",    0>,    U8  <"nidl",    1>>;
#define ABI_NVME_IDENTIFIER_TYPES(X)       \
    X(eui64,       1, "EUI-64")            \
    X(nguid,       2, "NGUID")             \
    X(uuid,        3, "UUID")              \
    X(command_set, 4, "command set identifier")
ABI_NAMED_ENUM(IdentifierType, std::uint8_t, ABI_NVME_IDENTIFIER_TYPES)
#undef ABI_NVME_IDENTIFIER_TYPES

/// Controllers: how many, and up to 2047 identifiers of 16 bits behind it.
using ControllerList = LittleLayout<"nvme_controller_list", 4096,
    U16 <"num",     0>>;

/// What Namespace Management reads to create a namespace.
using CreateNamespace = LittleLayout<"nvme_create_namespace", 4096,
    U64 <"nsze",    0>,    U64 <"ncap",    8>,    U8  <"flbas",   26>,  U8  <"dps",    29>,
    U8  <"nmic",    30>,   U32 <"anagrpid", 92>,  U16 <"nvmsetid", 100>, U16 <"endgid", 102>,
    U64 <"lbstm",   384>,  U16 <"nphndls", 392>>;
// clang-format on

/// Bits of OACS: optional admin commands.
enum class OptionalAdmin : std::uint16_t {
    security = 1 << 0,
    format = 1 << 1,
    firmware = 1 << 2,
    namespace_management = 1 << 3,
    self_test = 1 << 4,
    directives = 1 << 5,
    virtualization = 1 << 7,
    doorbell_buffer = 1 << 8,
};
/// Bits of ONCS: optional commands of the NVM command set.
enum class OptionalIo : std::uint16_t {
    compare = 1 << 0,
    write_uncorrectable = 1 << 1,
    dataset_management = 1 << 2,
    write_zeroes = 1 << 3,
    save_and_select = 1 << 4,
    reservations = 1 << 5,
    timestamp = 1 << 6,
    verify = 1 << 7,
    copy = 1 << 8,
};

} // namespace abi::nvme
