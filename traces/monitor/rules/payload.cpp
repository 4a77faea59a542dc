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
    if (traits.is_first) {
        forget(message);
        message.others = others_[key.first];
        message.is_datagram = seen.packet.service == abi::wire::Service::ud;
    }
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
    message.completion = written.at.record;
    // A datagram's buffer begins with room for a GRH, which is left as it is where there is none (IBA 11.4.1.2).
    constexpr std::uint32_t grh = 40;
    std::uint64_t expected = written.entry.get<"byte_cnt">();
    if (message.is_datagram)
        expected -= std::min<std::uint64_t>(expected, grh);
    // Writes that no packet caused may be of this message: it has waited for a page.
    if (message.written < expected && message.others == others_[key.first])
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
