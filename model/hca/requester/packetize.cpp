#include "model/hca/requester/packetize.h"

#include <algorithm>
#include <array>
#include <cassert>

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

/// What a work request asks of a key that its data segment names.
tpt::Request local_access(const queue::QueuePair& qp, const queue::DataSegment& segment, std::uint32_t offset,
                          tpt::Access access) {
    return {.key = segment.key,
            .address = segment.address + offset,
            .length = segment.length - offset,
            .access = access,
            .pd = qp.attributes.pd,
            .qpn = qp.number.value,
            .may_wait = qp.service.waits_to_send};
}

/// Adds `length` bytes of the request at the requester's position to the payload.
memory::Moved gather(DataPath& path, queue::QueuePair& qp, std::uint32_t length, port::Packet& packet, port::Time at) {
    auto& r = qp.requester;
    auto done = at;
    while (length != 0) {
        const auto& segment = r.request->segments[r.segment];
        const auto chunk = std::min(length, segment.length - r.segment_offset);
        if (segment.inline_data != nullptr) {
            packet.payload.append_copy({segment.inline_data + r.segment_offset, chunk});
        } else {
            auto access = local_access(qp, segment, r.segment_offset, tpt::Access::local_read);
            access.length = chunk;
            const auto lent = path.memory.lend(access, packet.payload, path.loans.requests, at);
            if (!lent) [[unlikely]]
                return lent;
            done = std::max(done, *lent);
        }
        length -= chunk;
        r.segment_offset += chunk;
        if (r.segment_offset == segment.length) {
            ++r.segment;
            r.segment_offset = 0;
        }
    }
    return done;
}

/// A datagram goes where its WQE says.
void address(const DataPath& path, const queue::QueuePair& qp, const queue::Datagram& datagram, port::Packet& packet) {
    constexpr std::uint32_t privileged = 0x80000000; // IBA 10.2.5: such a key stands for the one of the queue pair
    packet.path = path.identity.path(datagram.path, qp.number);
    packet.rdma().destination = datagram.destination;
    packet.rdma().deth = {.qkey = datagram.q_key & privileged ? qp.attributes.q_key : datagram.q_key,
                          .source_qpn = qp.service.special.value_or(qp.number)};
}

} // namespace

void seek(queue::RequesterState& r, std::uint32_t offset) {
    r.segment = 0;
    while (r.segment < r.request->segment_count && offset >= r.request->segments[r.segment].length)
        offset -= r.request->segments[r.segment++].length;
    r.segment_offset = offset;
}

memory::Moved packetize(DataPath& path, queue::QueuePair& qp, const queue::Outstanding& message, port::Packet& packet,
                        port::Time at) {
    auto& r = qp.requester;
    const auto& request = *r.request;
    const auto mtu = qp.attributes.mtu_bytes();
    packet.path = qp.path;
    packet.rdma().pkey = path.identity.pkey(qp.attributes.path.pkey_index);
    packet.rdma().destination = qp.attributes.remote_qpn;
    packet.rdma().service = qp.service.on_wire;
    packet.rdma().psn = message.first + r.offset / mtu;
    packet.rdma().xrc_srq = request.xrc_srq;
    if (qp.service.is_datagram) [[unlikely]]
        address(path, qp, request.datagram, packet);

    const auto& codes = operations(message.opcode);
    if (message.awaits_data) {
        packet.rdma().operation = codes.only;
        packet.rdma().ack_request = true;
        if (message.opcode == WqeOpcode::rdma_read)
            // A READ that goes on after a lost response asks for the rest only (IBA 9.7.5.1.4).
            packet.rdma().reth = {.address = request.remote_address + r.offset,
                                  .rkey = request.rkey,
                                  .length = message.length - r.offset};
        else
            packet.rdma().atomic = {.address = request.remote_address,
                                    .rkey = request.rkey,
                                    .swap_or_add = request.swap_or_add,
                                    .compare = request.compare};
        return at;
    }
    const auto length = packet_length(message.length, r.offset, mtu);
    const bool is_first = r.offset == 0;
    const bool is_last = r.offset + length == message.length;
    packet.rdma().operation = is_first ? (is_last ? codes.only : codes.first) : (is_last ? codes.last : codes.middle);
    packet.rdma().reth = {.address = request.remote_address, .rkey = request.rkey, .length = message.length};
    packet.rdma().immediate = request.immediate;
    packet.rdma().invalidate = abi::Key{request.immediate};
    packet.rdma().solicited = is_last && request.solicited;
    ++r.since_request;
    const auto frequency = qp.attributes.log_ack_request;
    if (qp.service.is_reliable && (is_last || (frequency != 0 && r.since_request >= 1u << frequency))) {
        packet.rdma().ack_request = true;
        r.since_request = 0;
    }
    return gather(path, qp, length, packet, at);
}

memory::Moved scatter(DataPath& path, const queue::QueuePair& qp, const queue::WorkRequest& request,
                      std::uint32_t offset, std::span<const std::span<const std::byte>> pieces, port::Time at) {
    auto segment = request.data().begin();
    while (segment != request.data().end() && offset >= segment->length)
        offset -= segment++->length;
    auto done = at;
    for (auto bytes : pieces) {
        while (!bytes.empty()) {
            assert(segment != request.data().end() && "the request has room for the whole answer");
            const auto chunk = std::min<std::size_t>(bytes.size(), segment->length - offset);
            const auto written =
                path.memory.write(local_access(qp, *segment, offset, tpt::Access::local_write), bytes.first(chunk), at);
            if (!written) [[unlikely]]
                return written;
            done = std::max(done, *written);
            bytes = bytes.subspan(chunk);
            offset += static_cast<std::uint32_t>(chunk);
            if (offset == segment->length) {
                ++segment;
                offset = 0;
            }
        }
    }
    return done;
}

} // namespace model::hca::requester
