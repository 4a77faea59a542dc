// What the receiving side of a queue pair keeps (IBA 9.7.3 to 9.7.5, responder): a part for each class of
// hca/responder.
#pragma once

#include "abi/types.h"
#include "model/hca/memory/order.h"
#include "model/hca/queue/on_demand.h"
#include "model/hca/queue/read_ahead.h"
#include "model/hca/queue/receive_wqe.h"
#include "model/hca/queue/reorder_buffer.h"
#include "model/hca/queue/ring.h"
#include "model/port/time.h"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace model::hca::queue {

/// A request that was executed and whose answer may be asked for again (IBA 9.7.5.2, duplicates).
struct Replay {
    abi::Psn first{};
    std::uint32_t packets = 1;
    bool is_atomic = false;
    std::uint64_t original = 0; ///< atomics: the value returned
    std::uint64_t address = 0;  ///< READ
    abi::Key rkey{};
    std::uint32_t length = 0;
    abi::Pd pd{}; ///< READ: that the key belongs to
};

/// An answer that has to go out, in order.
struct Response {
    enum class Kind : std::uint8_t { acknowledge, negative, read, atomic } kind{};
    std::uint8_t syndrome = 0;
    abi::Psn psn{}; ///< of the acknowledge; of the next READ response packet
    std::uint32_t msn = 0;
    std::uint64_t original = 0;
    std::uint64_t address = 0; ///< READ: of the next response packet
    abi::Key rkey{};
    std::uint32_t remaining = 0; ///< READ: bytes still to send
    abi::Pd pd{};                ///< READ: that the key belongs to
    bool is_first = true;        ///< READ: no response packet sent yet
    bool is_repeat = false;      ///< READ, atomic: asked for again
    bool waits_for_page = false; ///< READ: of the next response packet
    port::Time earliest{};
    std::uint64_t cause = 0; ///< number of the event that asked for it (traces/events.h)
};

/// Which packet comes next, and the message that it belongs to.
struct OrderState {
    abi::Psn expected{};
    std::uint32_t msn = 0;   ///< messages completed, 24 bits
    bool nak_is_out = false; ///< a sequence or RNR NAK was sent for `expected`
    bool saw_packet = false;
    port::Time next_cnp{}; ///< no CNP is sent before
    enum class Message : std::uint8_t { none, send, write } message = Message::none;
    std::uint32_t received = 0; ///< bytes of the message so far
    // Requests may overlap, but are carried out in order (IBA 9.5)
    memory::Order writes;
    port::Time executed{}; ///< when everything so far was carried out: no completion and no answer is earlier

    /// When something that is done at `at` counts as done.
    port::Time execute(port::Time at) { return executed = std::max(executed, at); }
};

/// What the peer does to this host's memory: the WRITE that is arriving.
struct RemoteState {
    abi::Pd pd{}; ///< that keys of the peer's requests belong to
    std::uint64_t address = 0;
    abi::Key key{};
    std::uint32_t remaining = 0;
};

/// The receive queue, counted in WQEs.
struct ReceiveState {
    std::uint16_t producer = 0; ///< as the doorbell record last said
    std::uint16_t consumer = 0;
    std::uint16_t few = 0; ///< the record is looked at again when no more than these are left
    ReadAhead ahead;
    bool has_wqe = false; ///< `wqe` is being filled
    OnDemand<ReceiveRequest> wqe;
    port::Time flush_interval{}; ///< error state: how long until the doorbell record is looked at again

    std::uint16_t left() const { return static_cast<std::uint16_t>(producer - consumer); }
};

/// What the peer is owed.
struct AnswerState {
    bool ack_pending = false; ///< `ack` is owed and not in `responses`
    Response ack;
    bool in_ack_list = false;
    Ring<Response> responses;
};

struct ResponderState {
    OrderState order;
    RemoteState remote;
    ReceiveState receives;
    AnswerState answers;
    std::unique_ptr<ReorderBuffer> held; ///< requests behind missing ones
    Ring<Replay> replay;                 ///< the last 2^log_reads_responder READs and atomics
};

} // namespace model::hca::queue
