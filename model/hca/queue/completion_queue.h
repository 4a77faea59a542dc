// A completion queue: the ring it writes, the consumer's doorbell record, and what decides when an event is due
// (PRM "Completion queues"). State only; hca/completion/cqe_writer moves it.
#pragma once

#include "abi/prm/cq.h"
#include "abi/prm/cqe.h"
#include "abi/types.h"
#include "model/hca/counted.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/intrusive_list.h"
#include "model/hca/memory/order.h"
#include "model/hca/memory/paged_buffer.h"
#include "model/port/time.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace model::hca::queue {

struct QueuePair;
struct Dead; ///< in the list of a completion queue's queue pairs in error

/// Events are held back until so many completions are there, or so long after the first; a period of 0: never.
struct ModerationLimits {
    port::Time period{};
    std::uint32_t max_count = 0;
};

/// What CREATE_CQ says.
struct CompletionQueueAttributes {
    memory::PagedBuffer buffer;
    std::uint8_t log_size = 0;        ///< entries
    std::uint8_t log_entry_bytes = 6; ///< 6: 64 bytes, 7: 128 bytes with the CQE in the second half
    bool overrun_ignore = false;
    abi::BusAddress doorbell_record; ///< dword 0 consumer index, dword 1 arm word
    abi::Eqn eqn;
    std::uint32_t uar_page = 0;
    ModerationLimits moderation{};
    std::array<std::byte, abi::prm::Cqc::size> context{}; ///< as software wrote it, for QUERY_CQ
};

enum class CompletionState : std::uint8_t { ready, overrun, write_failed };

/// The arm request in force, or the last one.
struct Arm {
    bool is_set = false;
    bool has_fired = false; ///< its event is out
    bool solicited_only = false;
    std::uint8_t sequence = 0;
    std::uint64_t consumer = 0; ///< on the scale of CompletionQueue::producer
};

struct CompletionQueue : Counted {
    CompletionQueue(abi::Cqn cqn, CompletionQueueAttributes a) : number(cqn), attributes(std::move(a)) {}

    abi::Cqn number;
    CompletionQueueAttributes attributes;
    CompletionState state = CompletionState::ready;
    std::uint64_t producer = 0;       ///< entries written since creation; the ring index is its low bits
    std::uint32_t consumer_seen = 0;  ///< consumer index when the doorbell record was last read, 24 bits
    std::uint64_t last_solicited = 0; ///< producer after the last solicited or error CQE
    std::uint64_t last_notified = 0;  ///< producer at the last event
    memory::Order entries;            ///< an entry goes out when it is known, and none before the one before it
    std::uint64_t newest_event = 0;   ///< number of the event of the last entry (traces/events.h)
    Arm arm;
    port::Time event_at = port::never; ///< when an event that moderation holds back goes out
    Ref<event::EventQueue> eq;         ///< that its events go to
    List<QueuePair, Dead> dead;        ///< in error, with a receive queue of their own that completes here

    std::uint32_t size() const { return 1u << attributes.log_size; }
    /// Bytes of a message that an entry has room for (PRM "CQE", scatter to CQE).
    std::uint32_t inline_bytes() const {
        return attributes.log_entry_bytes > 6 ? abi::prm::cqe_inline_64 : abi::prm::cqe_inline_32;
    }
};

} // namespace model::hca::queue
