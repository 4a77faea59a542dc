// Answers: acknowledgements, READ responses and atomic results, and the completions they bring.
#include "model/hca/queue/wqe_reader.h"
#include "model/hca/requester/requester.h"

#include "abi/wire/infiniband.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace model::hca::requester {

using abi::Psn;
using abi::wire::Operation;
using abi::wire::OperationTraits;
using completion::CqeSyndrome;
using completion::local_error;
using completion::LocalError;
using queue::Outstanding;
using queue::QueuePair;
namespace vendor = completion::vendor;

namespace {
/// What `scatter` would find wrong with the keys of the first `length` bytes: nothing goes through them, but they
/// count.
std::optional<LocalError> check_keys(DataPath& path, const QueuePair& qp, std::uint32_t length, port::Time at) {
    for (const auto& segment : qp.requester.response->data()) {
        const auto chunk = std::min(length, segment.length);
        if (chunk == 0)
            continue;
        const auto checked = path.memory.check({.key = segment.key,
                                                .address = segment.address,
                                                .length = chunk,
                                                .access = tpt::Access::local_write,
                                                .pd = qp.attributes.pd,
                                                .qpn = qp.number.value},
                                               at);
        if (!checked)
            return local_error(checked.error());
        length -= chunk;
    }
    return std::nullopt;
}
} // namespace

void Requester::receive(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& r = qp.requester;
    if (!qp.can_send() || r.messages.is_empty())
        return;
    // Only what was sent and not yet acknowledged can be answered; anything else is a ghost (IBA 9.7.5.1.1).
    if (packet.rdma().psn.is_before(r.oldest_psn) || !packet.rdma().psn.is_before(r.next_psn))
        return;
    const auto& traits = packet.traits();
    if (traits.has_aeth && path_.events.is_on())
        path_.events.emit(at, traces::Acknowledged{qp.number.value, packet.rdma().psn.value,
                                                   packet.rdma().aeth.syndrome, packet.rdma().aeth.msn});
    if (traits.kind == OperationTraits::Kind::read_response)
        return read_response(qp, packet, at);
    if (packet.rdma().operation == Operation::atomic_acknowledge)
        return atomic_response(qp, packet, at);
    if (abi::wire::kind_of(packet.rdma().aeth.syndrome) == abi::wire::SyndromeKind::acknowledge)
        return acknowledge(qp, packet.rdma().psn, at);
    negative(qp, packet, at);
}

/// Everything up to and with `psn` was received.
void Requester::acknowledge(QueuePair& qp, Psn psn, port::Time at) {
    auto& r = qp.requester;
    for (auto n = r.messages.begin(); n != r.messages.end(); ++n) {
        const auto& message = r.messages[n];
        if (message.packets == 0)
            continue;
        if (psn.is_before(message.first))
            break;
        if (message.awaits_data) {
            // The responder is past a READ or atomic whose answer did not come: an implied NAK (IBA 9.7.5.1.3).
            r.oldest_psn = message.first + message.answered;
            retire(qp, at);
            if (qp.can_send())
                ask_again(qp, at);
            return;
        }
        r.oldest_psn = psn.is_before(message.last()) ? psn + 1 : message.next();
    }
    progress(qp, at);
    retire(qp, at);
}

void Requester::negative(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.requester;
    const auto syndrome = packet.rdma().aeth.syndrome;
    // Whatever precedes the refused packet has arrived.
    if (packet.rdma().psn.is_after(r.oldest_psn)) {
        acknowledge(qp, packet.rdma().psn + Psn::mask, at);
        if (!qp.can_send() || r.oldest_psn.is_before(packet.rdma().psn))
            return; // failed, or an answer is missing and the implied NAK goes first
    }
    // During an RNR pause nothing new is under way: the same NAK again, or one for a packet behind the refused one.
    if (r.waits_rnr)
        return;
    if (abi::wire::kind_of(syndrome) == abi::wire::SyndromeKind::rnr_nak)
        return wait_for_receiver(qp, packet.rdma().psn, abi::wire::value_of(syndrome), at);
    if (abi::wire::kind_of(syndrome) != abi::wire::SyndromeKind::nak)
        return;
    const auto code = static_cast<abi::wire::NakCode>(abi::wire::value_of(syndrome));
    auto& count = path_.count(qp);
    const auto vendor_code = static_cast<std::uint8_t>(vendor::nak + abi::wire::value_of(syndrome));
    switch (code) {
    case abi::wire::NakCode::psn_sequence_error:
        ++count.packet_seq_err;
        return retry(qp, packet.rdma().psn, "sequence", at);
    case abi::wire::NakCode::invalid_request:
        ++count.req_remote_invalid_request;
        return fail_front(qp, {CqeSyndrome::remote_inval_req_err, vendor_code}, at);
    case abi::wire::NakCode::remote_access_error:
        ++count.req_remote_access_errors;
        return fail_front(qp, {CqeSyndrome::remote_access_err, vendor_code}, at);
    case abi::wire::NakCode::remote_operational_error:
        ++count.req_remote_operation_errors;
        return fail_front(qp, {CqeSyndrome::remote_op_err, vendor_code}, at);
    default: ++count.req_bad_response; return fail_front(qp, {CqeSyndrome::bad_resp_err, vendor_code}, at);
    }
}

