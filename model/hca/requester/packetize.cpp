#include "model/hca/requester/packetize.h"

#include <algorithm>
#include <array>

namespace model::hca::requester {

using abi::prm::WqeOpcode;
using abi::wire::Operation;
using completion::CqeSyndrome;

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

LocalError translation_error(tpt::Violation violation) {
    return {CqeSyndrome::local_prot_err,
            static_cast<std::uint8_t>(vendor::translation + static_cast<unsigned>(violation))};
}
LocalError bus_error(port::DmaStatus status) {
    return {CqeSyndrome::local_qp_op_err, static_cast<std::uint8_t>(vendor::bus + static_cast<unsigned>(status))};
}

/// Adds `length` bytes of the request at the requester's position to the payload.
std::expected<port::Time, LocalError> gather(DataPath& path, queue::QueuePair& qp, std::uint32_t length,
                                             port::Packet& packet, port::Time at) {
    auto& r = qp.requester;
    auto done = at;
    while (length != 0) {
        const auto& segment = r.request->segments[r.segment];
        auto chunk = std::min(length, segment.length - r.segment_offset);
        if (segment.inline_data != nullptr) {
            packet.payload.append_copy({segment.inline_data + r.segment_offset, chunk});
        } else {
            const auto pieces = path.translator.translate({.key = segment.key,
                                                           .address = segment.address + r.segment_offset,
                                                           .length = chunk,
                                                           .access = tpt::Access::local_read,
                                                           .pd = qp.attributes.pd,
                                                           .qpn = qp.number.value,
                                                           .may_wait = qp.service.waits_to_send},
                                                          at);
            if (!pieces)
                return std::unexpected(translation_error(pieces.error()));
            chunk = static_cast<std::uint32_t>(pieces->covered);
            for (const auto& piece : pieces->all()) {
                const auto loan = path.dma.lend(piece.address, piece.length, pieces->ready, port::Purpose::payload);
                auto result = loan.result;
                if (loan.data != nullptr)
                    packet.payload.lend({loan.data, piece.length}, path.loans.requests);
                else if (result.is_ok())
                    result = path.dma.read(piece.address, packet.payload.extend(piece.length), pieces->ready,
                                           port::Purpose::payload);
                if (!result.is_ok())
                    return std::unexpected(bus_error(result.status));
                done = std::max(done, result.done);
            }
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
    packet.destination = datagram.destination;
    packet.deth = {.qkey = datagram.q_key & privileged ? qp.attributes.q_key : datagram.q_key,
                   .source_qpn = qp.service.special.value_or(qp.number)};
}

} // namespace

bool is_page_fault(const LocalError& error) {
    return error.vendor == translation_error(tpt::Violation::page_fault).vendor;
}
LocalError absent_page() { return translation_error(tpt::Violation::page_not_present); }

void seek(queue::Requester& r, std::uint32_t offset) {
    r.segment = 0;
    while (r.segment < r.request->segment_count && offset >= r.request->segments[r.segment].length)
        offset -= r.request->segments[r.segment++].length;
    r.segment_offset = offset;
}

std::expected<port::Time, LocalError> packetize(DataPath& path, queue::QueuePair& qp, const queue::Outstanding& message,
                                                port::Packet& packet, port::Time at) {
    auto& r = qp.requester;
    const auto& request = *r.request;
    const auto mtu = qp.attributes.mtu_bytes();
    packet.path = qp.path;
    packet.pkey = path.identity.pkey(qp.attributes.path.pkey_index);
    packet.destination = qp.attributes.remote_qpn;
    packet.service = qp.service.on_wire;
    packet.psn = message.first + r.offset / mtu;
    packet.xrc_srq = request.xrc_srq;
    if (qp.service.is_datagram) [[unlikely]]
        address(path, qp, request.datagram, packet);

    const auto& codes = operations(message.opcode);
    if (message.awaits_data) {
        packet.operation = codes.only;
        packet.ack_request = true;
        if (message.opcode == WqeOpcode::rdma_read)
            // A READ that goes on after a lost response asks for the rest only (IBA 9.7.5.1.4).
            packet.reth = {.address = request.remote_address + r.offset,
                           .rkey = request.rkey,
                           .length = message.length - r.offset};
        else
            packet.atomic = {.address = request.remote_address,
                             .rkey = request.rkey,
                             .swap_or_add = request.swap_or_add,
                             .compare = request.compare};
        return at;
    }
    const auto length = packet_length(message.length, r.offset, mtu);
    const bool is_first = r.offset == 0;
    const bool is_last = r.offset + length == message.length;
    packet.operation = is_first ? (is_last ? codes.only : codes.first) : (is_last ? codes.last : codes.middle);
    packet.reth = {.address = request.remote_address, .rkey = request.rkey, .length = message.length};
    packet.immediate = request.immediate;
    packet.invalidate = abi::Key{request.immediate};
    packet.solicited = is_last && request.solicited;
    ++r.since_request;
    const auto frequency = qp.attributes.log_ack_request;
    if (qp.service.is_reliable && (is_last || (frequency != 0 && r.since_request >= 1u << frequency))) {
        packet.ack_request = true;
        r.since_request = 0;
    }
    return gather(path, qp, length, packet, at);
}

std::expected<port::Time, LocalError> scatter(DataPath& path, const queue::QueuePair& qp,
                                              const queue::WorkRequest& request, std::uint32_t offset,
                                              std::span<const std::span<const std::byte>> pieces, port::Time at) {
    auto segment = request.data().begin();
    while (segment != request.data().end() && offset >= segment->length)
        offset -= segment++->length;
    auto done = at;
    for (auto bytes : pieces) {
        while (!bytes.empty()) {
            if (segment == request.data().end())
                return std::unexpected(LocalError{CqeSyndrome::local_length_err, vendor::length});
            const auto chunk = std::min<std::size_t>(bytes.size(), segment->length - offset);
            const auto targets = path.translator.translate({.key = segment->key,
                                                            .address = segment->address + offset,
                                                            .length = chunk,
                                                            .access = tpt::Access::local_write,
                                                            .pd = qp.attributes.pd,
                                                            .qpn = qp.number.value,
                                                            .may_wait = qp.service.waits_to_send},
                                                           at);
            if (!targets)
                return std::unexpected(translation_error(targets.error()));
            for (const auto& target : targets->all()) {
                const auto result =
                    path.dma.write(target.address, bytes.first(target.length), targets->ready, port::Purpose::payload);
                if (!result.is_ok())
                    return std::unexpected(bus_error(result.status));
                done = std::max(done, result.done);
                bytes = bytes.subspan(target.length);
                offset += static_cast<std::uint32_t>(target.length);
            }
            if (offset == segment->length) {
                ++segment;
                offset = 0;
            }
        }
    }
    return done;
}

} // namespace model::hca::requester
