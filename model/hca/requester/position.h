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

/// The sequence number of what stands at byte `offset` of a message, which may be the one that is read next.
inline abi::Psn psn_at(const queue::RequesterState& r, std::uint32_t message, std::uint32_t offset, std::uint32_t mtu) {
    return message == r.sends.messages.end() ? r.window.next_psn : r.sends.messages[message].first + offset / mtu;
}

} // namespace model::hca::requester
