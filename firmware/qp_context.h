// The queue pair context (PRM "Queue pair context"): from the bytes software wrote to the attributes that the data path
// uses, and the rules that hold for them whatever the state. Creates nothing, changes no state.
#pragma once

#include "abi/prm/qp.h"
#include "firmware/refusal.h"
#include "firmware/call.h"
#include "model/hca/queue/queue_pair.h"

namespace firmware {

/// Takes over every field but the buffer and the doorbell record, which come with CREATE_QP.
void decode_context(abi::ConstView<abi::prm::Qpc> qpc, model::hca::queue::QueuePairAttributes& attributes);

/// Fields that CREATE_QP fixes: type, sizes, the objects it names.
Reply check_creation(const State& state, const Scope& scope, abi::ConstView<abi::prm::Qpc> qpc);
/// Fields that a transition into `to` must have right; `qpc` has the new values already. `takes_path`: the command
/// brought the primary path. A path that was valid before stays in force, even when its table entry is gone meanwhile.
Reply check_transition(State& state, const Scope& scope, abi::ConstView<abi::prm::Qpc> qpc, abi::prm::QpState to,
                       bool takes_path);

/// Bytes of the two work queues; the send queue starts on a WQEBB behind the receive queue.
std::uint64_t buffer_bytes(abi::ConstView<abi::prm::Qpc> qpc);

} // namespace firmware
