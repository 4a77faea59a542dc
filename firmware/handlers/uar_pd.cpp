// PRM "UAR", "Protection domain", "Transport domain", "XRC domain": objects that are only a number.
#include "firmware/handlers/handlers.h"

namespace firmware::handlers {

Reply alloc_uar(State&, const Call& call, In<prm::AllocUarIn>, Out<prm::AllocUarOut> out) {
    const auto number = call.scope.create<Kind::uar>({});
    if (!number)
        return number.error();
    out.set<"uar">(*number);
    return accepted;
}

Reply dealloc_uar(State&, const Call& call, In<prm::DeallocUarIn> in, Out<prm::DeallocUarOut>) {
    return call.scope.destroy<Kind::uar>(in.get<"uar">(), call.at);
}

Reply alloc_pd(State&, const Call& call, In<prm::AllocPdIn>, Out<prm::AllocPdOut> out) {
    const auto number = call.scope.create<Kind::pd>({});
    if (!number)
        return number.error();
    out.set<"pd">(*number);
    return accepted;
}

Reply dealloc_pd(State&, const Call& call, In<prm::DeallocPdIn> in, Out<prm::DeallocPdOut>) {
    return call.scope.destroy<Kind::pd>(in.get<"pd">(), call.at);
}

Reply alloc_transport_domain(State&, const Call& call, In<prm::AllocTransportDomainIn>,
                             Out<prm::AllocTransportDomainOut> out) {
    const auto number = call.scope.create<Kind::transport_domain>({});
    if (!number)
        return number.error();
    out.set<"transport_domain">(*number);
    return accepted;
}

Reply dealloc_transport_domain(State&, const Call& call, In<prm::DeallocTransportDomainIn> in,
                               Out<prm::DeallocTransportDomainOut>) {
    return call.scope.destroy<Kind::transport_domain>(in.get<"transport_domain">(), call.at);
}

Reply alloc_xrcd(State&, const Call& call, In<prm::AllocXrcdIn>, Out<prm::AllocXrcdOut> out) {
    const auto number = call.scope.create<Kind::xrcd>({});
    if (!number)
        return number.error();
    out.set<"xrcd">(*number);
    return accepted;
}

Reply dealloc_xrcd(State&, const Call& call, In<prm::DeallocXrcdIn> in, Out<prm::DeallocXrcdOut>) {
    return call.scope.destroy<Kind::xrcd>(in.get<"xrcd">(), call.at);
}

} // namespace firmware::handlers
