#include "model/management/agent.h"

#include "model/management/route.h"

namespace model::management {

using abi::wire::MadClass;

std::optional<traces::Reason> answer(port::Packet& packet, Agent& agent, unsigned number, port::Time at) {
    auto mad = take(packet);
    if (!mad)
        return traces::Reason("no management datagram");
    const auto mad_class = class_of(*mad);
    const bool is_on_route = mad_class == MadClass::subnet_directed_route;
    // IBA 13.5.1: subnet management is what QP0 is for, and only that.
    if ((is_on_route || mad_class == MadClass::subnet_lid_routed) != (packet.rdma().destination == subnet_management))
        return traces::Reason("no agent for this datagram");
    if (is_on_route)
        if (const auto step = follow_route(*mad, number, false); step.kind != Step::Kind::answer)
            return *step.why;
    if (!is_request(*mad) || !agent.process(*mad, at))
        return traces::Reason("no agent for this datagram");
    if (is_on_route)
        turn_back(*mad);
    put(*mad, packet);
    reverse(packet);
    return std::nullopt;
}

} // namespace model::management
