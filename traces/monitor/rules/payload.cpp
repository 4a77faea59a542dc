#include "traces/monitor/rules/payload.h"

namespace traces::monitor {

using namespace abi::prm;
using Kind = abi::wire::OperationTraits::Kind;

void Payload::forget(Message& message) {
    for (const auto packet : message.packets)
        by_packet_.erase(packet);
    message = {};
}

void Payload::on(const PacketSeen& seen) {
    const auto& traits = seen.packet.traits();
    if (seen.qp == nullptr || seen.direction != Direction::inbound || !seen.packet.is_whole ||
        (traits.kind != Kind::send && traits.kind != Kind::write))
        return;
    const ObjectKey key{seen.qp->link, seen.qp->number.value};
    auto& message = messages_[key];
    const auto psn = seen.packet.psn;
    const bool is_datagram = seen.packet.service == abi::wire::Service::ud;
    if (traits.is_first) {
        const auto waiting = message.completion != 0 ? 0 : message.waiting + (message.completes ? 1 : 0);
        const auto newest = message.newest;
        // What comes again may be in memory already, and is not written twice.
        const bool is_new = is_datagram || !newest || psn.is_after(*newest);
        forget(message);
        message = {.others = others_[key.first],
                   .waiting = waiting,
                   .newest = newest,
                   .is_datagram = is_datagram,
                   .is_in_order = is_new};
    } else if (psn != message.next) {
        message.is_in_order = false;
    }
    message.next = psn + 1;
    if (!message.newest || psn.is_after(*message.newest))
        message.newest = psn;
    message.completes |= traits.kind == Kind::send || traits.has_immediate;
    message.packets.push_back(seen.at.record);
    by_packet_[seen.at.record] = key;
    if (message.packets.size() > most_packets) {
        by_packet_.erase(message.packets.front());
        message.packets.pop_front();
    }
}

void Payload::on(const MemoryWritten& written) {
    if (written.place != Place::elsewhere)
        return;
    const auto found = by_packet_.find(written.at.cause);
    if (found == by_packet_.end()) {
        ++others_[written.at.interface];
        return;
    }
    auto& message = messages_[found->second];
    message.written += written.bytes.size();
    if (message.completion != 0)
        violated(written.at, {message.completion, written.at.cause}, fmt::format("QP {:#x}", found->second.second),
                 fmt::format("{} bytes of a message are written to {:#x} after its completion: software may have read "
                             "the buffer already, or given it to somebody else",
                             written.bytes.size(), written.address));
}

void Payload::on(const CqeWritten& written) {
    const auto opcode = written.entry.get<"opcode">();
    if (opcode != CqeOpcode::resp_send && opcode != CqeOpcode::resp_send_imm && opcode != CqeOpcode::resp_send_inv &&
        opcode != CqeOpcode::resp_wr_imm)
        return;
    const ObjectKey key{written.at.interface, written.entry.get<"qpn">()};
    const auto found = messages_.find(key);
    if (found == messages_.end() || found->second.packets.empty() ||
        written.entry.get<"cqe_format">() != CqeFormat::no_data)
        return;
    auto& message = found->second;
    // Another message of the queue pair that no packet brought, or one of several that are under way: which one? And
    // of packets that come again or late nobody knows which ones the device has taken.
    const auto cause = by_packet_.find(written.at.cause);
    const bool is_its_own = cause != by_packet_.end() && cause->second == key;
    if (message.completion != 0 || (message.waiting != 0 && !is_its_own)) {
        message.waiting -= message.waiting != 0;
        return;
    }
    message.completion = written.at.record;
    // A datagram's buffer begins with room for a GRH, which is left as it is where there is none (IBA 11.4.1.2).
    constexpr std::uint32_t grh = 40;
    std::uint64_t expected = written.entry.get<"byte_cnt">();
    if (message.is_datagram)
        expected -= std::min<std::uint64_t>(expected, grh);
    // Writes that no packet caused may be of this message: it has waited for a page.
    const bool is_alone = message.is_in_order && message.others == others_[key.first];
    if (is_alone || message.written >= expected)
        judges();
    if (message.written < expected && is_alone)
        violated(written.at, {message.packets.back()},
                 fmt::format("QP {:#x}, CQ {:#x}", key.second, written.queue.number.value),
                 fmt::format("a message of {} bytes completes when {} of them are in memory: whoever polls finds an "
                             "old rest",
                             expected, message.written));
}

void Payload::on(const ObjectGone& gone) {
    const auto found = messages_.find({gone.at.interface, gone.number});
    if (gone.kind != ObjectKind::qp || found == messages_.end())
        return;
    forget(found->second);
    messages_.erase(found);
}

} // namespace traces::monitor
