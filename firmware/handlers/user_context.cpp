// PRM "User context", "UMEM": CREATE_UCTX, DESTROY_UCTX, CREATE_UMEM, DESTROY_UMEM.
#include "firmware/handlers/handlers.h"

#include <utility>
#include <vector>

namespace firmware::handlers {

namespace {
constexpr unsigned least_page_shift = 12;
} // namespace

Reply create_uctx(State& state, const Call&, In<prm::CreateUctxIn> in, Out<prm::CreateUctxOut> out) {
    if (in.sub<"uctx">().get<"cap">() & ~state.capabilities.general().get<"uctx_cap">())
        return refuse("create_uctx.capability");
    const auto uid = state.uctx_ids.take();
    if (!uid)
        return refuse("create_uctx.none_left");
    state.user_contexts.create(*uid);
    out.set<"uid">(*uid);
    return accepted;
}

Reply destroy_uctx(State& state, const Call&, In<prm::DestroyUctxIn> in, Out<prm::DestroyUctxOut>) {
    const auto uid = static_cast<std::uint16_t>(in.get<"uid">());
    if (state.user_contexts.find(uid) == nullptr)
        return refuse("destroy_uctx.unknown");
    if (state.owners.count(uid) != 0)
        return refuse("destroy_uctx.in_use");
    state.user_contexts.destroy(uid);
    state.uctx_ids.give_back(uid);
    return accepted;
}

Reply create_umem(State& state, const Call& call, In<prm::CreateUmemIn> in, Out<prm::CreateUmemOut> out) {
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
    if (auto refused = state.admit(count, call.at))
        return refused;
    const auto id = state.umem_ids.take();
    if (!id)
        return refuse("create_umem.none_left");
    state.umems.create(*id, UserMemory{.pages = {std::move(pages), shift, umem.get<"page_offset">()}});
    call.scope.own(Kind::umem, *id);
    state.charge(count, call.at);
    out.set<"umem_id">(*id);
    return accepted;
}

Reply destroy_umem(State& state, const Call& call, In<prm::DestroyUmemIn> in, Out<prm::DestroyUmemOut>) {
    const auto id = in.get<"umem_id">();
    const auto* umem = call.scope.umem(id);
    if (umem == nullptr)
        return refuse("destroy_umem.unknown");
    if (umem->users != 0)
        return refuse("destroy_umem.in_use");
    state.release(umem->pages.pages().size());
    state.umems.destroy(id);
    call.scope.disown(Kind::umem, id);
    state.umem_ids.give_back(id);
    return accepted;
}

} // namespace firmware::handlers
