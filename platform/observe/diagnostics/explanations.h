// What is known of each mistake in the terms of somebody who writes a driver: the rule, the chapter it stands in, and
// what most likely went wrong. Receives a code or a reason as the rooms give it; gives static text. Knows no events:
// those are explain.h.
#pragma once

#include "abi/iommu/fault.h"
#include "abi/iommu/invalidation.h"
#include "abi/nvme/status.h"
#include "abi/prm/command.h"
#include "abi/prm/cqe.h"
#include "abi/prm/eqe.h"
#include "abi/wire/infiniband.h"
#include "firmware/refusal.h"
#include "model/hca/queue/work_request.h"
#include "model/hca/tpt/translate.h"
#include "model/hca/umr/umr.h"
#include "model/port/dma.h"
#include "traces/reason.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace platform::observe::diagnostics {

struct Explanation {
    std::string_view rule, chapter, cause;
    bool is_complete() const { return !rule.empty() && !chapter.empty() && !cause.empty(); }
};

/// Null when there is no row; the tests walk the enumerations, so that is a value from outside of them.
const Explanation* explain(model::hca::tpt::Violation violation);
const Explanation* explain(model::hca::umr::Fault fault);
const Explanation* explain(model::hca::queue::WqeFault fault);
const Explanation* explain(model::port::DmaStatus status);
/// Of a posted write that was sent and lost.
const Explanation* explain_loss(model::port::DmaStatus status);
const Explanation* explain(abi::prm::CqeSyndrome syndrome);
const Explanation* explain(abi::prm::DeliveryStatus status);
const Explanation* explain(abi::wire::NakCode code);  ///< as the side that sends it sees it
const Explanation* explain(abi::prm::EventType type); ///< asynchronous events of a queue pair
const Explanation* explain(abi::iommu::FaultReason reason);
const Explanation* explain(abi::iommu::QueueError error);
const Explanation& explain_silence(); ///< of a device that does not answer invalidations
const Explanation* explain(traces::BlockReason reason);
const Explanation* explain(traces::StaleMapping mapping);
const Explanation* explain(abi::nvme::Status status);
const Explanation* explain(traces::DoorbellMistake mistake);
const Explanation* explain(traces::ControllerFailure failure);
/// A refused command; the rule is the refusal's own sentence. Incomplete when no row says the cause.
Explanation explain(const firmware::Refusal& refusal);
const Explanation* explain_doorbell(traces::Reason reason); ///< of DoorbellIgnored
const Explanation* explain_drop(traces::Reason reason);     ///< of PacketDropped
const Explanation* explain(traces::RefusalReason reason);
const Explanation* explain(traces::KeyChangeReason reason);

/// What stands where no row is.
inline constexpr Explanation nothing_known{"", "", "nothing more is known"};
inline const Explanation& or_none(const Explanation* row) { return row != nullptr ? *row : nothing_known; }

std::string_view name_of(abi::wire::NakCode code);
std::string_view name_of(model::port::DmaStatus status);
/// What verbs call a syndrome: "IBV_WC_LOC_PROT_ERR", or "".
std::string_view verbs_name(abi::prm::CqeSyndrome syndrome);

/// A vendor syndrome, taken apart: the room that found the mistake, what it calls it, and the row for it (or null).
struct VendorSyndrome {
    std::string_view room, what;
    const Explanation* row = nullptr;
    std::optional<traces::RefusalReason> refusal{}; ///< where a key was refused
    bool is_bus = false;                            ///< `what` is a port::DmaStatus
    bool is_nak = false;                            ///< the peer refused
};
VendorSyndrome decode_vendor(bool is_responder, std::uint8_t vendor);

} // namespace platform::observe::diagnostics
