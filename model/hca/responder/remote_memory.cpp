// WRITE, READ and atomics: what the peer does to this host's memory (IBA 9.7.4.1.4 to .7, 9.4.3 to 9.4.5).
#include "model/hca/requester/packetize.h"
#include "model/hca/responder/responder.h"

#include <algorithm>

namespace model::hca::responder {

using abi::wire::NakCode;
using abi::wire::Operation;
using queue::QueuePair;
using Message = queue::ResponderState::Message;

namespace {
constexpr std::uint32_t max_message = 1u << 31;
}

/// What the peer asks of a key of this host, whose protection domain is to be `pd`.
tpt::Request Responder::remote_access(const QueuePair& qp, abi::Key key, std::uint64_t address, std::uint64_t length,
                                      tpt::Access access, abi::Pd pd) {
    return {.key = key,
            .address = address,
            .length = length,
            .access = access,
            .pd = pd,
            .qpn = qp.number.value,
            .may_wait = qp.service.waits_to_receive};
}

bool Responder::may_access(const tpt::Request& access, port::Time at) {
    // An empty access names no memory, and its key is not looked at (IBA 9.7.4.1.5).
    return access.length == 0 || path_.memory.check(access, at).has_value();
}

/// Whether a READ would have to wait for a page of its first packet. Then it is not accepted yet: the peer comes again.
/// What is missing behind that is waited for on the way.
bool Responder::lacks_page(const tpt::Request& first_packet) {
    return first_packet.length != 0 && path_.translator.lacks_page(first_packet);
}

/// False: it was refused.
bool Responder::begin_write(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    const auto& reth = packet.rdma().reth;
    ++path_.count(qp).rx_write_requests;
    if (!qp.attributes.remote_write || reth.length > max_message) {
        refuse_and_fail(qp, NakCode::invalid_request, at);
        return false;
    }
    // The whole range is checked before its first byte moves, and before a receive is asked for; the translation of a
    // single packet without immediate does that by itself.
    const bool is_checked_later = packet.traits().is_last && !packet.traits().has_immediate;
    if (!is_checked_later &&
        !may_access(remote_access(qp, reth.rkey, reth.address, reth.length, tpt::Access::remote_write, r.remote_pd),
                    at)) {
        refuse_and_fail(qp, NakCode::remote_access_error, at);
        return false;
    }
    r.write_address = reth.address;
    r.write_key = reth.rkey;
    r.write_remaining = reth.length;
    r.received = 0;
    return true;
}

std::optional<port::Time> Responder::write(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    const auto& traits = packet.traits();
    if (traits.is_first && !begin_write(qp, packet, at))
        return std::nullopt;
    const auto length = packet.payload.size();
    const auto begin = r.write_address;
    const auto message = r.message;
    // The packets bring exactly what the RETH announced (IBA 9.7.4.1.6).
    if (length > r.write_remaining || traits.is_last != (length == r.write_remaining)) {
        refuse_and_fail(qp, NakCode::invalid_request, at);
        return std::nullopt;
    }
    if (traits.has_immediate) {
        const auto taken = take_receive(qp, at);
        if (!taken)
            return std::nullopt;
        at = *taken;
    }
    r.message = Message::write;
    path_.loans.answers.drain();
    for (const auto bytes : packet.payload.pieces()) {
        const auto written = path_.memory.write(
            remote_access(qp, r.write_key, r.write_address, bytes.size(), tpt::Access::remote_write, r.remote_pd),
            bytes, at, &r.writes);
        if (!written) [[unlikely]] {
            r.write_address = begin; // the packet comes again as a whole
            r.message = message;
            refuse_access(qp, written.error(),
                          {.type = abi::prm::PageFaultType::remote_write,
                           .key = r.write_key,
                           .address = begin - r.received,
                           .length = r.received + r.write_remaining,
                           .committed = r.received,
                           .packet = length,
                           .psn = packet.rdma().psn},
                          at);
            return std::nullopt;
        }
        at = *written;
        r.write_address += bytes.size();
    }
    r.write_remaining -= length;
    r.received += length;
    return at;
}

void Responder::read(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    ++path_.count(qp).rx_read_requests;
    const auto& reth = packet.rdma().reth;
    if (!qp.attributes.remote_read || reth.length > max_message || is_read_limit_reached(qp, false))
        return refuse_and_fail(qp, NakCode::invalid_request, at);
    auto access = remote_access(qp, reth.rkey, reth.address, reth.length, tpt::Access::remote_read, r.remote_pd);
    if (!may_access(access, at))
        return refuse_and_fail(qp, NakCode::remote_access_error, at);
    const auto first = std::min(reth.length, qp.attributes.mtu_bytes());
    access.length = first;
    if (lacks_page(access))
        return wait_or_refuse(qp,
                              {.type = abi::prm::PageFaultType::remote_read,
                               .key = reth.rkey,
                               .address = reth.address,
                               .length = reth.length,
                               .packet = first,
                               .psn = packet.rdma().psn},
                              access, at);
    const auto packets = requester::packet_count(reth.length, qp.attributes.mtu_bytes());
    remember(qp, {.first = packet.rdma().psn,
                  .packets = packets,
                  .address = reth.address,
                  .rkey = reth.rkey,
                  .length = reth.length,
                  .pd = r.remote_pd});
    r.expected += packets;
    r.msn = (r.msn + 1) & abi::Psn::mask;
    say_accepted(qp, packet, at);
    respond(qp,
            {.kind = queue::Response::Kind::read,
             .syndrome = abi::wire::ack_syndrome(),
             .psn = packet.rdma().psn,
             .msn = r.msn,
             .address = reth.address,
             .rkey = reth.rkey,
             .remaining = reth.length,
             .pd = r.remote_pd},
            at);
}

/// The key, a page or the bus is against what the peer asked for.
void Responder::refuse_access(QueuePair& qp, const memory::Denied& denied, const paging::RemotePageFault& fault,
                              port::Time at) {
    if (denied.is_page_fault())
        return wait_or_refuse(qp, fault, denied.request, at);
    refuse_and_fail(qp, denied.is_by_key() ? NakCode::remote_access_error : NakCode::remote_operational_error, at);
}

void Responder::atomic(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    ++path_.count(qp).rx_atomic_requests;
    const auto& request = packet.rdma().atomic;
    if (!qp.attributes.remote_atomic || request.address % 8 != 0 || is_read_limit_reached(qp, false))
        return refuse_and_fail(qp, NakCode::invalid_request, at);
    path_.loans.answers.drain();
    std::uint64_t original = 0;
    const bool is_swap = packet.rdma().operation == Operation::compare_swap;
    const auto done = path_.memory.modify(
        remote_access(qp, request.rkey, request.address, 8, tpt::Access::remote_atomic, r.remote_pd), r.writes, at,
        [&](std::span<std::byte, 8> bytes) {
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
    if (!done)
        return refuse_access(qp, done.error(),
                             {.type = abi::prm::PageFaultType::remote_write,
                              .key = request.rkey,
                              .address = request.address,
                              .length = 8,
                              .packet = 8,
                              .psn = packet.rdma().psn},
                             at);
    remember(qp, {.first = packet.rdma().psn, .is_atomic = true, .original = original});
    r.expected += 1;
    r.msn = (r.msn + 1) & abi::Psn::mask;
    say_accepted(qp, packet, at);
    respond(qp,
            {.kind = queue::Response::Kind::atomic,
             .syndrome = abi::wire::ack_syndrome(),
             .psn = packet.rdma().psn,
             .msn = r.msn,
             .original = original},
            *done);
}

} // namespace model::hca::responder
