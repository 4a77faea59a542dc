// The receiving side of the unreliable datagram service (IBA 9.8.3), and with it of QP0 and QP1: checks the queue key,
// puts the network header and the payload into the next receive WQE, completes it. What does not fit is silently
// dropped.
#pragma once

#include "model/hca/queue/failure.h"
#include "model/hca/responder/placement.h"


namespace model::hca::responder {

class DatagramResponder {
public:
    DatagramResponder(DataPath& path, queue::Failure& failure) : path_(path), failure_(failure) {}

    void receive(queue::QueuePair& qp, port::Packet& packet, port::Time at);

private:
    void drop(const port::Packet& packet, traces::Reason reason, port::Time at);
    void complete(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void fail(queue::QueuePair& qp, const PlacementError& error, port::Time at);

    DataPath& path_;
    queue::Failure& failure_;
    Placement placement_{path_};
};

} // namespace model::hca::responder
