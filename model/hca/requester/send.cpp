// Sending: from the doorbell's counter to packets on the wire.
#include "model/hca/multicast/groups.h"
#include "model/hca/queue/wqe_reader.h"
#include "model/hca/requester/requester.h"
#include "model/wire/builder.h"

#include <algorithm>

namespace model::hca::requester {

using abi::prm::WqeOpcode;
using completion::CqeSyndrome;
using completion::local_error;
using completion::LocalError;
using queue::Outstanding;
using queue::QueuePair;
using queue::WqeFault;
namespace vendor = completion::vendor;

namespace {

/// The largest message (IBA 9.7.2): 2^31 bytes, or less by configuration or by the context (PRM "QP context",
/// log_msg_max). A datagram is one packet.
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

void Requester::start(QueuePair& qp) {
    auto& r = qp.requester;
    r.next_psn = r.oldest_psn = qp.attributes.next_send_psn;
    r.retries_left = qp.attributes.retry_count;
    r.rnr_retries_left = qp.attributes.rnr_retry;
}

bool Requester::advance(QueuePair& qp, std::uint32_t packets, port::Time at) {
    auto& r = qp.requester;
    for (; packets != 0; --packets) {
        if (!qp.can_send() || r.waits_rnr || qp.paging.stops_sending())
            return false;
        const auto ready = load(qp, std::max(at, r.doorbell_at));
        if (!ready)
            return false;
        auto& wire = qp.service.is_datagram ? outlet(qp) : *qp.wire;
        if (!wire.can_send(at)) {
            r.full = path_.outlets.name(wire);
            return true;
        }
        send(qp, wire, *ready);
    }
    return true;
}

/// Makes `request` hold the message at the sending position; returns when it does. Nothing: there is none, or it waits.
std::optional<port::Time> Requester::load(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    while (true) {
        const bool is_new = r.message == r.messages.end();
        // A queue that drains ends what it has begun and begins nothing (IBA 10.3.1.4).
        if (is_new && (r.fetched == r.producer || qp.state == queue::QpState::sqd))
            return std::nullopt;
        if (!is_new && r.messages[r.message].error != 0)
            return std::nullopt; // a local error: nothing behind it is sent
        if (!is_new && r.messages[r.message].packets == 0) {
            ++r.message; // a NOP or UMR among the messages that are sent again
            continue;
        }
        if (!r.has_request || r.loaded != r.message) {
            const auto index = is_new ? r.fetched : r.messages[r.message].wqe_index;
            at = queue::read_wqe(path_.dma, qp, index, path_.config.max_wqe_size_sq, *r.request, at) +
                 path_.cost(path_.config.wqe_latency);
            ++path_.counters.wqes_fetched;
            path_.events.emit(at,
                              traces::WqeFetched{qp.number.value, index, static_cast<std::uint8_t>(r.request->opcode),
                                                 r.request->segments_16, r.request->length});
            r.has_request = true;
            r.loaded = r.message;
            r.request_ready = at;
            seek(r, r.offset);
        }
        at = std::max(at, r.request_ready);
        if (!is_new) {
            // Software must leave a WQE alone until it is complete; one that changed meanwhile cannot be sent again.
            const auto& message = r.messages[r.message];
            if (r.request->fault != WqeFault::none || r.request->opcode != message.opcode ||
                r.request->length != message.length) {
                stop(qp, error_of(r.request->fault), at);
                return std::nullopt;
            }
            return at;
        }
        const auto admitted = admit(qp, at);
        if (!admitted || r.messages[r.message].packets != 0)
            return admitted;
        at = *admitted;
        ++r.message; // NOP or UMR
        retire(qp, at);
        if (!qp.can_send())
            return std::nullopt;
    }
}

/// Takes the fetched WQE in as the next message; returns when that is done. Nothing: it has to wait, or is faulty.
std::optional<port::Time> Requester::admit(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    const auto& request = *r.request;
    const bool is_data = awaits_data(request.opcode);
    if (request.fault == WqeFault::none && waits_for_earlier(qp, is_data))
        return std::nullopt;
    Outstanding message{.wqe_index = request.index,
                        .wqebbs = request.wqebbs,
                        .opcode = request.opcode,
                        .signalled = request.completion >= abi::prm::CompletionEvent::always,
                        .signalled_with_event = request.completion == abi::prm::CompletionEvent::always_with_event,
                        .awaits_data = is_data,
                        .length = request.length,
                        .first = r.next_psn,
                        .packets =
                            stays_here(request.opcode) ? 0 : packet_count(request.length, qp.attributes.mtu_bytes())};
    if (request.opcode == WqeOpcode::atomic_cs || request.opcode == WqeOpcode::atomic_fa)
        message.packets = 1;
    // Sequence numbers are told apart within 2^23 (IBA 9.7.2); a message that would exceed that waits for ACKs.
    constexpr std::int64_t window = (1 << 23) - 1;
    if (const auto used = r.next_psn - r.oldest_psn; used != 0 && used + std::int64_t{message.packets} > window)
        return std::nullopt;
    // A WQE that claims more basic blocks than were posted ends where the posted ones end.
    const auto posted = static_cast<std::uint16_t>(r.producer - r.fetched);
    message.wqebbs = static_cast<std::uint8_t>(std::min<std::uint16_t>(message.wqebbs, posted));
    const bool is_short_atomic = is_data && request.opcode != WqeOpcode::rdma_read && request.length != 8;
    auto fault = request.fault;
    if (fault == WqeFault::none && request.wqebbs > posted)
        fault = WqeFault::bad_size;
    r.fetched = static_cast<std::uint16_t>(r.fetched + message.wqebbs);
    if (fault != WqeFault::none || is_too_long(request, qp, path_.config) || is_short_atomic) {
        message.packets = 0;
        r.messages.push(message);
        stop(qp, fault != WqeFault::none ? error_of(fault) : LocalError{CqeSyndrome::local_length_err, vendor::length},
             at);
        return std::nullopt;
    }
    r.next_psn += message.packets;
    r.reads_outstanding += is_data;
    r.messages.push(message);
    if (request.opcode == WqeOpcode::umr) [[unlikely]] {
        const auto done = umr_.execute(qp, request, at);
        if (!done) {
            stop(qp, done.error(), at);
            return std::nullopt;
        }
        return *done;
    }
    return at;
}

/// PRM "Send WQE", fm: with any fence the WQE waits for earlier READs and atomics of its queue; strong ordering waits
/// for all that is before it. Independent of that, only so many READs may be under way.
bool Requester::waits_for_earlier(const QueuePair& qp, bool is_data) const {
    using abi::prm::FenceMode;
    const auto& r = qp.requester;
    const auto limit = 1u << std::min(qp.attributes.log_reads_requester, path_.config.log_max_read_requester);
    if (is_data && r.reads_outstanding >= limit)
        return true;
    const auto fence = r.request->fence;
    if (fence == FenceMode::strong_ordering && !r.messages.is_empty())
        return true;
    return fence != FenceMode::none && r.reads_outstanding != 0;
}

/// Where the datagram at the sending position goes.
port::Wire& Requester::outlet(QueuePair& qp) {
    return path_.outlets.way(path_.identity.is_own(qp.requester.request->datagram.path));
}

void Requester::send(QueuePair& qp, port::Wire& wire, port::Time at) {
    auto& r = qp.requester;
    auto& message = r.messages[r.message];
    auto& packet = wire.next();
    const auto ready = packetize(path_, qp, message, packet, path_.enter_pipe(at));
    if (!ready) [[unlikely]] {
        if (!ready.error().is_page_fault() || !wait_to_send(qp, ready.error().request, at))
            stop(qp, local_error(ready.error().without_wait()), at);
        return;
    }
    const auto payload = packet.payload.size();
    const auto psn = packet.rdma().psn;
    ++path_.counters.packets_sent;
    path_.counters.payload_sent += payload;
    if (path_.events.is_on()) [[unlikely]]
        path_.events.emit(*ready, traces::PacketSent{packet.rdma().destination.value, packet.rdma().psn.value,
                                                     packet.rdma().opcode(), payload});
    if (!qp.service.is_reliable) [[unlikely]] {
        packet.payload.own(); // it is complete when it has left: software may write there before it arrives
        if (qp.service.is_datagram && packet.rdma().destination == multicast::multicast_qpn) {
            ++path_.counters.multicast_sent;
            path_.counters.multicast_bytes_sent += wire::frame_length(packet);
            echo(packet, wire, *ready);
        }
    }
    const auto gone = wire.send(*ready);
    r.offset = message.awaits_data ? message.length : r.offset + payload;
    if (r.offset >= message.length) {
        ++r.message;
        r.offset = 0;
    }
    if (qp.service.is_reliable) [[likely]]
        return watch(qp, gone);
    // Nobody answers: what has left is done (IBA 9.8.1, 9.8.3).
    r.oldest_psn = psn + 1;
    retire(qp, gone);
}

/// A multicast packet also reaches the members at this port (IBA 10.5.2), unless it goes there anyway.
void Requester::echo(const port::Packet& packet, const port::Wire& wire, port::Time at) {
    if (path_.groups.members(packet.path.destination_gid).empty())
        return;
    auto* inside = path_.outlets.inside();
    if (inside == nullptr || inside == &wire)
        return;
    inside->next() = packet;
    inside->send(at);
}

/// A local error: it is reported when every earlier message is complete, and nothing behind it is sent.
void Requester::stop(QueuePair& qp, const LocalError& error, port::Time at) {
    auto& r = qp.requester;
    auto& message = r.messages[r.message];
    message.error = static_cast<std::uint8_t>(error.syndrome);
    message.vendor_error = error.vendor;
    count_local(qp, error);
    retire(qp, at);
}

void Requester::count_local(const QueuePair& qp, const LocalError& error) {
    auto& count = path_.count(qp);
    if (error.syndrome == CqeSyndrome::local_prot_err)
        ++count.req_local_protection;
    else if (error.syndrome == CqeSyndrome::local_length_err)
        ++count.req_local_length_error;
    else
        ++count.local_operation_error;
}

} // namespace model::hca::requester
