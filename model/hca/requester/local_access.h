// How a work request accesses memory of its own host: through the local key of a data segment.
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/hca/tpt/translate.h"

#include <cstdint>

namespace model::hca::requester {

/// Access to a data segment from byte `offset` on.
inline tpt::Request local_access(const queue::QueuePair& qp, const queue::DataSegment& segment, std::uint32_t offset,
                                 tpt::Access access) {
    return {.key = segment.key,
            .address = segment.address + offset,
            .length = segment.length - offset,
            .access = access,
            .pd = qp.attributes.pd,
            .qpn = qp.number.value,
            .may_wait = qp.service.waits_to_send};
}

} // namespace model::hca::requester
