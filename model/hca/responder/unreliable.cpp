// The unreliable connected service (IBA 9.8.2): what is out of sequence drops its message, and nobody answers.
#include "model/hca/responder/responder.h"

namespace model::hca::responder {

using queue::QueuePair;
using Kind = abi::wire::OperationTraits::Kind;
using Message = queue::ResponderState::Message;

void Responder::receive_unreliable(QueuePair& qp, port::Packet& packet, port::Time at) {
    auto& r = qp.responder;
    const auto& traits = packet.traits();
    if (!is_defined(packet.rdma().service, packet.rdma().operation))
        return;
    // A gap, or a message that begins before the last one ended, drops the one that was under way. Its receive WQE is
    // used again (IBA 9.8.2.2.1).
    if (packet.rdma().psn != r.expected || traits.is_first)
        r.message = Message::none;
    r.expected = packet.rdma().psn;
    std::optional<port::Time> done;
    if (is_in_order(qp, packet))
        done = traits.kind == Kind::send ? send(qp, packet, at) : write(qp, packet, at);
    if (done) {
        say_accepted(qp, packet, *done);
        return finish_packet(qp, packet, *done);
    }
    r.message = Message::none;
    r.expected += 1;
}

} // namespace model::hca::responder
