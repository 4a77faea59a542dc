// Where the answers to READs and atomics are put (PRM "Send WQE"): reads the WQE of the oldest message again, and
// writes bytes through its keys. What cannot be placed fails that message, or waits for a page.
#pragma once

#include "model/hca/config.h"
#include "model/hca/memory/application_memory.h"
#include "model/hca/paging/page_faults.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/requester/retirement.h"
#include "model/port/dma.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace model::hca::requester {

using Pieces = std::span<const std::span<const std::byte>>;

class ResponsePlacement {
public:
    ResponsePlacement(const HcaConfig& config, port::Dma& dma, memory::ApplicationMemory& memory,
                      paging::PageFaults& page_faults, Retirement& retirement)
        : config_(config), dma_(dma), memory_(memory), page_faults_(page_faults), retirement_(retirement) {}

    /// Reads the WQE of the oldest message into ResponseState, since its local segments say where the answer goes.
    /// Returns when it is there, or nothing when the message has failed.
    std::optional<port::Time> load(queue::QueuePair& qp, port::Time at);
    /// Writes an answer's bytes where that WQE says, from byte `offset` on. Returns false when they cannot be written:
    /// the message has failed, or waits for a page and its answer will be asked for again.
    bool place(queue::QueuePair& qp, std::uint32_t offset, Pieces pieces, port::Time at);
    /// Whether the keys of the WQE allow the whole answer, of which nothing is written. False when the message has
    /// failed.
    bool check(queue::QueuePair& qp, port::Time at);

private:
    memory::Moved scatter(const queue::QueuePair& qp, std::uint32_t offset, Pieces pieces, port::Time at);
    bool wait_for_page(queue::QueuePair& qp, std::uint32_t offset, std::uint32_t bytes, const tpt::Request& access,
                       port::Time at);

    const HcaConfig& config_;
    port::Dma& dma_;
    memory::ApplicationMemory& memory_;
    paging::PageFaults& page_faults_;
    Retirement& retirement_;
};

} // namespace model::hca::requester
