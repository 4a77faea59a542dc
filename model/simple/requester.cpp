#include "model/simple/requester.h"

#include "abi/wire/infiniband.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace model::simple {

using abi::Psn;
using abi::simple::Descriptor;
using abi::simple::Operation;
using abi::simple::Outcome;
using abi::simple::QpState;
using port::Time;
using WireOperation = abi::wire::Operation;

namespace {

constexpr std::uint32_t fetched_at_once = 8;
/// Packets under way of a queue pair: half of what PSNs can tell apart (IBA 9.7.2), with room to spare.
constexpr std::int32_t most_packets = 1 << 22;

bool is_send(Operation operation) { return operation == Operation::send || operation == Operation::send_imm; }
bool has_immediate(Operation operation) {
    return operation == Operation::write_imm || operation == Operation::send_imm;
}

WireOperation operation_of(const Message& message, bool is_first, bool is_last) {
    using enum WireOperation;
    const bool has_imm = has_immediate(message.operation);
    if (is_send(message.operation)) {
        if (is_last)
            return is_first ? (has_imm ? send_only_with_immediate : send_only)
                            : (has_imm ? send_last_with_immediate : send_last);
        return is_first ? send_first : send_middle;
    }
    if (is_last)
        return is_first ? (has_imm ? write_only_with_immediate : write_only)
                        : (has_imm ? write_last_with_immediate : write_last);
    return is_first ? write_first : write_middle;
}

} // namespace

Message read_descriptor(abi::ConstView<Descriptor> descriptor) {
    Message message{.cookie = descriptor.get<"cookie">(),
                    .address = descriptor.get<"address">(),
                    .remote_address = descriptor.get<"remote_address">(),
                    .immediate = descriptor.get<"immediate">(),
                    .length = descriptor.get<"length">(),
                    .key = abi::Key{descriptor.get<"key">()},
                    .remote_key = abi::Key{descriptor.get<"remote_key">()},
                    .operation = descriptor.get<"operation">(),
                    .is_signaled = descriptor.get<"is_signaled">(),
                    .is_solicited = descriptor.get<"is_solicited">(),
                    .is_fenced = descriptor.get<"is_fenced">()};
    if (name(message.operation).empty() || message.length > std::uint32_t{1} << log_max_message)
        message.fault = Outcome::local_operation_error;
    return message;
}

/// Brings descriptors onto the card, a few ahead of the one that is sent.
void Requester::fetch(QueuePair& qp, Time now) {
    if (qp.fetched - qp.begun >= fetched_at_once)
        return;
    const auto room = static_cast<std::uint32_t>(qp.messages.size()) - (qp.fetched - qp.oldest);
    const auto place = qp.fetched & (qp.sends - 1);
    const auto count = std::min({qp.producer - qp.fetched, room, fetched_at_once, qp.sends - place});
    if (count == 0)
        return;
    std::array<std::byte, fetched_at_once * Descriptor::size> bytes;
    const auto part = std::span(bytes).first(count * Descriptor::size);
    const auto read = memory_.read(abi::BusAddress{qp.send_ring + std::uint64_t{place} * Descriptor::size}, part, now,
                                   port::Purpose::control);
    for (std::uint32_t i = 0; i < count; ++i) {
        auto& message = qp.message(qp.fetched++);
        if (read.is_ok())
            message = read_descriptor(
                abi::ConstView<Descriptor>(std::span<const std::byte>(part).subspan(i * Descriptor::size)));
        else
            message = {.fault = Outcome::local_operation_error};
        message.available = read.done;
    }
}

bool Requester::advance(QueuePair& qp, Time now) {
    if (qp.rnr_until > now) {
        ready_.add_at(qp, qp.rnr_until);
        return false;
    }
    fetch(qp, now);
    if (qp.begun == qp.fetched)
        return false;
    auto& message = qp.message(qp.begun);
    if (message.available > now) {
        ready_.add_at(qp, message.available);
        return false;
    }
    if (message.is_fenced && qp.oldest != qp.begun)
        return false; // whoever retires what is before it comes again
    if (message.fault != Outcome::success)
        return fail_here(qp, message, message.fault, now);
    const bool begins = !qp.has_begun;
    if (begins && !begin_message(qp, message))
        return false;
    if (message.operation == Operation::nop) {
        qp.has_begun = false, ++qp.begun;
        (void)transmitter_.work(now, true);
        retire(qp, now);
        return true;
    }
    if (message.is_read()) {
        send_read(qp, message, now);
        return true;
    }
    return send_data(qp, message, now, begins);
}

