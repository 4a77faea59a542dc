// Where sending stands within a message.
#pragma once

#include "model/hca/queue/requester_state.h"

namespace model::hca::requester {

/// Sets the scatter/gather position of the loaded WQE to that of `offset`.
inline void seek(queue::SendPosition& position) {
    auto offset = position.offset;
    const auto& wqe = *position.wqe;
    position.segment = 0;
    while (position.segment < wqe.segment_count && offset >= wqe.segments[position.segment].length)
        offset -= wqe.segments[position.segment++].length;
    position.segment_offset = offset;
}

} // namespace model::hca::requester
