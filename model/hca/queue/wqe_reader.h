// Reads a send WQE from the ring and decodes it (PRM "Send WQE"). Receives a queue pair and a WQE index; gives a
// WorkRequest, with the fault that software will be told of when the WQE cannot be executed. Does not translate keys.
#pragma once

#include "abi/prm/wqe.h"
#include "model/hca/config.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/queue/work_request.h"
#include "model/port/dma.h"

#include <bit>

namespace model::hca::queue {

/// Of the bytes of a basic block, in which send queues are counted.
inline constexpr unsigned log_wqebb = std::countr_zero(abi::prm::wqe_bb_bytes);

/// Decodes `out.raw` (segments_16 times 16 bytes of it valid) for a queue pair of this type into the rest of `out`.
/// `wqe_bytes` is the advertised limit. Faults go to out.fault.
void decode(WorkRequest& out, QpType type, abi::Qpn qpn, std::uint16_t index, std::uint32_t wqe_bytes);

/// Reads the WQE at `index` (WQEBBs) and decodes it; the next ones to fetch are read ahead with it, as the
/// configuration has it. Returns when its last byte was there.
port::Time read_wqe(port::Dma& dma, QueuePair& qp, std::uint16_t index, const HcaConfig& config, WorkRequest& out,
                    port::Time at);

} // namespace model::hca::queue
