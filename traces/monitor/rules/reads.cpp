#include "traces/monitor/rules/reads.h"

#include <algorithm>

namespace traces::monitor {

using Kind = abi::wire::OperationTraits::Kind;
using abi::prm::CqeOpcode;

Reads::Read Reads::read_of(const PacketSeen& seen) {
    const auto length = seen.packet.length, mtu = seen.qp->mtu;
    const auto packets = std::max<std::uint64_t>(1, (std::uint64_t{length} + mtu - 1) / mtu);
    return {.begin = seen.packet.psn,
            .packets = static_cast<std::uint32_t>(packets),
            .length = length,
            .request = seen.at.record};
}

void Reads::on(const PacketSeen& seen) {
    const auto kind = seen.packet.traits().kind;
    const bool is_request = kind == Kind::read_request, is_response = kind == Kind::read_response;
    if (seen.qp == nullptr || seen.qp->mtu == 0 || !(is_request || is_response))
        return;
    const bool is_inbound = seen.direction == Direction::inbound;
    if (is_inbound && !seen.packet.is_whole)
        return;
    auto& ends = ends_[{seen.qp->link, seen.qp->number.value}];
    if (is_request)
        is_inbound ? is_asked(seen, ends) : asks(seen, ends);
    else
        is_inbound ? is_answered(seen, ends) : answers(seen, ends);
}

void Reads::asks(const PacketSeen& seen, Ends& ends) {
    // Asked again, for all of it or for the rest: the answer goes on where it stopped.
    const auto psn = seen.packet.psn;
    if (std::ranges::any_of(ends.asked, [&](const Read& read) {
            return !psn.is_before(read.begin) && psn.is_before(read.begin + read.packets);
        }))
        return;
    ends.asked.push_back(read_of(seen));
    if (ends.asked.size() > most_kept)
        ends.asked.pop_front();
}

void Reads::is_answered(const PacketSeen& seen, Ends& ends) {
    if (ends.asked.empty() || ends.asked.front().next() != seen.packet.psn)
        return; // out of order, or late: the requester drops it
    if (++ends.asked.front().position == ends.asked.front().packets) {
        ends.asked.pop_front();
        ++ends.whole;
    }
}

void Reads::on(const CqeWritten& written) {
    if (written.entry.get<"opcode">() != CqeOpcode::req ||
        written.entry.get<"sop">() != static_cast<std::uint32_t>(abi::prm::WqeOpcode::rdma_read))
        return;
    const auto found = ends_.find({written.at.interface, written.entry.get<"qpn">()});
    if (found == ends_.end())
        return;
    auto& ends = found->second;
    if (ends.whole != 0) {
        judges();
        --ends.whole;
    } else if (!ends.asked.empty()) { // else it was of the same device, and no packet left it
        judges();
        const auto& read = ends.asked.front();
        violated(
            written.at, {read.request},
            fmt::format("QP {:#x}, CQ {:#x}, PSN {:#x}", found->first.second, written.queue.number.value,
                        read.begin.value),
            fmt::format("a READ of {} bytes completes after {} of the {} packets of its answer: its buffer does not "
                        "have all of the data yet",
                        read.length, read.position, read.packets));
        ends.asked.pop_front();
    }
}

void Reads::is_asked(const PacketSeen& seen, Ends& ends) {
    // The same again, or its rest, may overtake each other, and what is under way may go on first: any of them may be
    // what the next packet belongs to.
    ends.answering.push_back(read_of(seen));
    if (ends.answering.size() > most_kept)
        ends.answering.pop_front();
}

bool Reads::Read::takes(const Packet& packet) const {
    const bool is_last_place = position + 1 == packets;
    return packet.traits().is_first == (position == 0) && packet.traits().is_last == is_last_place &&
           (!is_last_place || bytes + packet.payload_bytes == length);
}

std::deque<Reads::Read>::iterator Reads::answered_by(const PacketSeen& seen, std::deque<Read>& answering) {
    auto found = answering.end();
    for (auto read = answering.begin(); read != answering.end(); ++read)
        if (read->next() == seen.packet.psn &&
            (found == answering.end() || read->takes(seen.packet) || !found->takes(seen.packet)))
            found = read; // the newest one that it fits, and the newest one where it fits none
    return found;
}

void Reads::answers(const PacketSeen& seen, Ends& ends) {
    const auto& packet = seen.packet;
    const auto objects = [&] { return fmt::format("QP {:#x}, PSN {:#x}", seen.qp->number.value, packet.psn.value); };
    judges();
    const auto found = answered_by(seen, ends.answering);
    if (found == ends.answering.end()) {
        violated(seen.at, {ends.answering.empty() ? 0 : ends.answering.back().request}, objects(),
                 fmt::format("{} is not the next packet of any answer: one before it is missing, or nobody has asked",
                             packet.traits().name));
        return;
    }
    const bool is_first = found->position == 0, is_last = found->position + 1 == found->packets;
    ++found->position;
    found->bytes += packet.payload_bytes;
    if (packet.traits().is_first != is_first || packet.traits().is_last != is_last)
        violated(seen.at, {found->request}, objects(),
                 fmt::format("{} as packet {} of the {} of an answer", packet.traits().name, found->position,
                             found->packets));
    else if (is_last && found->bytes != found->length)
        violated(seen.at, {found->request}, objects(),
                 fmt::format("the answer to a READ of {} bytes has {}", found->length, found->bytes));
    if (is_last) { // older requests for the same are done with it, a newer one has an answer of its own
        const auto is_same = [end = packet.psn + 1](const Read& read) { return read.begin + read.packets == end; };
        const auto behind = std::next(found);
        ends.answering.erase(std::remove_if(ends.answering.begin(), behind, is_same), behind);
    }
}

void Reads::on(const ObjectGone& gone) {
    if (gone.kind == ObjectKind::qp)
        ends_.erase({gone.at.interface, gone.number});
}

} // namespace traces::monitor