/// Whether `psn` answers the oldest message that awaits data, and that message is now the oldest of all. An answer to a
/// later packet means that one in between was lost.
bool Requester::answers_front(QueuePair& qp, Psn psn, port::Time at) {
    auto& r = qp.requester;
    if (const auto before = psn + Psn::mask; !before.is_before(r.oldest_psn)) {
        // An answer acknowledges everything sent before its request (IBA 9.7.5.1.2).
        for (auto n = r.messages.begin(); n != r.messages.end() && !r.messages[n].awaits_data; ++n)
            if (r.messages[n].packets != 0 && !before.is_before(r.messages[n].last()))
                r.oldest_psn = r.messages[n].next();
        retire(qp, at);
    }
    if (!qp.can_send() || r.messages.is_empty())
        return false;
    const auto& front = r.messages.front();
    if (!front.awaits_data)
        return false;
    const auto expected = front.first + front.answered;
    if (psn == expected)
        return true;
    if (psn.is_after(expected))
        ask_again(qp, at);
    return false;
}

/// An implied NAK: the oldest answer is missing. Asked for once; what else is under way behind the gap says nothing
/// new.
void Requester::ask_again(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    if (r.asked_again)
        return;
    ++path_.count(qp).implied_nak_seq_err;
    const auto& front = r.messages.front();
    retry(qp, front.first + front.answered, "implied", at);
    r.asked_again = true;
}

/// Makes `response` hold the WQE of the oldest message: its local segments say where the answer goes. Returns when it
/// does; nothing: the message has failed.
std::optional<port::Time> Requester::load_response(QueuePair& qp, port::Time at) {
    auto& r = qp.requester;
    if (r.has_response && r.response_loaded == r.messages.begin())
        return at;
    const auto& front = r.messages.front();
    at = queue::read_wqe(path_.dma, qp, front.wqe_index, path_.config.max_wqe_size_sq, *r.response, at);
    if (r.response->fault != queue::WqeFault::none || r.response->length != front.length) {
        const LocalError error{CqeSyndrome::local_qp_op_err,
                               static_cast<std::uint8_t>(vendor::wqe + static_cast<unsigned>(r.response->fault))};
        count_local(qp, error);
        fail_front(qp, error, at);
        return std::nullopt;
    }
    r.has_response = true;
    r.response_loaded = r.messages.begin();
    return at;
}

void Requester::read_response(QueuePair& qp, port::Packet& packet, port::Time at) {
    if (!answers_front(qp, packet.rdma().psn, at))
        return;
    auto& r = qp.requester;
    const auto mtu = qp.attributes.mtu_bytes();
    const auto offset = r.messages.front().answered * mtu;
    const auto& traits = packet.traits();
    const auto length = r.messages.front().length;
    const bool is_last = r.messages.front().answered + 1 == r.messages.front().packets;
    if (r.messages.front().opcode != abi::prm::WqeOpcode::rdma_read ||
        packet.payload.size() != packet_length(length, offset, mtu) || traits.is_last != is_last) {
        ++path_.count(qp).req_bad_response;
        return fail_front(qp, {CqeSyndrome::bad_resp_err, vendor::response}, at);
    }
    if (is_answered_in_cqe(qp)) [[unlikely]] {
        path_.counters.payload_received += packet.payload.size();
        return answer_in_cqe(qp, packet.payload.pieces(), at);
    }
    const auto loaded = load_response(qp, at);
    if (!loaded)
        return;
    at = *loaded;
    if (!place_answer(qp, offset, packet.payload.pieces(), at))
        return;
    path_.counters.payload_received += packet.payload.size();
    auto& front = r.messages.front();
    ++front.answered;
    r.oldest_psn = front.first + front.answered;
    progress(qp, at);
    if (is_last)
        retire(qp, at);
}

/// Whether the oldest message's answer comes in its completion (PRM "QP context", cs_req): when there is one, and room
/// in it.
bool Requester::is_answered_in_cqe(QueuePair& qp) const {
    const auto& front = qp.requester.messages.front();
    return front.length != 0 && front.length <= qp.attributes.answer_in_cqe && front.signalled &&
           front.length <= qp.send_cq->inline_bytes();
}

/// The oldest message is answered by this one packet, and software puts its bytes where the WQE says.
void Requester::answer_in_cqe(QueuePair& qp, std::span<const std::span<const std::byte>> pieces, port::Time at) {
    auto& r = qp.requester;
    const auto loaded = load_response(qp, at);
    if (!loaded)
        return;
    at = *loaded;
    if (const auto error = check_keys(path_, qp, r.messages.front().length, at)) {
        count_local(qp, *error);
        return fail_front(qp, *error, at);
    }
    std::array<std::byte, abi::prm::cqe_inline_64> bytes;
    auto* end = bytes.data();
    for (const auto& piece : pieces)
        end = std::ranges::copy(piece, end).out; // front.length of them, as the caller has checked
    auto& front = r.messages.front();
    front.answered = front.packets;
    r.oldest_psn = front.next();
    progress(qp, at);
    retire(qp, at, {bytes.data(), end});
}

