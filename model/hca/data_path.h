// What the rooms of the data path share: the ports, the tables they look into, and where they report.
#pragma once

#include "model/hca/completion/cqe_writer.h"
#include "model/hca/config.h"
#include "model/hca/counters.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/memory/application_memory.h"
#include "model/hca/multicast/groups.h"
#include "model/hca/object_table.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/queue/timers.h"
#include "model/hca/tpt/translate.h"
#include "model/hca/address/identity.h"
#include "model/hca/address/outlets.h"
#include "model/port/dma.h"
#include "traces/events.h"

namespace model::hca {

struct DataPath {
    const HcaConfig& config;
    port::Dma& dma;
    port::LoanBook& loans; ///< of that port
    address::Outlets& outlets;
    queue::Timers& timers;
    queue::Scheduler& scheduler;
    tpt::MkeyTable& mkeys;
    ObjectTable<ProtectionDomain>& protection_domains;
    tpt::Translator& translator;
    memory::ApplicationMemory& memory;
    completion::CqeWriter& cqe_writer;
    event::EventQueues& event_queues;
    ObjectTable<queue::SharedReceiveQueue>& shared_receive_queues;
    const multicast::Groups& groups;
    const address::Identity& identity;
    Counters& counters;
    const traces::Events& events;
    port::Time pipe_free{}; ///< when the packet pipeline takes the next packet to send

    /// A latency of the configuration, or nothing when the timing model is off.
    port::Time cost(port::Time latency) const { return config.timed ? latency : port::Time{}; }
    /// The counters of a queue pair's set.
    QCounters& count(const queue::QueuePair& qp) const { return *qp.counters; }
    /// When the pipeline can work on a packet whose work arrives at `at`; takes one packet's worth of it.
    port::Time enter_pipe(port::Time at) {
        if (!config.timed)
            return at;
        const auto start = at > pipe_free ? at : pipe_free;
        pipe_free = start + config.packet_latency;
        return start;
    }
};

} // namespace model::hca
