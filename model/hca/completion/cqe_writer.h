// Writes completions (PRM "CQE") with their fields, timestamp, signature and owner bit, notices an overrun, and decides
// when the event that software armed for is due. Receives what completed, perhaps with a small message's bytes; gives
// an entry in host memory and perhaps an EQE.
#pragma once

#include "abi/prm/cqe.h"
#include "abi/types.h"
#include "model/hca/queue/completion_queue.h"
#include "model/hca/completion/moderation.h"
#include "model/hca/config.h"
#include "model/hca/counters.h"
#include "model/hca/doorbell/doorbell.h"
#include "model/hca/doorbell/doorbell_record.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/icm/context_memory.h"
#include "model/port/dma.h"
#include "traces/events.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace model::hca::completion {

using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using queue::CompletionQueue;

/// What a CQE says. For an error CQE `syndrome` is set and `byte_count` and `immediate` do not count.
struct Completion {
    CqeOpcode opcode{};
    CqeSyndrome syndrome{}; ///< 0: no error
    std::uint8_t vendor_syndrome = 0;
    abi::Qpn qpn{};
    std::uint32_t user_index = 0; ///< srqn_uidx (CQE version 1)
    std::uint8_t send_opcode = 0; ///< requester: opcode of the WQE
    std::uint16_t wqe_counter = 0;
    std::uint32_t byte_count = 0;
    std::uint32_t immediate = 0; ///< immediate data or invalidated key
    bool solicited = false;      ///< an arm for solicited completions only reports it, too
    std::uint64_t cause = 0;     ///< number of the event that began the work, where it has waited
    std::span<const std::byte>
        data{};               ///< the message, when the entry carries it: at most CompletionQueue::inline_bytes
    bool is_datagram = false; ///< the rest counts
    abi::Qpn source_qpn{};
    std::uint16_t source_lid = 0;
    std::uint8_t path_bits = 0;     ///< of the LID that the datagram was for
    std::uint8_t service_level = 0; ///< RoCE: type of the network header in bits 1..0
    bool has_grh = false;           ///< the buffer starts with a global route header
};

/// The entry of a completion: in front of the CQE64 there is room for data, which only a 128-byte entry has.
struct CompletionEntry {
    std::array<std::byte, abi::prm::cqe_inline_64 + abi::prm::Cqe64::size> bytes;
    CompletionEntry() { std::ranges::fill(cqe(), std::byte{}); } // what is in front is written only when it is used
    std::span<std::byte, abi::prm::Cqe64::size> cqe() { return std::span(bytes).last<abi::prm::Cqe64::size>(); }
};

/// The bytes of a completion for a ring position with this owner bit, signed. `timestamp` in ticks of the internal
/// timer.
void encode(const Completion& completion, std::uint64_t timestamp, bool owner, CompletionEntry& out);

class CqeWriter {
public:
    CqeWriter(const HcaConfig& config, port::Dma& dma, port::Clock& clock, icm::ContextMemory& contexts,
              event::EventQueues& event_queues, Counters& counters, const traces::Events& events);

    /// Writes one completion. False when the CQ cannot take it (overrun or unreachable): the CQ is then in error, its
    /// asynchronous event is out, and the queue pair has to go to the error state.
    bool write(CompletionQueue& cq, const Completion& completion, port::Time at);
    /// Software arms (CQ doorbell): the next completion beyond its consumer index writes an event. False when the
    /// request is stale: it was carried out before.
    bool arm(CompletionQueue& cq, const doorbell::ArmRequest& request, port::Time at);

    /// Software gives the queue another ring (PRM "Resizing a CQ"): the old one ends with a CQE that says so, and the
    /// next completion is the one behind it in the new ring. False when the old ring has no room for that CQE.
    bool resize(CompletionQueue& cq, memory::PagedBuffer buffer, std::uint8_t log_size, port::Time at);
    /// How many entries software has not consumed yet, as its doorbell record says. Nothing when that cannot be read.
    std::optional<doorbell::RecordRead> outstanding(CompletionQueue& cq, port::Time at);
    /// To be called when the queue has new moderation limits: decides again about an event that the old ones held back.
    void moderate_anew(CompletionQueue& cq, port::Time at);
    /// Time asked for by Clock::wake_at has come: events that moderation held back long enough go out.
    void wake(port::Time now);
    /// The queue is about to be destroyed.
    void forget(CompletionQueue& cq) { moderation_.forget(cq); }
    void clear() { moderation_.clear(); }

private:
    port::DmaResult put(CompletionQueue& cq, CompletionEntry& entry, bool has_front, port::Time at);
    bool owner(const CompletionQueue& cq) const { return (cq.producer >> cq.attributes.log_size & 1) != 0; }
    struct Room {
        bool is_there = false;
        port::Time at{}; ///< when that was known
    };
    Room room(CompletionQueue& cq, port::Time at);
    void say(CompletionQueue& cq, const Completion& completion, port::Time at) const;
    void fail(CompletionQueue& cq, queue::CompletionState state, port::Time at);
    void notify(CompletionQueue& cq, port::Time at, bool at_once = false);

    port::Dma& dma_;
    Moderation moderation_;
    icm::ContextMemory& contexts_;
    event::EventQueues& event_queues_;
    Counters& counters_;
    const traces::Events& events_;
    port::Time latency_;
    std::int64_t picoseconds_per_tick_;
};

} // namespace model::hca::completion
