// What a doorbell means (PRM "Doorbells"): a send queue whose record has moved has work, or a completion queue is
// armed. Receives doorbells and the UAR page they came through; a page belongs to one process, and its doorbells reach
// that process's queues only (PRM "User access region"). Doorbells of event queues go to hca/event.
#pragma once

#include "model/hca/completion/cqe_writer.h"
#include "model/hca/completion/failure.h"
#include "model/hca/doorbell/doorbell.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/objects.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/report.h"
#include "model/port/dma.h"

#include <cstdint>

namespace model::hca::dispatch {

class SendDoorbells {
public:
    SendDoorbells(port::Dma& dma, const Objects& objects, queue::Scheduler& scheduler, completion::Failure& failure,
                  const Report& report)
        : dma_(dma), objects_(objects), scheduler_(scheduler), failure_(failure), report_(report) {}

    /// Reads the doorbell record. The queue pair then gets a turn to send what was posted, or flushes it.
    void ring(const doorbell::SendRing& rung, std::uint32_t uar, port::Time at);

private:
    port::Dma& dma_;
    const Objects& objects_;
    queue::Scheduler& scheduler_;
    completion::Failure& failure_;
    Report report_;
};

class CqDoorbells {
public:
    CqDoorbells(const Objects& objects, completion::CqeWriter& cqe_writer, completion::Failure& failure,
                const Report& report)
        : objects_(objects), cqe_writer_(cqe_writer), failure_(failure), report_(report) {}

    void ring(const doorbell::CqArm& rung, std::uint32_t uar, port::Time at);

private:
    const Objects& objects_;
    completion::CqeWriter& cqe_writer_;
    completion::Failure& failure_;
    Report report_;
};

} // namespace model::hca::dispatch
