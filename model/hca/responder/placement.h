// Where a message that arrives is put (IBA 9.7.5.2.9; PRM "Receive WQE"): takes the next receive WQE, from the queue
// pair's own queue or a shared one, and writes bytes through its keys. Decides nothing about answers and completions.
#pragma once

#include "abi/wire/infiniband.h"
#include "abi/prm/cqe.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/icm/context_memory.h"
#include "model/hca/memory/application_memory.h"
#include "model/hca/queue/queue_pair.h"
#include "model/port/dma.h"

#include <expected>
#include <optional>
#include <span>

namespace model::hca::responder {

/// Our vendor syndromes of responder error CQEs: which rule was broken.
namespace vendor {
inline constexpr std::uint8_t too_long = 0x80;    ///< the message does not fit into the receive WQE
inline constexpr std::uint8_t translation = 0x90; ///< + tpt::Violation: a key of the receive WQE
inline constexpr std::uint8_t bus = 0xa0;         ///< + port::DmaStatus
inline constexpr std::uint8_t wqe = 0xb0;         ///< the receive WQE could not be read
} // namespace vendor

/// Why a message cannot be placed: what the receive CQE and the NAK say.
struct PlacementError {
    abi::prm::CqeSyndrome syndrome{};
    std::uint8_t vendor = 0;
    abi::wire::NakCode nak{};
    std::optional<memory::Denied> denied{}; ///< when it is the receive buffer's memory
};
/// How a receive WQE fails to whose memory the key or the bus denies access.
PlacementError placement_error(const memory::Denied& denied);

class Placement {
public:
    Placement(const HcaConfig& config, port::Dma& dma, icm::ContextMemory& contexts, memory::ApplicationMemory& memory,
              event::EventQueues& event_queues)
        : prefetch_(config.wqe_prefetch), dma_(dma), contexts_(contexts), memory_(memory), event_queues_(event_queues) {
    }

    /// Takes the next WQE into `responder.receives.wqe` of the queue pair. An unreadable WQE of the queue pair's own
    /// queue counts as taken, and only its index is set. Events of a shared queue are raised here.
    queue::Taken take(queue::QueuePair& qp, port::Time at);
    /// To be called before bytes are placed: READ responses under way may refer to that memory, and get copies first.
    void drain_loans() { memory_.loans().answers.drain(); }
    /// The error with which placing `length` bytes would fail, if any. Checks room and keys, and writes nothing.
    std::optional<PlacementError> check_room(const queue::QueuePair& qp, std::uint32_t length, port::Time at);
    /// Writes the pieces where the current WQE says, behind what was written before; returns when they are written.
    std::expected<port::Time, PlacementError> place(queue::QueuePair& qp,
                                                    std::span<const std::span<const std::byte>> pieces, port::Time at);

private:
    queue::Taken take_own(queue::QueuePair& qp, port::Time at);
    queue::Taken take_shared(queue::QueuePair& qp, port::Time at);
    port::Time look_at_record(queue::QueuePair& qp, port::Time at);
    void read_on(queue::QueuePair& qp, port::Time at);

    HcaConfig::WqePrefetch prefetch_;
    port::Dma& dma_;
    icm::ContextMemory& contexts_;
    memory::ApplicationMemory& memory_;
    event::EventQueues& event_queues_;
};

} // namespace model::hca::responder
