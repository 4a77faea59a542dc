// What the peer's answers say about everything that was sent before (IBA 9.7.5.1): acknowledges, and negative ones.
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/hca/requester/retirement.h"
#include "model/hca/requester/retry.h"

namespace model::hca::requester {

class Acknowledgements {
public:
    Acknowledgements(Retirement& retirement, Retry& retry) : retirement_(retirement), retry_(retry) {}

    /// Everything up to and with `psn` was received.
    void acknowledge(queue::QueuePair& qp, abi::Psn psn, port::Time at);
    /// The packet that is named was refused.
    void refused(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    /// Whether `psn` answers the oldest message that awaits data, and that message is now the oldest of all. An answer
    /// to a later packet means that one in between was lost.
    bool answers_front(queue::QueuePair& qp, abi::Psn psn, port::Time at);

private:
    Retirement& retirement_;
    Retry& retry_;
};

} // namespace model::hca::requester
