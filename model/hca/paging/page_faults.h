// On-demand paging (PRM "Page fault"): an access whose page is not there waits for software instead of failing.
// Receives what the requester or the responder could not reach; writes the page fault event. Software brings the pages,
// changes the key by UMR and says PAGE_FAULT_RESUME, which comes back to the room that waits (Requester::resume,
// Responder::resume). The token of an event is the number of its queue pair: of each type only one access waits.
#pragma once

#include "abi/prm/eqe.h"
#include "model/hca/event/event_queue.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/report.h"
#include "model/hca/tpt/translate.h"

#include <cstdint>

namespace model::hca::paging {

/// A page that the data segments of a send WQE or a receive WQE need.
struct WqePageFault {
    abi::prm::PageFaultType type{};
    std::uint32_t wq_number = 0; ///< queue pair or shared receive queue
    std::uint16_t wqe_index = 0;
    std::uint32_t committed = 0; ///< bytes of its data that are done
    std::uint32_t packet = 0;    ///< bytes of the packet at hand
    std::uint32_t what = 0;      ///< as queue::Paging::told
};
/// A page that a peer's request needs.
struct RemotePageFault {
    abi::prm::PageFaultType type{};
    abi::Key key{};
    std::uint64_t address = 0;   ///< where the message begins
    std::uint32_t length = 0;    ///< of the message
    std::uint32_t committed = 0; ///< bytes that are done
    std::uint32_t packet = 0;    ///< bytes of the packet at hand
    abi::Psn psn{};              ///< of the packet at hand
};

class PageFaults {
public:
    PageFaults(tpt::Translator& translator, event::EventQueues& event_queues, const Report& report)
        : translator_(translator), event_queues_(event_queues), report_(report) {}

    /// Tells software that `access` needs a page, unless software was told and has not answered yet. Returns false when
    /// the access cannot wait and is refused: nobody takes page fault events, or software has said of this very packet
    /// that its pages will never be there.
    bool raise(queue::QueuePair& qp, const WqePageFault& fault, const tpt::Request& access, port::Time at);
    bool raise(queue::QueuePair& qp, const RemotePageFault& fault, const tpt::Request& access, port::Time at);
    /// Software has answered. Returns false when nothing of this type waits, or no longer does.
    static bool answer(queue::QueuePair& qp, abi::prm::PageFaultType type);
    /// Software has answered that the pages will never be there: packet `psn` is refused when it comes again.
    static void give_up(queue::QueuePair& qp, abi::prm::PageFaultType type, abi::Psn psn);

private:
    enum class Outcome : std::uint8_t { begins, waits, refused };
    Outcome look(queue::QueuePair& qp, abi::prm::PageFaultType type, std::uint32_t what);
    template <class Fill>
    bool tell(const queue::QueuePair& qp, abi::prm::PageFaultSubtype subtype, Fill&& fill, port::Time at);
    bool begin(queue::QueuePair& qp, abi::prm::PageFaultType type, std::uint32_t what, bool is_told,
               const tpt::Request& access, port::Time at);

    tpt::Translator& translator_;
    event::EventQueues& event_queues_;
    Report report_;
};

} // namespace model::hca::paging
