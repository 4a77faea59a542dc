// How a peer's request accesses this host's memory: through the remote key that it names.
#pragma once

#include "model/hca/queue/queue_pair.h"
#include "model/hca/tpt/translate.h"

#include <cstdint>

namespace model::hca::responder {

/// An access through a key of this host that must belong to protection domain `pd`.
inline tpt::Request remote_access(const queue::QueuePair& qp, abi::Key key, std::uint64_t address, std::uint64_t length,
                                  tpt::Access access, abi::Pd pd) {
    return {.key = key,
            .address = address,
            .length = length,
            .access = access,
            .pd = pd,
            .qpn = qp.number.value,
            .may_wait = qp.service.waits_to_receive};
}

} // namespace model::hca::responder
