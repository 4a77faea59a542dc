#include "model/hca/requester/sending.h"

#include "model/hca/queue/packets.h"
#include "model/hca/requester/position.h"
#include "model/wire/builder.h"

#include <algorithm>
#include <utility>

namespace model::hca::requester {

using queue::QueuePair;

bool Sending::advance(QueuePair& qp, std::int64_t& bytes, port::Time at) {
    auto& r = qp.requester;
    while (bytes > 0) {
        if (!qp.can_send() || r.retry.waits_rnr || qp.paging.stops_sending())
            return false;
        if (r.congestion.control && has_to_wait(qp, at)) [[unlikely]]
            return false;
        const auto asked = std::max({at, r.sends.known_at(), qp.context_at, r.heard_at});
        if (!queue_.load(qp, asked))
            return false;
        // A datagram goes where its WQE says.
        auto& wire = qp.service.is_datagram ? out_.outlets.way(out_.identity.is_own(r.position.wqe->datagram.path))
                                            : out_.outlets.of(qp);
        if (!wire.can_send(at)) {
            r.full = out_.outlets.name(wire);
            return true;
        }
        const auto cause = out_.outbox.because(r.sends.messages[r.position.message].cause);
        bytes -= send(qp, wire, bytes, std::max(asked, r.position.ready));
    }
    return true;
}

/// Whether the window of a queue pair takes one more packet. When no answer is to come that could open it, one goes in
/// any case, and asks for an answer.
static bool has_room(const QueuePair& qp) {
    const auto& r = qp.requester;
    const auto next = psn_at(r, r.position.message, r.position.offset, qp.attributes.mtu_bytes());
    const auto in_flight = next - r.window.oldest_psn;
    return in_flight + 1 <= r.congestion.control->window() ||
           !r.congestion.round_trips->is_waiting(r.window.oldest_psn);
}

/// Whether the next packet of a queue pair that was slowed down is not due yet. It has a turn then, or when an answer
/// comes.
bool Sending::has_to_wait(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    auto& own = r.congestion;
    const bool is_early = own.is_early(at);
    if (is_early)
        r.rests_until = own.control->asks_again();
    const bool has_work = r.position.message != r.sends.messages.end() || r.sends.fetched != r.sends.producer;
    const bool has_window = own.round_trips != nullptr;
    if (has_window ? has_work && (is_early || !has_room(qp)) : is_early) {
        if (has_work)
            own.hold(at);
        return true;
    }
    if (const auto span = own.end_hold(at); span && has_window) {
        ++counters_.window_waits;
        counters_.window_waited_ps += static_cast<std::uint64_t>(span->count());
        longest_hold_ = std::max(longest_hold_, *span);
    } else if (span) {
        counters_.waited_for_rate(*span);
    }
    return false;
}

void Sending::note_departure(QueuePair& qp, std::uint64_t bytes, abi::Psn psn, abi::Psn end, bool asks, port::Time at,
                             port::Time gone) {
    auto& r = qp.requester;
    const auto packets = static_cast<std::uint32_t>(end - psn);
    r.congestion.control->sent({.bytes = bytes, .packets = packets, .at = at});
    if (!r.congestion.round_trips || !asks)
        return;
    const bool awaits_data = r.sends.messages[r.position.message].awaits_data; // answered from its first packet on
    const auto last = end + abi::Psn::mask;
    r.congestion.round_trips->asked(awaits_data ? psn : last, last, psn.is_before(r.window.unsent_psn), gone);
}

/// Packets that may go as one: those of this turn for which the port has room.
std::uint32_t Sending::longest_train(const QueuePair& qp, const queue::Outstanding& message, const port::Wire& wire,
                                     std::int64_t left, port::Time at) const {
    const auto mtu = qp.attributes.mtu_bytes();
    if (qp.requester.retry.repeats || qp.service.on_wire != abi::wire::Service::rc ||
        message.length - qp.requester.position.offset <= mtu)
        return 1;
    const auto in_turn = (left - 1) / queue::turn_cost(mtu) + 1;
    return static_cast<std::uint32_t>(std::min<std::int64_t>(in_turn, wire.train_room(at)));
}

std::int64_t Sending::send(QueuePair& qp, port::Wire& wire, std::int64_t left, port::Time at) {
    auto& r = qp.requester;
    auto& position = r.position;
    auto& message = r.sends.messages[position.message];
    const auto psn = message.first + position.offset / qp.attributes.mtu_bytes();
    auto& packet = out_.outbox.begin(qp, wire, psn);
    const auto most = longest_train(qp, message, wire, left, at);
    const auto in_train = most > 1 ? packetizer_.fill_train(qp, message, packet, most) : 0;
    const auto ready =
        in_train != 0 ? memory::Moved(at) : packetizer_.fill(qp, message, packet, out_.outbox.enter_pipe(at));
    if (!ready) [[unlikely]] {
        const auto& denied = ready.error();
        if (!denied.is_page_fault() || !wait_for_page(qp, denied.request, at))
            retirement_.stop(qp, message, completion::local_error(denied.without_wait()), at);
        return queue::turn_cost(0);
    }
    const auto packets = packet.train.packets;
    const auto payload = packet.payload.size();
    out_.outbox.note(packet, *ready);
    if (!qp.service.is_reliable) [[unlikely]]
        leave_unreliably(qp, packet, wire, *ready);
    const auto end = message.awaits_data ? message.next() : psn + packets;
    const bool asks = packet.rdma().ack_request;
    const auto bytes = r.congestion.control ? wire::frames_length(packet) : 0;
    const auto gone = wire.send(*ready);
    if (r.congestion.control) [[unlikely]]
        note_departure(qp, bytes, psn, end, asks, at, gone);
    if (end.is_after(r.window.unsent_psn))
        r.window.unsent_psn = end;
    position.offset = message.awaits_data ? message.length : position.offset + payload;
    if (position.offset >= message.length) {
        ++position.message;
        position.offset = 0;
    }
    if (r.retry.repeats) [[unlikely]]
        Retry::resume(qp);
    if (qp.service.is_reliable) [[likely]] {
        retry_.watch(qp, gone);
    } else { // Nobody answers, so what has left is done (IBA 9.8.1, 9.8.3).
        r.window.oldest_psn = psn + 1;
        retirement_.retire(qp, gone);
    }
    return queue::turn_cost(payload) + (packets - 1) * queue::turn_cost(0);
}

/// A packet that nobody acknowledges is complete when it has left, and software may then change its memory before the
/// packet arrives; so the payload is copied. A multicast packet also reaches the members at this port (IBA 10.5.2), for
/// which a copy goes inside unless the packet itself does.
void Sending::leave_unreliably(const QueuePair& qp, port::Packet& packet, const port::Wire& wire, port::Time at) {
    packet.payload.own();
    if (!qp.service.is_datagram || packet.rdma().destination != multicast::multicast_qpn)
        return;
    ++counters_.multicast_sent;
    counters_.multicast_bytes_sent += wire::frame_length(packet);
    if (out_.groups.members(packet.path.destination_gid).empty())
        return;
    auto* inside = out_.outlets.inside();
    if (inside == nullptr || inside == &wire)
        return;
    inside->next() = packet;
    inside->send(at);
}

/// The packet at the sending position needs a page. False when the message cannot wait.
bool Sending::wait_for_page(QueuePair& qp, const tpt::Request& access, port::Time at) {
    auto& position = qp.requester.position;
    const auto& message = qp.requester.sends.messages[position.message];
    seek(position); // the packet is gathered again from its start
    return page_faults_.raise(
        qp,
        paging::WqePageFault{.type = abi::prm::PageFaultType::send_or_write,
                             .wq_number = qp.number.value,
                             .wqe_index = message.wqe_index,
                             .committed = position.offset,
                             .packet = queue::packet_length(message.length, position.offset, qp.attributes.mtu_bytes()),
                             .what = position.message},
        access, at);
}

} // namespace model::hca::requester
