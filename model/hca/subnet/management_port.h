// Management datagrams that no queue pair takes (IBA 13.5, 14.2.2): the agents of the device answer them on the spot,
// and its firmware sends its own. Management waits for nothing: what finds no room is lost (IBA 7.6.4).
#pragma once

#include "model/hca/address/identity.h"
#include "model/hca/config.h"
#include "model/hca/egress/outbox.h"
#include "model/hca/egress/outlets.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/report.h"
#include "model/management/agent.h"

#include <cstdint>

namespace model::hca::subnet {

class ManagementPort {
public:
    ManagementPort(const HcaConfig& config, const address::Identity& identity, egress::Outlets& outlets,
                   egress::Outbox& outbox, const Report& report)
        : latency_(config.cost(config.responder_latency)), identity_(identity), outlets_(outlets), outbox_(outbox),
          report_(report) {}

    /// With nullptr nobody answers.
    void set_agent(management::Agent* agent) { agent_ = agent; }
    /// Whether a packet for QP0 or QP1 is for the agents; `qp`: software's queue pair of that number, or nullptr.
    bool takes(const queue::QueuePair* qp, const port::Packet& packet) const;
    /// Has the agents answer a packet for which takes() is true.
    void receive(port::Packet& packet, port::Time at);
    /// Tells the agent of a packet whose P_Key or Q_Key is not that of its receiver.
    void report(management::Agent::BadKey what, const port::Packet& packet, port::Time at) const {
        if (agent_ != nullptr)
            agent_->report(what, packet, at);
    }
    /// Sends a datagram from QP0 to that of `lid` (IBA 13.5.1). False: there is no room.
    bool send(const management::Datagram& mad, std::uint16_t lid, port::Time at);

private:
    port::Time send(port::Wire& way, port::Packet& packet, port::Time at);

    port::Time latency_;
    const address::Identity& identity_;
    egress::Outlets& outlets_;
    egress::Outbox& outbox_;
    Report report_;
    management::Agent* agent_ = nullptr;
};

} // namespace model::hca::subnet
