// Which packets the port takes in: addresses, partitions, queue keys. What it turns away is counted and said, never
// answered.
#include "model/hca/hca.h"

namespace model::hca {

using queue::QueuePair;

/// IBA 7.3, 8.3, 9.6.1; RoCEv2 annex A17: what is for another port goes no further, and nobody is told.
bool Hca::is_for_this_port(const port::Packet& packet, port::Time at) {
    const bool is_here = identity_.has_link_address(packet);
    if (is_here && identity_.has_network_address(packet)) [[likely]]
        return true;
    ++counters_.packets_misaddressed;
    using traces::Reason;
    drop(packet,
         is_here               ? Reason("the GID of another port")
         : config_.is_ethernet ? Reason("the MAC of another port")
                               : Reason("the LID of another port"),
         at);
    return false;
}

/// IBA 10.9: subnet management knows no partitions, QP1 is in all of its port's, any other queue pair in the one at its
/// index.
bool Hca::is_in_partition(const QueuePair* qp, const port::Packet& packet, port::Time at) {
    if (packet.rdma().destination == management::subnet_management)
        return true;
    const bool is_in =
        packet.rdma().destination == management::general_services
            ? identity_.is_in_table(packet.rdma().pkey)
            : address::Identity::matches(packet.rdma().pkey, identity_.pkey(qp->attributes.path.pkey_index));
    if (is_in) [[likely]]
        return true;
    ++counters_.pkey_violations;
    drop(packet, "P_Key mismatch", at);
    if (agent_ != nullptr)
        agent_->report(management::Agent::BadKey::p_key, packet, at);
    return false;
}

/// IBA 10.2.5: subnet management comes without a queue key that counts (IBA 9.8.3.1).
bool Hca::has_queue_key(const QueuePair& qp, const port::Packet& packet, port::Time at) {
    if (packet.rdma().deth.qkey == qp.attributes.q_key || qp.attributes.type == queue::QpType::qp0) [[likely]]
        return true;
    ++counters_.qkey_violations;
    drop(packet, "Q_Key mismatch", at);
    if (agent_ != nullptr)
        agent_->report(management::Agent::BadKey::q_key, packet, at);
    return false;
}

} // namespace model::hca
