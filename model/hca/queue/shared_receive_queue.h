// A shared receive queue: receive WQEs that any of its queue pairs may take (IBA 10.2.9; PRM "RMP", "XRC SRQ context").
// Gives the next WQE and notices when few are left. It writes no completions and no events: the responder does.
#pragma once

#include "abi/prm/qp.h"
#include "abi/prm/rmp.h"
#include "abi/types.h"
#include "model/hca/queue/completion_queue.h"
#include "model/hca/counted.h"
#include "model/hca/domains.h"
#include "model/hca/intrusive_list.h"
#include "model/hca/memory/paged_buffer.h"
#include "model/hca/queue/receive_wqe.h"
#include "model/port/dma.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace model::hca::queue {

struct QueuePair;
struct Taker; ///< in the list of a shared receive queue's takers

struct SharedReceiveQueueAttributes {
    bool is_linked = true;        ///< WQEs name their successor; otherwise a ring
    bool has_next_segment = true; ///< each WQE begins with one, also where nobody follows it
    abi::Pd pd{};
    std::uint8_t log_size = 0;         ///< WQEs
    std::uint8_t log_stride = 4;       ///< bytes of a WQE, at least 32 when linked
    std::uint16_t limit = 0;           ///< an event when fewer are left; 0: none
    abi::BusAddress doorbell_record{}; ///< dword 0: receive counter
    memory::PagedBuffer buffer{};
    // Of an XRC domain
    bool is_xrc = false;
    std::uint32_t xrcd = 0;
    abi::Cqn cqn{}; ///< completions of the whole queue go there
    std::uint32_t user_index = abi::prm::no_user_index;
    std::array<std::byte, abi::prm::Rmpc::size> context{}; ///< as software wrote it, for QUERY_RMP and QUERY_XRC_SRQ
};

/// What became of the attempt to take a receive WQE.
enum class Take : std::uint8_t { done, empty, unreadable };
struct Taken {
    Take what{};
    port::Time at{}; ///< when that was known
};

struct SharedReceiveQueue : Counted {
    SharedReceiveQueue(std::uint32_t n, SharedReceiveQueueAttributes a) : number(n), attributes(std::move(a)) {}

    /// Takes the next WQE into `request`. `empty`: none is posted. `unreadable`: the record or the WQE cannot be read,
    /// or its list leaves the queue; from then on it stays unreadable.
    Taken take(port::Dma& dma, ReceiveRequest& request, port::Time at);
    /// Whether fewer WQEs are left than the limit. Says so once, as software has to arm the limit again (IBA 10.2.9.1).
    /// Software may have posted more meanwhile, so the record is read again before the answer is yes.
    bool is_limit_reached(port::Dma& dma, port::Time at);

    std::uint32_t number;
    List<QueuePair, Taker> takers; ///< its queue pairs and, of the XRC service, others whose last request named it
    Ref<ProtectionDomain> domain;
    Ref<XrcDomain> xrc_domain;
    Ref<CompletionQueue> cq; ///< XRC: of the whole queue
    SharedReceiveQueueAttributes attributes;
    std::uint16_t producer = 0; ///< as the doorbell record last said
    std::uint16_t consumed = 0; ///< WQEs taken, modulo 2^16
    std::uint16_t next = 0;     ///< index of the next one
    bool is_in_error = false;

    std::uint32_t size() const { return 1u << attributes.log_size; }

private:
    std::optional<port::Time> read_producer(port::Dma& dma, port::Time at);
};

} // namespace model::hca::queue
