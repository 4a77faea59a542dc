#include "platform/observe/diagnostics/explanations.h"

#include "model/hca/completion/local_error.h"
#include "model/hca/responder/placement.h"
#include "platform/observe/diagnostics/explanation_rows.h"

#include <algorithm>
#include <array>

namespace platform::observe::diagnostics {
namespace {

using abi::prm::CqeSyndrome;
using abi::prm::DeliveryStatus;
using abi::prm::EventType;
using abi::wire::NakCode;
using model::hca::queue::WqeFault;
using model::hca::tpt::Violation;
using model::hca::umr::Fault;
using model::port::DmaStatus;

// clang-format off
constexpr auto violations = std::to_array<Row<Violation>>({
    {Violation::no_such_key, {"a key's index (bits 31..8) names a memory key that exists", "IBA 10.6.3; PRM \"Memory "
        "key\"",
        "the memory region was never registered or is deregistered already, or the WQE has the bare mkey_index where "
        "the key (mkey_index << 8 | variant) belongs"}},
    {Violation::key_is_free, {"a key that is free grants nothing until a UMR or a bind enables it",
        "IBA 10.6.3; PRM \"Memory key\"",
        "the region was invalidated (local invalidate, SEND with invalidate), or its UMR was not executed before this "
        "work request; fence it, or wait for its completion"}},
    {Violation::wrong_variant, {"the low 8 bits of a key equal the variant of the memory key",
        "IBA 10.6.3; PRM \"Memory key\"",
        "an old key of a re-registered region or memory window is still in use, or the driver forgot to add mkey_7_0 "
        "to the index"}},
    {Violation::wrong_pd, {"memory key and queue pair belong to the same protection domain",
        "IBA 10.6.3; PRM \"Memory key\"",
        "the region was registered with another PD than the queue pair (or shared receive queue) was created with"}},
    {Violation::wrong_queue_pair, {"a key that is bound to a queue pair (mkc.qpn) serves that one only",
        "IBA 10.6.3; PRM \"Memory key\"",
        "a type 2 memory window is used through another queue pair than the one it was bound on, or mkc.qpn was not "
        "set to 0xffffff"}},
    {Violation::no_right, {"a key grants only the accesses whose bits it has (lr, lw, rr, rw, a)",
        "IBA 10.6.3; PRM \"Memory key\"",
        "the region was registered without the access flag: a receive or READ target needs LOCAL_WRITE, the peer's "
        "target REMOTE_WRITE, REMOTE_READ or REMOTE_ATOMIC"}},
    {Violation::out_of_bounds, {"the range lies inside of [start_addr, start_addr + len) of the key",
        "IBA 10.6.3; PRM \"Memory key\"",
        "address or length exceeds the region: an address relative to the region where the virtual one belongs, a "
        "length in other units, or a key of the neighbouring buffer"}},
    {Violation::page_not_present, {"each page of the range has a translation entry that is present for this access",
        "IBA 10.6.3; PRM \"Memory key\"",
        "the page list given at creation or by UMR is shorter than the range, log_page_size is wrong, or an entry's "
        "read or write bit is clear (entries of a UMR carry them in bits 0 and 1); where pages come on demand, the "
        "driver has none to bring (error in PAGE_FAULT_RESUME), nobody takes page fault events, or the service does "
        "not wait (UC, receives of UD)"}},
    {Violation::divided_atomic, {"the 8 bytes of an atomic lie in one place of memory", "IBA 9.4.5, 10.6.3",
        "the address lies where one entry of a KLM or KSM list ends and the next begins elsewhere: give the list "
        "entries whose lengths are multiples of 8"}},
    {Violation::page_fault, {"an access to a page that is not there waits until software has brought it, where the "
        "service can wait", "PRM \"Page fault\"; IBA 9.7.5.2.8",
        "nothing is wrong yet: the driver has an event of it, and answers with PAGE_FAULT_RESUME"}},
});

constexpr auto faults = std::to_array<Row<Fault>>({
    {Fault::no_such_key, {"the key that a UMR changes exists", "PRM \"UMR work request\"",
        "imm of the control segment has to hold the whole key, mkey_index << 8 | variant, of a key that is not "
        "destroyed"}},
    {Fault::not_enabled, {"a key takes UMRs only when it was made with umr_en", "PRM \"UMR work request\"",
        "CREATE_MKEY was given without mkc.umr_en"}},
    {Fault::wrong_pd, {"key and queue pair of a UMR belong to the same protection domain", "IBA 10.6.7, 11.4.4; PRM "
        "\"UMR work request\"", "the memory window or key was allocated on another PD than the queue pair that binds "
        "it"}},
    {Fault::is_free, {"with check_free the key is not free", "PRM \"UMR work request\"", "the key was invalidated "
        "before: the order of invalidate and bind is not what the driver believes"}},
    {Fault::is_not_free, {"with check_not_free the key is free", "PRM \"UMR work request\"", "the key is still in "
        "force: a local invalidate must come before it is registered again"}},
    {Fault::wrong_queue_pair, {"a key bound to a queue pair is changed through that one only", "IBA 10.6.7, 11.4.4; "
        "PRM \"UMR work request\"", "the bind or invalidate was posted on another queue pair than the key's "
        "(mkc.qpn)"}},
    {Fault::not_privileged, {"without fast registration (fre) a queue pair may change only keys that refer to other "
        "keys", "PRM \"UMR work request\"", "create the queue pair with qpc.fre, or post the registration on the "
        "driver's REG_UMR queue pair"}},
    {Fault::bad_mask, {"mkey_mask names only fields that a UMR may change", "PRM \"UMR work request\"",
        "a reserved bit of mkey_mask is set, or one whose umr_modify capability the driver did not check"}},
    {Fault::no_such_pd, {"the new protection domain exists", "PRM \"UMR work request\"", "mkc.pd in the UMR's context "
        "segment is left 0 while mkey_mask names it, or the PD is deallocated"}},
    {Fault::bad_page_size, {"the new log_page_size is one that translation knows", "PRM \"UMR work request\"",
        "mkc.log_page_size in the context segment is left 0 while mkey_mask names it"}},
    {Fault::range_wraps, {"start_addr + len stays inside of the address space", "PRM \"UMR work request\"",
        "start_addr and len of the context segment are swapped or in the wrong byte order"}},
    {Fault::table_too_small, {"the new translations fit into translations_octword_size of the key",
        "PRM \"UMR work request\"", "the key was created for fewer entries, or xlt_offset counts bytes where "
        "octowords of 16 bytes belong"}},
    {Fault::list_too_short, {"the list holds the xlt_octowords that the UMR announces", "PRM \"UMR work request\"",
        "xlt_octowords was not padded as the inline list or the data segment's byte count is: entries come in "
        "multiples of 64 bytes"}},
});

constexpr auto wqe_faults = std::to_array<Row<WqeFault>>({
    {WqeFault::none, {"a work request is as its opcode wants it", "PRM \"Send WQE\"", "no fault of the WQE"}},
    {WqeFault::bus_error, {"the ring of the queue can be read by DMA", "PRM \"Send WQE\"", "the ring's pages were "
        "unmapped (IOMMU) or freed while the queue pair was alive, or a wrong bus address was given as pas[]"}},
    {WqeFault::wrong_queue_pair, {"qpn of the control segment is the queue pair's own number", "PRM \"Send WQE\"",
        "qpn_ds has the number of another queue pair, or is not big endian (qpn << 8 | ds); or the doorbell came "
        "before the WQE was written"}},
    {WqeFault::wrong_index, {"wqe_index of the control segment counts basic blocks of 64 bytes", "PRM \"Send WQE\"",
        "the producer counter advanced by one WQE instead of by its basic blocks, or the doorbell record ran ahead of "
        "the WQEs written (missing write barrier)"}},
    {WqeFault::bad_size, {"ds counts the 16-byte units of the whole WQE and holds the segments of its opcode",
        "PRM \"Send WQE\"", "ds is 0, above 63 or the advertised limit, or leaves out a segment (remote address, "
        "atomic, datagram)"}},
    {WqeFault::bad_opcode, {"the opcode is an operation of the queue pair's transport", "PRM \"Send WQE\"; IBA 9.3",
        "READ or atomic on UC or UD, WRITE on UD, or an opcode written into the wrong byte of the control segment"}},
    {WqeFault::bad_segment, {"inline data ends inside of its WQE, and an answer goes to memory and not into inline "
        "data", "PRM \"Send WQE\"", "byte_count of an inline segment exceeds ds, or a READ or atomic has an inline "
        "segment"}},
});

constexpr auto dma_statuses = std::to_array<Row<DmaStatus>>({
    {DmaStatus::ok, {"each DMA request ends with a successful completion", "PCIe base, completion status",
        "nothing is wrong with it"}},
    {DmaStatus::unsupported_request, {"a DMA address belongs to memory or to a BAR",
        "PCIe base, completion status UR", "the bus address was not mapped for the device: dma_map missing or undone "
        "too early, a CPU physical or virtual address given instead of a DMA address, or bus mastering is off"}},
    {DmaStatus::completer_abort, {"the target of a DMA request serves it", "PCIe base, completion status CA",
        "the target has an error of its own or is being reset"}},
    {DmaStatus::timeout, {"a DMA read is answered within the completion time-out", "PCIe base, completion time-out",
        "the target (or the guest's memory behind the socket) is gone"}},
});

struct SyndromeRow {
    CqeSyndrome key;
    std::string_view verbs;
    Explanation text;
};
constexpr auto syndromes = std::to_array<SyndromeRow>({
    {CqeSyndrome::local_length_err, "IBV_WC_LOC_LEN_ERR", {"a message fits where it goes: into the receive WQE, the "
        "path's MTU (datagrams), or the maximum message size", "IBA 11.6.2; PRM \"Error CQE\"",
        "the posted receive is shorter than the peer's SEND, or a datagram is longer than the MTU (the 40 bytes for "
        "the GRH belong to the receive buffer too)"}},
    {CqeSyndrome::local_qp_op_err, "IBV_WC_LOC_QP_OP_ERR", {"a work request is well formed and its ring can be read",
        "IBA 11.6.2; PRM \"Error CQE\"", "the WQE is malformed or the memory behind it is gone"}},
    {CqeSyndrome::local_prot_err, "IBV_WC_LOC_PROT_ERR", {"each local key of a work request covers the range and "
        "grants the access", "IBA 10.6.3, 11.6.2; PRM \"Error CQE\"",
        "an L_Key does not fit the scatter/gather entry"}},
    {CqeSyndrome::wr_flush_err, "IBV_WC_WR_FLUSH_ERR", {"what is posted to a queue pair in error is flushed",
        "IBA 10.3.1, 11.6.2; PRM \"QP state, ERR\"", "an earlier error of the same queue pair; look for the first"}},
    {CqeSyndrome::mw_bind_err, "IBV_WC_MW_BIND_ERR", {"a bind, fast registration or UMR keeps the rules of the key it "
        "changes", "IBA 10.6.7, 11.4.4; PRM \"UMR work request\"", "the key does not allow the change"}},
    {CqeSyndrome::bad_resp_err, "IBV_WC_BAD_RESP_ERR", {"a response fits the request that it answers",
        "IBA 9.9.2, 11.6.2; PRM \"Error CQE\"", "the peer answered with an opcode, length or PSN that does not fit; "
        "look at the captured frames (--pcap)"}},
    {CqeSyndrome::local_access_err, "IBV_WC_LOC_ACCESS_ERR",
        {"the memory of a receive work request takes what arrives", "IBA 11.6.2; PRM \"Error CQE\"",
            "the bus refused the receive buffer"}},
    {CqeSyndrome::remote_inval_req_err, "IBV_WC_REM_INV_REQ_ERR", {"the responder finds the request valid for its "
        "queue pair", "IBA 9.7.4.1, 9.9.3, 11.6.2", "the SEND is longer than the peer's receive, the peer's "
        "qp_access_flags lack the operation, the two sides have different path MTUs, or more READs are outstanding "
        "than its max_dest_rd_atomic"}},
    {CqeSyndrome::remote_access_err, "IBV_WC_REM_ACCESS_ERR", {"the R_Key of a request covers its range and grants "
        "its access", "IBA 9.7.4.1, 10.6.3, 11.6.2", "a wrong or stale R_Key, an address outside of the peer's "
        "region, or a region without the REMOTE_ right; the responder's paragraph has the rule"}},
    {CqeSyndrome::remote_op_err, "IBV_WC_REM_OP_ERR", {"the responder can carry out a valid request",
        "IBA 9.9.3, 11.6.2", "the peer's own receive WQE, its keys or its memory are at fault; the responder's "
        "paragraph has the rule"}},
    {CqeSyndrome::transport_retry_exc_err, "IBV_WC_RETRY_EXC_ERR", {"a request is acknowledged within retry_count "
        "repetitions", "IBA 9.7.5.1, 9.9.2; PRM \"QP context\"", "the peer's queue pair is not in RTR, was destroyed "
        "or has another number, its rq_psn is not the sq_psn of this side, LID or GID are wrong, the cable "
        "loses everything, or ack_timeout is too short"}},
    {CqeSyndrome::rnr_retry_exc_err, "IBV_WC_RNR_RETRY_EXC_ERR", {"the receiver posts a receive within rnr_retry "
        "repetitions", "IBA 9.7.5.2.8; PRM \"QP context\"", "the peer posted too few receives or never wrote its "
        "doorbell record; rnr_retry 7 waits for ever"}},
    {CqeSyndrome::remote_aborted_err, "IBV_WC_REM_ABORT_ERR", {"the peer does not abort the request", "IBA 11.6.2",
        "the operation was aborted on the other side"}},
});

constexpr auto deliveries = std::to_array<Row<DeliveryStatus>>({
    {DeliveryStatus::ok, {"a command queue entry is well formed", "PRM \"Command interface\"", "nothing is wrong with "
        "it"}},
    {DeliveryStatus::signature_error, {"the bytes of entry and mailboxes XOR to 0xff when cmdif_checksum is on",
        "PRM \"Command interface\"", "the signature was computed before the last field was written, or over too many "
        "bytes"}},
    {DeliveryStatus::token_error, {"each mailbox has the token of its entry", "PRM \"Command interface\"",
        "the mailbox is an old one: its token was not set again for this command"}},
    {DeliveryStatus::bad_block_number, {"mailboxes are numbered from 0 in the order of their chain",
        "PRM \"Command interface\"", "block_num or the next pointers of the chain are wrong"}},
    {DeliveryStatus::bad_output_pointer, {"the output mailbox is 512-byte aligned", "PRM \"Command interface\"",
        "the pool of mailboxes is not aligned to their size"}},
    {DeliveryStatus::bad_input_pointer, {"the input mailbox is 512-byte aligned", "PRM \"Command interface\"",
        "the pool of mailboxes is not aligned to their size"}},
    {DeliveryStatus::internal_error, {"mailboxes can be read and written by DMA", "PRM \"Command interface\"",
        "a mailbox was unmapped while the command ran, or its bus address is wrong"}},
    {DeliveryStatus::bad_input_length, {"the mailboxes hold what input_length says beyond the first 16 bytes",
        "PRM \"Command interface\"", "the chain of input mailboxes ends too early"}},
    {DeliveryStatus::bad_output_length, {"the mailboxes hold what output_length says beyond the first 16 bytes",
        "PRM \"Command interface\"", "the chain of output mailboxes ends too early"}},
    {DeliveryStatus::reserved_not_zero, {"reserved fields of an entry are 0", "PRM \"Command interface\"",
        "the entry was not cleared before it was filled, or is filled at the wrong stride"}},
    {DeliveryStatus::bad_descriptor_type, {"type of an entry is 7, PCIe transport", "PRM \"Command interface\"",
        "the entry was not filled before the doorbell, or stands at the wrong stride"}},
});

// clang-format on

constexpr Explanation message_length{
    "a message is at most 2^log_msg_max bytes, and a READ or atomic has room for its answer",
    "IBA 9.7; PRM \"QP context\"",
    "the scatter/gather entries of the work request add up to more than the maximum message (or, for datagrams, than "
    "the MTU), or hold less than the answer"};
constexpr Explanation receive_too_short{
    "a message fits into the receive work request that takes it", "IBA 9.7.4.1; PRM \"Receive WQE\"",
    "the posted receive is shorter than the peer's SEND; of a datagram the first 40 bytes belong to the GRH"};
constexpr Explanation receive_unreadable{
    "the ring of the receive queue can be read by DMA", "PRM \"Receive WQE\"",
    "the receive ring's pages were unmapped or freed while the queue pair was alive"};

constexpr auto naks = std::to_array<Row<NakCode>>({
    {NakCode::psn_sequence_error,
     {"requests arrive in the order of their PSNs", "IBA 9.7.5.2", "a packet was lost; the requester goes back"}},
    {NakCode::invalid_request,
     {"a request fits the responder's queue pair, its outstanding READs and its receive work request",
      "IBA 9.7.4.1, 9.9.3",
      "this side's qp_access_flags (rre, rwe, rae) lack the operation, its posted receive is too short, an address of "
      "an atomic is not aligned, the two sides have different path MTUs, or the peer sends more READs than "
      "max_dest_rd_atomic"}},
    {NakCode::remote_access_error,
     {"the R_Key of a request covers its range and grants its access", "IBA 9.7.4.1, 10.6.3",
      "the peer uses a wrong or stale R_Key, or one that lacks the right"}},
    {NakCode::remote_operational_error,
     {"the responder can carry out a valid request", "IBA 9.9.3",
      "this side's receive WQE, its local keys or its memory are at fault, or its completion queue is full"}},
    {NakCode::invalid_rd_request,
     {"reliable datagrams have a valid request", "IBA 9.7.5.2", "reliable datagrams are not offered"}},
});
constexpr auto asynchronous = std::to_array<Row<EventType>>({
    {EventType::wq_catastrophic_error,
     {"a queue's doorbell record can be read and counts at most one ring ahead, and its completion queue takes each "
      "completion",
      "IBA 11.6.3; PRM \"Doorbell record\"",
      "the producer in the doorbell record ran more than a ring ahead or went backwards, the record's address is not "
      "mapped, or the completion queue overran"}},
    {EventType::wq_invalid_request,
     {"a request fits the responder's queue pair", "IBA 9.9.3, 11.6.3",
      "see the NAK: the operation is not enabled for this queue pair, or the message does not fit"}},
    {EventType::wq_access_error,
     {"the R_Key of a request covers its range and grants its access", "IBA 9.9.3, 10.6.3, 11.6.3",
      "the peer uses a wrong or stale R_Key, or one that lacks the right"}},
});
constexpr std::string_view nak_names[]{"PSN sequence error", "invalid request", "remote access error",
                                       "remote operational error", "invalid RD request"};
constexpr std::string_view dma_names[]{"ok", "unsupported request", "completer abort", "time-out"};
constexpr std::string_view wqe_fault_names[]{
    "none",       "WQE cannot be read", "WQE names another queue pair", "WQE names another index", "bad size",
    "bad opcode", "bad segment"};

/// The row of what a room gives this reason for.
template <class Key, std::size_t n>
const Explanation* find_because(const std::array<Row<Key>, n>& rows, decltype(reason_of(Key{})) reason) {
    const auto row = std::ranges::find(rows, reason, [](const Row<Key>& r) { return reason_of(r.key); });
    return row == rows.end() ? nullptr : &row->text;
}

template <std::size_t n> std::string_view at(const std::string_view (&names)[n], unsigned code) {
    return code < n ? names[code] : "?";
}

} // namespace

const Explanation* explain(Violation violation) { return find(violations, violation); }
const Explanation* explain(Fault fault) { return find(faults, fault); }
const Explanation* explain(traces::RefusalReason reason) { return find_because(violations, reason); }
const Explanation* explain(traces::KeyChangeReason reason) { return find_because(faults, reason); }
const Explanation* explain(WqeFault fault) { return find(wqe_faults, fault); }
const Explanation* explain(DmaStatus status) { return find(dma_statuses, status); }
const Explanation* explain(DeliveryStatus status) { return find(deliveries, status); }
const Explanation* explain(NakCode code) { return find(naks, code); }
const Explanation* explain(EventType type) { return find(asynchronous, type); }

const Explanation* explain(CqeSyndrome syndrome) {
    const auto row = std::ranges::find(syndromes, syndrome, &SyndromeRow::key);
    return row == syndromes.end() ? nullptr : &row->text;
}

std::string_view name_of(NakCode code) { return at(nak_names, static_cast<unsigned>(code)); }
std::string_view name_of(DmaStatus status) { return at(dma_names, static_cast<unsigned>(status)); }

std::string_view verbs_name(CqeSyndrome syndrome) {
    const auto row = std::ranges::find(syndromes, syndrome, &SyndromeRow::key);
    return row == syndromes.end() ? std::string_view{} : row->verbs;
}

VendorSyndrome decode_vendor(bool is_responder, std::uint8_t code) {
    namespace requester = model::hca::completion::vendor;
    namespace responder = model::hca::responder::vendor;
    const auto high = static_cast<std::uint8_t>(code & 0xf0);
    const unsigned low = code & 0xf;
    const auto violation = static_cast<Violation>(low);
    const auto status = static_cast<DmaStatus>(low);
    if (high == (is_responder ? responder::translation : requester::translation))
        return {.room = "translation",
                .what = to_string(violation),
                .row = explain(violation),
                .refusal = reason_of(violation)};
    if (high == (is_responder ? responder::bus : requester::bus))
        return {.room = "bus", .what = at(dma_names, low), .row = explain(status), .is_bus = true};
    if (is_responder) {
        switch (high) {
        case responder::too_long: return {.room = "receive", .what = "message too long", .row = &receive_too_short};
        case responder::wqe: return {.room = "receive", .what = "WQE cannot be read", .row = &receive_unreadable};
        default: return {};
        }
    }
    switch (high) {
    case requester::wqe:
        return {.room = "WQE", .what = at(wqe_fault_names, low), .row = explain(static_cast<WqeFault>(low))};
    case requester::length: return {.room = "message", .what = "length", .row = &message_length};
    case requester::nak: return {.room = "NAK of the peer", .what = at(nak_names, low), .is_nak = true};
    case requester::response:
        return {.room = "response", .what = "does not fit the request", .row = explain(CqeSyndrome::bad_resp_err)};
    case requester::retry: return {.room = "retry", .what = "no tries are left"};
    case requester::umr:
        return {.room = "UMR", .what = to_string(static_cast<Fault>(low)), .row = explain(static_cast<Fault>(low))};
    default: return {};
    }
}

} // namespace platform::observe::diagnostics
