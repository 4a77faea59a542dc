// SEND on the receiving side (IBA 9.7.5.2.9; PRM "Receive WQE"): takes a receive WQE, has the bytes placed, and
// completes it. A WRITE with immediate also takes and completes one.
#pragma once

#include "model/hca/completion/failure.h"
#include "model/hca/completion/work_completions.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/responder/answers.h"
#include "model/hca/responder/patience.h"
#include "model/hca/responder/placement.h"

namespace model::hca::responder {

/// Whether a packet was carried out, and when that is done. When it was refused, the peer's answer is queued. A plain
/// aggregate travels in two registers; a std::optional is assembled in memory and read back before it is stored.
struct CarriedOut {
    bool is_done = false;
    port::Time at{};
    explicit operator bool() const { return is_done; }
};

class Receives {
public:
    Receives(Placement& placement, Answers& answers, Patience& patience, completion::WorkCompletions& completions,
             completion::Failure& failure)
        : placement_(placement), answers_(answers), patience_(patience), completions_(completions), failure_(failure) {}

    /// Takes the next receive WQE for the message. Answers with an RNR NAK when none is posted.
    CarriedOut take(queue::QueuePair& qp, port::Time at);
    /// Places one packet of a SEND.
    CarriedOut place(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    /// Completes the receive WQE, whose message has ended with this packet.
    void complete(queue::QueuePair& qp, const port::Packet& packet, port::Time at);

private:
    void fail(queue::QueuePair& qp, const PlacementError& error, port::Time at);

    Placement& placement_;
    Answers& answers_;
    Patience& patience_;
    completion::WorkCompletions& completions_;
    completion::Failure& failure_;
};

} // namespace model::hca::responder
