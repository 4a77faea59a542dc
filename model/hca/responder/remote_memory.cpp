#include "model/hca/responder/remote_memory.h"

#include "model/hca/queue/packets.h"
#include "model/hca/responder/remote_access.h"

#include <algorithm>

namespace model::hca::responder {

using abi::prm::PageFaultType;
using abi::wire::NakCode;
using abi::wire::Operation;
using queue::QueuePair;
using queue::Response;
using Message = queue::OrderState::Message;

bool RemoteMemory::may_access(const tpt::Request& access, port::Time at) {
    return access.length == 0 || memory_.check(access, at).has_value();
}

bool RemoteMemory::lacks_page(const tpt::Request& first_packet) const {
    return first_packet.length != 0 && memory_.lacks_page(first_packet);
}

/// Takes in what the first packet of a WRITE says of the whole. Returns false when the WRITE was refused.
bool RemoteMemory::begin_write(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& own = qp.responder.remote;
    const auto& reth = packet.rdma().reth;
    ++qp.counters->rx_write_requests;
    if (!qp.attributes.remote_write || reth.length > max_message) {
        answers_.refuse_and_fail(qp, NakCode::invalid_request, at);
        return false;
    }
    // The whole range is checked before its first byte moves, and before a receive is asked for; the translation of a
    // single packet without immediate does that by itself, when its payload is one piece.
    const bool is_checked_later =
        packet.traits().is_last && !packet.traits().has_immediate && packet.payload.pieces().size() <= 1;
    if (!is_checked_later &&
        !may_access(remote_access(qp, reth.rkey, reth.address, reth.length, tpt::Access::remote_write, own.pd), at)) {
        answers_.refuse_and_fail(qp, NakCode::remote_access_error, at);
        return false;
    }
    note_write(qp, reth);
    return true;
}

void RemoteMemory::note_write(QueuePair& qp, const port::Reth& reth) {
    auto& own = qp.responder.remote;
    own.address = reth.address;
    own.key = reth.rkey;
    own.remaining = reth.length;
    qp.responder.order.received = 0;
}

bool RemoteMemory::write_train(QueuePair& qp, const port::Packet& packet) {
    auto& own = qp.responder.remote;
    auto& order = qp.responder.order;
    const auto& reth = packet.rdma().reth;
    const bool is_first = packet.traits().is_first;
    const auto length = packet.payload.size();
    const auto remaining = is_first ? reth.length : own.remaining;
    const auto pieces = packet.payload.pieces();
    if (pieces.size() != 1 || length > remaining || packet.train.ends_message != (length == remaining))
        return false;
    if (is_first) {
        const auto whole = remote_access(qp, reth.rkey, reth.address, reth.length, tpt::Access::remote_write, own.pd);
        if (!qp.attributes.remote_write || reth.length > max_message || !memory_.is_allowed(whole))
            return false;
    }
    memory_.loans().answers.drain();
    const auto access = remote_access(qp, is_first ? reth.rkey : own.key, is_first ? reth.address : own.address, length,
                                      tpt::Access::remote_write, own.pd);
    if (!memory_.write_units(access, packet.train.unit, pieces.front()))
        return false;
    if (is_first) {
        ++qp.counters->rx_write_requests;
        note_write(qp, reth);
    }
    order.message = Message::write;
    own.address += length;
    own.remaining -= length;
    order.received += length;
    return true;
}

CarriedOut RemoteMemory::write(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& own = qp.responder.remote;
    auto& order = qp.responder.order;
    const auto& traits = packet.traits();
    if (traits.is_first && !begin_write(qp, packet, at))
        return {};
    const auto length = packet.payload.size();
    const auto begin = own.address;
    const auto message = order.message;
    // The packets bring exactly what the RETH announced (IBA 9.7.4.1.6).
    if (length > own.remaining || traits.is_last != (length == own.remaining)) {
        answers_.refuse_and_fail(qp, NakCode::invalid_request, at);
        return {};
    }
    if (traits.has_immediate) {
        const auto taken = receives_.take(qp, at);
        if (!taken)
            return {};
        at = taken.at;
    }
    order.message = Message::write;
    memory_.loans().answers.drain();
    for (const auto bytes : packet.payload.pieces()) {
        const auto written =
            memory_.write(remote_access(qp, own.key, own.address, bytes.size(), tpt::Access::remote_write, own.pd),
                          bytes, at, &order.writes);
        if (!written) [[unlikely]] {
            own.address = begin; // the peer repeats the whole packet
            order.message = message;
            patience_.refuse(qp, written.error(),
                             {.type = PageFaultType::remote_write,
                              .key = own.key,
                              .address = begin - order.received,
                              .length = order.received + own.remaining,
                              .committed = order.received,
                              .packet = length,
                              .psn = packet.rdma().psn},
                             at);
            return {};
        }
        at = *written;
        own.address += bytes.size();
    }
    own.remaining -= length;
    order.received += length;
    return {true, at};
}

std::optional<Answered> RemoteMemory::read(QueuePair& qp, const port::Packet& packet, port::Time at) {
    const auto pd = qp.responder.remote.pd;
    const auto mtu = qp.attributes.mtu_bytes();
    const auto psn = packet.rdma().psn;
    ++qp.counters->rx_read_requests;
    const auto& reth = packet.rdma().reth;
    if (!qp.attributes.remote_read || reth.length > max_message || Answers::is_limit_reached(qp, false)) {
        answers_.refuse_and_fail(qp, NakCode::invalid_request, at);
        return std::nullopt;
    }
    auto access = remote_access(qp, reth.rkey, reth.address, reth.length, tpt::Access::remote_read, pd);
    if (!may_access(access, at)) {
        answers_.refuse_and_fail(qp, NakCode::remote_access_error, at);
        return std::nullopt;
    }
    const auto first = std::min(reth.length, mtu);
    access.length = first;
    if (lacks_page(access)) {
        patience_.wait_or_refuse(qp,
                                 {.type = PageFaultType::remote_read,
                                  .key = reth.rkey,
                                  .address = reth.address,
                                  .length = reth.length,
                                  .packet = first,
                                  .psn = psn},
                                 access, at);
        return std::nullopt;
    }
    return Answered{.response = {.kind = Response::Kind::read,
                                 .syndrome = abi::wire::ack_syndrome(),
                                 .psn = psn,
                                 .address = reth.address,
                                 .rkey = reth.rkey,
                                 .remaining = reth.length,
                                 .pd = pd},
                    .replay = {.first = psn,
                               .packets = queue::packet_count(reth.length, mtu),
                               .address = reth.address,
                               .rkey = reth.rkey,
                               .length = reth.length,
                               .pd = pd},
                    .at = at};
}

std::optional<Answered> RemoteMemory::atomic(QueuePair& qp, const port::Packet& packet, port::Time at) {
    const auto psn = packet.rdma().psn;
    ++qp.counters->rx_atomic_requests;
    const auto& request = packet.rdma().atomic;
    if (!qp.attributes.remote_atomic || request.address % 8 != 0 || Answers::is_limit_reached(qp, false)) {
        answers_.refuse_and_fail(qp, NakCode::invalid_request, at);
        return std::nullopt;
    }
    memory_.loans().answers.drain();
    std::uint64_t original = 0;
    const bool is_swap = packet.rdma().operation == Operation::compare_swap;
    const auto done = memory_.modify(
        remote_access(qp, request.rkey, request.address, 8, tpt::Access::remote_atomic, qp.responder.remote.pd),
        qp.responder.order.writes, locks_, at, [&](std::span<std::byte, 8> bytes) {
            original = host_order_ ? abi::load<std::uint64_t, abi::Endian::little>(bytes.data())
                                   : abi::load<std::uint64_t, abi::Endian::big>(bytes.data());
            if (is_swap && original != request.compare)
                return false;
            const auto value = is_swap ? request.swap_or_add : original + request.swap_or_add;
            if (host_order_)
                abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), value);
            else
                abi::store<std::uint64_t, abi::Endian::big>(bytes.data(), value);
            return true;
        });
    if (!done) {
        patience_.refuse(qp, done.error(),
                         {.type = PageFaultType::remote_write,
                          .key = request.rkey,
                          .address = request.address,
                          .length = 8,
                          .packet = 8,
                          .psn = psn},
                         at);
        return std::nullopt;
    }
    return Answered{.response = {.kind = Response::Kind::atomic,
                                 .syndrome = abi::wire::ack_syndrome(),
                                 .psn = psn,
                                 .original = original},
                    .replay = {.first = psn, .is_atomic = true, .original = original},
                    .at = *done};
}

} // namespace model::hca::responder
