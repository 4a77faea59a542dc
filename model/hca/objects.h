// The objects that software has made, by number. State only: lifecycle makes, changes and destroys them, and the other
// rooms look them up. Event queues stand in their own room.
#pragma once

#include "model/hca/queue/completion_queue.h"
#include "model/hca/counters.h"
#include "model/hca/domains.h"
#include "model/hca/multicast/groups.h"
#include "model/hca/object_table.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/shared_receive_queue.h"
#include "model/hca/tpt/mkey_table.h"

#include <array>

namespace model::hca {

/// Each kind stands before those that refer to it, so that members are destroyed before what they refer to.
struct Objects {
    ObjectTable<CounterSet> q_counters;
    ObjectTable<ProtectionDomain> protection_domains;
    ObjectTable<XrcDomain> xrc_domains;
    tpt::MkeyTable mkeys;
    ObjectTable<queue::CompletionQueue> completion_queues;
    ObjectTable<queue::SharedReceiveQueue> shared_receive_queues;
    ObjectTable<queue::QueuePair> queue_pairs;
    std::array<queue::QueuePair*, 2> special{}; ///< QP0 and QP1
    multicast::Groups groups;

    /// The queue pair that a packet names, or nullptr. Numbers 0 and 1 are the special queue pairs, whatever number
    /// software knows them by (IBA 3.9.4).
    queue::QueuePair* destination(abi::Qpn qpn) const {
        return qpn.value < special.size() ? special[qpn.value] : queue_pairs.find(qpn.value);
    }
    void clear() {
        queue_pairs.clear();
        special = {};
        groups.clear();
        shared_receive_queues.clear();
        completion_queues.clear();
        mkeys.clear();
        protection_domains.clear();
        xrc_domains.clear();
        q_counters.clear();
    }
};

} // namespace model::hca
