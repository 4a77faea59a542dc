// The life of a queue pair (IBA 10.2.4, 10.3; PRM "QP state transitions"): made, moved from state to state, destroyed.
// Receives attributes and states that the firmware has checked.
#pragma once

#include "model/hca/address/identity.h"
#include "model/hca/egress/outlets.h"
#include "model/hca/completion/failure.h"
#include "model/hca/objects.h"
#include "model/hca/queue/scheduler.h"
#include "model/hca/queue/timers.h"
#include "model/hca/requester/requester.h"
#include "model/hca/responder/responder.h"
#include "traces/events.h"

#include <cstdint>

namespace model::hca::lifecycle {

/// What works for a queue pair, and has to know when that begins and ends.
struct Workers {
    queue::Scheduler& scheduler;
    queue::Timers& timers;
    requester::Requester& requester;
    responder::Responder& responder;
    completion::Failure& failure;
};

class QueuePairs {
public:
    QueuePairs(Objects& objects, const address::Identity& identity, egress::Outlets& outlets, const Workers& workers,
               const traces::Events& events)
        : objects_(objects), identity_(identity), outlets_(outlets), to_(workers), events_(events) {}

    /// Both CQs named in the attributes must exist (the send CQ only if has_sq), and the shared receive queue if there
    /// is one.
    queue::QueuePair& create(abi::Qpn qpn, queue::QueuePairAttributes attributes);
    void destroy(abi::Qpn qpn);
    /// Puts new attributes and a new state in force: what a state transition command does. Into rst everything is
    /// forgotten; into rtr the receiving side starts; into rts the sending side; into err both queues are flushed.
    /// brings_path: the attributes hold a new path. Otherwise packets keep their addresses, whatever became of the
    /// address tables since the path was set. Returns whether the queue pair may send now.
    bool modify(queue::QueuePair& qp, const queue::QueuePairAttributes& attributes, queue::QpState to, port::Time at,
                bool brings_path);
    /// The port has other LIDs: paths come from them (PRM: a path holds path bits, the base LID is the port's).
    void move_to_lids();

private:
    void forget_state(queue::QueuePair& qp);
    void choose_way(queue::QueuePair& qp);
    /// Counts in this set from now on, or in set 0 when there is none of that number.
    void count_in(queue::QueuePair& qp, std::uint32_t set);

    Objects& objects_;
    const address::Identity& identity_;
    egress::Outlets& outlets_;
    Workers to_;
    const traces::Events& events_;
};

} // namespace model::hca::lifecycle
