// PRM "HCA capabilities", "QUERY_ADAPTER", "QUERY_SPECIAL_CONTEXTS": what the device is and can.
#include "abi/prm/adapter.h"
#include "firmware/handlers/handlers.h"
#include "model/hca/tpt/mkey_table.h"

#include <algorithm>
#include <string_view>

namespace firmware::handlers {

Reply query_hca_cap(State& state, const Call& call, In<prm::QueryHcaCapIn> in, Out<prm::QueryHcaCapOut> out) {
    if (in.get<"other_function">() || in.get<"function_id">() != 0)
        return refuse("query_hca_cap.function");
    const auto type = static_cast<prm::CapabilityType>(call.op_mod >> 1);
    if (prm::name(type).empty())
        return refuse("query_hca_cap.type");
    // The page of a feature that the device lacks is all zero: programs ask without looking at the general page first.
    const auto page = state.capabilities.page(type, static_cast<prm::CapabilityMode>(call.op_mod & 1));
    std::ranges::copy(page, out.sub<"capability">().bytes().begin());
    return accepted;
}

Reply set_hca_cap(State& state, const Call& call, In<prm::SetHcaCapIn> in, Out<prm::SetHcaCapOut>) {
    if (in.get<"other_function">() || in.get<"function_id">() != 0)
        return refuse("set_hca_cap.function");
    if (call.op_mod & 1)
        return refuse("set_hca_cap.op_mod");
    return state.capabilities.set(static_cast<prm::CapabilityType>(call.op_mod >> 1), in.sub<"capability">().bytes());
}

Reply query_adapter(State&, const Call&, In<prm::QueryAdapterIn>, Out<prm::QueryAdapterOut> out) {
    constexpr std::string_view board = "HCA0000000001"; // 16 characters of board identification, zero at the end
    std::array<std::byte, 16> psid{};
    std::transform(board.begin(), board.end(), psid.begin(), [](char c) { return static_cast<std::byte>(c); });
    out.sub<"query_adapter_struct">()
        .set<"ieee_vendor_id">(prm::ieee_vendor)
        .set<"vsd_vendor_id">(prm::pci_vendor)
        .set<"vsd_contd_psid">(psid);
    return accepted;
}

Reply query_special_contexts(State& state, const Call&, In<prm::QuerySpecialContextsIn>,
                             Out<prm::QuerySpecialContextsOut> out) {
    // Each of the others belongs to a capability that is off (dump_fill_mkey, ...) and reads 0. So does the reserved
    // L_Key: no queue pair may use it (testbench/conformance/deviations.h).
    if (state.capabilities.general().get<"null_mkey">())
        out.set<"null_mkey">(model::hca::tpt::null_key.value);
    return accepted;
}

Reply query_lag(State&, const Call&, In<prm::QueryLagIn>, Out<prm::QueryLagOut>) {
    // The card has one port, which is used for itself: lag_state 0, and nothing is mapped to another one.
    return accepted;
}

} // namespace firmware::handlers
