// The requester (IBA 9.7.3 to 9.7.7, 9.8): sends a queue pair's messages, takes in acknowledgements and responses,
// completes work requests in order. Receives turns from the scheduler and packets from the port; gives packets and
// completions. Each of its classes knows those above it only:
//
//   retirement          messages end in order
//   retry               deadlines, going back, retry counts
//   acknowledgements    what the peer has received, or refused
//   response_placement  where the bytes of answers go
//   responses           READ responses and atomic results
//   work_queue          WQEs, taken in as messages
//   packetizer          which bytes are in a packet
//   sending             packets, one after the other
//   requester           which of them an event concerns
#pragma once

#include "model/hca/objects.h"
#include "model/hca/requester/acknowledgements.h"
#include "model/hca/requester/response_placement.h"
#include "model/hca/requester/responses.h"
#include "model/hca/requester/retirement.h"
#include "model/hca/requester/retry.h"
#include "model/hca/requester/sending.h"
#include "model/hca/requester/work_queue.h"

#include <algorithm>

namespace model::hca::requester {

/// The rooms that its classes are given; each keeps those that it needs.
struct Neighbours {
    port::Dma& dma;
    memory::ApplicationMemory& memory;
    queue::Scheduler& scheduler;
    queue::Timers& timers;
    completion::WorkCompletions& completions;
    completion::Failure& failure;
    paging::PageFaults& page_faults;
    umr::Umr& umr;
};

class Requester {
public:
    Requester(const HcaConfig& config, const WayOut& out, const Neighbours& to, const Report& report)
        : config_(config), latency_(config.cost(config.responder_latency)), scheduler_(to.scheduler),
          events_(report.events), counters_(report.counters),
          retirement_(to.completions, to.failure, to.scheduler, report.counters),
          retry_(config, retirement_, to.scheduler, to.timers, report), acknowledgements_(config, retirement_, retry_),
          placement_(config, to.dma, to.memory, to.page_faults, retirement_),
          responses_(config, acknowledgements_, placement_, retirement_, retry_, report.counters),
          queue_(config, to.dma, to.umr, retirement_, report), packetizer_(out.identity, to.memory),
          sending_(queue_, packetizer_, out, to.page_faults, retirement_, retry_, report.counters) {}

    /// Sends packets of this queue pair's messages until `bytes` are used up, of which it takes what it sends. True
    /// when there is more to send at once.
    bool advance(queue::QueuePair& qp, std::int64_t& bytes, port::Time at) { return sending_.advance(qp, bytes, at); }
    /// An acknowledge, negative acknowledge, READ response or atomic acknowledge arrived.
    void receive(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    /// The peer says that this queue pair's packets meet congestion.
    void slow_down(queue::QueuePair& qp, port::Time at);
    /// The queue pair's deadline has passed: the RNR pause is over, or no answer came.
    void expire(queue::QueuePair& qp, port::Time at) { retry_.expire(qp, at); }
    /// The sending side starts: RTR to RTS.
    void start(queue::QueuePair& qp);
    /// Software has answered a page fault of the sending side: the queue goes on, or its message fails.
    void resume(queue::QueuePair& qp, abi::prm::PageFaultType type, bool is_error, port::Time at);
    void set_host_order(bool host_order) { responses_.set_host_order(host_order); }
    /// The queue pairs have gone: what was under way for them holds nobody up. A report of the run still counts theirs.
    void reset() {
        queue_.reset();
        most_windows_ = most_windows();
        windows_ = 0;
    }
    /// Of the processing units.
    time::Account account() const { return queue_.account(); }
    /// Of the windows of congestion control, one of each queue pair that was connected: busy while it holds a packet
    /// back.
    time::Account window_account() const;
    /// Of the rates of queue pairs that CNPs have slowed down, in both of their directions: busy while one holds a
    /// packet back. Units as of the windows.
    time::Account rate_account() const;

private:
    void take_in(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    void learn(queue::QueuePair& qp, abi::Psn psn, abi::Psn oldest_before, port::Time at);

    const HcaConfig& config_;
    port::Time latency_; ///< of a packet that arrives, as the responder's
    unsigned most_windows() const { return std::max({1u, windows_, most_windows_}); }
    unsigned windows_ = 0, most_windows_ = 0; ///< since the last reset, and between any two before
    queue::Scheduler& scheduler_;
    const traces::Events& events_;
    Counters& counters_;
    Retirement retirement_;
    Retry retry_;
    Acknowledgements acknowledgements_;
    ResponsePlacement placement_;
    Responses responses_;
    WorkQueue queue_;
    Packetizer packetizer_;
    Sending sending_;
};

} // namespace model::hca::requester
