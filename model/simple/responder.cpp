#include "model/simple/responder.h"

#include <algorithm>
#include <array>
#include <span>

namespace model::simple {

using abi::Psn;
using abi::simple::Descriptor;
using abi::simple::Operation;
using abi::simple::Outcome;
using abi::wire::NakCode;
using port::Time;
using Kind = abi::wire::OperationTraits::Kind;

void Responder::receive(QueuePair& qp, const port::Packet& packet, Time at) {
    const auto& head = packet.rdma();
    const auto distance = head.psn - qp.expected;
    if (distance < 0)
        return receive_again(qp, packet, at);
    if (distance > 0) {
        // One refusal for all that follows a gap (IBA 9.7.5.2.1).
        if (!qp.has_refused_sequence)
            refuse(qp, NakCode::psn_sequence_error, at);
        qp.has_refused_sequence = true;
        return;
    }
    qp.has_refused_sequence = false;
    const auto& traits = head.traits();
    if (traits.has_invalidate || traits.kind == Kind::atomic || !is_in_sequence(qp, packet))
        return refuse(qp, NakCode::invalid_request, at);
    if (traits.kind == Kind::read_request)
        receive_read(qp, packet, at);
    else if (traits.kind == Kind::write)
        receive_write(qp, packet, at);
    else
        receive_send(qp, packet, at);
}

bool Responder::is_in_sequence(const QueuePair& qp, const port::Packet& packet) {
    const auto& traits = packet.traits();
    const auto kind = traits.kind == Kind::send    ? Arriving::Kind::send
                      : traits.kind == Kind::write ? Arriving::Kind::write
                                                   : Arriving::Kind::none;
    if (qp.arriving.kind != (traits.is_first ? Arriving::Kind::none : kind))
        return false;
    const auto bytes = packet.payload.size();
    return traits.is_last ? bytes <= qp.mtu && (traits.is_first || bytes != 0) : bytes == qp.mtu;
}

/// IBA 9.7.4.3: what has been carried out is acknowledged again; the bytes of a READ are brought again.
void Responder::receive_again(QueuePair& qp, const port::Packet& packet, Time at) {
    const auto& head = packet.rdma();
    ++counters_.duplicates;
    events_.emit(at, traces::Duplicate{qp.number.value, head.psn.value, head.opcode()});
    if (head.traits().kind != Kind::read_request) {
        if (head.traits().kind != Kind::atomic && (head.ack_request || head.traits().is_last))
            acknowledge(qp, head.psn, abi::wire::ack_syndrome(), at);
        return;
    }
    const auto packets = packets_of(head.reth.length, qp.mtu);
    if (packets > static_cast<std::uint32_t>(qp.expected - head.psn))
        return; // no READ that ever came has these numbers
    // The peer has gone back: what it was owed from here on it asks for again. But perhaps the network has made two of
    // the packet, so an acknowledgement that was owed stays owed, and a gap is told with the next packet behind it.
    bool owes_acknowledgement = false;
    for (auto& answers = qp.answers; !answers.is_empty() && !answers.from_end(0).psn.is_before(head.psn);
         answers.pop_last()) {
        const auto& last = answers.from_end(0);
        qp.reads_owed -= last.is_new_read();
        owes_acknowledgement |= last.is_acknowledgement();
        qp.has_refused_sequence &= last.is_read || last.is_acknowledgement();
    }
    if (qp.answers.is_full())
        return;
    // The NAK is about this packet, and not about the one that is expected (IBA 9.7.5.2).
    if (regions_.check(head.reth.rkey, head.reth.address, head.reth.length, qp.pd, Right::remote_read))
        return refuse(qp, head.psn, NakCode::remote_access_error, at);
    owe_read(qp, packet, true, at);
    if (owes_acknowledgement)
        acknowledge(qp, qp.expected + Psn::mask, abi::wire::ack_syndrome(), at);
    ready_.add_at(qp, qp.answered);
}

void Responder::receive_read(QueuePair& qp, const port::Packet& packet, Time at) {
    const auto& head = packet.rdma();
    // What the queue pair does not take at all is an invalid request (IBA 9.9.3, 11.6.2).
    if (!qp.remote_read || qp.reads_owed >= qp.reads_taken || qp.answers.is_full() ||
        head.reth.length > std::uint32_t{1} << log_max_message)
        return refuse(qp, NakCode::invalid_request, at);
    if (regions_.check(head.reth.rkey, head.reth.address, head.reth.length, qp.pd, Right::remote_read))
        return refuse(qp, NakCode::remote_access_error, at);
    events_.emit(at, traces::Accepted{qp.number.value, head.psn.value, head.opcode()});
    qp.msn = (qp.msn + 1) & Psn::mask;
    owe_read(qp, packet, false, at);
    ++qp.reads_owed;
    qp.expected += packets_of(head.reth.length, qp.mtu);
    ready_.add_at(qp, qp.answered);
}

/// The bytes that a READ asks for leave when all that was owed before has left.
void Responder::owe_read(QueuePair& qp, const port::Packet& packet, bool is_repeat, Time at) {
    const auto& head = packet.rdma();
    qp.answered = std::max(qp.answered, at);
    qp.answers.push({.psn = head.psn,
                     .syndrome = abi::wire::ack_syndrome(),
                     .is_read = true,
                     .is_repeat = is_repeat,
                     .ready = qp.answered,
                     .msn = qp.msn,
                     .address = head.reth.address,
                     .length = head.reth.length,
                     .key = head.reth.rkey,
                     .cause = events_.cause()});
}

void Responder::receive_write(QueuePair& qp, const port::Packet& packet, Time at) {
    const auto& head = packet.rdma();
    const auto& traits = head.traits();
    auto& arriving = qp.arriving;
    const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
    auto address = arriving.address;
    auto key = arriving.key;
    auto left = arriving.left;
    if (traits.is_first) {
        address = head.reth.address, key = head.reth.rkey, left = head.reth.length;
        if (!qp.remote_write || left > std::uint32_t{1} << log_max_message)
            return refuse(qp, NakCode::invalid_request, at);
        if (regions_.check(key, address, left, qp.pd, Right::remote_write))
            return refuse(qp, NakCode::remote_access_error, at);
    }
    if (traits.is_last ? bytes != left : bytes >= left)
        return refuse(qp, NakCode::invalid_request, at);
    // The region may have gone since the first packet.
    if (regions_.check(key, address, bytes, qp.pd, Right::remote_write))
        return refuse(qp, NakCode::remote_access_error, at);
    Receive* receive = nullptr;
    if (traits.has_immediate) {
        receive = next_receive(qp, at);
        if (receive == nullptr)
            return refuse_for_now(qp, at);
        at = std::max(at, receive->available);
    }
    if (!place(packet, key, address, at))
        return refuse(qp, NakCode::remote_operational_error, at);
    arriving.kind = Arriving::Kind::write;
    arriving.length = traits.is_first ? bytes : arriving.length + bytes;
    arriving.address = address + bytes, arriving.left = left - bytes, arriving.key = key;
    if (receive != nullptr) {
        ++qp.receive_next;
        complete(qp, *receive, packet, Outcome::success, arriving.length, at);
    }
    accept(qp, packet, at);
}

void Responder::receive_send(QueuePair& qp, const port::Packet& packet, Time at) {
    const auto& traits = packet.traits();
    auto& arriving = qp.arriving;
    const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
    if (traits.is_first) {
        const auto* receive = next_receive(qp, at);
        if (receive == nullptr)
            return refuse_for_now(qp, at);
        arriving = {.kind = Arriving::Kind::send, .receive = *receive};
        ++qp.receive_next;
    }
    const auto& receive = arriving.receive;
    at = std::max(at, receive.available);
    const auto fail = [&](Outcome outcome, NakCode code) {
        complete(qp, receive, packet, outcome, 0, at);
        arriving = {};
        refuse(qp, code, at);
    };
    if (!receive.is_readable)
        return fail(Outcome::local_operation_error, NakCode::remote_operational_error);
    if (bytes > receive.length - arriving.length)
        return fail(Outcome::local_length_error, NakCode::invalid_request);
    const auto address = receive.address + arriving.length;
    if (regions_.check(receive.key, address, bytes, qp.pd, Right::local_write))
        return fail(Outcome::local_protection_error, NakCode::remote_operational_error);
    if (!place(packet, receive.key, address, at))
        return fail(Outcome::local_operation_error, NakCode::remote_operational_error);
    arriving.length += bytes;
    if (traits.is_last)
        complete(qp, receive, packet, Outcome::success, arriving.length, at);
    accept(qp, packet, at);
}

bool Responder::place(const port::Packet& packet, abi::Key key, std::uint64_t address, Time& at) {
    std::array<std::byte, abi::wire::max_payload> data;
    packet.payload.copy_to(data);
    std::size_t offset = 0;
    auto done = at;
    const bool is_placed = regions_.visit(key, address, packet.payload.size(), [&](const Segment& segment) {
        const auto result =
            memory_.write(segment.address, std::span(data).subspan(offset, segment.length), at, port::Purpose::payload);
        offset += segment.length;
        done = std::max(done, result.done);
        return result.is_ok();
    });
    at = done;
    return is_placed;
}

void Responder::accept(QueuePair& qp, const port::Packet& packet, Time at) {
    const auto& head = packet.rdma();
    events_.emit(at, traces::Accepted{qp.number.value, head.psn.value, head.opcode()});
    qp.expected += 1;
    if (head.traits().is_last) {
        qp.arriving = {};
        qp.msn = (qp.msn + 1) & Psn::mask;
    }
    if (head.ack_request)
        acknowledge(qp, head.psn, abi::wire::ack_syndrome(), at);
}

void Responder::complete(QueuePair& qp, const Receive& receive, const port::Packet& packet, Outcome outcome,
                         std::uint32_t bytes, Time at) {
    const auto& head = packet.rdma();
    const bool is_write = head.traits().kind == Kind::write;
    const bool has_immediate = head.traits().has_immediate && outcome == Outcome::success;
    ++qp.receive_completed;
    completions_.write(
        *qp.receive_cq,
        {.qpn = qp.number,
         .source = qp.remote,
         .cookie = receive.cookie,
         .index = receive.index,
         .byte_count = bytes,
         .immediate = has_immediate ? head.immediate : 0,
         .outcome = outcome,
         .operation = is_write ? Operation::write_imm : (has_immediate ? Operation::send_imm : Operation::send),
         .is_receive = true,
         .has_immediate = has_immediate,
         .is_solicited = head.solicited},
        at);
}

/// An acknowledgement says all that those before it have said. The last one in the row is replaced, and not one that
/// is the next to go: it would be put off again and again. One for a late copy says less than it, and takes nothing
/// back.
void Responder::acknowledge(QueuePair& qp, Psn psn, std::uint8_t syndrome, Time at) {
    qp.answered = std::max(qp.answered, at);
    const Answer answer{
        .psn = psn, .syndrome = syndrome, .ready = qp.answered, .msn = qp.msn, .cause = events_.cause()};
    auto& answers = qp.answers;
    if (answers.count() >= 2 && answers.from_end(0).is_acknowledgement() && answers.from_end(1).is_acknowledgement()) {
        if (!answer.is_acknowledgement() || !psn.is_before(answers.from_end(0).psn))
            answers.from_end(0) = answer;
    } else if (!answers.is_full())
        answers.push(answer);
    ready_.add_at(qp, qp.answers.front().ready);
}

void Responder::refuse(QueuePair& qp, Psn psn, NakCode code, Time at) {
    ++counters_.naks_sent;
    const auto syndrome = abi::wire::nak_syndrome(code);
    events_.emit(at, traces::Naked{qp.number.value, psn.value, syndrome});
    acknowledge(qp, psn, syndrome, at);
    if (code == NakCode::psn_sequence_error)
        return;
    // IBA 9.9.3: what is refused for good ends the connection here, too.
    requester_.enter_error(qp, at);
}

void Responder::refuse_for_now(QueuePair& qp, Time at) {
    ++counters_.naks_sent;
    const auto syndrome = abi::wire::rnr_syndrome(qp.rnr_timer);
    events_.emit(at, traces::Naked{qp.number.value, qp.expected.value, syndrome});
    acknowledge(qp, qp.expected, syndrome, at);
    qp.has_refused_sequence = true; // what follows comes again behind it
}

void Responder::answer(QueuePair& qp, Time now) {
    using enum abi::wire::Operation;
    auto& first = qp.answers.front();
    const traces::Cause cause(events_, first.cause);
    auto at = transmitter_.work(now, false);
    const auto bytes = std::min(qp.mtu, first.length);
    if (first.is_read) {
        const bool ends = bytes == first.length;
        const auto operation = first.has_begun ? (ends ? read_response_last : read_response_middle)
                                               : (ends ? read_response_only : read_response_first);
        auto& packet = transmitter_.begin(qp, first.psn, operation);
        packet.rdma().aeth = {first.syndrome, first.msn};
        // The region may have gone since the request.
        const bool is_allowed = !regions_.check(first.key, first.address, bytes, qp.pd, Right::remote_read);
        if (is_allowed && transmitter_.load(packet, first.key, first.address, bytes, at)) {
            transmitter_.send(packet, at);
            first.psn += 1, first.address += bytes, first.length -= bytes, first.has_begun = true;
            if (ends) {
                qp.reads_owed -= first.is_new_read();
                qp.answers.pop();
            }
            return;
        }
        const auto code = is_allowed ? NakCode::remote_operational_error : NakCode::remote_access_error;
        ++counters_.naks_sent;
        const Answer refusal{.psn = first.psn, .syndrome = abi::wire::nak_syndrome(code), .ready = now, .msn = qp.msn};
        events_.emit(now, traces::Naked{qp.number.value, refusal.psn.value, refusal.syndrome});
        qp.answers.clear(), qp.reads_owed = 0;
        qp.answers.push(refusal);
        return requester_.enter_error(qp, now);
    }
    auto& packet = transmitter_.begin(qp, first.psn, abi::wire::Operation::acknowledge);
    packet.rdma().aeth = {first.syndrome, first.msn};
    ++counters_.acks_sent;
    transmitter_.send(packet, at);
    qp.answers.pop();
}

void Responder::fetch(QueuePair& qp, Time now) {
    constexpr std::uint32_t at_once = QueuePair::receives_kept;
    if (qp.receive_fetched - qp.receive_next > at_once / 2)
        return;
    const auto place = qp.receive_fetched & (qp.receives - 1);
    const auto count = std::min({qp.receive_producer - qp.receive_fetched,
                                 at_once - (qp.receive_fetched - qp.receive_next), qp.receives - place});
    if (count == 0)
        return;
    std::array<std::byte, at_once * Descriptor::size> bytes;
    const auto part = std::span(bytes).first(count * Descriptor::size);
    const auto read = memory_.read(abi::BusAddress{qp.receive_ring + std::uint64_t{place} * Descriptor::size}, part,
                                   now, port::Purpose::control);
    for (std::uint32_t i = 0; i < count; ++i, ++qp.receive_fetched) {
        const abi::ConstView<Descriptor> descriptor(std::span<const std::byte>(part).subspan(i * Descriptor::size));
        auto& receive = qp.kept_receives[qp.receive_fetched % at_once];
        receive = {.index = qp.receive_fetched, .is_readable = read.is_ok(), .available = read.done};
        if (!read.is_ok())
            continue;
        receive.cookie = descriptor.get<"cookie">();
        receive.address = descriptor.get<"address">();
        receive.length = descriptor.get<"length">();
        receive.key = abi::Key{descriptor.get<"key">()};
    }
}

Receive* Responder::next_receive(QueuePair& qp, Time at) {
    fetch(qp, at);
    return qp.receive_next == qp.receive_fetched ? nullptr
                                                 : &qp.kept_receives[qp.receive_next % QueuePair::receives_kept];
}

bool Responder::flush(QueuePair& qp, Time now) {
    const bool is_arriving = qp.arriving.kind == Arriving::Kind::send;
    const auto* receive = is_arriving ? &qp.arriving.receive : next_receive(qp, now);
    if (receive == nullptr)
        return false;
    const auto at = std::max(transmitter_.work(now, true), receive->available);
    ++qp.receive_completed;
    completions_.write(*qp.receive_cq,
                       {.qpn = qp.number,
                        .cookie = receive->cookie,
                        .index = receive->index,
                        .outcome = Outcome::flushed,
                        .operation = Operation::send,
                        .is_receive = true},
                       at);
    if (!is_arriving)
        ++qp.receive_next;
    qp.arriving = {};
    return true;
}

} // namespace model::simple