/// Numbers its packets; false: not now, since too much is under way.
bool Requester::begin_message(QueuePair& qp, Message& message) {
    message.first = qp.next_psn;
    message.packets = message.operation == Operation::nop ? 0 : packets_of(message.length, qp.mtu);
    message.received = 0;
    if (message.is_read() && qp.reads_under_way >= qp.reads_sent)
        return false;
    if (qp.is_anything_unacknowledged() && message.end() - qp.acknowledged > most_packets)
        return false;
    qp.has_begun = true;
    qp.sent_bytes = 0;
    return true;
}

bool Requester::fail_here(QueuePair& qp, Message& message, Outcome outcome, Time at) {
    message.fault = outcome;
    qp.has_begun = false;
    if (qp.oldest != qp.begun)
        return false;
    ++qp.begun; // it counts as sent, so that it is the oldest of those
    fail(qp, outcome, at);
    return true;
}

namespace {
void note_sent(QueuePair& qp) {
    if (qp.next_psn.is_after(qp.unsent))
        qp.unsent = qp.next_psn;
}
} // namespace

bool Requester::send_data(QueuePair& qp, Message& message, Time now, bool begins) {
    const auto offset = qp.sent_bytes;
    const auto bytes = std::min(qp.mtu, message.length - offset);
    const bool is_first = offset == 0, is_last = offset + bytes == message.length;
    if (regions_.check(message.key, message.address + offset, bytes, qp.pd, Right::local_read))
        return fail_here(qp, message, Outcome::local_protection_error, now);
    auto at = transmitter_.work(now, begins);
    auto& packet = transmitter_.begin(qp, qp.next_psn, operation_of(message, is_first, is_last));
    auto& head = packet.rdma();
    head.solicited = is_last && message.is_solicited;
    head.ack_request = is_last || (offset / qp.mtu + 1) % config_.ack_every == 0;
    head.immediate = message.immediate;
    head.reth = {message.remote_address, message.remote_key, message.length};
    if (!transmitter_.load(packet, message.key, message.address + offset, bytes, at))
        return fail_here(qp, message, Outcome::local_operation_error, now);
    watch(qp, transmitter_.send(packet, at));
    qp.next_psn += 1;
    qp.sent_bytes += bytes;
    note_sent(qp);
    if (is_last)
        qp.has_begun = false, ++qp.begun;
    return true;
}

/// Asks for what has not come of it.
void Requester::send_read(QueuePair& qp, Message& message, Time now) {
    const auto there = message.received * qp.mtu;
    const auto at = transmitter_.work(now, true);
    auto& packet = transmitter_.begin(qp, message.first + message.received, WireOperation::read_request);
    packet.rdma().ack_request = true;
    packet.rdma().reth = {message.remote_address + there, message.remote_key, message.length - there};
    watch(qp, transmitter_.send(packet, at));
    qp.next_psn = message.end();
    note_sent(qp);
    ++qp.reads_under_way;
    qp.has_begun = false, ++qp.begun;
}

void Requester::watch(QueuePair& qp, Time from) {
    if (qp.timeout.count() != 0 && qp.deadline == port::never)
        ready_.watch(qp, from + qp.timeout);
}

void Requester::complete(QueuePair& qp, const Message& message, Outcome outcome, Time at) {
    completions_.write(*qp.send_cq,
                       {.qpn = qp.number,
                        .cookie = message.cookie,
                        .index = qp.oldest,
                        .byte_count = message.is_read() && outcome == Outcome::success ? message.length : 0,
                        .outcome = outcome,
                        .operation = message.operation},
                       at);
}

void Requester::retire(QueuePair& qp, Time at) {
    const auto before = qp.oldest;
    for (; qp.oldest != qp.begun; ++qp.oldest) {
        const auto& message = qp.message(qp.oldest);
        if (message.packets != 0 && message.end().is_after(qp.acknowledged))
            break;
        qp.reads_under_way -= message.is_read();
        if (message.is_signaled)
            complete(qp, message, Outcome::success, at);
    }
    if (qp.oldest != before)
        ready_.add_at(qp, at);
}

