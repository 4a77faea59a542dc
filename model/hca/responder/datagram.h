// The receiving side of the unreliable datagram service (IBA 9.8.3), and with it of QP0 and QP1: puts the network
// header and the payload into the next receive WQE and completes it. A datagram for which there is no receive WQE, or
// that is longer than the path's MTU, is silently dropped.
#pragma once

#include "model/hca/address/identity.h"
#include "model/hca/completion/failure.h"
#include "model/hca/completion/work_completions.h"
#include "model/hca/config.h"
#include "model/hca/report.h"
#include "model/hca/responder/placement.h"

namespace model::hca::responder {

class DatagramResponder {
public:
    DatagramResponder(const HcaConfig& config, const address::Identity& identity, const Placement& placement,
                      completion::WorkCompletions& completions, completion::Failure& failure, const Report& report)
        : latency_(config.cost(config.responder_latency)), identity_(identity), placement_(placement),
          completions_(completions), failure_(failure), report_(report) {}

    void receive(queue::QueuePair& qp, port::Packet& packet, port::Time at);

private:
    void complete(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void fail(queue::QueuePair& qp, const PlacementError& error, port::Time at);

    port::Time latency_;
    const address::Identity& identity_;
    Placement placement_;
    completion::WorkCompletions& completions_;
    completion::Failure& failure_;
    Report report_;
};

} // namespace model::hca::responder
