// What the sending side of a queue pair keeps (IBA 9.7.3 to 9.7.7, requester): a part for each of its concerns.
#pragma once

#include "abi/prm/wqe.h"
#include "abi/types.h"
#include "model/hca/congestion/control.h"
#include "model/hca/congestion/round_trips.h"
#include "model/hca/queue/on_demand.h"
#include "model/hca/queue/read_ahead.h"
#include "model/hca/queue/reorder_buffer.h"
#include "model/hca/queue/ring.h"
#include "model/hca/queue/work_request.h"
#include "model/port/time.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace model::hca::queue {

/// A message that was sent, at least in part, and whose completion is still owed.
struct Outstanding {
    std::uint16_t wqe_index = 0;
    std::uint8_t wqebbs = 0;
    abi::prm::WqeOpcode opcode{};
    bool signalled = false;
    bool signalled_with_event = false;
    bool awaits_data = false; ///< READ or atomic: completed by its response, not by an ACK
    std::uint8_t error = 0;   ///< CQE syndrome found while sending; reported when the message is the oldest
    std::uint8_t vendor_error = 0;
    std::uint32_t length = 0;
    abi::Psn first{};           ///< sequence number of its first packet
    std::uint32_t packets = 1;  ///< sequence numbers it uses
    std::uint32_t answered = 0; ///< READ: response packets taken in
    std::uint64_t cause = 0;    ///< number of the event that began it (traces/events.h)
    abi::Psn last() const { return first + (packets - 1); }
    abi::Psn next() const { return first + packets; }
};

/// Where a queue pair's packets leave: by the cable, or inside the port to the port itself. Open: each has its own way,
/// as datagrams do.
enum class Way : std::uint8_t { cable, inside, open };

/// The send queue, counted in WQEBBs modulo 2^16.
struct SendQueueState {
    std::uint16_t producer = 0;  ///< as the doorbell record said at the last doorbell
    std::uint16_t fetched = 0;   ///< next WQE to read
    std::uint16_t completed = 0; ///< oldest WQE whose completion is owed
    std::uint16_t announced = 0; ///< producer as the last doorbell itself said; its record may say more
    port::Time doorbell_at{};    ///< when the last doorbell was there
    port::Time record_at{};      ///< and when its record was
    std::uint64_t doorbell = 0;  ///< number of its event
    Ring<Outstanding> messages;
    ReadAhead ahead;

    /// Since when the device knows of the WQE that it reads next.
    port::Time known_at() const {
        const auto named = static_cast<std::uint16_t>(announced - fetched);
        return named != 0 && named <= static_cast<std::uint16_t>(producer - fetched) ? doorbell_at : record_at;
    }
};

/// Where sending stands: message number and byte offset in it.
struct SendPosition {
    std::uint32_t message = 0; ///< number in SendQueueState::messages; end() means "read the next WQE"
    std::uint32_t offset = 0;
    std::uint32_t loaded = 0; ///< message number that `wqe` holds, when `has_wqe`
    bool has_wqe = false;
    port::Time ready{};       ///< when `wqe` was there and decoded
    std::uint64_t event = 0;  ///< number of the event that says so
    std::uint8_t segment = 0; ///< scatter/gather position of `offset`
    std::uint32_t segment_offset = 0;
    std::uint32_t since_request = 0; ///< packets since the last one that asked for an ACK
    OnDemand<WorkRequest> wqe;
};

/// The oldest message, whose answer is arriving.
struct ResponseState {
    std::uint32_t loaded = 0; ///< message number that `wqe` holds, when `has_wqe`
    bool has_wqe = false;
    OnDemand<WorkRequest> wqe;
    port::Time
        placed_until{}; ///< when the answers so far are in memory; no completion is earlier, or than the last one
    // Selective repeat
    std::unique_ptr<ReorderBuffer> held;                  ///< answers behind missing ones
    std::optional<abi::Psn> acknowledged{}, refused_at{}; ///< by what came behind them
};

/// Sequence numbers that are under way.
struct WindowState {
    abi::Psn next_psn{};   ///< of the next new message
    abi::Psn oldest_psn{}; ///< not yet acknowledged
    std::uint32_t reads_outstanding = 0;
    abi::Psn unsent_psn{}; ///< of the first packet that has never been sent
};

struct RetryState {
    bool waits_rnr = false;
    bool asked_again = false; ///< a missing answer was asked for; later answers under way say nothing new
    std::uint8_t retries_left = 0, rnr_retries_left = 0;
    std::uint8_t timeouts = 0; ///< since the last answer
    // Selective repeat: what is missing is sent again, and sending goes on where it was.
    bool repeats = false;
    std::uint32_t resume_message = 0, resume_offset = 0; ///< there
    std::uint32_t repeat_packets = 0;                    ///< of the answer to a READ
};

/// What limits how fast, or how much of, it may send beside its port.
struct CongestionState {
    std::unique_ptr<congestion::Control> control;        ///< none: nothing does
    std::unique_ptr<congestion::RoundTrips> round_trips; ///< where that has a window
    port::Time held_since = port::never;                 ///< when its window or its rate did not let a packet leave

    /// Whether its rate lets no packet leave yet. A control that limits nothing any more is forgotten.
    bool is_early(port::Time at) {
        if (control->is_over(at)) {
            control.reset();
            return false;
        }
        return control->next(at) > at;
    }
    void hold(port::Time at) { held_since = std::min(held_since, at); }
    /// How long it was held until `at`; nothing: it was not.
    std::optional<port::Time> end_hold(port::Time at) {
        if (held_since == port::never)
            return {};
        return at - std::exchange(held_since, port::never);
    }
};

struct RequesterState {
    SendQueueState sends;
    SendPosition position;
    WindowState window;
    ResponseState response;
    RetryState retry;
    CongestionState congestion;
    port::Time heard_at{};    ///< when the last answer came, which may be what a message has waited for
    Way full = Way::open;     ///< the way that had no room for the datagram at which the last turn ended
    port::Time rests_until{}; ///< its processing unit has enough to do until then; 0: it need not wait for that
    bool is_resting = false;  ///< and will have a turn then
};

} // namespace model::hca::queue
