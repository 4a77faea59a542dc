// Event queue entries (PRM "Event queue entry"): the entry, and what its 28 bytes of data mean for each type of event:
// `event_data<CqErrorEventData>(eqe).get<"cqn">()`.
// Witness: testbench/witness/prm_layouts.py (linux/mlx5/device.h, pyverbs).
#pragma once

#include "abi/layout.h"
#include "abi/named_enum.h"

#include <cstddef>
#include <cstdint>

namespace abi::prm {

// clang-format off
#define ABI_PRM_EVENT_TYPES(X) \
    X(completion,            0x00, "completion")                  \
    X(path_migrated,         0x01, "path migrated")               \
    X(communication_established, 0x02, "communication established") \
    X(sq_drained,            0x03, "send queue drained")          \
    X(cq_error,              0x04, "CQ error")                    \
    X(wq_catastrophic_error, 0x05, "work queue catastrophic error") \
    X(path_migration_failed, 0x07, "path migration failed")       \
    X(internal_error,        0x08, "internal error")              \
    X(port_change,           0x09, "port change")                 \
    X(command,               0x0a, "command completion")          \
    X(page_request,          0x0b, "page request")                \
    X(page_fault,            0x0c, "page fault")                  \
    X(nic_vport_change,      0x0d, "NIC vport change")            \
    X(wq_invalid_request,    0x10, "work queue invalid request")  \
    X(wq_access_error,       0x11, "work queue access error")     \
    X(srq_catastrophic_error, 0x12, "SRQ catastrophic error")     \
    X(srq_last_wqe,          0x13, "last WQE reached")            \
    X(srq_limit,             0x14, "SRQ limit reached")           \
    X(xrq_error,             0x18, "XRQ error")                   \
    X(dct_drained,           0x1c, "DCT drained")                 \
    X(dct_key_violation,     0x1d, "DCT key violation")           \
    X(general,               0x22, "general notification")        \
    X(monitor_counter,       0x24, "monitor counter")             \
    X(pps,                   0x25, "PPS")                         \
    X(device_tracer,         0x26, "device tracer")               \
    X(object_change,         0x27, "object change")
ABI_NAMED_ENUM(EventType, std::uint8_t, ABI_PRM_EVENT_TYPES)
#undef ABI_PRM_EVENT_TYPES

/// Subtype of a port change.
#define ABI_PRM_PORT_CHANGES(X) \
    X(down,          1, "down")               \
    X(active,        4, "active")             \
    X(initialized,   5, "initialized")        \
    X(lid,           6, "LID changed")        \
    X(pkey,          7, "P_Key changed")      \
    X(guid,          8, "GUID changed")       \
    X(client_rereg,  9, "client reregister")
ABI_NAMED_ENUM(PortChange, std::uint8_t, ABI_PRM_PORT_CHANGES)
#undef ABI_PRM_PORT_CHANGES

/// Syndrome of a CQ error event.
enum class CqErrorSyndrome : std::uint8_t { overrun = 1, access_violation = 2 };
/// `type` of a queue event: whose number it carries.
enum class QueueEventSource : std::uint8_t { qp = 0, rq = 1, sq = 2 };

/// `event_sub_type` of a page fault: what the device was working on.
#define ABI_PRM_PAGE_FAULT_SUBTYPES(X) \
    X(wqe,  0, "work request")        \
    X(rdma, 1, "remote access")
ABI_NAMED_ENUM(PageFaultSubtype, std::uint8_t, ABI_PRM_PAGE_FAULT_SUBTYPES)
#undef ABI_PRM_PAGE_FAULT_SUBTYPES

/// `type` of a page fault. Bit 0: of the sending side; bit 1: the device writes, or receives into a WQE; bit 2: a
/// remote access.
#define ABI_PRM_PAGE_FAULT_TYPES(X) \
    X(shared_receive, 0, "a WQE of a shared receive queue") \
    X(send_or_write,  1, "a SEND or WRITE's WQE")          \
    X(receive,        2, "a receive WQE")                   \
    X(read_or_atomic, 3, "a READ or atomic's WQE")         \
    X(remote_read,    4, "a peer's READ")                  \
    X(remote_write,   6, "a peer's WRITE or atomic")
ABI_NAMED_ENUM(PageFaultType, std::uint8_t, ABI_PRM_PAGE_FAULT_TYPES)
#undef ABI_PRM_PAGE_FAULT_TYPES

using Eqe = Layout<"eqe", 64,
    Bits<"event_type",     0x00, 23, 16, EventType>,
    Bits<"event_sub_type", 0x00,  7,  0>,
    Raw <"event_data",     0x20, 28>,
    U8  <"signature",      0x3e>,
    Bits<"owner",          0x3c,  0>>;                   // flips on each pass of the ring; software starts with 1
inline constexpr std::size_t eqe_data_offset = 0x20;
inline constexpr std::size_t eqe_owner_offset = 0x3f;    ///< the byte that hands an entry over, written last

/// completion
using CompletionEventData = Layout<"eqe_comp", 28,
    Bits<"cqn", 0x18, 23,  0>>;
/// path_migrated, communication_established, sq_drained, wq_*, srq_*
using QueueEventData = Layout<"eqe_qp_srq", 28,
    Bits<"type",     0x14, 31, 24, QueueEventSource>,
    Bits<"qp_srq_n", 0x18, 23,  0>>;
/// cq_error
using CqErrorEventData = Layout<"eqe_cq_err", 28,
    Bits<"cqn",      0x00, 23,  0>,
    Bits<"syndrome", 0x08,  7,  0, CqErrorSyndrome>>;
/// port_change
using PortChangeEventData = Layout<"eqe_port_state", 28,
    Bits<"port_num", 0x08, 31, 28>>;
/// command
using CommandEventData = Layout<"eqe_cmd", 28,
    U32 <"vector", 0x00>>;                               // bit n: the command in slot n is done
/// page_request
using PageRequestEventData = Layout<"eqe_page_req", 28,
    Bits<"ec_function", 0x00, 31, 16>,                   // 0x8000 embedded CPU, 0x4000 release all pages
    Bits<"func_id",     0x00, 15,  0>,
    U32 <"num_pages",   0x04>>;                          // signed: wanted, or to be taken back
/// page_fault with the subtype wqe
using WqePageFaultEventData = Layout<"eqe_page_fault_wqe", 28,
    U32 <"bytes_committed", 0x00>,                       // of the WQE's data: done, not to be brought
    Bits<"wqe_index",       0x04, 15,  0>,
    Bits<"packet_length",   0x08, 15,  0>,
    U32 <"token",           0x0c>,
    Bits<"type",            0x18, 26, 24, PageFaultType>,
    Bits<"wq_num",          0x18, 23,  0>>;              // a queue pair, or the shared receive queue
/// page_fault with the subtype rdma
using RdmaPageFaultEventData = Layout<"eqe_page_fault_rdma", 28,
    U32 <"bytes_committed", 0x00>,                       // of the range: done
    U32 <"r_key",           0x04>,
    Bits<"packet_length",   0x08, 15,  0>,
    U32 <"rdma_op_len",     0x0c>,                       // of the whole message
    U64 <"rdma_va",         0x10>,                       // where the message begins
    Bits<"type",            0x18, 26, 24, PageFaultType>,
    Bits<"token",           0x18, 23,  0>>;
// clang-format on

/// The data of an event as layout `L`, one of the above.
template <class L, class B> constexpr View<L, B> event_data(View<Eqe, B> eqe) {
    static_assert(L::size <= Eqe::field<"event_data">::bytes);
    return View<L, B>(std::span<B>(eqe.bytes()).subspan(eqe_data_offset));
}

} // namespace abi::prm
