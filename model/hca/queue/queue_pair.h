// A queue pair: what its context says, its two work queues, and the state its requester and responder keep
// (PRM "QP context"; IBA 10.2.4, 9.7). State only: the rooms along the data path move it.
#pragma once

#include "abi/prm/qp.h"
#include "abi/types.h"
#include "model/hca/queue/completion_queue.h"
#include "model/hca/counted.h"
#include "model/hca/counters.h"
#include "model/hca/domains.h"
#include "model/hca/intrusive_list.h"
#include "model/hca/queue/address_path.h"
#include "model/hca/memory/paged_buffer.h"
#include "model/hca/queue/requester_state.h"
#include "model/hca/queue/responder_state.h"
#include "model/hca/queue/service.h"
#include "model/hca/queue/shared_receive_queue.h"
#include "model/port/packet.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace model::hca::queue {

using abi::prm::QpState;
using abi::prm::QpType;

enum class ReceiveKind : std::uint8_t { ordinary, shared, none };

/// The context's fields that the data path uses. Numbers are those of the PRM.
struct QueuePairAttributes {
    QpType type = QpType::rc;
    abi::Pd pd{};
    std::uint8_t mtu = 1; ///< code 1..5: 256..4096
    std::uint8_t log_message_max = 30;
    std::uint8_t log_rq_size = 0;   ///< receive WQEs
    std::uint8_t log_rq_stride = 4; ///< bytes of a receive WQE, log2
    std::uint8_t log_sq_size = 0;   ///< WQEBBs
    bool has_sq = true;
    ReceiveKind receive = ReceiveKind::ordinary;
    std::uint32_t counter_set = 0;
    std::uint32_t uar_page = 0;
    std::uint32_t user_index = abi::prm::no_user_index; ///< CQE version 1
    abi::Qpn remote_qpn{};
    std::uint32_t q_key = 0;        ///< datagrams
    bool fast_registration = false; ///< its UMRs may change any kind of key (fre)
    std::uint32_t xrcd = 0;         ///< XRC: the domain whose shared receive queues may be named
    AddressPath path;
    std::uint8_t log_ack_request = 0;     ///< an ACK is requested at least every 2^n packets
    std::uint8_t log_reads_requester = 0; ///< log_sra_max
    std::uint8_t log_reads_responder = 0; ///< log_rra_max
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0; ///< 7: for ever
    abi::Psn next_send_psn{};
    abi::Psn next_receive_psn{};
    bool remote_read = false, remote_write = false, remote_atomic = false;
    std::uint8_t atomic_mode = 0;
    std::uint8_t min_rnr_nak = 0;
    abi::Cqn send_cq, receive_cq;
    std::uint32_t srqn = 0;            ///< when `receive` is shared
    abi::BusAddress doorbell_record{}; ///< dword 0 receive counter, dword 1 send counter
    std::uint8_t answer_in_cqe = 0;    ///< READs and atomics up to so many bytes come in their completion (cs_req)
    std::uint8_t receive_in_cqe = 0;   ///< and so do SENDs that arrive (cs_res); connected services only
    memory::PagedBuffer buffer;        ///< receive queue first, send queue behind it
    std::array<std::byte, abi::prm::Qpc::size> context{}; ///< as software last wrote it, for QUERY_QP

    std::uint32_t mtu_bytes() const { return 128u << mtu; }
};

/// Accesses that wait for software to bring their pages (hca/paging): at most one of each abi::prm::PageFaultType.
struct Paging {
    std::uint8_t waiting = 0; ///< bit n: type n
    std::uint8_t refused = 0; ///< bit n: software has said that the pages of packet `refused_psn` will never be there
    abi::Psn refused_psn{};
    /// By type, what software was told of: of the sending side the message's number in RequesterState::messages, of the
    /// receiving side the packet's sequence number.
    std::array<std::uint32_t, 7> told{};
    std::uint32_t shared_queue = 0; ///< that the event of a shared receive queue's WQE named
    bool stops_sending() const { return (waiting & 0b1010) != 0; } ///< types of the sending side have bit 0 set
};

