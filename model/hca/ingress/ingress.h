// Whose is this packet (IBA 7.3, 8.3, 9.6.1, 10.2.5, 10.9; RoCEv2 annex A17): parses exact bytes, compares addresses,
// partitions and queue keys, finds the queue pair, and hands the packet to its requester or responder. Receives every
// packet that comes in at the port. What it turns away it counts and reports by an event, but never answers.
#pragma once

#include "model/hca/address/identity.h"
#include "model/hca/icm/context_memory.h"
#include "model/hca/objects.h"
#include "model/hca/report.h"
#include "model/hca/requester/requester.h"
#include "model/hca/responder/datagram.h"
#include "model/hca/responder/responder.h"
#include "model/hca/subnet/management_port.h"

namespace model::hca::ingress {

/// The rooms that take packets in.
struct Receivers {
    responder::Responder& responder;
    responder::DatagramResponder& datagram;
    requester::Requester& requester;
    subnet::ManagementPort& management;
};

class Ingress {
public:
    Ingress(const Objects& objects, const address::Identity& identity, icm::ContextMemory& contexts,
            const Receivers& receivers, const Report& report)
        : objects_(objects), identity_(identity), contexts_(contexts), to_(receivers), report_(report) {}

    /// `way`: by which it has come, the cable or the way inside the port.
    void receive(port::Packet& packet, port::Time at, queue::Way way = queue::Way::cable);

private:
    bool receive_train(const port::Packet& packet, port::Time at, queue::Way way);
    void receive_one_by_one(const port::Packet& train, port::Time at, queue::Way way);
    void count(std::uint32_t packets, std::uint64_t bytes, queue::Way way);
    bool accept(port::Packet& packet, port::Time at);
    bool is_for_this_port(const port::Packet& packet, port::Time at);
    bool is_in_partition(const queue::QueuePair* qp, const port::Packet& packet, port::Time at);
    bool has_queue_key(const queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void receive_notification(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void receive_multicast(port::Packet& packet, port::Time at, queue::Way way);

    const Objects& objects_;
    const address::Identity& identity_;
    icm::ContextMemory& contexts_;
    Receivers to_;
    Report report_;
};

} // namespace model::hca::ingress
