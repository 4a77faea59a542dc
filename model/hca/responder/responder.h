// The responder of connected services (IBA 9.7.3 to 9.7.5, 9.8.2): takes request packets in order, refuses what breaks
// a rule with the right NAK, answers again what it has seen before. Receives packets from the port and turns from the
// scheduler; gives writes to memory, receive completions and answers. Each of its classes knows those above it only:
//
//   answers         what the peer is owed
//   answer_sender   answers on their way out
//   patience        requests that wait for a page
//   placement       receive WQEs, and bytes through their keys
//   receives        SEND
//   remote_memory   WRITE, READ and atomics
//   duplicates      requests that come a second time
//   execution       the packet that is the next one
//   notification    packets that a switch has marked
//   responder       which packet is the next one
#pragma once

#include "model/hca/config.h"
#include "model/hca/objects.h"
#include "model/hca/responder/answer_sender.h"
#include "model/hca/responder/duplicates.h"
#include "model/hca/responder/execution.h"
#include "model/hca/responder/notification.h"

namespace model::hca::responder {

/// The rooms that its classes are given; each keeps those that it needs.
struct Neighbours {
    port::Dma& dma;
    icm::ContextMemory& contexts;
    memory::ApplicationMemory& memory;
    queue::Scheduler& scheduler;
    egress::Outlets& outlets;
    egress::Outbox& outbox;
    completion::WorkCompletions& completions;
    completion::Failure& failure;
    event::EventQueues& event_queues;
    paging::PageFaults& page_faults;
    umr::Umr& umr;
};

class Responder {
public:
    Responder(const HcaConfig& config, const Objects& objects, const Neighbours& to, const Report& report)
        : latency_(config.cost(config.responder_latency)),
          reorder_packets_(config.selective_repeat ? config.reorder_packets : 0), scheduler_(to.scheduler),
          event_queues_(to.event_queues), answers_(to.scheduler, to.failure, report),
          sender_(answers_, to.memory, to.page_faults, to.outlets, to.outbox, report.counters),
          patience_(answers_, to.page_faults), placement_(config, to.dma, to.contexts, to.memory, to.event_queues),
          receives_(placement_, answers_, patience_, to.completions, to.failure),
          memory_(config, to.memory, receives_, answers_, patience_),
          duplicates_(config, memory_, answers_, patience_, report),
          execution_(receives_, memory_, answers_, to.umr, objects.shared_receive_queues, report),
          notification_(config, to.outlets, to.outbox, report) {}

    /// One request packet.
    void receive(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    /// Any packet of the connection, which a switch may have marked.
    void notice(queue::QueuePair& qp, const port::Packet& packet, port::Time at) {
        notification_.notice(qp, packet, at);
    }
    /// A train of them, when all of it is what the queue pair waits for. False: nothing has happened.
    bool receive_train(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    /// The batch is over: sends the acknowledgements that were held back to be merged.
    void received_all(port::Time at) { sender_.release(at); }
    /// Sends answers until `bytes` are used up, of which it takes what it sends. True when more can go at once.
    bool answer(queue::QueuePair& qp, std::int64_t& bytes, port::Time at) { return sender_.send(qp, bytes, at); }
    /// The receiving side starts: INIT to RTR.
    void start(queue::QueuePair& qp);
    /// The queue pair is about to be destroyed or reset, so that nothing here may refer to it afterwards.
    void forget(queue::QueuePair& qp) { answers_.forget(qp); }
    /// Software has answered a page fault of the receiving side.
    void resume(queue::QueuePair& qp, abi::prm::PageFaultType type, bool is_error, port::Time at);
    void set_host_order(bool host_order) { memory_.set_host_order(host_order); }
    /// The queue pairs have gone: what was under way for them holds nobody up.
    void reset() { memory_.reset(); }
    /// Of the locks of atomics.
    time::Account account() const { return memory_.account(); }

private:
    void refuse_gap(queue::QueuePair& qp, port::Time at);
    void execute_held(queue::QueuePair& qp, port::Time at);

    port::Time latency_;
    std::uint32_t reorder_packets_; ///< 0: none is kept
    queue::Scheduler& scheduler_;
    event::EventQueues& event_queues_;
    Answers answers_;
    AnswerSender sender_;
    Patience patience_;
    Placement placement_;
    Receives receives_;
    RemoteMemory memory_;
    Duplicates duplicates_;
    Execution execution_;
    Notification notification_;
};

} // namespace model::hca::responder