bool Requester::advance_to(QueuePair& qp, Psn until, Time at) {
    if (!until.is_after(qp.acknowledged) || until.is_after(qp.next_psn))
        return false;
    bool lacks_response = false;
    for (auto i = qp.oldest; i != qp.begun && !lacks_response; ++i) {
        const auto& message = qp.message(i);
        const auto there = message.first + message.received;
        lacks_response = message.is_read() && message.received != message.packets && until.is_after(there);
        if (lacks_response)
            until = there;
    }
    if (until.is_after(qp.acknowledged)) {
        qp.acknowledged = until;
        qp.retries_left = qp.retry_count;
        qp.rnr_left = qp.rnr_retry;
        qp.has_asked_again = false;
        qp.deadline = port::never;
        if (qp.is_anything_unacknowledged())
            watch(qp, at);
        retire(qp, at);
    }
    if (lacks_response)
        ask_again(qp, at);
    return true;
}

void Requester::acknowledge(QueuePair& qp, Psn psn, std::uint8_t syndrome, std::uint32_t msn, Time at) {
    using abi::wire::SyndromeKind;
    events_.emit(at, traces::Acknowledged{qp.number.value, psn.value, syndrome, msn});
    const auto kind = abi::wire::kind_of(syndrome);
    if (kind == SyndromeKind::reserved || !psn.is_before(qp.unsent))
        return;
    const bool is_for_now =
        kind == SyndromeKind::rnr_nak || syndrome == abi::wire::nak_syndrome(abi::wire::NakCode::psn_sequence_error);
    if (is_for_now && psn == qp.next_psn)
        return; // it is the next to be sent again
    pass_over(qp, psn + 1);
    if (kind == SyndromeKind::acknowledge) {
        advance_to(qp, psn + 1, at);
        return;
    }
    // What is before a refused packet has been taken (IBA 9.7.5.2).
    advance_to(qp, psn, at);
    if (psn != qp.acknowledged || qp.state != QpState::ready)
        return; // it was refused before, and has been sent again
    const auto value = abi::wire::value_of(syndrome);
    if (kind == SyndromeKind::rnr_nak) {
        ++counters_.rnr_waits;
        if (qp.rnr_left == 0)
            return fail(qp, Outcome::rnr_retry_exceeded, at);
        if (qp.rnr_retry != abi::wire::rnr_retry_for_ever)
            --qp.rnr_left;
        qp.rnr_until = at + std::chrono::microseconds{abi::wire::rnr_timer_us[value]};
        qp.deadline = port::never;
        return go_back(qp, "rnr", at);
    }
    switch (static_cast<abi::wire::NakCode>(value)) {
    case abi::wire::NakCode::psn_sequence_error: return retry(qp, "sequence", at);
    case abi::wire::NakCode::invalid_request: return fail(qp, Outcome::remote_invalid_request, at);
    case abi::wire::NakCode::remote_access_error: return fail(qp, Outcome::remote_access_error, at);
    case abi::wire::NakCode::remote_operational_error: return fail(qp, Outcome::remote_operation_error, at);
    default: return fail(qp, Outcome::bad_response, at); // reserved, or of another service
    }
}

void Requester::take_response(QueuePair& qp, const port::Packet& packet, Time at) {
    const auto& head = packet.rdma();
    // The oldest READ whose response is not complete; earlier WRITEs and SENDs are done with it.
    auto counter = qp.oldest;
    while (counter != qp.begun &&
           (!qp.message(counter).is_read() || qp.message(counter).received == qp.message(counter).packets))
        ++counter;
    if (counter == qp.begun)
        return;
    auto& read = qp.message(counter);
    const auto due = read.first + read.received;
    if (head.psn != due) {
        if (head.psn.is_after(due) && head.psn.is_before(qp.next_psn)) {
            advance_to(qp, due, at);
            ask_again(qp, at); // those before it were lost
        }
        return;
    }
    const auto there = read.received * qp.mtu;
    const auto bytes = std::min(qp.mtu, read.length - there);
    advance_to(qp, due, at);
    const bool is_begun = read.received != 0 || head.traits().is_first; // a response begins with its first packet
    const bool is_good = !head.traits().has_aeth || // data come with an ACK, where they come with an AETH (IBA 9.9.2)
                         abi::wire::kind_of(head.aeth.syndrome) == abi::wire::SyndromeKind::acknowledge;
    if (!is_begun || !is_good || packet.payload.size() != bytes ||
        head.traits().is_last != (read.received + 1 == read.packets))
        return fail(qp, Outcome::bad_response, at);
    if (regions_.check(read.key, read.address + there, bytes, qp.pd, Right::local_write))
        return fail(qp, Outcome::local_protection_error, at);
    auto done = at;
    std::size_t offset = 0;
    std::array<std::byte, abi::wire::max_payload> data;
    packet.payload.copy_to(data);
    const bool is_written = regions_.visit(read.key, read.address + there, bytes, [&](const Segment& segment) {
        const auto result =
            memory_.write(segment.address, std::span(data).subspan(offset, segment.length), at, port::Purpose::payload);
        offset += segment.length;
        done = std::max(done, result.done);
        return result.is_ok();
    });
    if (!is_written)
        return fail(qp, Outcome::local_operation_error, at);
    ++read.received;
    advance_to(qp, due + 1, done);
}

