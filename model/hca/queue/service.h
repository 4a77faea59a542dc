// Transport services (IBA 9.1, chapter 9.7 to 9.8, annex A14): what a type of queue pair sends and expects.
#pragma once

#include "abi/prm/qp.h"
#include "abi/types.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/opcode.h"

#include <optional>

namespace model::hca::queue {

struct Service {
    abi::wire::Service on_wire = abi::wire::Service::rc;
    bool is_reliable = false; ///< packets are acknowledged and sent again
    bool is_local = false;    ///< has no peer, and only changes memory keys (PRM "REG_UMR queue pair")
    bool is_datagram = false; ///< each WQE names its destination, each message is one packet
    bool waits_to_send = false,
         waits_to_receive = false;     ///< for pages that are not there (odp_per_transport_service_cap)
    std::optional<abi::Qpn> special{}; ///< QP0 and QP1: the number that peers know it by (IBA 3.9.4)
};

constexpr Service service_of(abi::prm::QpType type) {
    using abi::prm::QpType;
    switch (type) {
    case QpType::uc: return {.on_wire = abi::wire::Service::uc};
    case QpType::ud: return {.on_wire = abi::wire::Service::ud, .is_datagram = true, .waits_to_send = true};
    case QpType::qp0:
        return {.on_wire = abi::wire::Service::ud, .is_datagram = true, .special = abi::wire::subnet_management};
    case QpType::qp1:
        return {.on_wire = abi::wire::Service::ud, .is_datagram = true, .special = abi::wire::general_services};
    case QpType::reg_umr: return {.is_local = true};
    case QpType::xrc:
        return {
            .on_wire = abi::wire::Service::xrc, .is_reliable = true, .waits_to_send = true, .waits_to_receive = true};
    default:
        return {
            .on_wire = abi::wire::Service::rc, .is_reliable = true, .waits_to_send = true, .waits_to_receive = true};
    }
}

} // namespace model::hca::queue
