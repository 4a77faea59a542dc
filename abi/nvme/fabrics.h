// NVMe over Fabrics, and its RDMA transport: what differs from PCIe. NVMe base 2.0 "Fabrics Command Set", NVMe over
// RDMA transport 1.0 "Capsules", "Keyed SGL Data Block", "RDMA_CM private data". Little endian. A command capsule is a
// submission queue entry with data behind it or without, a response capsule is a completion queue entry.
// Witness: testbench/witness/fabrics_layouts.py (linux/nvme.h, linux/nvme-rdma.h of the kernel),
// testbench/witness/nvme_numbers_test.cpp (nvme/types.h of libnvme).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"
#include "abi/nvme/sgl.h"
#include "abi/nvme/status.h"

namespace abi::nvme {

inline constexpr std::size_t response_bytes = 16;
/// IOCCSZ, IORCSZ and ICDOFF count these.
inline constexpr std::size_t capsule_unit_bytes = 16;
/// CNTLID of a Connect whose controller is yet to be chosen.
inline constexpr std::uint16_t any_controller = 0xffff;
inline constexpr std::uint16_t largest_controller_id = 0xffef;

// clang-format off
#define ABI_NVME_FABRICS_TYPES(X)              \
    X(property_set, 0x00, "Property Set")      \
    X(connect,      0x01, "Connect")           \
    X(property_get, 0x04, "Property Get")      \
    X(auth_send,    0x05, "Authentication Send") \
    X(auth_receive, 0x06, "Authentication Receive") \
    X(disconnect,   0x08, "Disconnect")
ABI_NAMED_ENUM(FabricsType, std::uint8_t, ABI_NVME_FABRICS_TYPES)
#undef ABI_NVME_FABRICS_TYPES

/// Statuses of these commands alone: command specific, so that other commands have the same codes for other things.
#define ABI_NVME_FABRICS_STATUSES(X)                                      \
    X(incompatible_format,  0x180, "Connect Incompatible Format")         \
    X(controller_busy,      0x181, "Connect Controller Busy")             \
    X(invalid_parameters,   0x182, "Connect Invalid Parameters")          \
    X(restart_discovery,    0x183, "Connect Restart Discovery")           \
    X(invalid_host,         0x184, "Connect Invalid Host")                \
    X(invalid_queue_type,   0x185, "Disconnect Invalid Queue Type")       \
    X(discover_restart,     0x190, "Discover Restart")
ABI_NAMED_ENUM(FabricsStatus, std::uint16_t, ABI_NVME_FABRICS_STATUSES)
#undef ABI_NVME_FABRICS_STATUSES

/// Opcode 7Fh: the type stands where other commands have their namespace.
using FabricsCommand = LittleLayout<"nvmf_command", 64,
    Bits<"opcode",  0x00,  7,  0, std::uint8_t>,
    Bits<"cid",     0x00, 31, 16, std::uint16_t>,
    U8  <"fctype",  0x04>>;

using Connect = LittleLayout<"nvmf_connect", 64,
    U16 <"recfmt",  0x28>,
    U16 <"qid",     0x2a>,
    U16 <"sqsize",  0x2c>,                   // zero-based
    U8  <"cattr",   0x2e>,
    U32 <"kato",    0x30>>;                  // milliseconds; 0: no keep alive
using ConnectData = LittleLayout<"nvmf_connect_data", 1024,
    Raw <"hostid",  0,   16>,
    U16 <"cntlid",  16>,
    Raw <"subnqn",  256, 256>,               // ends with a zero
    Raw <"hostnqn", 512, 256>>;

using PropertySet = LittleLayout<"nvmf_property_set", 64,
    Bits<"size",    0x28,  2,  0>,           // 0: 4 bytes, 1: 8
    U32 <"ofst",    0x2c>,                   // as in abi/nvme/registers.h
    U64 <"value",   0x30>>;
using PropertyGet = LittleLayout<"nvmf_property_get", 64,
    Bits<"size",    0x28,  2,  0>,
    U32 <"ofst",    0x2c>>;

/// Data in memory of the host, with the key by which the controller reads or writes them.
using KeyedSglDescriptor = LittleLayout<"nvme_keyed_sgl_descriptor", 16,
    U64 <"address", 0x00>,
    Bits<"length",  0x08, 23,  0>,
    U32 <"key",     0x0b>,
    Bits<"subtype", 0x0c, 27, 24, SglSubtype>,
    Bits<"type",    0x0c, 31, 28, SglType>>;

/// What the two ends of a connection tell each other before it is there: private data of the connection manager.
using RdmaRequest = LittleLayout<"nvme_rdma_cm_req", 32,
    U16 <"recfmt",  0x00>,
    U16 <"qid",     0x02>,
    U16 <"hrqsize", 0x04>,                   // entries of the host's receive queue
    U16 <"hsqsize", 0x06>,                   // entries of its send queue, zero-based
    U16 <"cntlid",  0x08>>;
using RdmaAccept = LittleLayout<"nvme_rdma_cm_rep", 32,
    U16 <"recfmt",  0x00>,
    U16 <"crqsize", 0x02>>;                  // entries of the controller's receive queue
using RdmaReject = LittleLayout<"nvme_rdma_cm_rej", 4,
    U16 <"recfmt",  0x00>,
    U16 <"sts",     0x02>>;

#define ABI_NVME_RDMA_REJECTIONS(X)                       \
    X(invalid_length,         0x01, "invalid length")      \
    X(invalid_recfmt,         0x02, "invalid record format") \
    X(invalid_qid,            0x03, "invalid queue ID")    \
    X(invalid_hsqsize,        0x04, "invalid host SQ size") \
    X(invalid_hrqsize,        0x05, "invalid host RQ size") \
    X(no_resources,           0x06, "resource not found")  \
    X(invalid_ird,            0x07, "invalid IRD")         \
    X(invalid_ord,            0x08, "invalid ORD")         \
    X(invalid_cntlid,         0x09, "invalid controller ID")
ABI_NAMED_ENUM(RdmaRejection, std::uint16_t, ABI_NVME_RDMA_REJECTIONS)
#undef ABI_NVME_RDMA_REJECTIONS
// clang-format on

} // namespace abi::nvme
