// Multicast groups (IBA 10.5; PRM "ATTACH_TO_MCG"): which datagram queue pairs of this port receive what is sent to a
// group's GID. Looked up once a multicast packet; membership of switches and of the fabric is not known here.
#pragma once

#include "abi/wire/infiniband.h"
#include "model/hca/queue/queue_pair.h"
#include "model/port/packet.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace model::hca::multicast {

class Groups {
public:
    std::span<queue::QueuePair* const> members(const port::Gid& group) const {
        const auto found = groups_.find(group);
        return found != groups_.end() ? std::span<queue::QueuePair* const>(found->second)
                                      : std::span<queue::QueuePair* const>();
    }
    /// Groups that have members.
    std::size_t count() const { return groups_.size(); }
    /// A member attached again stays one member.
    void attach(const port::Gid& group, queue::QueuePair& qp) {
        auto& members = groups_[group];
        if (std::ranges::find(members, &qp) != members.end())
            return;
        members.push_back(&qp);
        ++qp.groups;
    }
    /// False when it was no member.
    bool detach(const port::Gid& group, queue::QueuePair& qp) {
        const auto found = groups_.find(group);
        if (found == groups_.end() || std::erase(found->second, &qp) == 0)
            return false;
        --qp.groups;
        if (found->second.empty())
            groups_.erase(found);
        return true;
    }
    /// The queue pair goes.
    void forget(queue::QueuePair& qp) {
        for (auto group = groups_.begin(); qp.groups != 0 && group != groups_.end();) {
            qp.groups -= static_cast<std::uint32_t>(std::erase(group->second, &qp));
            group = group->second.empty() ? groups_.erase(group) : std::next(group);
        }
    }
    void clear() { groups_.clear(); }

private:
    std::map<port::Gid, std::vector<queue::QueuePair*>> groups_;
};

using abi::wire::multicast_qpn;

} // namespace model::hca::multicast
