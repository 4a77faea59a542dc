// PRM "Multicast groups": ATTACH_TO_MCG, DETACH_FROM_MCG.
#include "firmware/handlers/handlers.h"

namespace firmware::handlers {

Reply attach_to_mcg(State& state, const Call& call, In<prm::AttachToMcgIn> in, Out<prm::AttachToMcgOut>) {
    auto* qp = call.scope.find<Kind::qp>(in.get<"qpn">());
    if (qp == nullptr)
        return refuse("attach_to_mcg.unknown");
    if (qp->attributes.type != prm::QpType::ud)
        return refuse("attach_to_mcg.service");
    const auto group = in.get<"multicast_gid">();
    if (!state.config().is_ethernet && group[0] != std::byte{0xff}) // IBA 4.1.1; on Ethernet it may be an IPv4 address
        return refuse("attach_to_mcg.group");
    auto& groups = state.hca.groups();
    const auto cap = state.capabilities.general();
    const auto members = groups.members(group);
    if (members.empty() && groups.count() >= std::size_t{1} << cap.get<"log_max_mcg">())
        return refuse("attach_to_mcg.groups");
    if (members.size() >= cap.get<"max_qp_mcg">())
        return refuse("attach_to_mcg.members");
    groups.attach(group, *qp);
    return accepted;
}

Reply detach_from_mcg(State& state, const Call& call, In<prm::DetachFromMcgIn> in, Out<prm::DetachFromMcgOut>) {
    auto* qp = call.scope.find<Kind::qp>(in.get<"qpn">());
    if (qp == nullptr)
        return refuse("detach_from_mcg.unknown");
    return state.hca.groups().detach(in.get<"multicast_gid">(), *qp) ? accepted : refuse("detach_from_mcg.no_member");
}

} // namespace firmware::handlers
