// WRITE, READ and atomics: what the peer does to this host's memory (IBA 9.7.4.1.4 to .7, 9.4.3 to 9.4.5).
#include "model/hca/requester/packetize.h"
#include "model/hca/responder/responder.h"

#include <algorithm>
#include <array>

namespace model::hca::responder {

using abi::wire::NakCode;
using abi::wire::Operation;
using queue::QueuePair;
using Message = queue::Responder::Message;

namespace {
constexpr std::uint32_t max_message = 1u << 31;
}

bool Responder::may_access(QueuePair& qp, abi::Key key, std::uint64_t address, std::uint64_t length, tpt::Access access,
                           abi::Pd pd, port::Time at) {
    // An empty access names no memory, and its key is not looked at (IBA 9.7.4.1.5).
    return length == 0 || path_.translator
                              .check({.key = key,
                                      .address = address,
                                      .length = length,
                                      .access = access,
                                      .pd = pd,
                                      .qpn = qp.number.value},
                                     at)
                              .has_value();
}

/// Whether a READ would have to wait for a page of its first packet. Then it is not accepted yet: the peer comes again.
/// What is missing behind that is waited for on the way.
bool Responder::lacks_page(const QueuePair& qp, abi::Key key, std::uint64_t address, std::uint32_t length, abi::Pd pd) {
    return length != 0 && path_.translator.lacks_page({.key = key,
                                                       .address = address,
                                                       .length = length,
                                                       .access = tpt::Access::remote_read,
                                                       .pd = pd,
                                                       .qpn = qp.number.value,
                                                       .may_wait = true});
}

Responder::Outcome Responder::begin_write(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    ++path_.count(qp).rx_write_requests;
    if (!qp.attributes.remote_write || packet.reth.length > max_message)
        return refuse_and_fail(qp, NakCode::invalid_request, at);
    // The whole range is checked before its first byte moves, and before a receive is asked for; the translation of a
    // single packet without immediate does that by itself.
    const bool is_checked_later = packet.traits().is_last && !packet.traits().has_immediate;
    if (!is_checked_later && !may_access(qp, packet.reth.rkey, packet.reth.address, packet.reth.length,
                                         tpt::Access::remote_write, r.remote_pd, at))
        return refuse_and_fail(qp, NakCode::remote_access_error, at);
    r.write_address = packet.reth.address;
    r.write_key = packet.reth.rkey;
    r.write_remaining = packet.reth.length;
    r.received = 0;
    return Outcome::done;
}

Responder::Outcome Responder::write(QueuePair& qp, port::Packet& packet, port::Time& at) {
    auto& r = qp.responder;
    const auto& traits = packet.traits();
    if (traits.is_first && begin_write(qp, packet, at) == Outcome::refused)
        return Outcome::refused;
    const auto length = packet.payload.size();
    const auto begin = r.write_address;
    const auto message = r.message;
    // The packets bring exactly what the RETH announced (IBA 9.7.4.1.6).
    if (length > r.write_remaining || traits.is_last != (length == r.write_remaining))
        return refuse_and_fail(qp, NakCode::invalid_request, at);
    if (traits.has_immediate && take_receive(qp, at) == Outcome::refused)
        return Outcome::refused;
    r.message = Message::write;
    path_.loans.answers.drain();
    for (auto bytes : packet.payload.pieces()) {
        while (!bytes.empty()) {
            const auto targets = path_.translator.translate({.key = r.write_key,
                                                             .address = r.write_address,
                                                             .length = bytes.size(),
                                                             .access = tpt::Access::remote_write,
                                                             .pd = qp.responder.remote_pd,
                                                             .qpn = qp.number.value,
                                                             .may_wait = qp.service.waits_to_receive},
                                                            at);
            if (!targets) [[unlikely]] {
                r.write_address = begin; // the packet comes again as a whole
                r.message = message;
                if (targets.error() != tpt::Violation::page_fault)
                    return refuse_and_fail(qp, NakCode::remote_access_error, at);
                return wait_or_refuse(qp,
                                      {.type = abi::prm::PageFaultType::remote_write,
                                       .key = r.write_key,
                                       .address = begin - r.received,
                                       .length = r.received + r.write_remaining,
                                       .committed = r.received,
                                       .packet = static_cast<std::uint32_t>(length),
                                       .psn = packet.psn},
                                      at);
            }
            for (const auto& target : targets->all()) {
                const auto result = path_.dma.write(target.address, bytes.first(target.length), r.issue(targets->ready),
                                                    port::Purpose::payload);
                if (!result.is_ok())
                    return refuse_and_fail(qp, NakCode::remote_operational_error, at);
                at = std::max(at, result.done);
                bytes = bytes.subspan(target.length);
            }
            r.write_address += targets->covered;
        }
    }
    r.write_remaining -= length;
    r.received += length;
    return Outcome::done;
}

Responder::Outcome Responder::read(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    ++path_.count(qp).rx_read_requests;
    const auto& reth = packet.reth;
    if (!qp.attributes.remote_read || reth.length > max_message || is_read_limit_reached(qp, false))
        return refuse_and_fail(qp, NakCode::invalid_request, at);
    if (!may_access(qp, reth.rkey, reth.address, reth.length, tpt::Access::remote_read, r.remote_pd, at))
        return refuse_and_fail(qp, NakCode::remote_access_error, at);
    if (const auto first = std::min(reth.length, qp.attributes.mtu_bytes());
        lacks_page(qp, reth.rkey, reth.address, first, r.remote_pd))
        return wait_or_refuse(qp,
                              {.type = abi::prm::PageFaultType::remote_read,
                               .key = reth.rkey,
                               .address = reth.address,
                               .length = reth.length,
                               .packet = first,
                               .psn = packet.psn},
                              at);
    const auto packets = requester::packet_count(reth.length, qp.attributes.mtu_bytes());
    remember(qp, {.first = packet.psn,
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
             .psn = packet.psn,
             .msn = r.msn,
             .address = reth.address,
             .rkey = reth.rkey,
             .remaining = reth.length,
             .pd = r.remote_pd},
            at);
    return Outcome::done;
}

Responder::Outcome Responder::atomic(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    ++path_.count(qp).rx_atomic_requests;
    const auto& request = packet.atomic;
    if (!qp.attributes.remote_atomic || request.address % 8 != 0 || is_read_limit_reached(qp, false))
        return refuse_and_fail(qp, NakCode::invalid_request, at);
    const auto target = path_.translator.translate({.key = request.rkey,
                                                    .address = request.address,
                                                    .length = 8,
                                                    .access = tpt::Access::remote_atomic,
                                                    .pd = qp.responder.remote_pd,
                                                    .qpn = qp.number.value,
                                                    .may_wait = true},
                                                   at);
    if (!target && target.error() == tpt::Violation::page_fault)
        return wait_or_refuse(qp,
                              {.type = abi::prm::PageFaultType::remote_write,
                               .key = request.rkey,
                               .address = request.address,
                               .length = 8,
                               .packet = 8,
                               .psn = packet.psn},
                              at);
    if (!target)
        return refuse_and_fail(qp, NakCode::remote_access_error, at);
    path_.loans.answers.drain();
    std::array<std::byte, 8> bytes;
    const auto address = target->items[0].address;
    auto result = path_.dma.read(address, bytes, r.issue(target->ready), port::Purpose::payload);
    const auto original = host_order_ ? abi::load<std::uint64_t, abi::Endian::little>(bytes.data())
                                      : abi::load<std::uint64_t, abi::Endian::big>(bytes.data());
    const bool is_swap = packet.operation == Operation::compare_swap;
    const bool is_written = !is_swap || original == request.compare;
    const auto value = is_swap ? request.swap_or_add : original + request.swap_or_add;
    if (result.is_ok() && is_written) {
        if (host_order_)
            abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), value);
        else
            abi::store<std::uint64_t, abi::Endian::big>(bytes.data(), value);
        result = path_.dma.write(address, bytes, r.issue(result.done), port::Purpose::payload);
    }
    if (!result.is_ok())
        return refuse_and_fail(qp, NakCode::remote_operational_error, at);
    remember(qp, {.first = packet.psn, .is_atomic = true, .original = original});
    r.expected += 1;
    r.msn = (r.msn + 1) & abi::Psn::mask;
    say_accepted(qp, packet, at);
    respond(qp,
            {.kind = queue::Response::Kind::atomic,
             .syndrome = abi::wire::ack_syndrome(),
             .psn = packet.psn,
             .msn = r.msn,
             .original = original},
            result.done);
    return Outcome::done;
}

} // namespace model::hca::responder
