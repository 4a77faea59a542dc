// READ responses and atomic results (IBA 9.7.5.1). Each belongs to the oldest message, packet by packet; its bytes go
// where that message's WQE says, or into the completion.
#pragma once

#include "model/hca/config.h"
#include "model/hca/counters.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/requester/acknowledgements.h"
#include "model/hca/requester/response_placement.h"
#include "model/hca/requester/retirement.h"
#include "model/hca/requester/retry.h"

namespace model::hca::requester {

class Responses {
public:
    Responses(const HcaConfig& config, Acknowledgements& acknowledgements, ResponsePlacement& placement,
              Retirement& retirement, Retry& retry, Counters& counters)
        : reorder_packets_(config.selective_repeat ? config.reorder_packets : 0), acknowledgements_(acknowledgements),
          placement_(placement), retirement_(retirement), retry_(retry), counters_(counters) {}

    /// A READ response or the result of an atomic.
    void receive(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void set_host_order(bool host_order) { host_order_ = host_order; }

private:
    void take(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void read(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void atomic(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void hold(queue::QueuePair& qp, const port::Packet& packet) const;
    void take_held(queue::QueuePair& qp, port::Time at);
    void answer_in_cqe(queue::QueuePair& qp, Pieces pieces, port::Time at);
    void finish(queue::QueuePair& qp, std::uint32_t packets, port::Time at, std::span<const std::byte> answer = {});

    std::uint32_t reorder_packets_; ///< 0: none is kept
    Acknowledgements& acknowledgements_;
    ResponsePlacement& placement_;
    Retirement& retirement_;
    Retry& retry_;
    Counters& counters_;
    bool host_order_ = false;
};

} // namespace model::hca::requester
