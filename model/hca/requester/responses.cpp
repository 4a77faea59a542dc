#include "model/hca/requester/responses.h"

#include "abi/layout.h"
#include "abi/wire/infiniband.h"
#include "model/hca/queue/packets.h"

#include <algorithm>
#include <array>
#include <optional>

namespace model::hca::requester {

using abi::prm::CqeSyndrome;
using abi::prm::WqeOpcode;
using completion::LocalError;
using queue::QueuePair;
namespace vendor = completion::vendor;

namespace {

/// Whether the oldest message's answer comes in its completion (PRM "QP context", cs_req): there must be a completion,
/// and room in it.
bool is_answered_in_cqe(const QueuePair& qp) {
    const auto& front = qp.requester.sends.messages.front();
    return front.length != 0 && front.length <= qp.attributes.answer_in_cqe && front.signalled &&
           front.length <= qp.send_cq->inline_bytes();
}

/// Data come with an ACK, where they come with an AETH: what is refused is answered by a packet without any
/// (IBA 9.7.5.2, 9.9.2).
bool is_acknowledging(const port::Packet& packet) {
    return !packet.traits().has_aeth ||
           abi::wire::kind_of(packet.rdma().aeth.syndrome) == abi::wire::SyndromeKind::acknowledge;
}

constexpr LocalError bad_response{CqeSyndrome::bad_resp_err, vendor::response};

/// The answer that the oldest message that awaits one is waiting for.
std::optional<abi::Psn> next_answer(const QueuePair& qp) {
    const auto& messages = qp.requester.sends.messages;
    for (auto n = messages.begin(); n != messages.end(); ++n)
        if (messages[n].awaits_data)
            return messages[n].first + messages[n].answered;
    return std::nullopt;
}

} // namespace

void Responses::receive(QueuePair& qp, const port::Packet& packet, port::Time at) {
    if (reorder_packets_ != 0) [[unlikely]]
        hold(qp, packet);
    take(qp, packet, at);
    if (qp.requester.response.held) [[unlikely]] {
        take_held(qp, at);
        // Another gap is asked for at once, since perhaps nothing more comes that would show it; but behind a packet
        // that does not end an answer the rest of that is under way.
        const auto next = packet.traits().is_last ? next_answer(qp) : std::nullopt;
        // What is held behind it also acknowledges the messages before its own, whose ACK may have been lost.
        const auto until = next ? qp.requester.response.held->first_after(*next) : std::nullopt;
        if (until && qp.can_send())
            acknowledgements_.answers_front(qp, *until, at);
    }
    if (reorder_packets_ != 0) [[unlikely]]
        acknowledgements_.look_again(qp, at);
}

void Responses::take(QueuePair& qp, const port::Packet& packet, port::Time at) {
    if (!acknowledgements_.answers_front(qp, packet.rdma().psn, at))
        return;
    if (packet.rdma().operation == abi::wire::Operation::atomic_acknowledge)
        atomic(qp, packet, at);
    else
        read(qp, packet, at);
}

/// Keeps an answer that comes before a missing one.
void Responses::hold(QueuePair& qp, const port::Packet& packet) const {
    const auto next = next_answer(qp);
    const auto psn = packet.rdma().psn;
    if (!next || !psn.is_after(*next) || static_cast<std::uint32_t>(psn - *next) >= reorder_packets_)
        return;
    auto& held = qp.requester.response.held;
    if (!held)
        held = std::make_unique<queue::ReorderBuffer>(reorder_packets_);
    held->hold(packet);
}

/// Takes in what came before its turn and has it now.
void Responses::take_held(QueuePair& qp, port::Time at) {
    auto& held = *qp.requester.response.held;
    while (qp.can_send() && !qp.paging.stops_sending()) {
        const auto next = next_answer(qp);
        if (!next)
            return;
        const auto* packet = held.find(*next);
        if (packet == nullptr)
            return;
        take(qp, *packet, at);
        held.drop(*next);
        if (next_answer(qp) == next)
            return;
    }
}

void Responses::read(QueuePair& qp, const port::Packet& packet, port::Time at) {
    const auto& front = qp.requester.sends.messages.front();
    const auto mtu = qp.attributes.mtu_bytes();
    const auto offset = front.answered * mtu;
    const bool is_last = front.answered + 1 == front.packets;
    const bool is_begun = front.answered != 0 || packet.traits().is_first; // a response begins with its first packet
    if (front.opcode != WqeOpcode::rdma_read || !is_begun || !is_acknowledging(packet) ||
        packet.payload.size() != queue::packet_length(front.length, offset, mtu) ||
        (packet.traits().is_last != is_last && (is_last || reorder_packets_ == 0))) {
        ++qp.counters->req_bad_response;
        return retirement_.fail_front(qp, bad_response, at);
    }
    if (is_answered_in_cqe(qp)) [[unlikely]] {
        counters_.payload_received += packet.payload.size();
        return answer_in_cqe(qp, packet.payload.pieces(), at);
    }
    const auto loaded = placement_.load(qp, at);
    if (!loaded)
        return;
    at = *loaded;
    if (!placement_.place(qp, offset, packet.payload.pieces(), at))
        return;
    counters_.payload_received += packet.payload.size();
    finish(qp, 1, at);
}

void Responses::atomic(QueuePair& qp, const port::Packet& packet, port::Time at) {
    if (qp.requester.sends.messages.front().opcode == WqeOpcode::rdma_read || !is_acknowledging(packet)) {
        ++qp.counters->req_bad_response;
        return retirement_.fail_front(qp, bad_response, at);
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
    const auto loaded = placement_.load(qp, at);
    if (!loaded)
        return;
    at = *loaded;
    if (placement_.place(qp, 0, pieces, at))
        finish(qp, 1, at);
}

/// Puts the one packet of the oldest message's answer into the completion. Software moves its bytes to where the WQE
/// says, so the keys of the WQE are checked all the same.
void Responses::answer_in_cqe(QueuePair& qp, Pieces pieces, port::Time at) {
    const auto loaded = placement_.load(qp, at);
    if (!loaded)
        return;
    at = *loaded;
    if (!placement_.check(qp, at))
        return;
    std::array<std::byte, abi::prm::cqe_inline_64> bytes;
    auto* end = bytes.data();
    for (const auto& piece : pieces)
        end = std::ranges::copy(piece, end).out; // as many as the message is long, as the caller has checked
    finish(qp, qp.requester.sends.messages.front().packets, at, {bytes.data(), end});
}

/// Counts `packets` more packets of the oldest message's answer as taken in, and ends the message with the last one.
void Responses::finish(QueuePair& qp, std::uint32_t packets, port::Time at, std::span<const std::byte> answer) {
    auto& front = qp.requester.sends.messages.front();
    front.answered += packets;
    qp.requester.window.oldest_psn = front.first + front.answered;
    const bool is_last = front.answered == front.packets;
    retry_.progress(qp, at);
    if (is_last)
        retirement_.retire(qp, at, answer);
    else
        Retry::pass_answered(qp);
}

} // namespace model::hca::requester