/// From the first packet on that is not acknowledged.
void Requester::go_back(QueuePair& qp, traces::RetryReason why, Time at) {
    ++counters_.retries;
    events_.emit(at, traces::Retried{qp.number.value, qp.acknowledged.value, qp.retries_left, why});
    const auto end = qp.begun + qp.has_begun;
    auto counter = qp.oldest;
    while (counter != end && (qp.message(counter).packets == 0 || !qp.message(counter).end().is_after(qp.acknowledged)))
        ++counter;
    for (auto i = counter; i != qp.begun; ++i)
        qp.reads_under_way -= qp.message(i).is_read();
    qp.begun = counter;
    qp.next_psn = qp.acknowledged;
    qp.has_begun = counter != end;
    if (qp.has_begun) {
        const auto packets = static_cast<std::uint32_t>(qp.acknowledged - qp.message(counter).first);
        qp.sent_bytes = packets * qp.mtu;
    }
    ready_.add_at(qp, at);
}

void Requester::pass_over(QueuePair& qp, Psn until) {
    while (until.is_after(qp.next_psn)) {
        const auto& message = qp.message(qp.begun);
        const bool is_whole = message.is_read() || !message.end().is_after(until);
        qp.next_psn = is_whole ? message.end() : until;
        qp.reads_under_way += message.is_read();
        qp.begun += is_whole;
        qp.has_begun = !is_whole;
        qp.sent_bytes = is_whole ? 0 : static_cast<std::uint32_t>(until - message.first) * qp.mtu;
    }
}

void Requester::retry(QueuePair& qp, traces::RetryReason why, Time at) {
    if (!qp.is_anything_unacknowledged() || qp.state != QpState::ready)
        return;
    if (qp.retries_left == 0)
        return fail(qp, Outcome::retry_exceeded, at);
    --qp.retries_left;
    qp.deadline = port::never; // the next packet begins a new one
    go_back(qp, why, at);
}

/// An answer to something later says that the response of a READ was lost (IBA 9.7.5.1.1). Much of what is under way
/// says so, and once is enough: where that is lost, too, the deadline comes.
void Requester::ask_again(QueuePair& qp, Time at) {
    if (std::exchange(qp.has_asked_again, true))
        return;
    retry(qp, "implied", at);
}

void Requester::look_at_deadline(QueuePair& qp, Time now) {
    qp.is_deadline_watched = false;
    if (qp.deadline == port::never || qp.state != QpState::ready)
        return;
    if (qp.deadline > now)
        return ready_.watch(qp, qp.deadline); // it was put off
    ++counters_.timeouts;
    retry(qp, "timeout", now);
}

void Requester::fail(QueuePair& qp, Outcome outcome, Time at) {
    if (qp.has_begun)
        ++qp.begun; // a part of it has been sent
    qp.has_begun = false;
    if (qp.oldest != qp.begun) {
        complete(qp, qp.message(qp.oldest), outcome, at);
        ++qp.oldest;
    }
    qp.answers.clear(); // the peer is told nothing any more
    enter_error(qp, at);
}

void Requester::enter_error(QueuePair& qp, Time at) {
    events_.emit(at, traces::QueueStateChanged{qp.number.value, static_cast<std::uint8_t>(qp.state),
                                               static_cast<std::uint8_t>(QpState::error)});
    qp.state = QpState::error;
    qp.deadline = port::never;
    qp.has_begun = false;
    qp.reads_under_way = 0;
    ready_.add_at(qp, at);
}

bool Requester::flush(QueuePair& qp, Time now) {
    if (qp.oldest == qp.producer)
        return false;
    qp.begun = qp.oldest;
    fetch(qp, now);
    const auto at = transmitter_.work(now, true);
    complete(qp, qp.message(qp.oldest), Outcome::flushed, std::max(at, qp.message(qp.oldest).available));
    ++qp.oldest;
    return true;
}

} // namespace model::simple
