// How a work request accesses memory of its own host: through the local key of a data segment.
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/hca/tpt/translate.h"

#include <cstdint>

namespace model::hca::requester {

/// Access to `length` bytes of a data segment from byte `offset` on.
inline tpt::Request local_access(const queue::QueuePair& qp, const queue::DataSegment& segment, std::uint32_t offset,
                                 std::uint64_t length, tpt::Access access) {
    return {.key = segment.key,
            .address = segment.address + offset,
            .length = length,
            .access = access,
            .pd = qp.attributes.pd,
            .qpn = qp.number.value,
            .may_wait = qp.service.waits_to_send};
}

} // namespace model::hca::requester
