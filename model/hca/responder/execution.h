// Carries out a request packet that is the next one (IBA 9.7.4, 9.7.5): checks its place in the message, has SEND,
// WRITE, READ or atomic done, and moves on to the next sequence number and the answer that was asked for.
#pragma once

#include "model/hca/object_table.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/shared_receive_queue.h"
#include "model/hca/report.h"
#include "model/hca/responder/answers.h"
#include "model/hca/responder/receives.h"
#include "model/hca/responder/remote_memory.h"
#include "model/hca/umr/umr.h"

namespace model::hca::responder {

class Execution {
public:
    Execution(Receives& receives, RemoteMemory& memory, Answers& answers, umr::Umr& umr,
              const ObjectTable<queue::SharedReceiveQueue>& shared_receive_queues, const Report& report)
        : receives_(receives), memory_(memory), answers_(answers), umr_(umr),
          shared_receive_queues_(shared_receive_queues), report_(report) {}

    /// Carries out a request of a reliable service.
    void execute(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    /// The same for a train of packets of a WRITE, where all of them go as they should. False: nothing has happened.
    bool execute_train(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    /// Carries out a request of the unreliable connected service (IBA 9.8.2). When a packet cannot be carried out, its
    /// message is silently dropped.
    void execute_unreliable(queue::QueuePair& qp, port::Packet& packet, port::Time at);

private:
    bool is_in_order(const queue::QueuePair& qp, const port::Packet& packet) const;
    bool select_shared_queue(queue::QueuePair& qp, const port::Packet& packet);
    void finish_packet(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void move_on(queue::QueuePair& qp, const port::Packet& packet, bool ends_message, port::Time at);
    void finish_request(queue::QueuePair& qp, const port::Packet& packet, Answered& answered, port::Time at);
    void say_accepted(const queue::QueuePair& qp, const port::Packet& packet, port::Time at) const;

    Receives& receives_;
    RemoteMemory& memory_;
    Answers& answers_;
    umr::Umr& umr_;
    const ObjectTable<queue::SharedReceiveQueue>& shared_receive_queues_;
    Report report_;
};

} // namespace model::hca::responder
