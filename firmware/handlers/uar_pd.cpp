// PRM "UAR", "Protection domain", "Transport domain", "XRC domain": objects that are only a number.
#include "firmware/handlers/handlers.h"

namespace firmware::handlers {

Reply alloc_uar(State& state, const Call& call, In<prm::AllocUarIn>, Out<prm::AllocUarOut> out) {
    const auto number = state.uar_ids.take();
    if (!number)
        return refuse("alloc_uar.none_left");
    state.uars.create(*number);
    call.scope.own(Kind::uar, *number);
    out.set<"uar">(*number);
    return accepted;
}

Reply dealloc_uar(State& state, const Call& call, In<prm::DeallocUarIn> in, Out<prm::DeallocUarOut>) {
    const auto number = in.get<"uar">();
    if (call.scope.uar(number) == nullptr)
        return refuse("dealloc_uar.unknown");
    state.uars.destroy(number);
    call.scope.disown(Kind::uar, number);
    state.uar_ids.give_back(number);
    return accepted;
}

Reply alloc_pd(State& state, const Call& call, In<prm::AllocPdIn>, Out<prm::AllocPdOut> out) {
    const auto number = state.pd_ids.take();
    if (!number)
        return refuse("alloc_pd.none_left");
    state.hca.protection_domains().create(*number);
    call.scope.own(Kind::pd, *number);
    out.set<"pd">(*number);
    return accepted;
}

Reply dealloc_pd(State& state, const Call& call, In<prm::DeallocPdIn> in, Out<prm::DeallocPdOut>) {
    const auto number = in.get<"pd">();
    const auto* pd = call.scope.pd(number);
    if (pd == nullptr)
        return refuse("dealloc_pd.unknown");
    if (pd->users != 0)
        return refuse("dealloc_pd.in_use");
    state.hca.protection_domains().destroy(number);
    call.scope.disown(Kind::pd, number);
    state.pd_ids.give_back(number);
    return accepted;
}

Reply alloc_transport_domain(State& state, const Call& call, In<prm::AllocTransportDomainIn>,
                             Out<prm::AllocTransportDomainOut> out) {
    const auto number = state.transport_domain_ids.take();
    if (!number)
        return refuse("alloc_transport_domain.none_left");
    state.transport_domains.create(*number);
    call.scope.own(Kind::transport_domain, *number);
    out.set<"transport_domain">(*number);
    return accepted;
}

Reply dealloc_transport_domain(State& state, const Call& call, In<prm::DeallocTransportDomainIn> in,
                               Out<prm::DeallocTransportDomainOut>) {
    const auto number = in.get<"transport_domain">();
    if (call.scope.transport_domain(number) == nullptr)
        return refuse("dealloc_transport_domain.unknown");
    state.transport_domains.destroy(number);
    call.scope.disown(Kind::transport_domain, number);
    state.transport_domain_ids.give_back(number);
    return accepted;
}

Reply alloc_xrcd(State& state, const Call& call, In<prm::AllocXrcdIn>, Out<prm::AllocXrcdOut> out) {
    const auto number = state.xrcd_ids.take();
    if (!number)
        return refuse("alloc_xrcd.none_left");
    state.xrcds.create(*number);
    call.scope.own(Kind::xrcd, *number);
    out.set<"xrcd">(*number);
    return accepted;
}

Reply dealloc_xrcd(State& state, const Call& call, In<prm::DeallocXrcdIn> in, Out<prm::DeallocXrcdOut>) {
    const auto number = in.get<"xrcd">();
    const auto* xrcd = call.scope.xrcd(number);
    if (xrcd == nullptr)
        return refuse("dealloc_xrcd.unknown");
    if (xrcd->users != 0)
        return refuse("dealloc_xrcd.in_use");
    state.xrcds.destroy(number);
    call.scope.disown(Kind::xrcd, number);
    state.xrcd_ids.give_back(number);
    return accepted;
}

} // namespace firmware::handlers
