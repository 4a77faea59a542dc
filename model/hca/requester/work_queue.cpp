#include "model/hca/requester/work_queue.h"

#include "model/hca/queue/packets.h"
#include "model/hca/queue/wqe_reader.h"
#include "model/hca/requester/position.h"

#include <algorithm>

namespace model::hca::requester {

using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using completion::LocalError;
using queue::QueuePair;
using queue::WqeFault;
namespace vendor = completion::vendor;

namespace {

/// Whether a message is longer than may be: 2^31 bytes (IBA 9.7.2), or less by configuration or by the context (PRM "QP
/// context", log_msg_max). A datagram has to fit into one packet.
bool is_too_long(const queue::WorkRequest& request, const QueuePair& qp, const HcaConfig& config) {
    if (qp.service.is_datagram)
        return request.length > qp.attributes.mtu_bytes();
    return request.length > 1ull << std::min(qp.attributes.log_message_max, config.log_max_message);
}
bool awaits_data(WqeOpcode opcode) {
    return opcode == WqeOpcode::rdma_read || opcode == WqeOpcode::atomic_cs || opcode == WqeOpcode::atomic_fa;
}

/// Whether the operation sends nothing.
bool stays_here(WqeOpcode opcode) { return opcode == WqeOpcode::nop || opcode == WqeOpcode::umr; }

LocalError error_of(WqeFault fault) {
    const auto code = static_cast<std::uint8_t>(vendor::wqe + static_cast<unsigned>(fault));
    return {fault == WqeFault::bad_segment ? CqeSyndrome::local_length_err : CqeSyndrome::local_qp_op_err, code};
}

} // namespace

bool WorkQueue::load(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    while (true) {
        const bool is_new = r.position.message == r.sends.messages.end();
        // A queue that drains ends what it has begun and begins nothing (IBA 10.3.1.4).
        if (is_new && (r.sends.fetched == r.sends.producer || qp.state == queue::QpState::sqd))
            return false;
        if (!is_new && r.sends.messages[r.position.message].error != 0)
            return false; // it has failed on this side, so nothing behind it is sent either
        if (!is_new && r.sends.messages[r.position.message].packets == 0) {
            ++r.position.message; // a NOP or UMR among the messages that are sent again
            continue;
        }
        if (!r.position.has_wqe || r.position.loaded != r.position.message) {
            if (!units_.has_room(qp.number, at)) {
                r.rests_until = units_.room_at(qp.number);
                return false;
            }
            const auto index = is_new ? r.sends.fetched : r.sends.messages[r.position.message].wqe_index;
            const traces::Cause cause(report_.events,
                                      is_new ? report_.events.cause() : r.sends.messages[r.position.message].cause);
            at = fetch(qp, index, at);
            r.position.has_wqe = true;
            r.position.loaded = r.position.message;
            r.position.ready = at;
            seek(r.position);
        }
        at = std::max(at, r.position.ready);
        if (!is_new) {
            // Software must leave a WQE alone until it is complete; one that changed meanwhile cannot be sent again.
            const auto& message = r.sends.messages[r.position.message];
            if (r.position.wqe->fault != WqeFault::none || r.position.wqe->opcode != message.opcode ||
                r.position.wqe->length != message.length) {
                stop(qp, error_of(r.position.wqe->fault), at);
                return false;
            }
            return true;
        }
        if (!admit(qp, at))
            return false;
        if (r.sends.messages[r.position.message].packets != 0)
            return true;
        if (r.position.wqe->opcode == WqeOpcode::umr) {
            const traces::Cause cause(report_.events, r.position.event);
            const auto done = umr_.execute(qp, *r.position.wqe, at);
            if (!done) {
                stop(qp, done.error(), at);
                return false;
            }
            at = *done;
        }
        ++r.position.message; // NOP or UMR
        retirement_.retire(qp, at);
        if (!qp.can_send())
            return false;
    }
}

port::Time WorkQueue::fetch(QueuePair& qp, std::uint16_t index, port::Time at) {
    auto& wqe = *qp.requester.position.wqe;
    const auto there = queue::read_wqe(dma_, qp, index, config_, wqe, at);
    at = units_.begin(qp.number, awaits_data(wqe.opcode), at, there) + config_.cost(config_.wqe_latency);
    ++report_.counters.wqes_fetched;
    qp.requester.position.event =
        report_.events.emit(at, traces::WqeFetched{qp.number.value, index, static_cast<std::uint8_t>(wqe.opcode),
                                                   wqe.segments_16, wqe.length});
    return at;
}

/// Takes the fetched WQE in as the next message. False: it has to wait, or is faulty.
bool WorkQueue::admit(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    const traces::Cause cause(report_.events, r.position.event);
    const auto& request = *r.position.wqe;
    const bool is_data = awaits_data(request.opcode);
    if (request.fault == WqeFault::none && waits_for_earlier(qp, is_data))
        return false;
    const bool is_atomic = is_data && request.opcode != WqeOpcode::rdma_read;
    const auto packets = stays_here(request.opcode) ? 0
                         : is_atomic                ? 1
                                                    : queue::packet_count(request.length, qp.attributes.mtu_bytes());
    // Sequence numbers are told apart within 2^23 (IBA 9.7.2); a message that would exceed that waits for ACKs.
    constexpr std::int64_t window = (1 << 23) - 1;
    if (const auto used = r.window.next_psn - r.window.oldest_psn; used != 0 && used + std::int64_t{packets} > window)
        return false;
    // A WQE that claims more basic blocks than were posted ends where the posted ones end.
    const auto posted = static_cast<std::uint16_t>(r.sends.producer - r.sends.fetched);
    const auto wqebbs = static_cast<std::uint8_t>(std::min<std::uint16_t>(request.wqebbs, posted));
    auto fault = request.fault;
    if (fault == WqeFault::none && request.wqebbs > posted)
        fault = WqeFault::bad_size;
    r.sends.fetched = static_cast<std::uint16_t>(r.sends.fetched + wqebbs);
    auto& message = r.sends.messages.push();
    message.wqe_index = request.index;
    message.wqebbs = wqebbs;
    message.opcode = request.opcode;
    message.signalled = request.completion >= abi::prm::CompletionEvent::always;
    message.signalled_with_event = request.completion == abi::prm::CompletionEvent::always_with_event;
    message.awaits_data = is_data;
    message.length = request.length;
    message.first = r.window.next_psn;
    message.packets = packets;
    message.cause = r.position.event;
    if (fault != WqeFault::none || is_too_long(request, qp, config_) || (is_atomic && request.length != 8)) {
        message.packets = 0;
        stop(qp, fault != WqeFault::none ? error_of(fault) : LocalError{CqeSyndrome::local_length_err, vendor::length},
             at);
        return false;
    }
    r.window.next_psn += packets;
    r.window.reads_outstanding += is_data;
    return true;
}

/// PRM "Send WQE", fm: with any fence the WQE waits for earlier READs and atomics of its queue; strong ordering waits
/// for all that is before it. Independent of that, only so many READs may be under way.
bool WorkQueue::waits_for_earlier(const QueuePair& qp, bool is_data) const {
    using abi::prm::FenceMode;
    const auto& r = qp.requester;
    const auto limit = 1u << std::min(qp.attributes.log_reads_requester, config_.log_max_read_requester);
    if (is_data && r.window.reads_outstanding >= limit)
        return true;
    const auto fence = r.position.wqe->fence;
    if (fence == FenceMode::strong_ordering && !r.sends.messages.is_empty())
        return true;
    return fence != FenceMode::none && r.window.reads_outstanding != 0;
}

/// The message at the sending position fails.
void WorkQueue::stop(QueuePair& qp, const LocalError& error, port::Time at) {
    auto& r = qp.requester;
    retirement_.stop(qp, r.sends.messages[r.position.message], error, at);
}

} // namespace model::hca::requester
