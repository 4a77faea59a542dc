// PRM "HCA initialization": ENABLE_HCA, ISSI, INIT_HCA, and the commands that undo them. The command table says which
// phase allows which command.
#include "firmware/handlers/handlers.h"

namespace firmware::handlers {

namespace {
constexpr std::uint32_t supported_issi = 1u << 1; ///< interface step sequence 1; 0 would need the commands it replaced
constexpr std::uint32_t graceful = 0;             ///< profile of TEARDOWN_HCA; force and fast are not advertised
} // namespace

Reply enable_hca(State& state, const Call&, In<prm::EnableHcaIn> in, Out<prm::EnableHcaOut>) {
    if (in.get<"function_id">() != 0 || in.get<"embedded_cpu_function">())
        return refuse("enable_hca.function");
    state.enable();
    return accepted;
}

Reply disable_hca(State& state, const Call&, In<prm::DisableHcaIn> in, Out<prm::DisableHcaOut>) {
    if (in.get<"function_id">() != 0 || in.get<"embedded_cpu_function">())
        return refuse("disable_hca.function");
    state.reset(); // pages that were not taken back are forgotten: the driver owns its memory again
    return accepted;
}

Reply query_issi(State& state, const Call&, In<prm::QueryIssiIn>, Out<prm::QueryIssiOut> out) {
    out.set<"current_issi">(state.issi).set<"supported_issi_dw0">(supported_issi);
    return accepted;
}

Reply set_issi(State& state, const Call&, In<prm::SetIssiIn> in, Out<prm::SetIssiOut>) {
    const auto wanted = in.get<"current_issi">();
    if (wanted >= 32 || (supported_issi >> wanted & 1) == 0)
        return refuse("set_issi.not_supported");
    state.issi = static_cast<std::uint16_t>(wanted);
    return accepted;
}

Reply init_hca(State& state, const Call&, In<prm::InitHcaIn>, Out<prm::InitHcaOut>) {
    if (state.pages.init_missing() != 0)
        return refuse("init_hca.pages_missing");
    state.initialize();
    return accepted;
}

Reply teardown_hca(State& state, const Call&, In<prm::TeardownHcaIn> in, Out<prm::TeardownHcaOut>) {
    if (in.get<"profile">() != graceful)
        return refuse("teardown_hca.profile");
    state.tear_down();
    return accepted;
}

} // namespace firmware::handlers