/// A queue pair's deadline, and its place in the device's list of deadlines (hca/queue/timers).
struct Timer {
    static constexpr std::size_t no_slot = ~std::size_t{0};
    port::Time deadline = port::never;
    port::Time entry = port::never; ///< when the list looks at it: at the deadline or earlier
    std::size_t slot = no_slot;
};

struct Ready; ///< in the scheduler's list

struct QueuePair : Linked<QueuePair, Ready>, Linked<QueuePair, Taker>, Linked<QueuePair, Dead> {
    QueuePair(abi::Qpn qpn, QueuePairAttributes a)
        : number(qpn), service(service_of(a.type)), attributes(std::move(a)) {}

    abi::Qpn number{};
    Service service; ///< of its type
    QpState state = QpState::rst;
    Timer timer; ///< ACK time-out, end of the RNR pause, or next look in the error state
    Ref<CompletionQueue> send_cq, receive_cq;
    Ref<CounterSet> counters;          ///< counts for it
    Ref<ProtectionDomain> domain;      ///< a local queue pair serves all of them and has none
    Ref<XrcDomain> xrc_domain;         ///< of the XRC service
    Ref<SharedReceiveQueue> attached;  ///< the shared receive queue that it was made with
    SharedReceiveQueue* srq = nullptr; ///< where receive WQEs come from, when they are shared; changed by take_from()
    std::uint32_t groups = 0;          ///< multicast groups that it is a member of
    std::uint64_t sq_offset = 0;       ///< of the send queue in the buffer, bytes
    port::Path path;                   ///< header addresses, made when the path is set
    Way outlet = Way::cable;           ///< and the outlet that leads there: cable or inside
    Way way = Way::cable;              ///< that it waits for, or goes; changed by the scheduler
    std::uint64_t ticket = 0;          ///< the scheduler's: who has waited longest
    std::int32_t overdrawn_answers = 0, overdrawn_requests = 0; ///< bytes that its last turn sent beyond its end
    port::Time context_at{};                                    ///< when its context is on the chip, in its turn
    Paging paging;
    QueuePairAttributes attributes;
    RequesterState requester;
    ResponderState responder;

    std::uint32_t sq_size() const { return 1u << attributes.log_sq_size; }
    std::uint32_t rq_size() const { return 1u << attributes.log_rq_size; }
    bool can_send() const { return state == QpState::rts || state == QpState::sqd; }
    bool can_receive() const {
        return state == QpState::rtr || state == QpState::rts || state == QpState::sqd || state == QpState::sqer;
    }
};

/// Asks the processor for what nearly every packet or doorbell needs of a queue pair and of one of its sides, all at
/// once. With thousands of queue pairs it is in none of its caches, and is else waited for line after line.
template <class Side> void bring_in(const QueuePair& qp, const Side& side) {
    constexpr std::size_t line = 64;
    const auto ask = [](const void* from, const void* to) {
        for (const auto* at = static_cast<const std::byte*>(from); at < to; at += line)
            __builtin_prefetch(at);
    };
    ask(&qp.number, &qp.attributes.context);
    ask(&side, &side + 1);
}

/// Number of the event that began what the queue pair waits for a turn with: a doorbell, or the request that is owed an
/// answer.
inline std::uint64_t turn_cause(const QueuePair& qp) {
    const auto& sends = qp.requester.sends;
    const auto& responses = qp.responder.answers.responses;
    return sends.fetched != sends.producer || responses.is_empty() ? sends.doorbell
                                                                   : responses[responses.begin()].cause;
}

/// Receive WQEs come from this shared queue from now on; nullptr: from none.
inline void take_from(QueuePair& qp, SharedReceiveQueue* srq) {
    if (qp.srq == srq)
        return;
    if (qp.srq != nullptr)
        qp.srq->takers.remove(qp);
    if (srq != nullptr)
        srq->takers.push_back(qp);
    qp.srq = srq;
}

} // namespace model::hca::queue
