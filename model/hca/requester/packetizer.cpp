#include "model/hca/requester/packetizer.h"

#include "model/hca/queue/packets.h"
#include "model/hca/requester/local_access.h"

#include <algorithm>
#include <array>

namespace model::hca::requester {

using abi::prm::WqeOpcode;
using abi::wire::Operation;

namespace {

/// The operation codes of a message's packets.
struct Operations {
    WqeOpcode opcode;
    Operation first, middle, last, only;
};
using enum Operation;
constexpr std::array table{
    Operations{WqeOpcode::rdma_write, write_first, write_middle, write_last, write_only},
    Operations{WqeOpcode::send, send_first, send_middle, send_last, send_only},
    Operations{WqeOpcode::send_inval, send_first, send_middle, send_last_with_invalidate, send_only_with_invalidate},
    Operations{WqeOpcode::rdma_read, read_request, read_request, read_request, read_request},
    Operations{WqeOpcode::rdma_write_imm, write_first, write_middle, write_last_with_immediate,
               write_only_with_immediate},
    Operations{WqeOpcode::send_imm, send_first, send_middle, send_last_with_immediate, send_only_with_immediate},
    Operations{WqeOpcode::atomic_cs, compare_swap, compare_swap, compare_swap, compare_swap},
    Operations{WqeOpcode::atomic_fa, fetch_add, fetch_add, fetch_add, fetch_add},
};

const Operations& operations(WqeOpcode opcode) {
    return *std::ranges::find(table, opcode, &Operations::opcode); // the WQE reader lets no other opcode through
}

} // namespace

memory::Moved Packetizer::fill(queue::QueuePair& qp, const queue::Outstanding& message, port::Packet& packet,
                               port::Time at) {
    auto& position = qp.requester.position;
    const auto& request = *position.wqe;
    auto& head = packet.rdma();
    head.xrc_srq = request.xrc_srq;
    if (qp.service.is_datagram) [[unlikely]]
        address(qp, request.datagram, packet);

    const auto& codes = operations(message.opcode);
    if (message.awaits_data) {
        head.operation = codes.only;
        head.ack_request = true;
        if (message.opcode == WqeOpcode::rdma_read) {
            // A READ that goes on after a lost response asks for the rest only (IBA 9.7.5.1.4), or with selective
            // repeat for what is missing of it.
            const auto& retry = qp.requester.retry;
            const auto rest = message.length - position.offset;
            const auto missing = std::uint64_t{retry.repeat_packets} * qp.attributes.mtu_bytes();
            head.reth = {.address = request.remote_address + position.offset,
                         .rkey = request.rkey,
                         .length =
                             retry.repeats ? static_cast<std::uint32_t>(std::min<std::uint64_t>(rest, missing)) : rest};
        } else
            head.atomic = {.address = request.remote_address,
                           .rkey = request.rkey,
                           .swap_or_add = request.swap_or_add,
                           .compare = request.compare};
        return at;
    }
    const auto length = queue::packet_length(message.length, position.offset, qp.attributes.mtu_bytes());
    const bool is_first = position.offset == 0;
    const bool is_last = position.offset + length == message.length;
    head.operation = is_first ? (is_last ? codes.only : codes.first) : (is_last ? codes.last : codes.middle);
    head.reth = {.address = request.remote_address, .rkey = request.rkey, .length = message.length};
    head.immediate = request.immediate;
    head.invalidate = abi::Key{request.immediate};
    head.solicited = is_last && request.solicited;
    ++position.since_request;
    const auto frequency = qp.attributes.log_ack_request;
    if (qp.service.is_reliable &&
        (is_last || (frequency != 0 && position.since_request >= 1u << frequency) || is_answer_wanted(qp, head.psn))) {
        head.ack_request = true;
        position.since_request = 0;
    }
    return gather(qp, length, packet, at);
}

std::uint32_t Packetizer::fill_train(queue::QueuePair& qp, const queue::Outstanding& message, port::Packet& packet,
                                     std::uint32_t most) {
    auto& position = qp.requester.position;
    const auto& request = *position.wqe;
    const auto& segment = request.segments[position.segment];
    if (message.opcode != WqeOpcode::rdma_write || segment.is_inline())
        return 0;
    const auto mtu = qp.attributes.mtu_bytes();
    const auto left = message.length - position.offset, in_segment = segment.length - position.segment_offset;
    if (const auto frequency = qp.attributes.log_ack_request; frequency != 0) // the one that asks is the last one
        most = std::min(most, (1u << frequency) - std::min(position.since_request, (1u << frequency) - 1));
    const auto packets = std::min(most, in_segment >= left ? queue::packet_count(left, mtu) : in_segment / mtu);
    if (packets < 2)
        return 0;
    const auto length = std::min(left, packets * mtu);
    const auto access = local_access(qp, segment, position.segment_offset, length, tpt::Access::local_read);
    if (!memory_.lend_units(access, mtu, packet.payload, memory_.loans().requests))
        return 0;
    auto& head = packet.rdma();
    packet.train = {.packets = packets, .unit = mtu, .ends_message = length == left};
    head.operation = position.offset == 0 ? Operation::write_first : Operation::write_middle;
    head.xrc_srq = request.xrc_srq;
    head.reth = {.address = request.remote_address, .rkey = request.rkey, .length = message.length};
    position.since_request += packets;
    if (packet.train.ends_message ||
        (qp.attributes.log_ack_request != 0 && position.since_request >= 1u << qp.attributes.log_ack_request)) {
        head.ack_request = true;
        position.since_request = 0;
    }
    position.segment_offset += length;
    if (position.segment_offset == segment.length) {
        ++position.segment;
        position.segment_offset = 0;
    }
    return packets;
}

/// Only answers move a window: several are asked for in each, one with the last packet that fits, and one with a packet
/// that goes again alone, since those behind it have asked in vain.
bool Packetizer::is_answer_wanted(const queue::QueuePair& qp, abi::Psn psn) {
    const auto& r = qp.requester;
    if (!r.congestion.round_trips) [[likely]]
        return false;
    const auto& control = *r.congestion.control;
    const auto in_flight = psn + 1 - r.window.oldest_psn;
    return r.retry.repeats || in_flight + 1 > control.window() ||
           r.position.since_request * control.answers_per_window() >= control.window();
}

/// Adds `length` bytes of the request at the requester's position to the payload.
memory::Moved Packetizer::gather(queue::QueuePair& qp, std::uint32_t length, port::Packet& packet, port::Time at) {
    auto& position = qp.requester.position;
    auto done = at;
    while (length != 0) {
        const auto& segment = position.wqe->segments[position.segment];
        const auto chunk = std::min(length, segment.length - position.segment_offset);
        if (segment.is_inline()) {
            packet.payload.append_copy(position.wqe->bytes_of(segment).subspan(position.segment_offset, chunk));
        } else {
            const auto access = local_access(qp, segment, position.segment_offset, chunk, tpt::Access::local_read);
            const auto lent = memory_.lend(access, packet.payload, memory_.loans().requests, at);
            if (!lent) [[unlikely]]
                return lent;
            done = std::max(done, *lent);
        }
        length -= chunk;
        position.segment_offset += chunk;
        if (position.segment_offset == segment.length) {
            ++position.segment;
            position.segment_offset = 0;
        }
    }
    return done;
}

/// A datagram goes where its WQE says.
void Packetizer::address(const queue::QueuePair& qp, const queue::Datagram& datagram, port::Packet& packet) const {
    constexpr std::uint32_t privileged = 0x80000000; // IBA 10.2.5: such a key stands for the one of the queue pair
    packet.path = identity_.path(datagram.path, qp.number);
    packet.rdma().destination = datagram.destination;
    packet.rdma().deth = {.qkey = datagram.q_key & privileged ? qp.attributes.q_key : datagram.q_key,
                          .source_qpn = qp.service.special.value_or(qp.number)};
}

} // namespace model::hca::requester
