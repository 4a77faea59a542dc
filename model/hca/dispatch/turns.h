// Gives turns to queue pairs. In its turn a queue pair first sends the answers that it owes its peer, then its own
// requests, both up to a bounded number of packets. The scheduler decides which queue pair is next.
#pragma once

#include "model/hca/egress/outlets.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/report.h"
#include "model/hca/requester/requester.h"
#include "model/hca/responder/responder.h"

#include <cstdint>

namespace model::hca::dispatch {

class Turns {
public:
    Turns(queue::Scheduler& scheduler, egress::Outlets& outlets, responder::Responder& responder,
          requester::Requester& requester, std::uint32_t packets_per_turn, const Report& report)
        : scheduler_(scheduler), outlets_(outlets), responder_(responder), requester_(requester),
          packets_per_turn_(packets_per_turn), report_(report) {}

    /// Gives turns until nothing is left to send or the port is full.
    void run(port::Time now);

private:
    queue::Scheduler& scheduler_;
    egress::Outlets& outlets_;
    responder::Responder& responder_;
    requester::Requester& requester_;
    std::uint32_t packets_per_turn_;
    Report report_;
    bool is_running_ = false;
};

} // namespace model::hca::dispatch
