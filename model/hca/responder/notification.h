// Tells the peer of a connection that its packets meet congestion (RoCEv2 annex A17.9.3; DCQCN's notification point):
// answers a packet that a switch has marked with a CNP, no more often than configured.
#pragma once

#include "abi/wire/ip.h"
#include "model/hca/config.h"
#include "model/hca/egress/outbox.h"
#include "model/hca/egress/outlets.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/report.h"

namespace model::hca::responder {

class Notification {
public:
    Notification(const HcaConfig& config, egress::Outlets& outlets, egress::Outbox& outbox, const Report& report)
        : is_on_(config.controls_congestion_by(congestion::Algorithm::dcqcn)),
          interval_(config.dcqcn.min_time_between_cnps), outlets_(outlets), outbox_(outbox), report_(report) {}

    /// A packet of this connection came in at `at`.
    void notice(queue::QueuePair& qp, const port::Packet& packet, port::Time at) {
        const bool is_marked = (packet.path.traffic_class & abi::wire::ecn_mask) == abi::wire::ecn_is_marked;
        if (is_on_ && is_marked && !packet.payload.is_empty()) [[unlikely]]
            answer(qp, at);
    }

private:
    void answer(queue::QueuePair& qp, port::Time at);

    bool is_on_;
    port::Time interval_;
    egress::Outlets& outlets_;
    egress::Outbox& outbox_;
    Report report_;
};

} // namespace model::hca::responder
