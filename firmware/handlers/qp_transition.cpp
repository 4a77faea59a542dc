// PRM "QP state transitions": every command that moves a queue pair from state to state, driven by
// firmware/qp_transition.
#include "firmware/qp_transition.h"

#include "firmware/handlers/handlers.h"
#include "firmware/qp_context.h"

namespace firmware::handlers {

Reply modify_qp(State& state, const Call& call, In<prm::Rst2initQpIn> in, Out<prm::Rst2initQpOut>) {
    const auto& row = transition(call.opcode);
    auto* qp = call.scope.find<Kind::qp>(in.get<"qpn">());
    if (qp == nullptr)
        return refuse("modify_qp.unknown");
    if (!row.is_legal_from(qp->state))
        return refuse("modify_qp.state");
    const auto named = in.get<"opt_param_mask">();
    if (named & ~(row.mandatory | row.optional))
        return refuse("modify_qp.opt_param_mask");

    auto attributes = qp->attributes;
    auto context = attributes.context;
    const auto taken = row.mandatory | (named & row.optional);
    copy_fields(taken, in.sub<"qpc">(), abi::View<prm::Qpc>(context));
    const bool takes_path = prm::has(taken, prm::OptParam::primary_path);
    if (auto refused = check_transition(state, call.scope, abi::ConstView<prm::Qpc>(context), row.to, takes_path))
        return refused;
    decode_context(abi::ConstView<prm::Qpc>(context), attributes);
    state.hca.modify_qp(*qp, attributes, row.to, call.at, takes_path);
    return accepted;
}

// Both commands are legal in every state; Linux, too, has RST to ERR in its table (mlx5_ib, __mlx5_ib_modify_qp).
Reply leave_qp(State& state, const Call& call, In<prm::Qp2rstIn> in, Out<prm::Qp2rstOut>) {
    const auto& row = transition(call.opcode);
    auto* qp = call.scope.find<Kind::qp>(in.get<"qpn">());
    if (qp == nullptr)
        return refuse("leave_qp.unknown");
    const auto attributes = qp->attributes;
    state.hca.modify_qp(*qp, attributes, row.to, call.at);
    return accepted;
}

} // namespace firmware::handlers
