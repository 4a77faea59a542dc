// PRM "User context", "UMEM": CREATE_UCTX, DESTROY_UCTX, CREATE_UMEM, DESTROY_UMEM.
#include "firmware/handlers/handlers.h"

#include <utility>
#include <vector>

namespace firmware::handlers {

namespace {
constexpr unsigned least_page_shift = 12;
} // namespace

Reply create_uctx(State& state, const Call& call, In<prm::CreateUctxIn> in, Out<prm::CreateUctxOut> out) {
    if (in.sub<"uctx">().get<"cap">() & ~state.capabilities.general().get<"uctx_cap">())
        return refuse("create_uctx.capability");
    const auto uid = call.scope.create<Kind::user_context>({});
    if (!uid)
        return uid.error();
    out.set<"uid">(*uid);
    return accepted;
}

Reply destroy_uctx(State&, const Call& call, In<prm::DestroyUctxIn> in, Out<prm::DestroyUctxOut>) {
    return call.scope.destroy<Kind::user_context>(in.get<"uid">(), call.at);
}

Reply create_umem(State&, const Call& call, In<prm::CreateUmemIn> in, Out<prm::CreateUmemOut> out) {
    const auto umem = in.sub<"umem">();
    if (in.get<"uid">() == 0)
        return refuse("create_umem.uid");
    if (umem.get<"ats">())
        return refuse("create_umem.ats");
    const auto count = umem.get<"num_of_mtt">();
    if (count == 0 || count > call.tail.size() / prm::Mtt::size)
        return refuse("create_umem.list");
    const auto shift = least_page_shift + umem.get<"log_page_size">();
    const auto page = std::uint64_t{1} << shift;
    if (umem.get<"page_offset">() >= page)
        return refuse("create_umem.page_offset");
    std::vector<abi::BusAddress> pages(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto entry = abi::ConstView<prm::Mtt>(call.tail.subspan(i * prm::Mtt::size));
        pages[i] = abi::BusAddress{std::uint64_t{entry.get<"ptag_63_32">()} << 32 | entry.get<"ptag_31_8">() << 8};
        if (pages[i].value & (page - 1))
            return refuse("create_umem.page_not_aligned");
    }
    const auto id = call.scope.create<Kind::umem>(
        {.at = call.at, .entries = count},
        model::hca::memory::PagedBuffer(std::move(pages), shift, umem.get<"page_offset">()));
    if (!id)
        return id.error();
    out.set<"umem_id">(*id);
    return accepted;
}

Reply destroy_umem(State&, const Call& call, In<prm::DestroyUmemIn> in, Out<prm::DestroyUmemOut>) {
    return call.scope.destroy<Kind::umem>(in.get<"umem_id">(), call.at);
}

} // namespace firmware::handlers
