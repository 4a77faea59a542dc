// Which doorbell records stand for their doorbells: those of queues whose UAR page belongs to a user context. Its pages
// can be plain memory that nobody is told of (HcaConfig::polled_doorbells), since all that is rung there has a record:
// send queues the send counter, completion queues the arm word. Event queues have none, so their pages are others.
#pragma once

#include "model/hca/config.h"
#include "model/hca/queue/completion_queue.h"
#include "model/hca/queue/queue_pair.h"
#include "model/port/doorbell_watch.h"

#include <cstdint>

namespace model::hca::dispatch {

class PolledRecords {
public:
    explicit PolledRecords(const HcaConfig& config) : first_page_(config.first_polled_uar()) {}
    /// Who is told; nullptr: nobody. It outlives this, or is taken away before.
    void set_watch(port::DoorbellWatch* watch) { watch_ = watch; }

    void created(const queue::CompletionQueue& cq);
    void destroyed(abi::Cqn cqn);
    /// The queue pair is in another state, perhaps: its send queue takes doorbells from RTR on (PRM "QP states").
    void follow(const queue::QueuePair& qp);
    void destroyed(abi::Qpn qpn);
    void reset();

private:
    std::uint32_t first_page_;
    port::DoorbellWatch* watch_ = nullptr;
};

} // namespace model::hca::dispatch
