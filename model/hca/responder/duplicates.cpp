#include "model/hca/responder/duplicates.h"

#include "model/hca/responder/remote_access.h"

#include <algorithm>

namespace model::hca::responder {

using queue::QueuePair;
using queue::Replay;
using Kind = abi::wire::OperationTraits::Kind;

void Duplicates::remember(QueuePair& qp, const Replay& replay) {
    auto& replays = qp.responder.replay;
    const auto depth = 1u << qp.attributes.log_reads_responder;
    while (replays.size() >= depth) // a transition may have made it less
        replays.pop();
    replays.push(replay);
}

namespace {

const Replay* find(const QueuePair& qp, abi::Psn psn) {
    const auto& replays = qp.responder.replay;
    for (std::uint32_t back = 1; back <= replays.size(); ++back) {
        const auto& replay = replays[replays.end() - back];
        if (!psn.is_before(replay.first) && psn.is_before(replay.first + replay.packets))
            return &replay;
    }
    return nullptr;
}

} // namespace

/// Answers a READ again. Returns false when it was refused.
bool Duplicates::read_again(QueuePair& qp, const port::Packet& packet, const Replay& replay, port::Time at) {
    const auto& reth = packet.rdma().reth;
    auto access = remote_access(qp, reth.rkey, reth.address, reth.length, tpt::Access::remote_read, replay.pd);
    const auto first = access.length = std::min(reth.length, qp.attributes.mtu_bytes());
    const paging::RemotePageFault fault{.type = abi::prm::PageFaultType::remote_read,
                                        .key = reth.rkey,
                                        .address = reth.address,
                                        .length = reth.length,
                                        .packet = static_cast<std::uint32_t>(first),
                                        .psn = packet.rdma().psn};
    if (memory_.lacks_page(access) && patience_.wait_to_repeat(qp, fault, access, at))
        return true;
    access.length = reth.length;
    if (!memory_.may_access(access, at)) {
        answers_.refuse(qp, abi::wire::nak_syndrome(abi::wire::NakCode::remote_access_error), packet.rdma().psn,
                        qp.responder.order.msn, at);
        answers_.fail(qp, abi::wire::NakCode::remote_access_error, at);
        return false;
    }
    answers_.respond(qp,
                     {.kind = queue::Response::Kind::read,
                      .syndrome = abi::wire::ack_syndrome(),
                      .psn = packet.rdma().psn,
                      .msn = qp.responder.order.msn,
                      .address = reth.address,
                      .rkey = reth.rkey,
                      .remaining = reth.length,
                      .pd = replay.pd,
                      .is_repeat = true},
                     at);
    return true;
}

void Duplicates::receive(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    ++report_.counters.duplicates;
    ++qp.counters->duplicate_request;
    report_.events.emit(at, traces::Duplicate{qp.number.value, packet.rdma().psn.value, packet.rdma().opcode()});
    const auto kind = packet.traits().kind;
    if (kind == Kind::send || kind == Kind::write) {
        if (packet.rdma().ack_request)
            answers_.owe_ack(qp, at);
        return;
    }
    const auto* replay = find(qp, packet.rdma().psn);
    if (replay == nullptr || replay->is_atomic != (kind == Kind::atomic))
        return; // so old that the requester cannot be waiting for its answer
    // A repeated READ may only ask for the rest of what it asked for before.
    const auto skipped =
        std::uint64_t{static_cast<std::uint32_t>(packet.rdma().psn - replay->first)} * qp.attributes.mtu_bytes();
    const auto& reth = packet.rdma().reth;
    const auto rest = replay->length - skipped;
    const bool is_part = is_selective_ && reth.length != 0 && reth.length < rest;
    if (kind == Kind::read_request &&
        (reth.rkey != replay->rkey || reth.address != replay->address + skipped || (reth.length != rest && !is_part)))
        return;
    // With selective repeat it asks for this alone, or for a part of it.
    // When the requester went back, it will ask again for everything behind this packet, too, so the answers to that
    // are dropped. But perhaps the network has duplicated a packet, so an ACK that was owed stays owed.
    bool owes_ack = r.answers.ack_pending;
    auto& responses = r.answers.responses;
    for (; !is_selective_ && !responses.is_empty() && !responses.back().psn.is_before(packet.rdma().psn);
         responses.pop_back()) {
        owes_ack |= responses.back().kind == queue::Response::Kind::acknowledge;
        r.order.nak_is_out &= responses.back().kind != queue::Response::Kind::negative;
    }
    if (Answers::is_limit_reached(qp, true))
        return; // no requester has so many repeats under way; if this one is real it will be repeated
    if (kind == Kind::atomic)
        answers_.respond(qp,
                         {.kind = queue::Response::Kind::atomic,
                          .syndrome = abi::wire::ack_syndrome(),
                          .psn = packet.rdma().psn,
                          .msn = r.order.msn,
                          .original = replay->original,
                          .is_repeat = true},
                         at);
    else if (!read_again(qp, packet, *replay, at))
        return;
    if (owes_ack)
        answers_.owe_ack(qp, at);
}

} // namespace model::hca::responder
