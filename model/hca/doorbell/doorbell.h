// What software says with a doorbell (PRM "Doorbells"), whichever stores it came in.
#pragma once

#include "abi/types.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

namespace model::hca::doorbell {

/// Send WQEs were posted, up to the one whose first eight bytes the doorbell is; the doorbell record says how many.
struct SendRing {
    abi::Qpn qpn;
    std::uint16_t index = 0;          ///< of that WQE
    std::uint16_t producer = 0;       ///< behind it
    std::span<const std::byte> wqe{}; ///< what has come of the WQE (BlueFlame); as long as the store lasts
    std::size_t wqe_bytes = 0;        ///< that the WQE has, in whole basic blocks

    bool has_wqe() const { return !wqe.empty() && wqe.size() == wqe_bytes; }
    bool has_part() const { return !wqe.empty() && wqe.size() != wqe_bytes; }
};
/// What software asks for with a CQ doorbell: an event for the next completion beyond its consumer index.
struct ArmRequest {
    std::uint32_t consumer = 0; ///< 24 bits: the event is due when the producer passes it
    bool solicited_only = false;
    std::uint8_t sequence = 0; ///< 2 bits: software counts the events it has seen
};
struct CqArm {
    abi::Cqn cqn;
    ArmRequest request;
};
/// Events were consumed up to `consumer` (24 bits).
struct EventsConsumed {
    abi::Eqn eqn;
    std::uint32_t consumer = 0;
    bool arms = false; ///< and software wants the next interrupt
};
using Doorbell = std::variant<SendRing, CqArm, EventsConsumed>;

} // namespace model::hca::doorbell
