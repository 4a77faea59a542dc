// Sending (IBA 9.7.3, 9.8): one packet after the other from the send queue to the outlet, until the turn ends, the
// outlet is full, or the queue has to wait.
#pragma once

#include "model/hca/address/identity.h"
#include "model/hca/egress/outbox.h"
#include "model/hca/egress/outlets.h"
#include "model/hca/multicast/groups.h"
#include "model/hca/paging/page_faults.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/requester/packetizer.h"
#include "model/hca/requester/retirement.h"
#include "model/hca/requester/retry.h"
#include "model/hca/requester/work_queue.h"

#include <cstdint>

namespace model::hca::requester {

/// What a packet passes on its way out.
struct WayOut {
    const address::Identity& identity;
    const multicast::Groups& groups;
    egress::Outlets& outlets;
    egress::Outbox& outbox;
};

class Sending {
public:
    Sending(WorkQueue& queue, Packetizer& packetizer, const WayOut& out, paging::PageFaults& page_faults,
            Retirement& retirement, Retry& retry, Counters& counters)
        : queue_(queue), packetizer_(packetizer), out_(out), page_faults_(page_faults), retirement_(retirement),
          retry_(retry), counters_(counters) {}

    /// Sends packets of this queue pair's messages until `bytes` are used up, of which it takes what it sends. True
    /// when there is more to send at once.
    bool advance(queue::QueuePair& qp, std::int64_t& bytes, port::Time at);
    /// How long one queue pair has waited for its window at most.
    port::Time longest_hold() const { return longest_hold_; }

private:
    /// Sends one packet, or a train of no more than a turn of `left` bytes has; returns what the turn has used up.
    std::int64_t send(queue::QueuePair& qp, port::Wire& wire, std::int64_t left, port::Time at);
    bool has_to_wait(queue::QueuePair& qp, port::Time at);
    /// A packet of so many bytes with the sequence numbers [psn, end) was made at `at` and has left at `gone`.
    static void note_departure(queue::QueuePair& qp, std::uint64_t bytes, abi::Psn psn, abi::Psn end, bool asks,
                               port::Time at, port::Time gone);
    std::uint32_t longest_train(const queue::QueuePair& qp, const queue::Outstanding& message, const port::Wire& wire,
                                std::int64_t left, port::Time at) const;
    void leave_unreliably(const queue::QueuePair& qp, port::Packet& packet, const port::Wire& wire, port::Time at);
    bool wait_for_page(queue::QueuePair& qp, const tpt::Request& access, port::Time at);

    WorkQueue& queue_;
    Packetizer& packetizer_;
    WayOut out_;
    paging::PageFaults& page_faults_;
    Retirement& retirement_;
    Retry& retry_;
    Counters& counters_;
    port::Time longest_hold_{};
};

} // namespace model::hca::requester
