// Arguments of the simple HCA's commands, as they are written to the argument registers. Its document is
// model/simple/README.md, chapter "Commands". Little endian.
// Witness: testbench/witness/simple_test.cpp (the tables of the document).
#pragma once

#include "abi/layout.h"

namespace abi::simple {

// clang-format off
using CreateRegion = LittleLayout<"simple_create_region", 0x28,
    U64 <"iova",          0x00>,                 // where it begins in descriptors and on the wire
    U64 <"length",        0x08>,
    U64 <"page_list",     0x10>,                 // bus address of the pages' bus addresses, 8 bytes each
    U32 <"pd",            0x18>,                 // chosen by software
    Bits<"local_write",   0x1c,  0,  0, bool>,
    Bits<"remote_write",  0x1c,  1,  1, bool>,
    Bits<"remote_read",   0x1c,  2,  2, bool>,
    Bits<"log_page_size", 0x20,  7,  0>>;

using CreateCq = LittleLayout<"simple_create_cq", 0x10,
    U64 <"ring",          0x00>,                 // bus address, a multiple of 64
    Bits<"log_entries",   0x08,  7,  0>>;

using CreateQp = LittleLayout<"simple_create_qp", 0x20,
    U64 <"send_ring",     0x00>,                 // bus address, a multiple of 64
    U64 <"receive_ring",  0x08>,
    U32 <"pd",            0x10>,
    Bits<"log_sends",     0x14,  7,  0>,
    Bits<"log_receives",  0x14, 15,  8>,
    U32 <"send_cqn",      0x18>,
    U32 <"receive_cqn",   0x1c>>;

using ConnectQp = LittleLayout<"simple_connect_qp", 0x40,
    U32 <"qpn",           0x00>,
    Bits<"remote_qpn",    0x04, 23,  0>,
    Bits<"send_psn",      0x08, 23,  0>,         // of the first packet it sends
    Bits<"receive_psn",   0x0c, 23,  0>,         // of the first packet it gets
    Bits<"mtu",           0x10,  2,  0>,         // IBA 14.2.5.6: 1 is 256 bytes, 5 is 4096
    Bits<"service_level", 0x10, 11,  8>,
    Bits<"hop_limit",     0x10, 23, 16>,
    Bits<"traffic_class", 0x10, 31, 24>,
    Bits<"remote_write",  0x14,  0,  0, bool>,   // what the peer may do
    Bits<"remote_read",   0x14,  1,  1, bool>,
    Bits<"reads_sent",    0x14, 15,  8>,         // READs under way, at most
    Bits<"reads_taken",   0x14, 23, 16>,         // and that it answers at once
    Bits<"ack_timeout",   0x18,  4,  0>,         // 4.096 us << n; 0: never
    Bits<"retry_count",   0x18, 10,  8>,
    Bits<"rnr_retry",     0x18, 14, 12>,         // 7: for ever
    Bits<"rnr_timer",     0x18, 20, 16>,         // IBA 9.7.5.2.8, table 45
    Bits<"remote_lid",    0x1c, 15,  0>,         // of an InfiniBand port
    Bits<"udp_source_port", 0x1c, 31, 16>,       // of a RoCE port
    Raw <"remote_mac",    0x20, 6>,
    Raw <"remote_gid",    0x28, 16>>;

/// DESTROY_*, FAIL_QP, QUERY_QP.
using OneNumber = LittleLayout<"simple_one_number", 0x4,
    U32 <"number",        0x00>>;                // of a region: its key
// clang-format on

} // namespace abi::simple
