// Gives turns to queue pairs. In its turn a queue pair first sends the answers that it owes its peer, then its own
// requests, both up to a bounded number of bytes. The scheduler decides which queue pair is next.
#pragma once

#include "model/hca/dispatch/resting.h"
#include "model/hca/egress/outlets.h"
#include "model/hca/icm/context_memory.h"
#include "model/hca/queue/packets.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/report.h"
#include "model/hca/requester/requester.h"
#include "model/hca/responder/responder.h"
#include "model/port/clock.h"
#include "model/port/dma.h"

#include <cstdint>

namespace model::hca::dispatch {

class Turns {
public:
    Turns(const Objects& objects, queue::Scheduler& scheduler, icm::ContextMemory& contexts, egress::Outlets& outlets,
          responder::Responder& responder, requester::Requester& requester, port::Dma& dma, port::Clock& clock,
          std::uint32_t packets_per_turn, const Report& report)
        : objects_(objects), scheduler_(scheduler), contexts_(contexts), outlets_(outlets), responder_(responder),
          requester_(requester), dma_(dma), clock_(clock),
          bytes_per_turn_(queue::turn_cost(queue::largest_payload) * packets_per_turn), report_(report) {}

    /// Gives turns until nothing is left to send, the port is full, or the host cannot be asked for more bytes.
    void run(port::Time now);
    void reset() { resting_.clear(); }

private:
    bool can_read(port::Time now);

    /// So far ahead of now reads may be booked that leave when the function has tags for them again, or an engine for
    /// what is missed.
    static constexpr port::Time horizon = std::chrono::microseconds{2};

    const Objects& objects_;
    queue::Scheduler& scheduler_;
    icm::ContextMemory& contexts_;
    egress::Outlets& outlets_;
    responder::Responder& responder_;
    requester::Requester& requester_;
    port::Dma& dma_;
    port::Clock& clock_;
    std::int64_t bytes_per_turn_;
    Report report_;
    Resting resting_;
    bool is_running_ = false;
};

} // namespace model::hca::dispatch
