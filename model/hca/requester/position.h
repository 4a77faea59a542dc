// Where sending stands within a message.
#pragma once

#include "model/hca/queue/requester_state.h"

namespace model::hca::requester {

/// Puts the scatter/gather position to the segment, and the place in it, where byte `offset` of the message lies.
inline void seek(queue::SendPosition& position) {
    auto offset = position.offset;
    const auto& wqe = *position.wqe;
    position.segment = 0;
    while (position.segment < wqe.segment_count && offset >= wqe.segments[position.segment].length)
        offset -= wqe.segments[position.segment++].length;
    position.segment_offset = offset;
}

} // namespace model::hca::requester
