// The receiving side of the unreliable datagram service (IBA 9.8.3), and with it of QP0 and QP1: checks the queue key,
// puts the network header and the payload into the next receive WQE, completes it. What does not fit is silently
// dropped.
#pragma once

#include "model/hca/completion/failure.h"
#include "model/hca/report.h"
#include "model/hca/responder/placement.h"

namespace model::hca::responder {

class DatagramResponder {
public:
    DatagramResponder(DataPath& path, completion::WorkCompletions& completions, completion::Failure& failure)
        : path_(path), completions_(completions), failure_(failure) {}

    void receive(queue::QueuePair& qp, port::Packet& packet, port::Time at);

private:
    void complete(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void fail(queue::QueuePair& qp, const PlacementError& error, port::Time at);

    DataPath& path_;
    completion::WorkCompletions& completions_;
    completion::Failure& failure_;
    Report report_{path_.counters, path_.events};
    Placement placement_{path_};
};

} // namespace model::hca::responder
