// The send queue as the requester takes work from it (IBA 10.8.3, 10.8.5): fetches the WQE at the sending position, and
// takes a new one in as the next message when fences, limits and the window let it. A UMR is carried out on the way.
#pragma once

#include "model/hca/config.h"
#include "model/hca/processing_units.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/report.h"
#include "model/hca/requester/retirement.h"
#include "model/hca/umr/umr.h"
#include "model/port/dma.h"

namespace model::hca::requester {

class WorkQueue {
public:
    WorkQueue(const HcaConfig& config, port::Dma& dma, umr::Umr& umr, Retirement& retirement, const Report& report)
        : config_(config), dma_(dma), umr_(umr), retirement_(retirement), report_(report), units_(config) {}

    /// Brings the WQE of the message where sending stands into SendPosition, whose `ready` says when it is there.
    /// False: there is no message to send, or it has to wait.
    bool load(queue::QueuePair& qp, port::Time at);

    void reset() { units_.reset(); }
    time::Account account() const { return units_.account(); }

private:
    port::Time fetch(queue::QueuePair& qp, std::uint16_t index, port::Time at);
    bool admit(queue::QueuePair& qp, port::Time at);
    bool waits_for_earlier(const queue::QueuePair& qp, bool is_data) const;
    void stop(queue::QueuePair& qp, const completion::LocalError& error, port::Time at);

    const HcaConfig& config_;
    port::Dma& dma_;
    umr::Umr& umr_;
    Retirement& retirement_;
    Report report_;
    ProcessingUnits units_;
};

} // namespace model::hca::requester
