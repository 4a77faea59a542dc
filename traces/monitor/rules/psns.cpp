#include "traces/monitor/rules/psns.h"

#include <algorithm>

namespace traces::monitor {

using namespace abi::wire;
using Kind = OperationTraits::Kind;

void Psns::on(const QpConnected& connected) {
    const auto psn = connected.qp.first_psn;
    states_[{connected.qp.link, connected.qp.number.value}] = {
        .next = psn, .unacknowledged = psn, .newest = 0, .answered = {}};
}

void Psns::on(const ObjectGone& gone) {
    if (gone.kind == ObjectKind::qp)
        states_.erase({gone.at.interface, gone.number});
}

void Psns::on(const PacketSeen& seen) {
    if (seen.qp == nullptr || seen.packet.service == Service::ud || !seen.packet.is_whole)
        return;
    const auto found = states_.find({seen.qp->link, seen.qp->number.value});
    if (found == states_.end())
        return;
    if (seen.is_request() && seen.direction == Direction::outbound)
        sent(seen, found->second);
    else if (!seen.is_request() && seen.direction == Direction::inbound)
        answered(seen, found->second);
}

void Psns::sent(const PacketSeen& seen, State& state) {
    const auto& packet = seen.packet;
    const auto kind = packet.traits().kind;
    std::uint32_t packets = 1;
    if (kind == Kind::read_request && seen.qp->mtu != 0)
        packets =
            std::max(1u, static_cast<std::uint32_t>((std::uint64_t{packet.length} + seen.qp->mtu - 1) / seen.qp->mtu));
    const auto objects = [&] { return fmt::format("QP {:#x}, PSN {:#x}", seen.qp->number.value, packet.psn.value); };
    judges();
    const auto end = packet.psn + packets;
    if (packet.psn == state.next) {
        if (kind == Kind::read_request || kind == Kind::atomic)
            state.answered.push_back({packet.psn, packet.psn, end});
        state.next = end;
        state.newest = seen.at.record;
    } else if (packet.psn.is_after(state.next)) {
        violated(seen.at, {state.newest}, objects(),
                 fmt::format("{} skips {} PSNs, the next one is {:#x}: the responder drops it and answers with a NAK "
                             "(PSN sequence error)",
                             packet.traits().name, packet.psn - state.next, state.next.value));
        state.next = end; // said once
        state.newest = seen.at.record;
    } else if (packet.psn.is_before(state.unacknowledged) && !asks_again(state, packet)) {
        violated(seen.at, {state.newest}, objects(),
                 fmt::format("{} is sent again, although everything before {:#x} has been acknowledged",
                             packet.traits().name, state.unacknowledged.value));
    }
}

/// A READ again whose answer has come in part, the whole or from somewhere in it: what was missing may have come while
/// the request was on its way out. The responder takes it for the duplicate that it is.
bool Psns::asks_again(const State& state, const Packet& packet) {
    if (packet.traits().kind != Kind::read_request || state.answered.empty())
        return false;
    const auto& front = state.answered.front();
    return !packet.psn.is_before(front.begin) && packet.psn.is_before(front.end);
}

void Psns::acknowledge(State& state, abi::Psn end) {
    // An answer with data acknowledges what is before it; an acknowledgement behind it does not acknowledge it.
    if (!state.answered.empty() && end.is_after(state.answered.front().next))
        end = state.answered.front().next;
    if (end.is_after(state.unacknowledged) && !end.is_after(state.next))
        state.unacknowledged = end;
}

void Psns::take(State& state, abi::Psn psn) {
    if (state.answered.empty() || psn != state.answered.front().next)
        return;
    auto& front = state.answered.front();
    front.next += 1;
    const bool is_over = front.next == front.end;
    acknowledge(state, front.next);
    if (is_over)
        state.answered.pop_front();
}

void Psns::answered(const PacketSeen& seen, State& state) {
    const auto& packet = seen.packet;
    const auto& traits = packet.traits();
    if (traits.kind == Kind::read_response || traits.has_atomic_ack) {
        if (packet.payload_bytes == 0 && !traits.has_atomic_ack)
            take(state, packet.psn);
        else
            pending_ = {seen.at.record, {seen.qp->link, seen.qp->number.value}, packet.psn};
        return;
    }
    const auto kind = kind_of(packet.syndrome);
    if (kind == SyndromeKind::acknowledge)
        acknowledge(state, packet.psn + 1);
    else if (kind != SyndromeKind::reserved) // refused, but what was before it has arrived
        acknowledge(state, packet.psn);
}

void Psns::on(const MemoryWritten& written) {
    if (pending_.record == 0 || written.at.cause != pending_.record)
        return;
    if (written.place == Place::event_queue) { // a page fault: the packet is dropped
        pending_ = {};
        return;
    }
    if (const auto found = states_.find(pending_.key); found != states_.end())
        take(found->second, pending_.psn);
    pending_ = {};
}

} // namespace traces::monitor
