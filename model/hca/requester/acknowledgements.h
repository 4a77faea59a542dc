// What the peer's answers say about everything that was sent before them (IBA 9.7.5.1): which messages are done, and
// which packet was refused and why.
#pragma once

#include "model/hca/config.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/requester/retirement.h"
#include "model/hca/requester/retry.h"

namespace model::hca::requester {

class Acknowledgements {
public:
    Acknowledgements(const HcaConfig& config, Retirement& retirement, Retry& retry)
        : is_selective_(config.selective_repeat), retirement_(retirement), retry_(retry) {}

    /// The peer has received everything up to and including `psn`.
    void acknowledge(queue::QueuePair& qp, abi::Psn psn, port::Time at);
    /// The peer has refused the packet that `packet`, a NAK, names.
    void refused(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    /// Whether `psn` answers the oldest message that awaits data, and that message is now the oldest of all. When an
    /// answer is to a later packet, the one before it was lost, and is asked for again.
    bool answers_front(queue::QueuePair& qp, abi::Psn psn, port::Time at);

    /// With selective repeat: what was said of packets behind an answer that was missing counts when that has come,
    /// since nothing is sent again that would have it said once more.
    void look_again(queue::QueuePair& qp, port::Time at);

private:
    bool is_selective_;
    Retirement& retirement_;
    Retry& retry_;
};

} // namespace model::hca::requester