/// Writes an answer's bytes where the WQE in `response` says. False when they are not there: the message has failed, or
/// waits for a page and will be asked for again.
bool Requester::place_answer(QueuePair& qp, std::uint32_t offset, std::span<const std::span<const std::byte>> pieces,
                             port::Time at) {
    const auto written = scatter(path_, qp, *qp.requester.response, offset, pieces, at);
    if (written) [[likely]] {
        qp.requester.placed_until = std::max(qp.requester.placed_until, *written);
        return true;
    }
    if (written.error().is_page_fault()) {
        std::uint32_t bytes = 0;
        for (const auto& piece : pieces)
            bytes += static_cast<std::uint32_t>(piece.size());
        if (wait_to_place(qp, offset, bytes, written.error().request, at))
            return false;
    }
    const auto error = local_error(written.error().without_wait());
    count_local(qp, error);
    fail_front(qp, error, at);
    return false;
}

void Requester::atomic_response(QueuePair& qp, const port::Packet& packet, port::Time at) {
    if (!answers_front(qp, packet.rdma().psn, at))
        return;
    auto& r = qp.requester;
    if (r.messages.front().opcode == abi::prm::WqeOpcode::rdma_read) {
        ++path_.count(qp).req_bad_response;
        return fail_front(qp, {CqeSyndrome::bad_resp_err, vendor::response}, at);
    }
    std::array<std::byte, 8> value;
    const std::array pieces{std::span<const std::byte>(value)};
    const bool is_in_cqe = is_answered_in_cqe(qp);
    // The order that software chose is that of memory. In a CQE the value is big endian always, as UCX takes it.
    if (host_order_ && !is_in_cqe)
        abi::store<std::uint64_t, abi::Endian::little>(value.data(), packet.rdma().atomic_original);
    else
        abi::store<std::uint64_t, abi::Endian::big>(value.data(), packet.rdma().atomic_original);
    if (is_in_cqe) [[unlikely]]
        return answer_in_cqe(qp, pieces, at);
    const auto loaded = load_response(qp, at);
    if (!loaded)
        return;
    at = *loaded;
    if (!place_answer(qp, 0, pieces, at))
        return;
    auto& front = r.messages.front();
    front.answered = 1;
    r.oldest_psn = front.next();
    progress(qp, at);
    retire(qp, at);
}

/// Completes every message at the front that is done, and fails the first one that cannot be. `answer`: what the
/// completion of the oldest one carries.
void Requester::retire(QueuePair& qp, port::Time at, std::span<const std::byte> answer) {
    auto& r = qp.requester;
    while (!r.messages.is_empty()) {
        const auto& front = r.messages.front();
        const bool is_error = front.error != 0;
        if (is_error)
            return fail_front(qp, {static_cast<CqeSyndrome>(front.error), front.vendor_error}, at);
        // A NOP or UMR has no packets: it is done when it is the oldest.
        const bool is_done = front.packets == 0 || (front.awaits_data ? front.answered == front.packets
                                                                      : !r.oldest_psn.is_before(front.next()));
        if (!is_done)
            return;
        complete_front(qp, at, std::exchange(answer, {}));
        if (!qp.can_send())
            return;
    }
}

void Requester::complete_front(QueuePair& qp, port::Time at, std::span<const std::byte> answer) {
    auto& r = qp.requester;
    const auto message = r.messages.front();
    if (r.message == r.messages.begin()) {
        // Acknowledged before it was sent again to the end: go on with the next one.
        ++r.message;
        r.offset = 0;
    }
    r.messages.pop();
    r.completed = static_cast<std::uint16_t>(r.completed + message.wqebbs);
    r.reads_outstanding -= message.awaits_data;
    if (r.fetched != r.producer)
        path_.scheduler.add(
            qp); // a fence, the limit of outstanding READs or the window may have held the next one back
    ++path_.counters.messages_completed;
    if (message.signalled && !completions_.send(qp, message, CqeSyndrome{}, 0, at, answer))
        failure_.enter_error(qp, abi::prm::EventType::wq_catastrophic_error, at);
}

/// The oldest message fails: its error completion, then the error state. Without acknowledges only the send queue stops
/// (IBA 10.3.1.5), as nothing the peer sends depends on it.
void Requester::fail_front(QueuePair& qp, const LocalError& error, port::Time at) {
    auto& r = qp.requester;
    const auto message = r.messages.front();
    r.messages.pop();
    r.completed = static_cast<std::uint16_t>(r.completed + message.wqebbs);
    completions_.send(qp, message, error.syndrome, error.vendor, at);
    if (qp.service.is_reliable || qp.service.is_local)
        failure_.enter_error(qp, at);
    else
        failure_.enter_send_error(qp, at);
}

} // namespace model::hca::requester
