// Duplicates (IBA 9.7.5.1.4 and 9.7.5.2): SENDs and WRITEs are acknowledged again, READs executed again, atomics
// answered from memory of the result, never executed twice.
#include "model/hca/requester/packetize.h"
#include "model/hca/responder/responder.h"

#include <algorithm>

namespace model::hca::responder {

using queue::QueuePair;
using queue::Replay;
using Kind = abi::wire::OperationTraits::Kind;

void Responder::remember(QueuePair& qp, const Replay& replay) {
    auto& r = qp.responder;
    const auto depth = 1u << qp.attributes.log_reads_responder;
    while (r.replay.size() >= depth) // a transition may have made it less
        r.replay.pop();
    r.replay.push(replay);
}

const Replay* Responder::find_replay(const QueuePair& qp, abi::Psn psn) const {
    const auto& r = qp.responder;
    for (std::uint32_t back = 1; back <= r.replay.size(); ++back) {
        const auto& replay = r.replay[r.replay.end() - back];
        if (!psn.is_before(replay.first) && psn.is_before(replay.first + replay.packets))
            return &replay;
    }
    return nullptr;
}

/// False: it was refused.
bool Responder::read_again(QueuePair& qp, const port::Packet& packet, const Replay& replay, port::Time at) {
    const auto& reth = packet.rdma().reth;
    auto access = remote_access(qp, reth.rkey, reth.address, reth.length, tpt::Access::remote_read, replay.pd);
    const auto first = access.length = std::min(reth.length, qp.attributes.mtu_bytes());
    const paging::RemotePageFault fault{.type = abi::prm::PageFaultType::remote_read,
                                        .key = reth.rkey,
                                        .address = reth.address,
                                        .length = reth.length,
                                        .packet = static_cast<std::uint32_t>(first),
                                        .psn = packet.rdma().psn};
    if (lacks_page(access) && page_faults_.raise(qp, fault, access, at)) {
        // The peer lost patience with a response that waits for a page: told when to ask again, it waits without
        // counting.
        refuse(qp, abi::wire::rnr_syndrome(qp.attributes.min_rnr_nak), packet.rdma().psn, qp.responder.msn, at);
        return true;
    }
    access.length = reth.length;
    if (!may_access(access, at)) {
        refuse(qp, abi::wire::nak_syndrome(abi::wire::NakCode::remote_access_error), packet.rdma().psn,
               qp.responder.msn, at);
        fail(qp, abi::wire::NakCode::remote_access_error, at);
        return false;
    }
    respond(qp,
            {.kind = queue::Response::Kind::read,
             .syndrome = abi::wire::ack_syndrome(),
             .psn = packet.rdma().psn,
             .msn = qp.responder.msn,
             .address = reth.address,
             .rkey = reth.rkey,
             .remaining = reth.length,
             .pd = replay.pd,
             .is_repeat = true},
            at);
    return true;
}

void Responder::duplicate(QueuePair& qp, const port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    ++path_.counters.duplicates;
    ++path_.count(qp).duplicate_request;
    path_.events.emit(at, traces::Duplicate{qp.number.value, packet.rdma().psn.value, packet.rdma().opcode()});
    const auto kind = packet.traits().kind;
    if (kind == Kind::send || kind == Kind::write) {
        if (packet.rdma().ack_request)
            owe_ack(qp, at);
        return;
    }
    const auto* replay = find_replay(qp, packet.rdma().psn);
    if (replay == nullptr || replay->is_atomic != (kind == Kind::atomic))
        return; // too old: the requester cannot be waiting for it
    // What is asked for again must be the rest of what was asked for before.
    const auto skipped =
        std::uint64_t{static_cast<std::uint32_t>(packet.rdma().psn - replay->first)} * qp.attributes.mtu_bytes();
    const auto& reth = packet.rdma().reth;
    if (kind == Kind::read_request && (reth.rkey != replay->rkey || reth.address != replay->address + skipped ||
                                       reth.length != replay->length - skipped))
        return;
    // The requester went back: it will ask again for everything behind this packet, too. But it may as well be the
    // network that repeats itself: ACKs that were owed stay owed.
    bool owes_ack = r.ack_pending;
    for (; !r.responses.is_empty() && !r.responses.back().psn.is_before(packet.rdma().psn); r.responses.pop_back()) {
        owes_ack |= r.responses.back().kind == queue::Response::Kind::acknowledge;
        r.nak_is_out &= r.responses.back().kind != queue::Response::Kind::negative;
    }
    if (is_read_limit_reached(qp, true))
        return; // no requester asks for so much at once; it will ask again
    if (kind == Kind::atomic)
        respond(qp,
                {.kind = queue::Response::Kind::atomic,
                 .syndrome = abi::wire::ack_syndrome(),
                 .psn = packet.rdma().psn,
                 .msn = r.msn,
                 .original = replay->original,
                 .is_repeat = true},
                at);
    else if (!read_again(qp, packet, *replay, at))
        return;
    if (owes_ack)
        owe_ack(qp, at);
}

} // namespace model::hca::responder
